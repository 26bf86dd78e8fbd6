/*
 * registry.c - the bookies as a client sees them, over the store in memory.
 */
#include "meta/registry.h"
#include "t/lib/mem_fixture.h"
#include "t/unit/tap.h"

#include <bsd/string.h>
#include <stdlib.h>

/* Encoded, as text that mem_put() takes: none of these has a NUL. */
static char *
payload(const char *host, uint16_t port, int64_t pid)
{
	struct bk_service_info info = {.nendpoints = 1, .pid = pid};
	struct bk_buf out;
	char *text;

	(void)strlcpy(info.endpoints[0].id, "bookie", 64);
	(void)strlcpy(info.endpoints[0].protocol, "bookie-rpc", 32);
	(void)strlcpy(info.endpoints[0].host, host, 256);
	info.endpoints[0].port = port;
	bk_buf_init(&out);
	is_int(bk_service_info_encode(&info, &out), 0, "a payload");
	text = strndup((char *)bk_buf_head(&out), bk_buf_len(&out));
	bk_buf_fini(&out);
	return (text);
}

struct view {
	struct fixture f;
	struct bk_registry *r;
	bool ready;
	enum bk_status status;
	int changes;
};

static void
on_ready(void *arg, enum bk_status status)
{
	struct view *v = arg;

	v->ready = true;
	v->status = status;
}

static void
on_changed(void *arg)
{
	struct view *v = arg;

	v->changes++;
}

static void
view_init(struct view *v)
{
	*v = (struct view){0};
	fixture_init(&v->f);
}

static void
view_open(struct view *v)
{
	v->r = bk_registry_new(&v->f.tree, on_ready, on_changed, v);
	(void)mem_store_run_until(v->f.store, &v->ready);
}

static void
view_fini(struct view *v)
{
	bk_registry_free(v->r);
	fixture_fini(&v->f);
}

/* Bookies as "ID" with w, r and the port behind it. */
static const char *
summary(struct view *v)
{
	static char text[400];
	const struct bk_bookie_info *b;
	size_t len = 0;

	mem_store_run_for(v->f.store, BK_SECOND);
	text[0] = '\0';
	for (size_t i = 0; i < bk_registry_count(v->r); i++) {
		b = bk_registry_at(v->r, i);
		len += (size_t)snprintf(text + len, sizeof(text) - len,
		    "%s%s:%s%s%d", i > 0 ? " " : "", b->id,
		    b->writable ? "w" : "", b->readonly ? "r" : "",
		    b->service != NULL ? b->service->endpoints[0].port : -1);
	}
	return (text);
}

static void
put(struct view *v, const char *where, const char *id, uint16_t port)
{
	char path[200], *text = payload("h", port, 0);

	(void)snprintf(path, sizeof(path), "/ledgers/available%s/%s", where,
	    id);
	mem_put(v->f.store, path, text);
	free(text);
}

static void
watching(void)
{
	struct view v;

	view_init(&v);
	put(&v, "", "b2", 2);
	put(&v, "", "b1", 1);
	put(&v, "/readonly", "b3", 3);
	view_open(&v);
	is_int(v.status, BK_OK, "the bookies are known");
	is_str(summary(&v), "b1:w1 b2:w2 b3:r3", "all of them");
	is_int(v.changes, 0, "nothing has changed since");
	put(&v, "", "b4", 4);
	is_str(summary(&v), "b1:w1 b2:w2 b3:r3 b4:w4", "one comes");
	is_int(v.changes, 1, "which is reported once");
	mem_remove(v.f.store, "/ledgers/available/b2");
	is_str(summary(&v), "b1:w1 b3:r3 b4:w4", "one goes");
	put(&v, "/readonly", "b1", 1);
	is_str(summary(&v), "b1:wr1 b3:r3 b4:w4", "one is in both lists");
	mem_remove(v.f.store, "/ledgers/available/b1");
	is_str(summary(&v), "b1:r1 b3:r3 b4:w4", "and then read-only");
	v.changes = 0;
	put(&v, "", "b4", 44);
	is_str(summary(&v), "b1:r1 b3:r3 b4:w44", "one moves");
	is_int(v.changes, 1, "which is reported");
	put(&v, "/readonly", "b3", 33);
	is_str(summary(&v), "b1:r1 b3:r33 b4:w44", "read-only ones, too");
	v.changes = 0;
	mem_remove(v.f.store, "/ledgers/available/b4");
	put(&v, "", "b4", 45);
	is_str(summary(&v), "b1:r1 b3:r33 b4:w45", "one starts anew");
	for (int i = 0; i < 50; i++)
		put(&v, "", "b5", (uint16_t)(i + 1));
	v.changes = 0;
	is_str(summary(&v), "b1:r1 b3:r33 b4:w45 b5:w50", "much at once");
	is_int(v.changes, 1, "is one change");
	ok(bk_registry_find(v.r, "b4")->writable &&
		bk_registry_find(v.r, "b0") == NULL &&
		bk_registry_at(v.r, 4) == NULL,
	    "one is found by its id");
	view_fini(&v);
}

