/*
 * chain.c - chains of ledgers: the texts of their nodes, names, and the multi
 * that changes them, over the store in memory.
 */
#include "meta/chain.h"
#include "t/lib/mem_fixture.h"
#include "t/unit/tap.h"

#include <bsd/string.h>
#include <errno.h>
#include <stdlib.h>

static struct bk_bytes
text_bytes(const char *text)
{
	return ((struct bk_bytes){(const uint8_t *)text, strlen(text)});
}

/* Texts. */

static const char full_text[] = "bkchain 1\n"
				"state writing\n"
				"id 12\n"
				"epoch 3\n"
				"first 1\n"
				"count 2\n"
				"ensemble-size 3\n"
				"write-quorum 2\n"
				"ack-quorum 2\n"
				"deleted-ms 4\n"
				"keep-age-ms 5\n"
				"keep-bytes 6\n"
				"keep-count 7\n"
				"roll-bytes 8\n"
				"roll-age-ms 9223372036854775807\n"
				"holder host 1 boot 2\n";

static const struct bk_chain full = {12, 3, BK_CHAIN_WRITING, 1, 2,
    "host 1 boot 2", 3, 2, 2, 4, 5, 6, 7, 8, INT64_MAX};

static void
encodes_to(const struct bk_chain *c, const char *want)
{
	struct bk_buf out;

	bk_buf_init(&out);
	is_int(bk_chain_encode(c, &out), 0, "a record is written");
	is_mem(bk_buf_head(&out), bk_buf_len(&out), want, strlen(want),
	    "as it should be");
	bk_buf_fini(&out);
}

static void
records(void)
{
	struct bk_chain c = {.state = BK_CHAIN_DELETED};
	struct bk_buf out;

	encodes_to(&full, full_text);
	encodes_to(&c, "bkchain 1\nstate deleted\nid 0\n");
	is_int(bk_chain_decode(text_bytes(full_text), &c), BK_OK, "read back");
	encodes_to(&c, full_text);
	is_int(bk_chain_decode(text_bytes("bkchain 1\nid 0\ncolour blue\n"
					  "state ended\n"),
		   &c),
	    BK_OK, "unknown keys are passed over");
	ok(c.state == BK_CHAIN_ENDED && c.count == 0, "as is all that is 0");
	(void)strlcpy(c.holder, "a\nb", sizeof(c.holder));
	bk_buf_init(&out);
	ok(bk_chain_encode(&c, &out) == -1 && errno == EINVAL &&
		bk_buf_len(&out) == 0,
	    "a holder is one line");
	bk_buf_fini(&out);
}

static void
records_that_are_refused(void)
{
	static const struct {
		const char *text;
		enum bk_status status;
	} cases[] = {
	    {"", BK_EBADMETA},
	    {"bkchain", BK_EBADMETA},
	    {"bkpage 1\n", BK_EBADMETA},
	    {"bkchain 2\nid 1\nstate ended\n", BK_ECONFIG},
	    {"bkchain 1\n", BK_EBADMETA},
	    {"bkchain 1\nid 1\n", BK_EBADMETA},
	    {"bkchain 1\nstate ended\n", BK_EBADMETA},
	    {"bkchain 1\nid 1\nstate asleep\n", BK_EBADMETA},
	    {"bkchain 1\nid -1\nstate ended\n", BK_EBADMETA},
	    {"bkchain 1\nid 1\nstate ended\nfirst 2\ncount 1\n", BK_EBADMETA},
	    {"bkchain 1\nid 1\nstate ended\nepoch 9223372036854775808\n",
		BK_EBADMETA},
	    {"bkchain 1\nid 1\nstate ended\nack-quorum 2147483648\n",
		BK_EBADMETA},
	    {"bkchain 1\nid 1\nstate ended\nepoch\n", BK_EBADMETA},
	    {"bkchain 1\nid 1\nstate ended\nepoch 1", BK_EBADMETA},
	    {"bkchain 1\nid 1\nstate ended\nholder "
	     "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
	     "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
	     "\n",
		BK_EBADMETA},
	};
	struct bk_chain c;

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		is_int(bk_chain_decode(text_bytes(cases[i].text), &c),
		    cases[i].status, "record %zu is refused", i);
}

