/*
 * ledger_tree.c - ids, paths, layouts, records in the store and the walk over
 * them, over the store in memory: what Java leaves there step by step, and
 * lost answers and races at each of them.
 */
#include "t/lib/golden.h"
#include "t/lib/mem_fixture.h"
#include "t/unit/tap.h"

#include <bsd/string.h>
#include <stdlib.h>

/* Paths. */

static void
paths(void)
{
	static const struct {
		int64_t id;
		const char *flat, *hierarchical, *large;
	} cases[] = {
	    {0, "L0000000000", "00/0000/L0000", "000/0000/0000/0000/L0000"},
	    {123456789, "L0123456789", "01/2345/L6789",
		"000/0000/0001/2345/L6789"},
	    {2147483646, "L2147483646", "21/4748/L3646",
		"000/0000/0021/4748/L3646"},
	    {2147483647, "L2147483647", "000/0000/0021/4748/L3647",
		"000/0000/0021/4748/L3647"},
	    {INT64_C(4294967296), NULL, "000/0000/0042/9496/L7296",
		"000/0000/0042/9496/L7296"},
	    {INT64_MAX, NULL, "922/3372/0368/5477/L5807",
		"922/3372/0368/5477/L5807"},
	    {-1, NULL, NULL, NULL},
	};
	struct bk_tree tree = {.root = "/ledgers"};
	char path[BK_PATH_MAX + 1], want[BK_PATH_MAX + 1];
	const char *tail;
	int64_t id;

	for (size_t i = 0; i < 3 * sizeof(cases) / sizeof(*cases); i++) {
		tree.layout = i % 3 == 0 ? BK_LAYOUT_FLAT :
		    i % 3 == 1           ? BK_LAYOUT_HIERARCHICAL :
					   BK_LAYOUT_LONG;
		tail = i % 3 == 0 ? cases[i / 3].flat :
		    i % 3 == 1    ? cases[i / 3].hierarchical :
				    cases[i / 3].large;
		if (tail == NULL) {
			ok(bk_ledger_path(&tree, cases[i / 3].id, path) == -1,
			    "layout %d has no path for %" PRId64, tree.layout,
			    cases[i / 3].id);
			continue;
		}
		(void)snprintf(want, sizeof(want), "/ledgers/%s", tail);
		is_int(bk_ledger_path(&tree, cases[i / 3].id, path), 0,
		    "layout %d knows ledger %" PRId64, tree.layout,
		    cases[i / 3].id);
		is_str(path, want, "its path");
		ok(bk_ledger_path_parse(&tree, path, &id) == 0 &&
			id == cases[i / 3].id,
		    "and back");
	}
}

static void
paths_of_no_ledger(void)
{
	static const char *const texts[] = {
	    "",
	    "/ledgers",
	    "/ledgers/",
	    "/other/00/0000/L0000",
	    "/ledgers/00/0000",
	    "/ledgers/00/0000/0000",
	    "/ledgers/00/0000/L00000",
	    "/ledgers/00/0000/L000x",
	    "/ledgers/00/0000//L0000",
	    "/ledgers/L0000000000",
	    "/ledgers/000/0000/0000/0000/L0000",
	    "/ledgers/21/4748/L3647",
	    "/ledgers/999/9999/9999/9999/L9999",
	    "/ledgers/922/3372/0368/5477/L5808",
	    "/ledgers/00/0000/L0000000000000000000000000000000000000000000",
	};
	struct bk_tree tree = {.root = "/ledgers"};
	char path[BK_PATH_MAX + 1];
	int64_t id;

	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++)
		is_int(bk_ledger_path_parse(&tree, texts[i], &id), -1,
		    "\"%s\" is no ledger's path", texts[i]);
	memset(tree.root, 'r', BK_PATH_MAX);
	is_int(bk_ledger_path(&tree, 1, path), -1, "a path may be too long");
}

