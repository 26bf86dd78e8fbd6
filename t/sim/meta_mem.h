/*
 * meta_mem.h - a metadata store in memory behind lib/meta/meta.h, for unit
 * tests and the simulator: one server, any number of clients with a session
 * each, and everything that may go wrong on the way, as the test decides.
 *
 * It is deterministic. Time is that of the env it was given, or its own, which
 * stands still but for mem_store_run() and jumps to whatever is due next.
 */
#ifndef T_META_MEM_H
#define T_META_MEM_H

#include "env/env.h"
#include "meta/meta.h"
#include "t/sim/mem_tree.h"

struct mem_store;

/* env NULL: a clock of its own. */
struct mem_store *mem_store_new(struct bk_env *env);
/* All clients must be gone. */
void mem_store_free(struct mem_store *s);

/* A client with a session, connected; bk_meta_close() ends both. on_state may
 * be NULL. */
struct bk_meta *mem_client_new(struct mem_store *s, bk_meta_state_cb *on_state,
    void *arg);

/* Of a store with its own clock: until nothing is left to do, until *done, or
 * for a time. Returns whether *done. */
void mem_store_run(struct mem_store *s);
bool mem_store_run_until(struct mem_store *s, const bool *done);
void mem_store_run_for(struct mem_store *s, int64_t ns);
/* The next event; false when there is none. */
bool mem_store_step(struct mem_store *s);

/* What becomes of a call. */
struct mem_plan {
	enum {
		MEM_DO,
		MEM_LOSE_REQUEST, /* a write: not done, ESTORE */
		MEM_LOSE_ANSWER,  /* a write: done, ESTORE */
	} fate;
	enum bk_status refuse; /* not BK_OK: not done, this is the answer */
	int64_t request_delay; /* ns until the server does it */
	int64_t answer_delay;  /* ns from there to the callback */
};

struct mem_call {
	struct bk_meta *client;
	const char *op;   /* "create", "get", "exists", "set", "remove",
	                     "children", "multi", "sync" */
	const char *path; /* of a multi: its first */
};

/* Asked at each call; NULL: all is done at once. Lost reads are repeated by
 * the face, so for them a loss is only a delay. */
typedef struct mem_plan mem_plan_fn(void *arg, const struct mem_call *call);
void mem_store_plan(struct mem_store *s, mem_plan_fn *fn, void *arg);

/* Changes as lines of t/data/peer/metadata.txt. */
void mem_store_trace(struct mem_store *s, mem_trace_fn *fn, void *arg);

/* The session ends, and a new one begins at once. */
void mem_client_expire(struct bk_meta *client);
/* Out of touch: writes get ESTORE, reads and watches wait. And back. */
void mem_client_cut(struct bk_meta *client);
void mem_client_heal(struct bk_meta *client);
/* The program is dead: no callback any more, the client is freed, and its
 * session ends after a time. */
void mem_client_crash(struct bk_meta *client, int64_t session_ns);

/* For setting up and looking, without a client: a node with its parents made,
 * or set; a node's bytes, valid until the next change (false: none there). */
void mem_put(struct mem_store *s, const char *path, const char *text);
bool mem_get(struct mem_store *s, const char *path, struct bk_bytes *data,
    struct bk_node_stat *stat);
void mem_remove(struct mem_store *s, const char *path);
/* The number that the next sequential child of a node gets. */
void mem_set_sequence(struct mem_store *s, const char *path, int64_t next);

#endif
