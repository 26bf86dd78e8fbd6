/*
 * registration.c - a bookie's own registration: modes, predecessors, ended
 * sessions, lost answers, over the store in memory.
 */
#include "meta/registry.h"
#include "t/lib/mem_fixture.h"
#include "t/unit/tap.h"

struct own {
	struct fixture f;
	struct bk_registration *r;
	int stood;
	enum bk_status failed;
};

static void
on_state(void *arg, enum bk_status status)
{
	struct own *o = arg;

	if (status == BK_OK)
		o->stood++;
	else
		o->failed = status;
}

static void
own_init(struct own *o, bool readonly)
{
	*o = (struct own){0};
	fixture_init(&o->f);
	mem_put(o->f.store, "/ledgers/available/readonly", "");
	o->r = bk_registration_new(&o->f.tree, "b",
	    (struct bk_bytes){(const uint8_t *)"me", 2}, readonly, on_state, o);
}

static void
own_fini(struct own *o)
{
	bk_registration_free(o->r, fixture_on_done, &o->f);
	is_int(fixture_wait(&o->f), BK_OK, "a registration is given back");
	fixture_fini(&o->f);
}

/* "w", "r", "wr" or "": the lists the bookie is in, after a while. */
static const char *
lists_of(struct own *o)
{
	static char text[3];
	struct bk_node_stat stat;
	struct bk_bytes data;
	size_t n = 0;

	mem_store_run_for(o->f.store, BK_SECOND);
	if (mem_get(o->f.store, "/ledgers/available/b", &data, &stat))
		text[n++] = 'w';
	if (mem_get(o->f.store, "/ledgers/available/readonly/b", &data, &stat))
		text[n++] = 'r';
	text[n] = '\0';
	return (text);
}

static void
registering(void)
{
	static const char *const steps[] = {
	    "create /ledgers/available/b ephemeral 6d65",
	    "create /ledgers/available/readonly/b ephemeral 6d65",
	    "delete /ledgers/available/b - -",
	    "create /ledgers/available/b ephemeral 6d65",
	    "delete /ledgers/available/readonly/b - -",
	};
	struct own o;

	own_init(&o, false);
	fixture_clear(&o.f);
	is_str(lists_of(&o), "w", "a bookie is in its list");
	is_int(o.stood, 1, "and told so");
	bk_registration_mode(o.r, true);
	is_str(lists_of(&o), "r", "it becomes read-only");
	is_int(o.stood, 2, "and is told so");
	bk_registration_mode(o.r, true);
	is_str(lists_of(&o), "r", "and stays so");
	bk_registration_mode(o.r, false);
	is_str(lists_of(&o), "w", "and becomes writable again");
	is_int(o.f.ntrace, 5, "all that in five steps");
	for (size_t i = 0; i < 5 && i < o.f.ntrace; i++)
		is_str(o.f.trace[i], steps[i], "created before deleted");
	mem_remove(o.f.store, "/ledgers/available/b");
	is_str(lists_of(&o), "w", "a node that is deleted is made anew");
	bk_registration_mode(o.r, true);
	bk_registration_mode(o.r, false);
	bk_registration_mode(o.r, true);
	is_str(lists_of(&o), "r", "the last mode counts");
	own_fini(&o);
}

static void
registering_read_only(void)
{
	struct own o;

	own_init(&o, true);
	is_str(lists_of(&o), "r", "a bookie starts read-only");
	own_fini(&o);
	own_init(&o, true);
	mem_remove(o.f.store, "/ledgers/available/readonly");
	is_str(lists_of(&o), "r", "the list is made where it is missing");
	own_fini(&o);
	own_init(&o, true);
	mem_remove(o.f.store, "/ledgers/available/readonly");
	mem_remove(o.f.store, "/ledgers/available");
	is_str(lists_of(&o), "", "but no cluster");
	is_int(o.failed, BK_ENONODE, "which is reported");
	own_fini(&o);
}

static void
registering_through_losses(void)
{
	struct fixture_loss losses[] = {
	    {"create", "/b", 2, {.fate = MEM_LOSE_REQUEST}},
	    {"create", "/b", 1, {.fate = MEM_LOSE_ANSWER}},
	    {"create", "/b", 1, {.refuse = BK_ESESSION}},
	    {"exists", "/b", 1, {.refuse = BK_ESTORE}},
	    {"remove", "/b", 2, {.fate = MEM_LOSE_REQUEST}},
	    {"remove", "/b", 1, {.fate = MEM_LOSE_ANSWER}},
	};
	struct own o;

	for (size_t i = 0; i < sizeof(losses) / sizeof(*losses); i++) {
		own_init(&o, false);
		fixture_lose(&o.f, &losses[i]);
		bk_registration_mode(o.r, true);
		is_str(lists_of(&o), "r", "loss %zu is made good", i);
		is_int(o.stood, 1, "and nothing said of it");
		own_fini(&o);
	}
	losses[0].plan.refuse = BK_EACCESS;
	losses[0].times = 1;
	own_init(&o, false);
	bk_registration_renew(o.r);
	fixture_lose(&o.f, &losses[0]);
	is_str(lists_of(&o), "w", "the first one stands");
	is_int(o.failed, BK_EACCESS, "a refusal is reported");
	own_fini(&o);
}