static void
pages(void)
{
	static const struct {
		const char *text;
		enum bk_status status;
	} bad[] = {
	    {"", BK_EBADMETA},
	    {"bkpage 2\n", BK_ECONFIG},
	    {"bkpage 1\n7", BK_EBADMETA},
	    {"bkpage 1\n-7\n", BK_EBADMETA},
	    {"bkpage 1\n\n", BK_EBADMETA},
	    {"bkpage 1\n9223372036854775808\n", BK_EBADMETA},
	};
	static const char text[] = "bkpage 1\n-\n7\n9223372036854775807\n";
	struct bk_chain_page p;
	struct bk_buf out;

	is_int(bk_chain_page_decode(text_bytes(text), &p), BK_OK, "a page");
	ok(p.n == 3 && p.ledgers[0] == -1 && p.ledgers[1] == 7 &&
		p.ledgers[2] == INT64_MAX,
	    "of three ledgers");
	bk_buf_init(&out);
	is_int(bk_chain_page_encode(&p, &out), 0, "is written");
	is_mem(bk_buf_head(&out), bk_buf_len(&out), text, strlen(text),
	    "as it was");
	bk_buf_fini(&out);
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		is_int(bk_chain_page_decode(text_bytes(bad[i].text), &p),
		    bad[i].status, "page %zu is refused", i);
	p.n = BK_CHAIN_PAGE;
	for (size_t i = 0; i < p.n; i++)
		p.ledgers[i] = INT64_MAX;
	is_int(bk_chain_page_encode(&p, &out), 0, "a full page");
	is_int(bk_chain_page_decode((struct bk_bytes){bk_buf_head(&out),
					bk_buf_len(&out)},
		   &p),
	    BK_OK, "is read");
	is_int(bk_buf_printf(&out, "1\n"), 0, "one ledger more");
	is_int(bk_chain_page_decode((struct bk_bytes){bk_buf_head(&out),
					bk_buf_len(&out)},
		   &p),
	    BK_EBADMETA, "is too much");
	bk_buf_fini(&out);
}

static void
names(void)
{
	static const struct {
		const char *name;
		bool valid;
	} cases[] = {
	    {"a", true},
	    {"my-log_2.old", true},
	    {"1a", true},
	    {"_", true},
	    {"gr\303\274n", true},
	    {"", false},
	    {"12", false},
	    {".a", false},
	    {"-a", false},
	    {"a/b", false},
	    {"a b", false},
	    {"a\n", false},
	    {"a:b", false},
	    {"gr\374n", false},
	    {"a\303", false},
	};
	struct bk_tree tree = {.root = "/a/ledgers"};
	char path[BK_PATH_MAX + 1], name[BK_NAME_MAX + 2];

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		ok(bk_name_valid(cases[i].name) == cases[i].valid,
		    "name %zu is one, or not", i);
	memset(name, 'n', sizeof(name));
	name[BK_NAME_MAX] = '\0';
	ok(bk_name_valid(name), "a name of %d bytes", BK_NAME_MAX);
	name[BK_NAME_MAX] = 'n';
	name[BK_NAME_MAX + 1] = '\0';
	ok(!bk_name_valid(name), "but no longer");
	is_int(bk_chain_root(&tree, path), 0, "ours has a root");
	is_str(path, "/a/ledgers-bk", "beside the ledgers'");
	is_int(bk_name_path(&tree, "n", path), 0, "a name has a path");
	is_str(path, "/a/ledgers-bk/names/n", "below it");
	is_int(bk_chain_page_path(&tree, 7, 12, path), 0, "so has a page");
	is_str(path, "/a/ledgers-bk/chains/7/p0000000012", "below its chain");
	is_int(bk_chain_holder_path(&tree, 7, path), 0, "and a holder");
	is_str(path, "/a/ledgers-bk/chains/7/holder", "too");
	memset(tree.root, 'r', BK_PATH_MAX - 100);
	is_int(bk_name_path(&tree, name, path), -1, "paths may be too long");
}

/* In the store. */

struct chains {
	struct fixture f;
	struct bk_chain_at at;
	struct bk_chain_page page;
};

static void
on_chain(void *arg, enum bk_status status, const struct bk_chain_at *at)
{
	struct chains *c = arg;

	if (at != NULL)
		c->at = *at;
	fixture_on_done(&c->f, status);
}

