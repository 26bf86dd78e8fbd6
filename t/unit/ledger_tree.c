/*
 * ledger_tree.c - paths, layouts, and clusters made and opened, over the store
 * in memory.
 */
#include "t/lib/golden.h"
#include "t/lib/mem_fixture.h"
#include "t/unit/tap.h"

#include <bsd/string.h>

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
	return (tap_done());
}