static void
malformed(void)
{
	struct view v;

	view_init(&v);
	mem_put(v.f.store, "/ledgers/available/b1", "nonsense");
	mem_put(v.f.store, "/ledgers/available/free-form", "");
	mem_put(v.f.store, "/ledgers/available/a,b", "");
	mem_put(v.f.store, "/ledgers/available/ReadOnly", "");
	mem_put(v.f.store, "/ledgers/available/old:77", "");
	view_open(&v);
	is_int(v.status, BK_OK, "odd registrations do no harm");
	is_str(summary(&v), "b1:w-1 free-form:w-1 old:77:w77",
	    "who cannot be read is listed all the same");
	put(&v, "", "b1", 1);
	is_str(summary(&v), "b1:w1 free-form:w-1 old:77:w77",
	    "until it can be");
	mem_put(v.f.store, "/ledgers/available/b1", "nonsense");
	is_str(summary(&v), "b1:w-1 free-form:w-1 old:77:w77", "and back");
	view_fini(&v);
}

static void
lists_that_are_missing(void)
{
	struct view v;

	view_init(&v);
	view_open(&v);
	is_int(v.status, BK_ENONODE, "no cluster, no bookies");
	put(&v, "", "b1", 1);
	is_str(summary(&v), "b1:w1", "but they may come");
	is_int(v.changes, 1, "which is reported");
	put(&v, "/readonly", "b2", 2);
	is_str(summary(&v), "b1:w1 b2:r2", "so may the read-only ones");
	mem_remove(v.f.store, "/ledgers/available/readonly/b2");
	mem_remove(v.f.store, "/ledgers/available/readonly");
	is_str(summary(&v), "b1:w1", "and go");
	put(&v, "/readonly", "b3", 3);
	is_str(summary(&v), "b1:w1 b3:r3", "and come back");
	view_fini(&v);
}

static void
watching_through_losses(void)
{
	struct fixture_loss losses[] = {
	    {"children", "/readonly", 3, {.refuse = BK_ESTORE}},
	    {"get", "/b1", 3, {.refuse = BK_ESTORE}},
	    {"children", "/available", 3, {.refuse = BK_ESTORE}},
	};
	struct view v;

	for (size_t i = 0; i < 3; i++) {
		view_init(&v);
		put(&v, "", "b1", 1);
		put(&v, "/readonly", "b2", 2);
		fixture_lose(&v.f, &losses[i]);
		view_open(&v);
		is_int(v.status, i < 2 ? BK_OK : BK_ESTORE,
		    "the writable list has to be read");
		is_str(summary(&v), "b1:w1 b2:r2", "loss %zu is made good", i);
		view_fini(&v);
	}
	view_init(&v);
	put(&v, "", "b1", 1);
	view_open(&v);
	mem_client_expire(v.f.tree.meta);
	put(&v, "", "b1", 11);
	put(&v, "", "b2", 2);
	is_str(summary(&v), "b1:w11 b2:w2", "a session's end is survived");
	mem_client_cut(v.f.tree.meta);
	mem_remove(v.f.store, "/ledgers/available/b1");
	is_str(summary(&v), "b1:w11 b2:w2", "out of touch nothing changes");
	mem_client_heal(v.f.tree.meta);
	is_str(summary(&v), "b2:w2", "until it is back");
	view_fini(&v);
}

/* Freed and closed at each moment of its beginning. */
static void
watching_ends(void)
{
	struct view v;

	for (int64_t ns = 0; ns < 10 * BK_MS; ns += BK_MS / 2) {
		view_init(&v);
		put(&v, "", "b1", 1);
		v.r = bk_registry_new(&v.f.tree, on_ready, on_changed, &v);
		mem_store_run_for(v.f.store, ns);
		bk_registry_free(v.r);
		v.ready = false;
		mem_store_run(v.f.store);
		ok(!v.ready, "nothing is called after its end");
		v.r = bk_registry_new(&v.f.tree, on_ready, on_changed, &v);
		view_fini(&v);
	}
}

/* The store is closed in the middle. */
static void
closing_the_store(void)
{
	struct view v;

	for (int steps = 0; steps < 8; steps++) {
		view_init(&v);
		put(&v, "", "b1", 1);
		v.r = bk_registry_new(&v.f.tree, on_ready, on_changed, &v);
		for (int i = 0; i < steps; i++)
			mem_store_step(v.f.store);
		bk_registry_free(v.r);
		bk_meta_close(v.f.tree.meta);
		v.f.tree = fixture_tree(&v.f);
		fixture_fini(&v.f);
	}
}

int
main(void)
{
	watching();
	malformed();
	lists_that_are_missing();
	watching_through_losses();
	watching_ends();
	closing_the_store();
	return (tap_done());
}
