/* meta_mem.c - clients of the simulated store: their calls, and how they come
 * and go. */
#include "t/sim/mem_store.h"

#include <stdlib.h>
#include <string.h>

static const char *const call_names[] = {"create", "get", "exists", "set",
    "remove", "children", "multi", "sync"};

static int64_t
later_of(int64_t a, int64_t b)
{
	return (a > b ? a : b);
}

/* The face's calls. */

static struct bk_bytes
copy_data(struct bk_bytes data)
{
	uint8_t *copy;

	if (data.len == 0)
		return ((struct bk_bytes){NULL, 0});
	copy = mem_need(malloc(data.len));
	memcpy(copy, data.data, data.len);
	return ((struct bk_bytes){copy, data.len});
}

static struct bk_meta_op
copy_op(const struct bk_meta_op *op)
{
	struct bk_meta_op copy = *op;

	copy.path = mem_need(strdup(op->path));
	copy.data = copy_data(op->data);
	return (copy);
}

static struct event *
call_new(struct bk_meta *m, enum call_kind kind, const struct bk_meta_op *op,
    bk_meta_cb *cb, void *arg)
{
	struct event *e = mem_event_new((struct client *)m, kind);

	e->op = copy_op(op);
	e->cb = cb;
	e->arg = arg;
	return (e);
}

static void
call(struct event *e)
{
	struct client *c = e->client;
	struct mem_store *s = c->store;
	struct mem_call about = {&c->base, call_names[e->kind], e->op.path};

	if (s->plan != NULL)
		e->plan = s->plan(s->plan_arg, &about);
	c->last_request =
	    later_of(c->last_request, mem_store_now(s) + e->plan.request_delay);
	mem_schedule(s, e, c->last_request);
}

static void
mem_create(struct bk_meta *m, const char *path, struct bk_bytes data,
    enum bk_node_kind kind, enum bk_node_acl acl, bk_meta_cb *cb, void *arg)
{
	struct bk_meta_op op = {BK_OP_CREATE, path, data, 0, kind, acl};

	call(call_new(m, CALL_CREATE, &op, cb, arg));
}

static void
mem_set(struct bk_meta *m, const char *path, struct bk_bytes data,
    int32_t version, bk_meta_cb *cb, void *arg)
{
	struct bk_meta_op op = {.path = path, .data = data, .version = version};

	call(call_new(m, CALL_SET, &op, cb, arg));
}

static void
mem_remove_node(struct bk_meta *m, const char *path, int32_t version,
    bk_meta_cb *cb, void *arg)
{
	struct bk_meta_op op = {.path = path, .version = version};

	call(call_new(m, CALL_REMOVE, &op, cb, arg));
}

static void
read_call(struct bk_meta *m, enum call_kind kind, const char *path,
    struct bk_watch w, bk_meta_cb *cb, void *arg)
{
	struct bk_meta_op op = {.path = path};
	struct event *e = call_new(m, kind, &op, cb, arg);

	e->watch = w;
	call(e);
}

static void
mem_get_node(struct bk_meta *m, const char *path, struct bk_watch w,
    bk_meta_cb *cb, void *arg)
{
	read_call(m, CALL_GET, path, w, cb, arg);
}

static void
mem_exists(struct bk_meta *m, const char *path, struct bk_watch w,
    bk_meta_cb *cb, void *arg)
{
	read_call(m, CALL_EXISTS, path, w, cb, arg);
}

static void
mem_children(struct bk_meta *m, const char *path, struct bk_watch w,
    bk_meta_cb *cb, void *arg)
{
	read_call(m, CALL_CHILDREN, path, w, cb, arg);
}

static void
mem_sync(struct bk_meta *m, const char *path, bk_meta_cb *cb, void *arg)
{
	read_call(m, CALL_SYNC, path, BK_NO_WATCH, cb, arg);
}

static void
mem_multi(struct bk_meta *m, const struct bk_meta_op *ops, size_t nops,
    bk_meta_cb *cb, void *arg)
{
	struct bk_meta_op op = {.path = nops > 0 ? ops[0].path : "/"};
	struct event *e = call_new(m, CALL_MULTI, &op, cb, arg);

	e->ops = mem_need(calloc(nops + 1, sizeof(*e->ops)));
	e->nops = nops;
	for (size_t i = 0; i < nops; i++)
		e->ops[i] = copy_op(&ops[i]);
	call(e);
}

static void
drop_sent(struct events *list, const struct client *c, bk_watch_cb *fn,
    const void *arg)
{
	struct event *e, *next;

	TAILQ_FOREACH_SAFE(e, list, entry, next) {
		if (e->client != c || e->watch.fn != fn || e->watch.arg != arg)
			continue;
		if (e->kind != CALL_WATCH) {
			e->watch = BK_NO_WATCH;
			continue;
		}
		TAILQ_REMOVE(list, e, entry);
		mem_event_free(e);
	}
}

static void
mem_unwatch(struct bk_meta *m, bk_watch_cb *fn, void *arg)
{
	struct client *c = (struct client *)m;
	struct watcher *w, *next;

	TAILQ_FOREACH_SAFE(w, &c->store->watchers, entry, next) {
		if (w->client != c || w->watch.fn != fn || w->watch.arg != arg)
			continue;
		TAILQ_REMOVE(&c->store->watchers, w, entry);
		free(w);
	}
	drop_sent(&c->store->events, c, fn, arg);
	drop_sent(&c->waiting, c, fn, arg);
}