static void
registering_anew(void)
{
	struct own o;

	own_init(&o, false);
	is_str(lists_of(&o), "w", "a bookie");
	mem_client_expire(o.f.tree.meta);
	is_str(lists_of(&o), "w", "whose session ends is back at once");
	is_int(o.stood, 2, "and told so");
	mem_client_cut(o.f.tree.meta);
	bk_registration_mode(o.r, true);
	is_str(lists_of(&o), "w", "out of touch nothing happens");
	mem_client_heal(o.f.tree.meta);
	is_str(lists_of(&o), "r", "but afterwards");
	mem_client_expire(o.f.tree.meta);
	bk_registration_renew(o.r);
	bk_registration_renew(o.r);
	is_str(lists_of(&o), "r", "it may be told twice");
	own_fini(&o);
}

/* A bookie that was killed and started again. */
static void
registering_after_a_crash(void)
{
	struct bk_tree before;
	struct own o;

	own_init(&o, false);
	bk_registration_free(o.r, NULL, NULL);
	mem_store_run(o.f.store);
	before = fixture_tree(&o.f);
	bk_meta_create(before.meta, "/ledgers/available/b",
	    (struct bk_bytes){(const uint8_t *)"old", 3}, BK_NODE_EPHEMERAL,
	    BK_ACL_CONF, fixture_on_reply, &o.f);
	is_int(fixture_wait(&o.f), BK_OK, "a predecessor");
	mem_client_crash(before.meta, 5 * BK_SECOND);
	o.stood = 0;
	fixture_clear(&o.f);
	o.r = bk_registration_new(&o.f.tree, "b",
	    (struct bk_bytes){(const uint8_t *)"me", 2}, false, on_state, &o);
	is_str(lists_of(&o), "w", "is still listed");
	is_int(o.f.ntrace, 0, "which is not touched");
	is_int(o.stood, 0, "nor taken for ours");
	is_int(o.failed, BK_EEXIST, "and that is told");
	mem_store_run_for(o.f.store, 5 * BK_SECOND);
	is_str(lists_of(&o), "w", "when it goes there is ours");
	is_int(o.stood, 1, "which is told, too");
	is_int(o.f.ntrace, 2, "at once");
	own_fini(&o);
}

static void
registering_in_the_wrong_list(void)
{
	struct bk_tree before;
	struct own o;

	own_init(&o, true);
	is_str(lists_of(&o), "r", "a bookie");
	before = fixture_tree(&o.f);
	bk_meta_create(before.meta, "/ledgers/available/b",
	    (struct bk_bytes){NULL, 0}, BK_NODE_EPHEMERAL, BK_ACL_CONF,
	    fixture_on_reply, &o.f);
	is_int(fixture_wait(&o.f), BK_OK,
	    "and a predecessor in the other list");
	bk_registration_renew(o.r);
	is_str(lists_of(&o), "r", "which goes");
	bk_meta_close(before.meta);
	own_fini(&o);
}

/* Left by a bookie that stays listed while it is away. */
static void
registering_over_a_persistent_one(void)
{
	struct bk_node_stat stat;
	struct bk_bytes data;
	struct own o;

	own_init(&o, false);
	bk_registration_free(o.r, NULL, NULL);
	mem_store_run(o.f.store);
	mem_put(o.f.store, "/ledgers/available/b", "stays");
	o.r = bk_registration_new(&o.f.tree, "b",
	    (struct bk_bytes){(const uint8_t *)"me", 2}, false, on_state, &o);
	is_str(lists_of(&o), "w", "a persistent node is replaced");
	ok(mem_get(o.f.store, "/ledgers/available/b", &data, &stat) &&
		data.len == 2 && stat.owner != 0,
	    "by ours");
	own_fini(&o);
}

/* Given back at each moment of its beginning: nothing stays. */
static void
giving_back(void)
{
	struct own o;

	for (int steps = 0; steps < 8; steps++) {
		own_init(&o, false);
		mem_store_plan(o.f.store, NULL, NULL);
		for (int i = 0; i < steps; i++)
			mem_store_step(o.f.store);
		bk_registration_free(o.r, fixture_on_done, &o.f);
		is_int(fixture_wait(&o.f), BK_OK, "after %d steps", steps);
		is_str(lists_of(&o), "", "nothing stays");
		fixture_fini(&o.f);
	}
}

/* The store is closed in the middle. */
static void
closing_the_store(void)
{
	struct own o;

	for (int steps = 0; steps < 8; steps++) {
		own_init(&o, false);
		for (int i = 0; i < steps; i++)
			mem_store_step(o.f.store);
		bk_registration_renew(o.r);
		bk_meta_close(o.f.tree.meta);
		is_int(o.failed, BK_ECANCELED, "told after %d steps", steps);
		o.f.tree = fixture_tree(&o.f);
		bk_registration_free(o.r, fixture_on_done, &o.f);
		is_int(fixture_wait(&o.f), BK_OK, "and freed");
		fixture_fini(&o.f);
		own_init(&o, false);
		for (int i = 0; i < steps; i++)
			mem_store_step(o.f.store);
		bk_registration_renew(o.r);
		bk_registration_free(o.r, fixture_on_done, &o.f);
		bk_meta_close(o.f.tree.meta);
		ok(o.f.done, "freed with it");
		o.f.tree = fixture_tree(&o.f);
		fixture_fini(&o.f);
	}
}

int
main(void)
{
	registering();
	registering_read_only();
	registering_through_losses();
	registering_anew();
	registering_after_a_crash();
	registering_in_the_wrong_list();
	registering_over_a_persistent_one();
	giving_back();
	closing_the_store();
	return (tap_done());
}