static void
layouts(void)
{
	static const struct {
		const char *text;
		int layout;
	} cases[] = {
	    {"2\norg.apache.bookkeeper.meta."
	     "HierarchicalLedgerManagerFactory:1",
		BK_LAYOUT_HIERARCHICAL},
	    {"2\norg.apache.bookkeeper.meta."
	     "LongHierarchicalLedgerManagerFactory:1",
		BK_LAYOUT_LONG},
	    {"2\norg.apache.bookkeeper.meta."
	     "LegacyHierarchicalLedgerManagerFactory:1",
		BK_LAYOUT_LEGACY},
	    {"2\norg.apache.bookkeeper.meta.FlatLedgerManagerFactory:1",
		BK_LAYOUT_FLAT},
	    {"2\norg.apache.bookkeeper.meta.FlatLedgerManagerFactory:1\n",
		BK_LAYOUT_FLAT},
	    {"1\nflat:1", BK_LAYOUT_FLAT},
	    {"1\nhierarchical:1", BK_LAYOUT_HIERARCHICAL},
	    {"", -1},
	    {"2", -1},
	    {"2\n", -1},
	    {"2\nflat:1", -1},
	    {"3\norg.apache.bookkeeper.meta.FlatLedgerManagerFactory:1", -1},
	    {"2\norg.apache.bookkeeper.meta.FlatLedgerManagerFactory:2", -1},
	    {"2\norg.apache.bookkeeper.meta.FlatLedgerManagerFactory", -1},
	    {"2\norg.apache.bookkeeper.meta.MSLedgerManagerFactory:1", -1},
	};
	enum bk_layout layout = BK_LAYOUT_FLAT;
	struct bk_bytes text;

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		text = (struct bk_bytes){(const uint8_t *)cases[i].text,
		    strlen(cases[i].text)};
		is_int(bk_layout_parse(text, &layout) == 0 ? (int)layout : -1,
		    cases[i].layout, "LAYOUT, case %zu", i);
	}
	for (int i = 0; i < 4; i++)
		is_str(bk_layout_text((enum bk_layout)i), cases[i].text,
		    "LAYOUT is written as Java writes it");
	ok(bk_layout_by_name("longhierarchical", &layout) == 0 &&
		layout == BK_LAYOUT_LONG,
	    "a layout by the name in a URI");
	is_int(bk_layout_by_name("legacyhierarchical", &layout), -1,
	    "one that has none");
}

/* The lines of metadata.txt from one that begins with start, up to an empty
 * one, without their readings. */
static size_t
golden_block(char **lines, const char *start, char **block, size_t max)
{
	size_t n = 0;
	char *reading;

	while (strncmp(*lines, start, strlen(start)) != 0)
		lines++;
	for (lines++; **lines != '\0' && n < max; lines++) {
		if ((reading = strstr(*lines, " # ")) != NULL)
			*reading = '\0';
		block[n++] = *lines;
	}
	return (n);
}

/* A cluster made anew. */

static void
cut_random_id(char *line)
{
	if (ok(line != NULL && strstr(line, "INSTANCEID ") != NULL,
		"the instance id's step"))
		*strrchr(line, ' ') = '\0';
}

static void
new_cluster(void)
{
	char **lines = golden_lines("peer/metadata.txt"), *block[8] = {NULL};
	struct fixture f;
	struct bk_bytes id;
	struct bk_node_stat stat;

	fixture_init(&f);
	bk_tree_init(&f.tree, fixture_on_done, &f);
	is_int(fixture_wait(&f), BK_OK, "a cluster is made");
	is_int(golden_block(lines, "# initnewcluster", block, 8), 5,
	    "Java does it in five steps");
	is_int(f.ntrace, 5, "so do we");
	cut_random_id(f.trace[3]);
	cut_random_id(block[3]);
	for (size_t i = 0; i < 5; i++)
		is_str(f.trace[i], block[i], "step %zu", i);
	ok(mem_get(f.store, "/ledgers/INSTANCEID", &id, &stat) &&
		id.len == 36 && id.data[14] == '4' && id.data[8] == '-',
	    "its instance id is a random UUID");
	bk_tree_init(&f.tree, fixture_on_done, &f);
	is_int(fixture_wait(&f), BK_EEXIST, "it is not made twice");
	fixture_fini(&f);
	golden_free(lines);
}

