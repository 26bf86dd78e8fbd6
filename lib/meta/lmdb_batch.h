/*
 * lmdb_batch.h - changes at hand, in one transaction: what a group commit
 * does, in the loop's thread or in a helper.
 */
#ifndef BK_LMDB_BATCH_H
#define BK_LMDB_BATCH_H

#include "loop/loop.h"
#include "meta/lmdb_session.h"

/* So many calls, or bytes of them, make a batch. */
#define BK_LMDB_BATCH_CALLS 1000
#define BK_LMDB_BATCH_BYTES (8U << 20)

struct bk_lmdb_batch {
	struct bk_lmdb *store;
	struct bk_lmdb_session *session;
	bool open_session; /* begin it before the calls */
	bool end_session;  /* end it instead of them */
	bool reap;         /* end the sessions of dead processes */
	struct bk_calls calls;
	enum bk_status status; /* of session, reaping and commit */
};

/* Do it; the writer's lock is had. Every call has its own answer then; where
 * the batch as a whole failed, that status is theirs too. */
void bk_lmdb_batch_run(struct bk_lmdb_batch *batch);

/* A helper thread that runs batches, one at a time; done is called from the
 * loop when it has. It waits for the writer's lock up to limit ns, then the
 * batch's status is EHELD. NULL when the system refuses. */
struct bk_lmdb_worker;
struct bk_lmdb_worker *bk_lmdb_worker_new(struct bk_loop *loop, int64_t limit,
    bk_timer_cb *done, void *arg);
/* The batch stays where it is until done. */
void bk_lmdb_worker_run(struct bk_lmdb_worker *w, struct bk_lmdb_batch *batch);
/* Whether the last batch is done. */
bool bk_lmdb_worker_idle(struct bk_lmdb_worker *w);
/* Waits for a batch that runs; done is not called any more. NULL is fine. */
void bk_lmdb_worker_free(struct bk_lmdb_worker *w);

#endif
