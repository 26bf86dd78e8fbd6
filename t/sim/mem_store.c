/*
 * mem_store.c - the server side of the simulated store. A call travels to the
 * server, is done there, and its answer travels back; each client's calls are
 * done in the order they were made, and its answers and watches arrive in the
 * order they left.
 */
#include "t/sim/mem_store.h"

#include <assert.h>
#include <err.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void *
mem_need(void *memory)
{
	if (memory == NULL)
		err(1, "simulated store");
	return (memory);
}

int64_t
mem_store_now(const struct mem_store *s)
{
	return (s->env != NULL ? bk_now(s->env) : s->clock);
}

static int64_t
later_of(int64_t a, int64_t b)
{
	return (a > b ? a : b);
}

/* Events. */

struct event *
mem_event_new(struct client *c, enum call_kind kind)
{
	struct event *e = mem_need(calloc(1, sizeof(*e)));

	e->client = c;
	e->kind = kind;
	return (e);
}

static void
op_fini(struct bk_meta_op *op)
{
	free((void *)op->path);
	free((void *)op->data.data);
}

void
mem_event_free(struct event *e)
{
	op_fini(&e->op);
	for (size_t i = 0; i < e->nops; i++)
		op_fini(&e->ops[i]);
	free(e->ops);
	free(e->data);
	for (size_t i = 0; i < e->reply.nchildren; i++)
		free(e->children[i]);
	free(e->children);
	free(e);
}

static void
arm(struct mem_store *s)
{
	struct event *first = TAILQ_FIRST(&s->events);

	if (s->timer != NULL && first != NULL)
		s->env->ops->timer_set(s->timer,
		    later_of(first->due - mem_store_now(s), 0));
}

void
mem_schedule(struct mem_store *s, struct event *e, int64_t due)
{
	struct event *before;

	e->due = due;
	TAILQ_FOREACH_REVERSE(before, &s->events, events, entry)
		if (before->due <= due)
			break;
	if (before != NULL)
		TAILQ_INSERT_AFTER(&s->events, before, e, entry);
	else
		TAILQ_INSERT_HEAD(&s->events, e, entry);
	arm(s);
}

void
mem_send_back(struct event *e, int64_t delay)
{
	struct client *c = e->client;

	c->last_answer =
	    later_of(c->last_answer, mem_store_now(c->store) + delay);
	mem_schedule(c->store, e, c->last_answer);
}

/* Watches. */

static bool
wakes(const struct watcher *w, enum bk_watch_event event)
{
	switch (event) {
	case BK_WATCH_CREATED:
		return (w->kind == CALL_EXISTS);
	case BK_WATCH_CHANGED:
		return (w->kind != CALL_CHILDREN);
	case BK_WATCH_CHILDREN:
		return (w->kind == CALL_CHILDREN);
	case BK_WATCH_DELETED:
	case BK_WATCH_SESSION:
		return (true);
	}
	return (false);
}

void
mem_fire(struct watcher *w, enum bk_watch_event event)
{
	struct event *e = mem_event_new(w->client, CALL_WATCH);

	e->what = event;
	e->watch = w->watch;
	e->op.path = mem_need(strdup(w->path));
	TAILQ_REMOVE(&w->client->store->watchers, w, entry);
	free(w);
	mem_send_back(e, 0);
}

static void
on_change(void *arg, enum bk_watch_event event, const char *path)
{
	struct mem_store *s = arg;
	struct watcher *w, *next;

	TAILQ_FOREACH_SAFE(w, &s->watchers, entry, next)
		if (wakes(w, event) && strcmp(w->path, path) == 0)
			mem_fire(w, event);
}

static void
set_watch(struct event *e)
{
	struct watcher *w;

	if (e->watch.fn == NULL)
		return;
	w = mem_need(calloc(1, sizeof(*w)));
	w->client = e->client;
	w->kind = e->kind;
	w->watch = e->watch;
	(void)snprintf(w->path, sizeof(w->path), "%s", e->op.path);
	TAILQ_INSERT_TAIL(&e->client->store->watchers, w, entry);
}

/* What the server does. */