static void
new_cluster_below(void)
{
	struct fixture f;
	struct bk_node_stat stat;
	struct bk_bytes data;

	fixture_init(&f);
	(void)strlcpy(f.tree.root, "/a/b/ledgers", sizeof(f.tree.root));
	f.tree.layout = BK_LAYOUT_FLAT;
	bk_tree_init(&f.tree, fixture_on_done, &f);
	is_int(fixture_wait(&f), BK_OK, "a cluster is made with its parents");
	ok(mem_get(f.store, "/a/b/ledgers/LAYOUT", &data, &stat) &&
		data.len == strlen(bk_layout_text(BK_LAYOUT_FLAT)),
	    "in the layout asked for");
	fixture_fini(&f);
}

static void
new_cluster_with_losses(void)
{
	struct fixture_loss losses[] = {
	    {"multi", "", 1, {.fate = MEM_LOSE_REQUEST}},
	    {"multi", "", 1, {.fate = MEM_LOSE_ANSWER}},
	    {"multi", "", 3, {.fate = MEM_LOSE_REQUEST}},
	    {"create", "LAYOUT", 1, {.fate = MEM_LOSE_REQUEST}},
	    {"create", "LAYOUT", 1, {.fate = MEM_LOSE_ANSWER}},
	};
	struct fixture f;

	for (size_t i = 0; i < sizeof(losses) / sizeof(*losses); i++) {
		fixture_init(&f);
		fixture_lose(&f, &losses[i]);
		bk_tree_init(&f.tree, fixture_on_done, &f);
		is_int(fixture_wait(&f), BK_OK, "made in spite of loss %zu", i);
		is_int(f.ntrace, 5, "and only once");
		fixture_fini(&f);
	}
}

struct text_answer {
	struct fixture *f;
	char text[64];
};

static void
on_text(void *arg, enum bk_status status, const char *text)
{
	struct text_answer *a = arg;

	(void)strlcpy(a->text, text != NULL ? text : "", sizeof(a->text));
	fixture_on_done(a->f, status);
}

static enum bk_status
open_tree(struct fixture *f, const char *demanded)
{
	bk_tree_open(&f->tree, demanded, fixture_on_done, f);
	return (fixture_wait(f));
}

static void
opening(void)
{
	struct fixture f;
	struct text_answer instance = {&f, ""};
	struct bk_node_stat stat;
	struct bk_bytes data;

	fixture_init(&f);
	is_int(open_tree(&f, NULL), BK_ENONODE, "no cluster to open");
	mem_put(f.store, "/ledgers/available", "");
	is_int(open_tree(&f, "flat"), BK_OK, "one without LAYOUT is opened");
	ok(mem_get(f.store, "/ledgers/LAYOUT", &data, &stat), "LAYOUT is made");
	is_int(f.tree.layout, BK_LAYOUT_FLAT, "as demanded");
	is_int(open_tree(&f, NULL), BK_OK, "opened without a demand");
	is_int(f.tree.layout, BK_LAYOUT_FLAT, "it is what is there");
	is_int(open_tree(&f, "hierarchical"), BK_ECONFIG,
	    "another demand does not fit");
	is_int(open_tree(&f, "ms"), BK_ECONFIG, "nor one unknown");
	mem_put(f.store, "/ledgers/LAYOUT", "nonsense");
	is_int(open_tree(&f, NULL), BK_EBADMETA, "an unreadable LAYOUT");
	mem_remove(f.store, "/ledgers/LAYOUT");
	is_int(open_tree(&f, NULL), BK_OK, "again without LAYOUT");
	is_int(f.tree.layout, BK_LAYOUT_HIERARCHICAL, "the default is made");
	bk_tree_instance(&f.tree, on_text, &instance);
	is_int(fixture_wait(&f), BK_ENONODE, "there is no instance id");
	mem_put(f.store, "/ledgers/INSTANCEID", "some-id");
	bk_tree_instance(&f.tree, on_text, &instance);
	is_int(fixture_wait(&f), BK_OK, "there is one");
	is_str(instance.text, "some-id", "and it is read");
	fixture_fini(&f);
}

/* Ids. */

static int64_t
new_id(struct fixture *f)
{
	bk_ledger_new_id(&f->tree, fixture_on_id, f);
	return (fixture_wait(f) == BK_OK ? f->id : -(int64_t)f->status);
}