static void
on_page(void *arg, enum bk_status status, const struct bk_chain_page *page,
    int32_t version)
{
	struct chains *c = arg;

	(void)version;
	if (page != NULL)
		c->page = *page;
	fixture_on_done(&c->f, status);
}

static enum bk_status
make_name(struct chains *c, const char *name)
{
	static const struct bk_chain settings = {.id = 99,
	    .epoch = 99,
	    .count = 99,
	    .holder = "nobody",
	    .ensemble_size = 3,
	    .write_quorum = 2,
	    .ack_quorum = 2};

	bk_name_create(&c->f.tree, name, &settings, fixture_on_id, &c->f);
	return (fixture_wait(&c->f));
}

static enum bk_status
look_up(struct chains *c, const char *name)
{
	bk_name_lookup(&c->f.tree, name, fixture_on_id, &c->f);
	return (fixture_wait(&c->f));
}

static enum bk_status
read_chain(struct chains *c, int64_t id)
{
	bk_chain_read(&c->f.tree, id, BK_NO_WATCH, on_chain, c);
	return (fixture_wait(&c->f));
}

static enum bk_status
commit(struct chains *c, const struct bk_chain_at *next,
    const struct bk_meta_op *more, size_t nmore)
{
	struct bk_chain_at at = c->at;

	bk_chain_commit(&c->f.tree, &at, next, more, nmore, on_chain, c);
	return (fixture_wait(&c->f));
}

/* What a chain is to be with one ledger more. */
static struct bk_chain_at
appended(const struct chains *c, int64_t ledger)
{
	struct bk_chain_at next = c->at;

	if (next.chain.count % BK_CHAIN_PAGE == 0)
		next.last_page.n = 0;
	next.last_page.ledgers[next.last_page.n++] = ledger;
	next.chain.count++;
	return (next);
}

static void
making_names(void)
{
	struct chains c;

	fixture_init(&c.f);
	is_int(look_up(&c, "log"), BK_ENONODE, "no such name");
	is_int(make_name(&c, "log"), BK_OK, "it is made");
	is_int(look_up(&c, "log"), BK_OK, "now there is one");
	is_int(c.f.id, 0, "of the first chain");
	is_int(make_name(&c, "log"), BK_EEXIST, "it is not made twice");
	is_int(make_name(&c, "other"), BK_OK, "another one");
	is_int(c.f.id, 2, "has a chain of its own");
	is_int(read_chain(&c, 2), BK_OK, "which can be read");
	ok(c.at.chain.state == BK_CHAIN_WRITING && c.at.chain.epoch == 0 &&
		c.at.chain.count == 0 && c.at.chain.holder[0] == '\0' &&
		c.at.chain.write_quorum == 2,
	    "it is empty, with the settings it was given");
	is_int(c.at.page_version, -1, "and has no page");
	is_int(read_chain(&c, 3), BK_ENONODE, "one that is not there");
	mem_put(c.f.store, "/ledgers-bk/names/odd", "nonsense");
	is_int(look_up(&c, "odd"), BK_EBADMETA, "an unreadable name");
	mem_put(c.f.store, "/ledgers-bk/chains/5", "nonsense");
	is_int(read_chain(&c, 5), BK_EBADMETA, "an unreadable chain");
	mem_put(c.f.store, "/ledgers-bk/chains/5",
	    "bkchain 1\nid 6\nstate ended\n");
	is_int(read_chain(&c, 5), BK_EBADMETA, "one in the wrong place");
	mem_put(c.f.store, "/ledgers-bk/chains/3", "taken");
	is_int(make_name(&c, "third"), BK_OK, "ids that are taken");
	is_int(c.f.id, 4, "are passed over");
	fixture_fini(&c.f);
}

static void
making_names_with_losses(void)
{
	struct fixture_loss losses[] = {
	    {"multi", "", 2, {.fate = MEM_LOSE_REQUEST}},
	    {"multi", "", 1, {.fate = MEM_LOSE_ANSWER}},
	    {"create", "/names", 1, {.fate = MEM_LOSE_ANSWER}},
	    {"create", "/chains", 1, {.fate = MEM_LOSE_REQUEST}},
	};
	struct chains c;

	for (size_t i = 0; i < sizeof(losses) / sizeof(*losses); i++) {
		fixture_init(&c.f);
		if (i < 2) {
			mem_put(c.f.store, "/ledgers-bk/names", "");
			mem_put(c.f.store, "/ledgers-bk/chains", "");
		}
		fixture_lose(&c.f, &losses[i]);
		is_int(make_name(&c, "log"), BK_OK, "loss %zu is made good", i);
		is_int(look_up(&c, "log"), BK_OK, "there is a name");
		is_int(fixture_count(&c.f, "multi:create /ledgers-bk/chains/"),
		    1, "and one chain");
		fixture_fini(&c.f);
	}
}

