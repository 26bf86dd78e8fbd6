/*
 * mem_store.h - events, calls and clients of the simulated store; private to
 * mem_store.c and meta_mem.c.
 */
#ifndef T_MEM_STORE_H
#define T_MEM_STORE_H

#include "t/sim/meta_mem.h"

#include <bsd/sys/queue.h>

enum call_kind {
	CALL_CREATE,
	CALL_GET,
	CALL_EXISTS,
	CALL_SET,
	CALL_REMOVE,
	CALL_CHILDREN,
	CALL_MULTI,
	CALL_SYNC,
	CALL_PAUSE,
	CALL_WATCH,  /* not a call: a watch on its way to the client */
	CALL_STATE,  /* not a call: a change of the connection */
	CALL_EXPIRY, /* not a call: a dead client's session ends */
};

/* A call, or something else that happens at a time. */
struct event {
	TAILQ_ENTRY(event) entry;
	struct client *client;
	enum call_kind kind;
	int64_t due;
	bool answered; /* done by the server, on its way back */
	struct mem_plan plan;

	/* The request. */
	struct bk_meta_op op; /* with a path and bytes of its own */
	struct bk_watch watch;
	struct bk_meta_op *ops;
	size_t nops;
	bk_meta_cb *cb;
	void *arg;

	/* The answer. */
	enum bk_status status;
	char made[MEM_PATH_ROOM];
	uint8_t *data;
	char **children;
	struct bk_meta_reply reply;
	enum bk_watch_event what;
	enum bk_meta_state state;
	uint64_t session;
};
TAILQ_HEAD(events, event);

struct watcher {
	TAILQ_ENTRY(watcher) entry;
	struct client *client;
	enum call_kind kind; /* that set it */
	char path[BK_PATH_MAX + 1];
	struct bk_watch watch;
};
TAILQ_HEAD(watchers, watcher);

struct client {
	struct bk_meta base;
	struct mem_store *store;
	uint64_t session;
	int64_t last_request;
	int64_t last_answer;
	bool cut;
	struct events waiting; /* while cut */
	TAILQ_ENTRY(client) entry;
};

struct mem_store {
	struct mem_tree *tree;
	struct bk_env *env;
	struct bk_timer *timer;
	int64_t clock;
	uint64_t sessions;
	struct events events;
	struct watchers watchers;
	TAILQ_HEAD(clients, client) clients;
	mem_plan_fn *plan;
	void *plan_arg;
};

/* What must not be NULL; the test ends if it is. */
void *mem_need(void *memory);
int64_t mem_store_now(const struct mem_store *s);

struct event *mem_event_new(struct client *c, enum call_kind kind);
void mem_event_free(struct event *e);
/* Put an event behind all that are due no later. */
void mem_schedule(struct mem_store *s, struct event *e, int64_t due);
/* Send something to the client, behind what is on its way already. */
void mem_send_back(struct event *e, int64_t delay);
/* Tell a watcher, which is gone then. */
void mem_fire(struct watcher *w, enum bk_watch_event event);
/* Let the client see an answer, a watch or a state; frees the event. */
void mem_deliver(struct event *e);
bool mem_is_write(const struct event *e);

#endif
