/*
 * cookie.c - cookies as Java writes them, as old ones are, what matches, and
 * their nodes.
 */
#include "meta/registry.h"
#include "t/lib/golden.h"
#include "t/lib/mem_fixture.h"
#include "t/unit/tap.h"

#include <stdlib.h>

static struct bk_bytes
text_bytes(const char *text)
{
	return ((struct bk_bytes){(const uint8_t *)text, strlen(text)});
}

static const char example[] =
    "5\n"
    "bookieHost: \"10.0.0.1:3181\"\n"
    "journalDir: \"/data/j1,/data/j2\"\n"
    "ledgerDirs: \"2\\t/data/l1\\t/data/l2\"\n"
    "instanceId: \"3d2a0c4e-5b5c-4b0e-9d0b-8c1e6f7a9b10\"\n"
    "indexDirs: \"1\\t/data/i1\"\n";

static void
encodes_to(const struct bk_cookie *c, const void *want, size_t len,
    const char *what)
{
	struct bk_buf out;

	bk_buf_init(&out);
	is_int(bk_cookie_encode(c, &out), 0, "%s can be written", what);
	is_mem(bk_buf_head(&out), bk_buf_len(&out), want, len,
	    "%s is written to the same bytes", what);
	bk_buf_fini(&out);
}

static void
the_example(void)
{
	struct bk_cookie c;

	is_int(strlen(example), 174, "the specification's example");
	is_int(bk_cookie_decode(text_bytes(example), &c), BK_OK, "is read");
	is_int(c.layout_version, 5, "version");
	is_str(c.bookie_id, "10.0.0.1:3181", "bookie id");
	is_str(c.journal_dirs, "/data/j1,/data/j2", "journals");
	is_str(c.ledger_dirs, "2\t/data/l1\t/data/l2", "ledgers");
	is_str(c.index_dirs, "1\t/data/i1", "indexes");
	is_str(c.instance_id, "3d2a0c4e-5b5c-4b0e-9d0b-8c1e6f7a9b10",
	    "cluster");
	encodes_to(&c, example, strlen(example), "the example");
	bk_cookie_fini(&c);
}

static void
what_java_wrote(void)
{
	char **lines = golden_lines("peer/metadata.txt"), hex[2000], path[200];
	struct bk_cookie c;
	uint8_t *bytes;
	size_t len, n = 0;

	for (char **line = lines; *line != NULL; line++) {
		if (sscanf(*line,
			"create /ledgers/cookies/%199s persistent "
			"%1999[0-9a-f]",
			path, hex) != 2)
			continue;
		bytes = golden_bytes(hex, &len);
		is_int(bk_cookie_decode((struct bk_bytes){bytes, len}, &c),
		    BK_OK, "%s as Java wrote it can be read", path);
		is_str(c.bookie_id, path, "its bookie id");
		encodes_to(&c, bytes, len, path);
		bk_cookie_fini(&c);
		free(bytes);
		n++;
	}
	is_int(n, 2, "cookies in metadata.txt");
	golden_free(lines);
}

static void
older_and_odd_ones(void)
{
	static const struct {
		const char *text;
		enum bk_status status;
	} cases[] = {
	    {"3\nb:1\n/j\n1\t/l\n", BK_OK},
	    {"3\nb:1\n/j\n1\t/l", BK_OK},
	    {"3\nb:1\n/j\n", BK_EBADMETA},
	    {"3\nb:1\n\n1\t/l\n", BK_EBADMETA},
	    {"4\nbookieHost:'b:1' ledgerDirs:'1\\t/l' journalDir:'/j'", BK_OK},
	    {"5\nbookieHost:'b:1' ledgerDirs:'1\\t/l'", BK_EBADMETA},
	    {"5\nbookieHost:'b:1' ledgerDirs:'1\\t/l' journalDir:'/j' new:'x'",
		BK_EBADMETA},
	    {"5\nbookieHost:'b\\000' ledgerDirs:'1\\t/l' journalDir:'/j'",
		BK_EBADMETA},
	    {"2\nb:1\n/j\n1\t/l\n", BK_EBADMETA},
	    {"five\nbookieHost:'b:1'", BK_EBADMETA},
	    {"5555555555555\nbookieHost:'b:1'", BK_EBADMETA},
	    {"5", BK_EBADMETA},
	    {"\n", BK_EBADMETA},
	    {"", BK_EBADMETA},
	};
	struct bk_cookie c;

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		is_int(bk_cookie_decode(text_bytes(cases[i].text), &c),
		    cases[i].status, "cookie %zu", i);
		if (cases[i].status != BK_OK)
			continue;
		ok(strcmp(c.bookie_id, "b:1") == 0 &&
			strcmp(c.journal_dirs, "/j") == 0 &&
			strcmp(c.ledger_dirs, "1\t/l") == 0 &&
			c.index_dirs == NULL && c.instance_id == NULL,
		    "says what it should");
		bk_cookie_fini(&c);
	}
}