static void
changing(void)
{
	struct bk_meta_op holder = {.kind = BK_OP_CREATE,
	    .path = "/ledgers-bk/chains/0/holder",
	    .node = BK_NODE_EPHEMERAL};
	struct bk_chain_at next;
	struct chains c;

	fixture_init(&c.f);
	is_int(make_name(&c, "log"), BK_OK, "a name");
	is_int(read_chain(&c, 0), BK_OK, "its chain");
	next = c.at;
	next.chain.epoch = 1;
	(void)strlcpy(next.chain.holder, "me", sizeof(next.chain.holder));
	is_int(commit(&c, &next, &holder, 1), BK_OK, "gets a holder");
	is_int(c.at.version, 1, "at its next version");
	is_int(c.at.page_version, -1, "still without a page");
	is_int(commit(&c, &c.at, &holder, 1), BK_EEXIST,
	    "what fails beside it fails all");
	next = appended(&c, 17);
	is_int(commit(&c, &next, NULL, 0), BK_OK, "a ledger");
	is_int(c.at.page_version, 0, "makes the first page");
	next = appended(&c, 18);
	is_int(commit(&c, &next, NULL, 0), BK_OK, "another one");
	is_int(c.at.page_version, 1, "is on the same page");
	fixture_clear(&c.f);
	is_int(commit(&c, &c.at, NULL, 0), BK_OK, "nothing new");
	is_int(c.f.ntrace, 0, "changes nothing");
	next = c.at;
	next.chain.state = BK_CHAIN_ENDED;
	is_int(commit(&c, &next, NULL, 0), BK_OK, "it ends");
	is_int(c.f.ntrace, 1, "which leaves the page alone");
	is_int(read_chain(&c, 0), BK_OK, "read back");
	ok(c.at.version == 4 && c.at.page_version == 1 &&
		c.at.chain.count == 2 && c.at.last_page.n == 2 &&
		c.at.last_page.ledgers[1] == 18 &&
		c.at.chain.state == BK_CHAIN_ENDED,
	    "it is as it was left");
	c.at.version--;
	next = appended(&c, 19);
	is_int(commit(&c, &next, NULL, 0), BK_EVERSION,
	    "who comes too late is refused");
	is_int(read_chain(&c, 0), BK_OK, "and reads again");
	is_int(c.at.chain.count, 2, "nothing was done");
	fixture_fini(&c.f);
}

static void
changes_that_are_refused(void)
{
	struct bk_meta_op more[BK_CHAIN_MORE + 1] = {0};
	struct bk_chain_at next;
	struct chains c;

	fixture_init(&c.f);
	is_int(make_name(&c, "log"), BK_OK, "a name");
	is_int(read_chain(&c, 0), BK_OK, "its chain");
	next = appended(&c, 17);
	is_int(commit(&c, &next, more, BK_CHAIN_MORE + 1), BK_EINVAL,
	    "too much beside it");
	next.chain.id = 1;
	is_int(commit(&c, &next, NULL, 0), BK_EINVAL, "another chain");
	next.chain.id = 0;
	next.chain.count = 2;
	is_int(commit(&c, &next, NULL, 0), BK_EINVAL, "a page too short");
	next.chain.count = BK_CHAIN_PAGE + 1;
	is_int(commit(&c, &next, NULL, 0), BK_EINVAL, "a page left out");
	next.chain.count = 1;
	(void)strlcpy(next.chain.holder, "\n", sizeof(next.chain.holder));
	is_int(commit(&c, &next, NULL, 0), BK_EINVAL, "a holder of lines");
	next.chain.holder[0] = '\0';
	is_int(commit(&c, &next, NULL, 0), BK_OK, "a good one");
	next = c.at;
	next.chain.count = 0;
	is_int(commit(&c, &next, NULL, 0), BK_EINVAL, "a step back");
	fixture_fini(&c.f);
}

