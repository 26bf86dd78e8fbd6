/*
 * ledger_walk.c - the walk over all ledgers: complete, ascending, and ended by
 * any error.
 */
#include "t/lib/mem_fixture.h"
#include "t/unit/tap.h"

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
		is_int(fixture_create(&f, ids[i]), BK_OK, "a ledger");
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
	is_int(fixture_create(&f, 1), BK_OK, "a ledger");
	is_int(fixture_create(&f, 10001), BK_OK, "another one");
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
			is_int(fixture_create(&f, ids[j]), BK_OK, "a ledger");
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

	fixture_init(&f);
	bk_ledger_walk(&f.tree, on_ledger, on_walked, &s);
	bk_meta_close(f.tree.meta);
	is_int(f.status, BK_ECANCELED, "a walk is given up");
	f.tree = fixture_tree(&f);
	fixture_fini(&f);
}

int
main(void)
{
	walking();
	walking_with_errors();
	walking_other_layouts();
	closing();
	return (tap_done());
}