static void
do_read(struct mem_tree *t, struct event *e)
{
	struct bk_bytes data;

	e->status = mem_tree_get(t, e->op.path, &data, &e->reply.stat);
	if (e->status == BK_OK && e->kind == CALL_GET) {
		e->data = mem_need(malloc(data.len + 1));
		memcpy(e->data, data.data, data.len);
		e->reply.data = (struct bk_bytes){e->data, data.len};
	}
	if (e->status == BK_OK || e->kind == CALL_EXISTS)
		set_watch(e);
}

static void
do_children(struct mem_tree *t, struct event *e)
{
	e->status = mem_tree_children(t, e->op.path, &e->children,
	    &e->reply.nchildren, &e->reply.stat);
	e->reply.children = (const char *const *)e->children;
	if (e->status == BK_OK)
		set_watch(e);
}

static void
do_call(struct event *e)
{
	struct mem_tree *t = e->client->store->tree;
	int64_t ms = mem_store_now(e->client->store) / BK_MS;
	uint64_t session = e->client->session;

	switch (e->kind) {
	case CALL_CREATE:
		e->status = mem_tree_create(t, e->op.path, e->op.data,
		    e->op.node, session, ms, e->made);
		e->reply.path = e->made;
		break;
	case CALL_SET:
		e->status = mem_tree_set(t, e->op.path, e->op.data,
		    e->op.version, &e->reply.stat);
		break;
	case CALL_REMOVE:
		e->status = mem_tree_remove(t, e->op.path, e->op.version);
		break;
	case CALL_MULTI:
		e->status = mem_tree_multi(t, e->ops, e->nops, session, ms,
		    &e->reply.failed);
		break;
	case CALL_GET:
	case CALL_EXISTS:
		do_read(t, e);
		break;
	case CALL_CHILDREN:
		do_children(t, e);
		break;
	default:
		break;
	}
}

bool
mem_is_write(const struct event *e)
{
	return (e->kind == CALL_CREATE || e->kind == CALL_SET ||
	    e->kind == CALL_REMOVE || e->kind == CALL_MULTI);
}

/* A request arrives at the server. */
static void
arrive(struct event *e)
{
	struct client *c = e->client;

	if (c->cut && !mem_is_write(e)) {
		TAILQ_INSERT_TAIL(&c->waiting, e, entry);
		return;
	}
	e->answered = true;
	if (e->plan.refuse != BK_OK)
		e->status = e->plan.refuse;
	else if (c->cut ||
	    (mem_is_write(e) && e->plan.fate == MEM_LOSE_REQUEST))
		e->status = BK_ESTORE;
	else
		do_call(e);
	if (mem_is_write(e) && e->plan.fate == MEM_LOSE_ANSWER)
		e->status = BK_ESTORE;
	mem_send_back(e, e->plan.answer_delay);
}

/* What the client sees. */

void
mem_deliver(struct event *e)
{
	struct client *c = e->client;

	switch (e->kind) {
	case CALL_WATCH:
		e->watch.fn(e->watch.arg, e->what, e->op.path);
		break;
	case CALL_STATE:
		if (c->base.on_state != NULL)
			c->base.on_state(c->base.state_arg, e->state, BK_OK,
			    "simulated");
		break;
	default:
		if (e->status != BK_OK)
			e->reply.path = NULL;
		if (e->cb != NULL)
			e->cb(e->arg, e->status, &e->reply);
		break;
	}
	mem_event_free(e);
}

/* An answer arrives while its client is out of touch. */
static void
miss(struct event *e)
{
	if (mem_is_write(e)) {
		e->status = BK_ESTORE;
		mem_deliver(e);
		return;
	}
	TAILQ_INSERT_TAIL(&e->client->waiting, e, entry);
}

static void
happen(struct mem_store *s, struct event *e)
{
	bool comes = e->answered || e->kind == CALL_WATCH;

	if (e->kind == CALL_EXPIRY) {
		mem_tree_end_session(s->tree, e->session);
		mem_event_free(e);
	} else if (e->kind == CALL_PAUSE || e->kind == CALL_STATE) {
		mem_deliver(e);
	} else if (comes && e->client->cut) {
		miss(e);
	} else if (comes) {
		mem_deliver(e);
	} else {
		arrive(e);
	}
}

