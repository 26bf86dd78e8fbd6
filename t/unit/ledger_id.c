/*
 * ledger_id.c - new ids, over the store in memory: step by step as Java draws
 * them, up to their end, and with lost answers.
 */
#include "t/lib/golden.h"
#include "t/lib/mem_fixture.h"
#include "t/unit/tap.h"

#include <bsd/string.h>
#include <stdlib.h>

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

/* What Java did, as far as ids and paths go: lines "op path kind", without
 * values, and without a ledger's later changes. */
struct steps {
	char *lines[100];
	size_t n;
};

static int
line_cmp(const void *a, const void *b)
{
	return (strcmp(*(char *const *)a, *(char *const *)b));
}

static void
take_steps(struct steps *s, char **lines, size_t n)
{
	char *line, *value;

	s->n = 0;
	for (size_t i = 0; i < n; i++) {
		line = lines[i];
		if (strncmp(line, "create ", 7) != 0 &&
		    strncmp(line, "delete ", 7) != 0)
			continue;
		if (strstr(line, "/LAYOUT") != NULL ||
		    strstr(line, "/available/") != NULL)
			continue;
		if ((value = strrchr(line, ' ')) != NULL)
			*value = '\0';
		s->lines[s->n++] = line;
	}
}

static void
same_steps(struct steps *ours, struct steps *java)
{
	is_int(ours->n, java->n, "as many steps as Java");
	for (size_t i = 0; i < ours->n && i < java->n; i++)
		is_str(ours->lines[i], java->lines[i], "step %zu", i);
}

/* Java does not wait until its number's node is deleted, so the order among
 * the steps may differ. */
static void
generated_as_java_does(void)
{
	static const struct {
		const char *start, *root, *before;
		enum bk_layout layout;
	} cases[] = {
	    {"# generated ids, flat", "/Lflat", NULL, BK_LAYOUT_FLAT},
	    {"# generated ids, longh", "/Llonghierarchical", NULL,
		BK_LAYOUT_LONG},
	    {"# generated ids, hierarchical with", "/Lhierarchical",
		"/Lhierarchical/idgen-long", BK_LAYOUT_HIERARCHICAL},
	};
	char **lines = golden_lines("peer/metadata.txt"), *block[100] = {NULL};
	struct steps ours, java;
	struct fixture f;

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		fixture_init(&f);
		(void)strlcpy(f.tree.root, cases[i].root, BK_PATH_MAX);
		f.tree.layout = cases[i].layout;
		bk_tree_init(&f.tree, fixture_on_done, &f);
		is_int(fixture_wait(&f), BK_OK, "%s", cases[i].root);
		if (cases[i].before != NULL)
			mem_put(f.store, cases[i].before, "");
		for (int n = 0; n < 3; n++)
			is_int(fixture_create(&f, -1), BK_OK, "a ledger");
		mem_store_run(f.store);
		take_steps(&ours, f.trace, f.ntrace);
		take_steps(&java, block,
		    golden_block(lines, cases[i].start, block, 100));
		qsort(ours.lines, ours.n, sizeof(char *), line_cmp);
		qsort(java.lines, java.n, sizeof(char *), line_cmp);
		same_steps(&ours, &java);
		fixture_fini(&f);
	}
	golden_free(lines);
}

static void
chosen_as_java_does(void)
{
	static const int64_t chosen[] = {123456789, 2147483646, 2147483647,
	    INT64_C(4294967295), INT64_C(4294967296), INT64_MAX};
	char **lines = golden_lines("peer/metadata.txt"), *block[100] = {NULL};
	struct steps ours, java;
	struct fixture f;

	fixture_init(&f);
	mem_put(f.store, "/ledgers/LAYOUT", "");
	fixture_clear(&f);
	for (size_t i = 0; i < sizeof(chosen) / sizeof(*chosen); i++)
		is_int(fixture_create(&f, chosen[i]), BK_OK, "a ledger");
	bk_ledger_remove(&f.tree, INT64_MAX, fixture_on_done, &f);
	is_int(fixture_wait(&f), BK_OK, "the last is deleted");
	bk_ledger_remove(&f.tree, chosen[0], fixture_on_done, &f);
	is_int(fixture_wait(&f), BK_OK, "and the first");
	take_steps(&ours, f.trace, f.ntrace);
	take_steps(&java, block,
	    golden_block(lines, "# chosen ids", block, 100));
	same_steps(&ours, &java);
	fixture_fini(&f);
	golden_free(lines);
}

int
main(void)
{
	ids_of_31_bits();
	ids_of_63_bits();
	ids_with_losses();
	generated_as_java_does();
	chosen_as_java_does();
	return (tap_done());
}