static uint64_t
mem_session(struct bk_meta *m)
{
	return (((struct client *)m)->session);
}

static void
mem_pause(struct bk_meta *m, int64_t delay, bk_meta_cb *cb, void *arg)
{
	struct bk_meta_op op = {.path = "/"};
	struct event *e = call_new(m, CALL_PAUSE, &op, cb, arg);

	mem_schedule(e->client->store, e,
	    mem_store_now(e->client->store) + delay);
}

static int64_t
mem_now(struct bk_meta *m)
{
	return (mem_store_now(((struct client *)m)->store));
}

/* Clients come and go. */

/* The first of the client's events in a list, taken out; NULL if none. */
static struct event *
take_event(struct events *list, const struct client *c)
{
	struct event *e;

	TAILQ_FOREACH(e, list, entry) {
		if (e->client == c) {
			TAILQ_REMOVE(list, e, entry);
			return (e);
		}
	}
	return (NULL);
}

static void
drop_watchers(struct client *c)
{
	struct watcher *w, *next;

	TAILQ_FOREACH_SAFE(w, &c->store->watchers, entry, next) {
		if (w->client != c)
			continue;
		TAILQ_REMOVE(&c->store->watchers, w, entry);
		free(w);
	}
}

static void
client_free(struct client *c)
{
	TAILQ_REMOVE(&c->store->clients, c, entry);
	free(c);
}

static void
mem_close(struct bk_meta *m)
{
	struct client *c = (struct client *)m;
	struct event *e;

	TAILQ_CONCAT(&c->store->events, &c->waiting, entry);
	while ((e = take_event(&c->store->events, c)) != NULL) {
		if (e->kind == CALL_WATCH || e->kind == CALL_STATE) {
			mem_event_free(e);
			continue;
		}
		e->status = BK_ECANCELED;
		mem_deliver(e);
	}
	drop_watchers(c);
	mem_tree_end_session(c->store->tree, c->session);
	client_free(c);
}

static const struct bk_meta_ops mem_ops = {
    .close = mem_close,
    .create = mem_create,
    .get = mem_get_node,
    .exists = mem_exists,
    .set = mem_set,
    .remove = mem_remove_node,
    .children = mem_children,
    .multi = mem_multi,
    .sync = mem_sync,
    .unwatch = mem_unwatch,
    .session = mem_session,
    .pause = mem_pause,
    .now = mem_now,
};

struct bk_meta *
mem_client_new(struct mem_store *s, bk_meta_state_cb *on_state, void *arg)
{
	struct client *c = mem_need(calloc(1, sizeof(*c)));

	c->base = (struct bk_meta){&mem_ops, "simulated", on_state, arg};
	c->store = s;
	c->session = ++s->sessions;
	TAILQ_INIT(&c->waiting);
	TAILQ_INSERT_TAIL(&s->clients, c, entry);
	return (&c->base);
}

static void
tell_state(struct client *c, enum bk_meta_state state)
{
	struct event *e = mem_event_new(c, CALL_STATE);

	e->state = state;
	mem_send_back(e, 0);
}

/* Writes under way are refused, reads go to the new session. */
static void
expire_calls(struct client *c, struct events *list)
{
	struct event *e;

	TAILQ_FOREACH(e, list, entry)
		if (e->client == c && mem_is_write(e) && !e->answered)
			e->plan.refuse = BK_ESESSION;
}

void
mem_client_expire(struct bk_meta *client)
{
	struct client *c = (struct client *)client;
	struct watcher *w, *next;

	expire_calls(c, &c->store->events);
	mem_tree_end_session(c->store->tree, c->session);
	c->session = ++c->store->sessions;
	TAILQ_FOREACH_SAFE(w, &c->store->watchers, entry, next)
		if (w->client == c)
			mem_fire(w, BK_WATCH_SESSION);
	tell_state(c, BK_META_NEW_SESSION);
}

void
mem_client_cut(struct bk_meta *client)
{
	struct client *c = (struct client *)client;

	c->cut = true;
	tell_state(c, BK_META_CONNECTING);
}

void
mem_client_heal(struct bk_meta *client)
{
	struct client *c = (struct client *)client;
	struct event *e;

	c->cut = false;
	tell_state(c, BK_META_CONNECTED);
	while ((e = TAILQ_FIRST(&c->waiting)) != NULL) {
		TAILQ_REMOVE(&c->waiting, e, entry);
		mem_schedule(c->store, e, mem_store_now(c->store));
	}
}

void
mem_client_crash(struct bk_meta *client, int64_t session_ns)
{
	struct client *c = (struct client *)client;
	struct mem_store *s = c->store;
	struct event *e;

	TAILQ_CONCAT(&s->events, &c->waiting, entry);
	while ((e = take_event(&s->events, c)) != NULL)
		mem_event_free(e);
	drop_watchers(c);
	e = mem_event_new(NULL, CALL_EXPIRY);
	e->session = c->session;
	mem_schedule(s, e, mem_store_now(s) + session_ns);
	client_free(c);
}