static void
many_pages(void)
{
	struct bk_chain_at next;
	struct chains c;
	int bad = 0;

	fixture_init(&c.f);
	is_int(make_name(&c, "log"), BK_OK, "a name");
	is_int(read_chain(&c, 0), BK_OK, "its chain");
	for (int64_t i = 0; i < 2 * BK_CHAIN_PAGE + 5; i++) {
		next = appended(&c, 100 + i);
		bad += commit(&c, &next, NULL, 0) != BK_OK;
	}
	is_int(bad, 0, "%d ledgers", 2 * BK_CHAIN_PAGE + 5);
	is_int(read_chain(&c, 0), BK_OK, "read back");
	is_int(c.at.chain.count, 2 * BK_CHAIN_PAGE + 5, "all are there");
	is_int(c.at.last_page.n, 5, "five of them on the last page");
	bk_chain_page_read(&c.f.tree, 0, 1, on_page, &c);
	is_int(fixture_wait(&c.f), BK_OK, "the page before");
	ok(c.page.n == BK_CHAIN_PAGE && c.page.ledgers[0] == 1100, "is full");
	bk_chain_page_read(&c.f.tree, 0, 3, on_page, &c);
	is_int(fixture_wait(&c.f), BK_ENONODE, "there is no further one");
	fixture_fini(&c.f);
}

/* Someone appends between the reading of the record and that of its page. */
static struct mem_plan
plan_between(void *arg, const struct mem_call *call)
{
	struct chains *c = arg;

	if (strcmp(call->op, "get") == 0 && strstr(call->path, "/p") != NULL) {
		mem_store_plan(c->f.store, NULL, NULL);
		mem_put(c->f.store, "/ledgers-bk/chains/0",
		    "bkchain 1\nid 0\nstate ended\ncount 1001\n");
		mem_put(c->f.store, "/ledgers-bk/chains/0/p0000000001",
		    "bkpage 1\n1000\n");
		mem_remove(c->f.store, "/ledgers-bk/chains/0/p0000000000");
	}
	return ((struct mem_plan){.fate = MEM_DO});
}

static void
torn_reads(void)
{
	struct chains c;

	fixture_init(&c.f);
	mem_put(c.f.store, "/ledgers-bk/chains/0",
	    "bkchain 1\nid 0\nstate ended\ncount 1\n");
	is_int(read_chain(&c, 0), BK_EBADMETA, "a page that is missing");
	mem_put(c.f.store, "/ledgers-bk/chains/0/p0000000000", "bkpage 1\n");
	is_int(read_chain(&c, 0), BK_EBADMETA, "or too short");
	mem_put(c.f.store, "/ledgers-bk/chains/0/p0000000000",
	    "bkpage 1\n7\n8\n");
	is_int(read_chain(&c, 0), BK_OK, "one that is ahead");
	is_int(c.at.last_page.n, 1, "counts as far as the record says");
	mem_store_plan(c.f.store, plan_between, &c);
	is_int(read_chain(&c, 0), BK_OK, "a chain that moves on meanwhile");
	ok(c.at.chain.count == 1001 && c.at.last_page.ledgers[0] == 1000,
	    "is read as it became");
	fixture_fini(&c.f);
}

static void
lost_changes(void)
{
	struct fixture_loss loss = {"multi", "", 1, {.fate = MEM_LOSE_ANSWER}};
	struct bk_chain_at next;
	struct chains c;

	fixture_init(&c.f);
	is_int(make_name(&c, "log"), BK_OK, "a name");
	is_int(read_chain(&c, 0), BK_OK, "its chain");
	fixture_lose(&c.f, &loss);
	next = appended(&c, 17);
	is_int(commit(&c, &next, NULL, 0), BK_ESTORE, "a lost answer");
	is_int(read_chain(&c, 0), BK_OK, "who wants to know reads");
	is_int(c.at.chain.count, 1, "it was done");
	fixture_fini(&c.f);
}

int
main(void)
{
	records();
	records_that_are_refused();
	pages();
	names();
	making_names();
	making_names_with_losses();
	changing();
	changes_that_are_refused();
	many_pages();
	torn_reads();
	lost_changes();
	return (tap_done());
}