static void
ids_of_31_bits(void)
{
	struct fixture f;

	fixture_init(&f);
	mem_put(f.store, "/ledgers/LAYOUT", "");
	for (int64_t i = 0; i < 3; i++)
		is_int(new_id(&f), i, "ids are numbered");
	mem_store_run(f.store);
	is_int(fixture_count(&f, "create /ledgers/idgen/ID-"), 3,
	    "below idgen");
	is_int(fixture_count(&f, "delete /ledgers/idgen/ID-"), 3,
	    "and nothing stays");
	f.tree.layout = BK_LAYOUT_FLAT;
	is_int(new_id(&f), 2, "flat ids count the root's other children");
	f.tree.layout = BK_LAYOUT_LEGACY;
	is_int(new_id(&f), 3, "legacy ones are below idgen too");
	mem_set_sequence(f.store, "/ledgers/idgen", 2147483647);
	is_int(new_id(&f), -(int)BK_ETOOBIG, "and end at 2^31 - 1");
	fixture_fini(&f);
}

static void
ids_of_63_bits(void)
{
	static const int64_t first = INT64_C(1) << 32;
	struct fixture f;
	struct bk_node_stat stat;
	struct bk_bytes data;

	fixture_init(&f);
	mem_put(f.store, "/ledgers/idgen", "");
	mem_set_sequence(f.store, "/ledgers/idgen", 2147483646);
	is_int(new_id(&f), 2147483646, "the last id of 31 bits");
	is_int(new_id(&f), first, "the first one after that");
	ok(mem_get(f.store, "/ledgers/idgen-long/HOB-0000000001", &data, &stat),
	    "its upper half is 1");
	is_int(new_id(&f), first + 1, "the next one");
	mem_set_sequence(f.store, "/ledgers/idgen-long/HOB-0000000001",
	    INT32_MAX);
	is_int(new_id(&f), 2 * first, "the upper half is raised");
	mem_put(f.store, "/ledgers/idgen-long/HOB-0000000007", "");
	mem_put(f.store, "/ledgers/idgen-long/HOB-0000000008", "");
	mem_put(f.store, "/ledgers/idgen-long/HOB-0000000008/x", "");
	mem_put(f.store, "/ledgers/idgen-long/HOB-0000000009", "");
	is_int(new_id(&f), 9 * first, "the highest one counts");
	mem_store_run(f.store);
	is_int(fixture_count(&f, "delete /ledgers/idgen-long/HOB-0000000001 "),
	    1, "the old ones are cleared");
	ok(mem_get(f.store, "/ledgers/idgen-long/HOB-0000000007", &data, &stat),
	    "three are kept");
	mem_put(f.store, "/ledgers/idgen-long/HOB-2147483647", "");
	mem_set_sequence(f.store, "/ledgers/idgen-long/HOB-2147483647",
	    INT32_MAX);
	is_int(new_id(&f), -(int)BK_ETOOBIG, "63 bits end, too");
	fixture_fini(&f);
}

static void
ids_with_losses(void)
{
	struct fixture_loss loss = {"create", "/ID-", 2,
	    {.fate = MEM_LOSE_ANSWER}};
	struct fixture f;

	fixture_init(&f);
	mem_put(f.store, "/ledgers/idgen", "");
	fixture_lose(&f, &loss);
	is_int(new_id(&f), 2, "a number whose answer is lost is skipped");
	loss.times = 1000;
	is_int(new_id(&f), -(int)BK_ESTORE, "patience ends");
	fixture_fini(&f);
}

/* Records. */

static void
make_record(struct bk_ledger_meta *m, const char *bookie)
{
	const char *const bookies[] = {bookie};

	bk_ledger_meta_init(m);
	m->ensemble_size = m->write_quorum = m->ack_quorum = 1;
	if (bk_ledger_meta_append(m, 0, bookies) != 0)
		ok(false, "a record");
}

static enum bk_status
create(struct fixture *f, int64_t id)
{
	struct bk_ledger_meta m;

	make_record(&m, "127.0.0.1:3281");
	bk_ledger_create_node(&f->tree, id, &m, fixture_on_id, f);
	bk_ledger_meta_fini(&m);
	return (fixture_wait(f));
}