static void
run_due(void *arg)
{
	struct mem_store *s = arg;
	struct event *e;

	while ((e = TAILQ_FIRST(&s->events)) != NULL &&
	    e->due <= mem_store_now(s)) {
		TAILQ_REMOVE(&s->events, e, entry);
		happen(s, e);
	}
	arm(s);
}

/* The store. */

struct mem_store *
mem_store_new(struct bk_env *env)
{
	struct mem_store *s = mem_need(calloc(1, sizeof(*s)));

	s->env = env;
	s->clock = BK_SECOND;
	s->tree = mem_tree_new(on_change, s);
	TAILQ_INIT(&s->events);
	TAILQ_INIT(&s->watchers);
	TAILQ_INIT(&s->clients);
	if (env != NULL)
		s->timer = mem_need(env->ops->timer_new(env, run_due, s));
	return (s);
}

void
mem_store_free(struct mem_store *s)
{
	struct event *e;

	while ((e = TAILQ_FIRST(&s->events)) != NULL) {
		TAILQ_REMOVE(&s->events, e, entry);
		mem_event_free(e);
	}
	if (s->timer != NULL)
		s->env->ops->timer_free(s->timer);
	mem_tree_free(s->tree);
	free(s);
}

void
mem_store_plan(struct mem_store *s, mem_plan_fn *fn, void *arg)
{
	s->plan = fn;
	s->plan_arg = arg;
}

void
mem_store_trace(struct mem_store *s, mem_trace_fn *fn, void *arg)
{
	mem_tree_trace(s->tree, fn, arg);
}

/* Run the next event if it is due by the given time. */
static bool
step(struct mem_store *s, int64_t until)
{
	struct event *e = TAILQ_FIRST(&s->events);

	if (e == NULL || e->due > until)
		return (false);
	s->clock = later_of(s->clock, e->due);
	TAILQ_REMOVE(&s->events, e, entry);
	assert(TAILQ_FIRST(&s->events) != e);
	happen(s, e);
	return (true);
}

bool
mem_store_step(struct mem_store *s)
{
	return (step(s, INT64_MAX));
}

void
mem_store_run(struct mem_store *s)
{
	while (step(s, INT64_MAX))
		;
}

bool
mem_store_run_until(struct mem_store *s, const bool *done)
{
	while (!*done && step(s, INT64_MAX))
		;
	return (*done);
}

void
mem_store_run_for(struct mem_store *s, int64_t ns)
{
	int64_t until = s->clock + ns;

	while (step(s, until))
		;
	s->clock = until;
}

void
mem_put(struct mem_store *s, const char *path, const char *text)
{
	struct bk_bytes data = {(const uint8_t *)text, strlen(text)};
	char part[BK_PATH_MAX + 1], made[MEM_PATH_ROOM];
	struct bk_node_stat stat;
	const char *slash = path;

	while ((slash = strchr(slash + 1, '/')) != NULL) {
		(void)snprintf(part, sizeof(part), "%.*s", (int)(slash - path),
		    path);
		(void)mem_tree_create(s->tree, part, (struct bk_bytes){0},
		    BK_NODE_PERSISTENT, 0, 0, made);
	}
	if (mem_tree_create(s->tree, path, data, BK_NODE_PERSISTENT, 0, 0,
		made) == BK_EEXIST)
		(void)mem_tree_set(s->tree, path, data, BK_ANY_VERSION, &stat);
}

bool
mem_get(struct mem_store *s, const char *path, struct bk_bytes *data,
    struct bk_node_stat *stat)
{
	return (mem_tree_get(s->tree, path, data, stat) == BK_OK);
}

void
mem_remove(struct mem_store *s, const char *path)
{
	(void)mem_tree_remove(s->tree, path, BK_ANY_VERSION);
}

void
mem_set_sequence(struct mem_store *s, const char *path, int64_t next)
{
	mem_tree_set_sequence(s->tree, path, next);
}