static void
matching(void)
{
	char id[] = "b", other[] = "x", dirs[] = "1\t/l";
	struct bk_cookie ours = {5, id, id, dirs, NULL, id};
	struct bk_cookie stored = ours;
	const char *why;

	ok(bk_cookie_matches(&stored, &ours, &why) && why == NULL,
	    "a cookie matches itself");
	stored.layout_version = 4;
	stored.index_dirs = dirs;
	ok(bk_cookie_matches(&stored, &ours, &why),
	    "index directories default to the ledgers'");
	stored.index_dirs = other;
	ok(!bk_cookie_matches(&stored, &ours, &why), "others differ");
	is_str(why, "index directories", "and are named");
	stored.ledger_dirs = other;
	ok(!bk_cookie_matches(&stored, &ours, &why), "ledgers differ");
	is_str(why, "ledger directories", "and are named");
	stored.journal_dirs = other;
	ok(!bk_cookie_matches(&stored, &ours, &why), "journals differ");
	is_str(why, "journal directories", "and are named");
	stored.bookie_id = other;
	ok(!bk_cookie_matches(&stored, &ours, &why), "bookies differ");
	is_str(why, "bookie id", "and are named");
	stored.instance_id = NULL;
	ok(!bk_cookie_matches(&stored, &ours, &why), "clusters differ");
	is_str(why, "instance id", "and are named first");
	ours = stored;
	ok(bk_cookie_matches(&stored, &ours, &why), "both may have none");
}

static enum bk_status
create(struct fixture *f, const char *text)
{
	bk_cookie_create(&f->tree, "b:1", text_bytes(text), fixture_on_done, f);
	return (fixture_wait(f));
}

static void
nodes(void)
{
	struct fixture_loss losses[] = {
	    {"create", "/b:1", 1, {.fate = MEM_LOSE_REQUEST}},
	    {"create", "/b:1", 2, {.fate = MEM_LOSE_ANSWER}},
	    {"create", "/b:1", 1, {.refuse = BK_EACCESS}},
	};
	struct fixture f;

	fixture_init(&f);
	bk_cookie_read(&f.tree, "b:1", fixture_on_reply, &f);
	is_int(fixture_wait(&f), BK_ENONODE, "no cookie yet");
	is_int(create(&f, "text"), BK_OK, "one is made");
	is_int(fixture_count(&f, "create /ledgers/cookies persistent -"), 1,
	    "and the list");
	is_int(create(&f, "text"), BK_EEXIST, "but not twice");
	bk_cookie_read(&f.tree, "b:1", fixture_on_reply, &f);
	is_int(fixture_wait(&f), BK_OK, "it is read");
	fixture_fini(&f);
	for (size_t i = 0; i < 3; i++) {
		fixture_init(&f);
		fixture_lose(&f, &losses[i]);
		is_int(create(&f, "text"), i < 2 ? BK_OK : BK_EACCESS,
		    "made after loss %zu, or not", i);
		fixture_fini(&f);
	}
	losses[0].times = 1;
	fixture_init(&f);
	mem_put(f.store, "/ledgers/cookies/b:1", "another");
	fixture_lose(&f, &losses[0]);
	is_int(create(&f, "text"), BK_EEXIST, "another's is not ours");
	fixture_fini(&f);
}

int
main(void)
{
	the_example();
	what_java_wrote();
	older_and_odd_ones();
	matching();
	nodes();
	return (tap_done());
}