static void
creating(void)
{
	struct fixture f;

	fixture_init(&f);
	is_int(create(&f, -1), BK_OK, "a ledger with a new id");
	is_int(f.id, 0, "is the first");
	is_int(create(&f, 1), BK_OK, "one with a chosen id");
	is_int(create(&f, 1), BK_EEXIST, "which can be chosen once");
	is_int(create(&f, -1), BK_OK, "a new id that is taken");
	is_int(f.id, 2, "is passed over");
	is_int(create(&f, INT64_MAX), BK_OK, "the highest id");
	is_int(create(&f, -2), BK_EINVAL, "negative ones are none");
	bk_ledger_read(&f.tree, INT64_MAX, BK_NO_WATCH, fixture_on_meta, &f);
	is_int(fixture_wait(&f), BK_OK, "it can be read");
	ok(f.m.ctoken > 0, "and carries a token");
	is_int(f.version, 0, "at version 0");
	bk_ledger_read(&f.tree, 77, BK_NO_WATCH, fixture_on_meta, &f);
	is_int(fixture_wait(&f), BK_ENOLEDGER, "one that is not there");
	mem_put(f.store, "/ledgers/00/0000/L0077", "nonsense");
	bk_ledger_read(&f.tree, 77, BK_NO_WATCH, fixture_on_meta, &f);
	is_int(fixture_wait(&f), BK_EBADMETA, "one that is unreadable");
	fixture_fini(&f);
}

static void
creating_with_losses(void)
{
	static const int64_t ids[] = {-1, 5};
	struct fixture_loss losses[] = {
	    {"create", "/L", 1, {.fate = MEM_LOSE_REQUEST}},
	    {"create", "/L", 1, {.fate = MEM_LOSE_ANSWER}},
	    {"create", "/L", 1, {.refuse = BK_ESESSION}},
	    {"create", "/00", 4, {.fate = MEM_LOSE_ANSWER}},
	};
	struct fixture f;

	for (size_t i = 0; i < 2 * sizeof(losses) / sizeof(*losses); i++) {
		struct fixture_loss loss = losses[i / 2];

		fixture_init(&f);
		fixture_lose(&f, &loss);
		is_int(create(&f, ids[i % 2]), BK_OK,
		    "made in spite of loss %zu", i);
		is_int(fixture_count(&f, "create /ledgers/00/0000/L"), 1,
		    "and only once");
		fixture_fini(&f);
	}
}

static void
creating_without_a_store(void)
{
	struct fixture_loss loss = {"create", "/L", 1000,
	    {.fate = MEM_LOSE_REQUEST}};
	struct fixture f;
	int64_t began;

	fixture_init(&f);
	fixture_lose(&f, &loss);
	f.tree.patience = 5 * BK_SECOND;
	began = bk_meta_now(f.tree.meta);
	is_int(create(&f, 9), BK_ESTORE, "a store that is away");
	began = bk_meta_now(f.tree.meta) - began;
	ok(began >= 5 * BK_SECOND && began < 7 * BK_SECOND,
	    "is tried for as long as the tree is patient");
	fixture_fini(&f);
}

/* Updates. */

struct want {
	struct fixture *f;
	int asked;
	enum bk_ledger_state state; /* wanted */
	int64_t last;
	int32_t interfere; /* times another client is faster */
};

static enum bk_update
decide(void *arg, struct bk_ledger_meta *m, enum bk_status *status)
{
	struct want *w = arg;
	struct bk_node_stat stat;
	struct bk_bytes data;
	char *text;

	w->asked++;
	if (m->state == w->state)
		return (BK_UPDATE_DONE);
	if (m->state == BK_LEDGER_CLOSED) {
		*status = BK_ECLOSED;
		return (BK_UPDATE_STOP);
	}
	if (w->interfere-- > 0) {
		/* The same text again, at a higher version. */
		(void)mem_get(w->f->store, "/ledgers/00/0000/L0000", &data,
		    &stat);
		text = strndup((const char *)data.data, data.len);
		mem_put(w->f->store, "/ledgers/00/0000/L0000", text);
		free(text);
	}
	m->state = w->state;
	m->last_entry = w->last;
	return (BK_UPDATE_WRITE);
}

