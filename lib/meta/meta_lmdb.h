/*
 * meta_lmdb.h - what the files of the embedded store share: meta_lmdb.c has
 * the queue of calls, lmdb_read.c answers reads, lmdb_batch.c makes changes,
 * lmdb_watch.c sees what others change and who is gone.
 */
#ifndef BK_META_LMDB_H
#define BK_META_LMDB_H

#include "meta/lmdb_batch.h"
#include "meta/lmdb_notice.h"
#include "meta/meta_queue.h"

struct meta_lmdb {
	struct bk_meta_queue q;
	struct bk_lmdb *store;
	bool read_only;
	bool patient;          /* try for ever to begin the first session */
	enum bk_status failed; /* BK_OK, or why for good */
	bool told_connected;   /* the last that was told */

	struct bk_calls reading; /* reads being answered */
	struct bk_lmdb_batch batch;
	struct bk_lmdb_worker *worker; /* NULL: batches run in the loop */
	bool working;                  /* the batch is not done */
	bool scheduled;
	int64_t give_up; /* when the lock has been waited for enough */
	struct bk_timer *retry;

	struct bk_lmdb_session session;
	bool had_session;
	int64_t session_due; /* not before this is it tried again */
	bool reap;

	struct bk_watches watches;
	uint64_t seen; /* last change the watches know of */
	struct bk_lmdb_notice *notice;
	bool no_notice; /* there is none to be had */
	struct bk_timer *tick;
	struct bk_timer *probe;
	int64_t probe_delay;
	size_t last_txn;  /* of LMDB, as seen at the last tick */
	unsigned covered; /* ticks for which it was not to be seen */
	int64_t sweep_due;
	int64_t check_due;
};

/* meta_lmdb.c */
void bk_lmdb_schedule(struct meta_lmdb *m);
void bk_lmdb_deliver_events(struct meta_lmdb *m);
void bk_lmdb_connected(struct meta_lmdb *m, enum bk_meta_state state);

/* lmdb_read.c: answer the reads at the head of the queue. */
void bk_lmdb_run_reads(struct meta_lmdb *m);

/* lmdb_watch.c */

/* Begin to look after sessions; ECONFIG when the store is in use from another
 * pid namespace. */
enum bk_status bk_lmdb_watch_start(struct meta_lmdb *m, const char **why);
/* Begin to hear of changes, before the first watch is set. */
void bk_lmdb_watch_begin(struct meta_lmdb *m);
void bk_lmdb_watch_end(struct meta_lmdb *m);
/* Whether a session is to be begun. */
bool bk_lmdb_wants_session(const struct meta_lmdb *m);
/* Fire the watches that changes up to this snapshot concern. */
void bk_lmdb_collect(struct meta_lmdb *m, struct bk_lmdb_txn *tx);
/* The same with a snapshot of its own, and call them. */
void bk_lmdb_look(struct meta_lmdb *m);
/* Make a commit visible whose writer died at its very end. */
void bk_lmdb_uncover(struct meta_lmdb *m);

#endif
