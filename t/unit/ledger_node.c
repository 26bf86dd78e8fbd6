/*
 * ledger_node.c - records in the store: created, read, changed, deleted, in
 * races and with lost answers at each step.
 */
#include "t/lib/mem_fixture.h"
#include "t/unit/tap.h"

#include <stdlib.h>

/* Records. */

static void
creating(void)
{
	struct fixture f;

	fixture_init(&f);
	is_int(fixture_create(&f, -1), BK_OK, "a ledger with a new id");
	is_int(f.id, 0, "is the first");
	is_int(fixture_create(&f, 1), BK_OK, "one with a chosen id");
	is_int(fixture_create(&f, 1), BK_EEXIST, "which can be chosen once");
	is_int(fixture_create(&f, -1), BK_OK, "a new id that is taken");
	is_int(f.id, 2, "is passed over");
	is_int(fixture_create(&f, INT64_MAX), BK_OK, "the highest id");
	is_int(fixture_create(&f, -2), BK_EINVAL, "negative ones are none");
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
		is_int(fixture_create(&f, ids[i % 2]), BK_OK,
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
	is_int(fixture_create(&f, 9), BK_ESTORE, "a store that is away");
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
	is_int(fixture_create(&f, 0), BK_OK, "a ledger");
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
	fixture_record(&m);
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
		is_int(fixture_create(&f, 0), BK_OK, "a ledger");
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
	is_int(fixture_create(&f, INT64_MAX), BK_OK, "a ledger");
	fixture_clear(&f);
	is_int(remove_ledger(&f, INT64_MAX), BK_OK, "is deleted");
	is_int(f.ntrace, 5, "with its directories");
	for (size_t i = 0; i < 5 && i < f.ntrace; i++)
		is_str(f.trace[i], steps[i], "as Java does it");
	is_int(remove_ledger(&f, INT64_MAX), BK_OK, "once more");
	is_int(remove_ledger(&f, -5), BK_EINVAL, "one that cannot be");
	is_int(fixture_create(&f, 10000), BK_OK, "a ledger");
	is_int(fixture_create(&f, 10001), BK_OK, "and its neighbour");
	fixture_clear(&f);
	fixture_lose(&f, &loss);
	is_int(remove_ledger(&f, 10000), BK_OK, "deleted after losses");
	is_int(f.ntrace, 1, "the neighbour's directories stay");
	f.tree.layout = BK_LAYOUT_LEGACY;
	is_int(remove_ledger(&f, 10001), BK_OK, "in the legacy layout");
	is_int(f.ntrace, 2, "directories always stay");
	fixture_fini(&f);
}

/* A store that is closed answers what is outstanding. */
static void
closing(void)
{
	struct fixture f;
	struct want w = {.f = &f};
	struct bk_ledger_meta m;

	fixture_init(&f);
	fixture_record(&m);
	bk_ledger_create_node(&f.tree, -1, &m, fixture_on_id, &f);
	bk_meta_close(f.tree.meta);
	is_int(f.status, BK_ECANCELED, "a create is given up");
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
	creating();
	creating_with_losses();
	creating_without_a_store();
	updating();
	updating_in_a_race();
	updating_with_losses();
	removing();
	closing();
	return (tap_done());
}