static void
on_updated(void *arg, enum bk_status status, const struct bk_ledger_meta *m,
    int32_t version)
{
	struct want *w = arg;

	fixture_on_meta(w->f, status, m, version);
}

static enum bk_status
update(struct want *w, const struct bk_ledger_meta *m, int32_t version)
{
	w->asked = 0;
	bk_ledger_update(&w->f->tree, 0, m, version, decide, on_updated, w);
	return (fixture_wait(w->f));
}

static void
updating(void)
{
	struct fixture f;
	struct want w = {&f, 0, BK_LEDGER_IN_RECOVERY, -1, 0};
	struct bk_ledger_meta first;

	fixture_init(&f);
	is_int(update(&w, NULL, 0), BK_ENOLEDGER, "nothing to update");
	is_int(create(&f, 0), BK_OK, "a ledger");
	is_int(update(&w, NULL, 0), BK_OK, "read and changed");
	is_int(f.m.state, BK_LEDGER_IN_RECOVERY, "to what was wanted");
	is_int(f.m.ctoken, 0, "without its token");
	is_int(f.version, 1, "at the next version");
	is_int(update(&w, NULL, 0), BK_OK, "changed to what it is");
	is_int(f.version, 1, "it stays");
	(void)bk_ledger_meta_copy(&first, &f.m);
	w.state = BK_LEDGER_CLOSED;
	w.last = 7;
	is_int(update(&w, &first, 1), BK_OK, "changed as it is known");
	is_int(w.asked, 1, "at the first attempt");
	is_int(f.m.last_entry, 7, "to its end");
	w.last = 8;
	is_int(update(&w, &first, 1), BK_OK, "changed from an old state");
	is_int(w.asked, 2, "it is read again");
	is_int(f.m.last_entry, 7, "and what is found counts");
	is_int(f.version, 2, "with its version");
	w.state = BK_LEDGER_OPEN;
	is_int(update(&w, NULL, 0), BK_ECLOSED, "a change that is refused");
	is_int(f.m.state, BK_LEDGER_CLOSED, "comes with the reason");
	bk_ledger_meta_fini(&first);
	fixture_fini(&f);
}

static void
updating_in_a_race(void)
{
	struct fixture f;
	struct want w = {&f, 0, BK_LEDGER_CLOSED, 3, 50};
	struct bk_ledger_meta m;

	fixture_init(&f);
	/* The one who interferes copies text, so it is format 1. */
	make_record(&m, "b");
	m.format = 1;
	bk_ledger_create_node(&f.tree, 0, &m, fixture_on_id, &f);
	bk_ledger_meta_fini(&m);
	is_int(fixture_wait(&f), BK_OK, "a ledger");
	is_int(update(&w, NULL, 0), BK_OK, "a race may be lost often");
	is_int(w.asked, 51, "as often as it takes");
	is_int(f.version, 51, "and is won in the end");
	is_int(f.m.format, 1, "the format stays");
	fixture_fini(&f);
}

static void
updating_with_losses(void)
{
	struct fixture_loss losses[] = {
	    {"set", "/L", 1, {.fate = MEM_LOSE_REQUEST}},
	    {"set", "/L", 1, {.fate = MEM_LOSE_ANSWER}},
	    {"set", "/L", 2, {.refuse = BK_ESESSION}},
	    {"set", "/L", 1000, {.fate = MEM_LOSE_REQUEST}},
	};
	struct fixture f;
	struct want w = {&f, 0, BK_LEDGER_CLOSED, 3, 0};

	for (size_t i = 0; i < sizeof(losses) / sizeof(*losses); i++) {
		fixture_init(&f);
		is_int(create(&f, 0), BK_OK, "a ledger");
		fixture_lose(&f, &losses[i]);
		is_int(update(&w, NULL, 0), i < 3 ? BK_OK : BK_ESTORE,
		    "loss %zu", i);
		is_int(fixture_count(&f, "set:"), i < 3, "written once");
		if (i < 3)
			is_int(f.version, 1, "the version is known");
		fixture_fini(&f);
	}
}

/* Removal. */

static enum bk_status
remove_ledger(struct fixture *f, int64_t id)
{
	bk_ledger_remove(&f->tree, id, fixture_on_done, f);
	return (fixture_wait(f));
}

static void
removing(void)
{
	static const char *const steps[] = {
	    "delete /ledgers/922/3372/0368/5477/L5807 - -",
	    "delete /ledgers/922/3372/0368/5477 - -",
	    "delete /ledgers/922/3372/0368 - -",
	    "delete /ledgers/922/3372 - -",
	    "delete /ledgers/922 - -",
	};
	struct fixture_loss loss = {"remove", "/L", 2,
	    {.fate = MEM_LOSE_ANSWER}};
	struct fixture f;

	fixture_init(&f);
	mem_put(f.store, "/ledgers/LAYOUT", "");
	is_int(create(&f, INT64_MAX), BK_OK, "a ledger");
	fixture_clear(&f);
	is_int(remove_ledger(&f, INT64_MAX), BK_OK, "is deleted");
	is_int(f.ntrace, 5, "with its directories");
	for (size_t i = 0; i < 5 && i < f.ntrace; i++)
		is_str(f.trace[i], steps[i], "as Java does it");
	is_int(remove_ledger(&f, INT64_MAX), BK_OK, "once more");
	is_int(remove_ledger(&f, -5), BK_EINVAL, "one that cannot be");
	is_int(create(&f, 10000), BK_OK, "a ledger");
	is_int(create(&f, 10001), BK_OK, "and its neighbour");
	fixture_clear(&f);
	fixture_lose(&f, &loss);
	is_int(remove_ledger(&f, 10000), BK_OK, "deleted after losses");
	is_int(f.ntrace, 1, "the neighbour's directories stay");
	f.tree.layout = BK_LAYOUT_LEGACY;
	is_int(remove_ledger(&f, 10001), BK_OK, "in the legacy layout");
	is_int(f.ntrace, 2, "directories always stay");
	fixture_fini(&f);
}

/* The walk. */

struct seen {
	struct fixture *f;
	int64_t ids[16];
	size_t n;
	size_t stop;
	const char *prune; /* removed at the first ledger */
};

static bool
on_ledger(void *arg, int64_t id)
{
	struct seen *s = arg;

	if (s->prune != NULL && s->n == 0)
		mem_remove(s->f->store, s->prune);
	if (s->n < sizeof(s->ids) / sizeof(*s->ids))
		s->ids[s->n] = id;
	s->n++;
	return (s->n != s->stop);
}

static void
on_walked(void *arg, enum bk_status status)
{
	struct seen *s = arg;

	fixture_on_done(s->f, status);
}

static enum bk_status
walk(struct seen *s)
{
	s->n = 0;
	bk_ledger_walk(&s->f->tree, on_ledger, on_walked, s);
	return (fixture_wait(s->f));
}

static void
walking(void)
{
	static const int64_t ids[] = {0, 9999, 10000, 123456789, 2147483646,
	    2147483647, INT64_C(4294967296), INT64_MAX};
	struct fixture f;
	struct seen s = {.f = &f};
	size_t n = sizeof(ids) / sizeof(*ids);

	fixture_init(&f);
	is_int(walk(&s), BK_ENONODE, "no cluster to walk over");
	bk_tree_init(&f.tree, fixture_on_done, &f);
	is_int(fixture_wait(&f), BK_OK, "a cluster");
	is_int(walk(&s), BK_OK, "an empty one");
	is_int(s.n, 0, "has no ledgers");
	for (size_t i = n; i-- > 0;)
		is_int(create(&f, ids[i]), BK_OK, "a ledger");
	mem_put(f.store, "/ledgers/idgen", "");
	mem_put(f.store, "/ledgers/underreplication/ledgers/0000", "");
	mem_put(f.store, "/ledgers/disableHealthCheck", "");
	mem_put(f.store, "/ledgers/00/0000/other", "");
	mem_put(f.store, "/ledgers/00/0000/L00001", "");
	mem_put(f.store, "/ledgers/00/x/L0001", "");
	mem_put(f.store, "/ledgers/00/0007", "");
	mem_put(f.store, "/ledgers/99/9999/L9999", "");
	mem_put(f.store, "/ledgers/000/0000/0000/0000/L0003", "");
	mem_put(f.store, "/ledgers/999/9999/9999/9999/L9999", "");
	is_int(walk(&s), BK_OK, "walked over");
	is_mem(s.ids, s.n * sizeof(*ids), ids, sizeof(ids),
	    "all ledgers in order, and nothing else");
	s.stop = 3;
	is_int(walk(&s), BK_ECANCELED, "a walk can be stopped");
	is_int(s.n, 3, "at once");
	s.stop = 0;
	s.prune = "/ledgers/01/2345/L6789";
	is_int(walk(&s), BK_OK, "a directory may be emptied meanwhile");
	mem_remove(f.store, "/ledgers/01/2345");
	s.prune = "/ledgers/01";
	is_int(walk(&s), BK_OK, "or pruned");
	is_int(s.n, n - 1, "the others are all there");
	fixture_fini(&f);
}

static void
walking_with_errors(void)
{
	struct fixture_loss losses[] = {
	    {"children", "/00/0001", 1, {.refuse = BK_ESTORE}},
	    {"children", "/00", 1, {.refuse = BK_EACCESS}},
	    {"children", "/ledgers", 1, {.refuse = BK_ESTORE}},
	    {"sync", "/ledgers", 1, {.refuse = BK_ESTORE}},
	    {"children", "/00/0001", 1, {.refuse = BK_ENONODE}},
	};
	struct fixture f;
	struct seen s = {.f = &f};

	fixture_init(&f);
	is_int(create(&f, 1), BK_OK, "a ledger");
	is_int(create(&f, 10001), BK_OK, "another one");
	for (size_t i = 0; i < sizeof(losses) / sizeof(*losses); i++) {
		fixture_lose(&f, &losses[i]);
		is_int(walk(&s), i < 4 ? losses[i].plan.refuse : BK_OK,
		    "error %zu ends the walk, or not", i);
	}
	fixture_fini(&f);
}

static void
walking_other_layouts(void)
{
	static const enum bk_layout kinds[] = {BK_LAYOUT_LONG, BK_LAYOUT_LEGACY,
	    BK_LAYOUT_FLAT};
	static const int64_t ids[] = {1, 20000, 2147483647};
	struct fixture f;
	struct seen s = {.f = &f};

	for (size_t i = 0; i < 3; i++) {
		fixture_init(&f);
		f.tree.layout = kinds[i];
		for (size_t j = 0; j < 3; j++)
			is_int(create(&f, ids[j]), BK_OK, "a ledger");
		is_int(walk(&s), BK_OK, "layout %d is walked over", kinds[i]);
		is_mem(s.ids, s.n * sizeof(*ids), ids, sizeof(ids),
		    "all of it in order");
		fixture_fini(&f);
	}
}

/* A store that is closed answers what is outstanding. */
static void
closing(void)
{
	struct fixture f;
	struct seen s = {.f = &f};
	struct want w = {.f = &f};
	struct bk_ledger_meta m;

	fixture_init(&f);
	make_record(&m, "b");
	bk_ledger_create_node(&f.tree, -1, &m, fixture_on_id, &f);
	bk_meta_close(f.tree.meta);
	is_int(f.status, BK_ECANCELED, "a create is given up");
	f.tree = fixture_tree(&f);
	bk_ledger_walk(&f.tree, on_ledger, on_walked, &s);
	bk_meta_close(f.tree.meta);
	is_int(f.status, BK_ECANCELED, "so is a walk");
	f.tree = fixture_tree(&f);
	bk_ledger_update(&f.tree, 0, &m, 0, decide, on_updated, &w);
	bk_meta_close(f.tree.meta);
	is_int(f.status, BK_ECANCELED, "and an update");
	f.tree = fixture_tree(&f);
	bk_ledger_meta_fini(&m);
	fixture_fini(&f);
}

int
main(void)
{
	paths();
	paths_of_no_ledger();
	layouts();
	new_cluster();
	new_cluster_below();
	new_cluster_with_losses();
	opening();
	ids_of_31_bits();
	ids_of_63_bits();
	ids_with_losses();
	creating();
	creating_with_losses();
	creating_without_a_store();
	updating();
	updating_in_a_race();
	updating_with_losses();
	removing();
	walking();
	walking_with_errors();
	walking_other_layouts();
	closing();
	return (tap_done());
}
