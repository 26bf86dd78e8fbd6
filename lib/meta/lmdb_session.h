/*
 * lmdb_session.h - sessions of the embedded store: a locked file while the
 * process lives, a record until its ephemeral nodes are gone.
 *
 * Beginning: a file under a passing name, its lock, its name; then the record
 * is committed. So nobody ever sees a living session unlocked. Ending, by the
 * session itself or by whoever finds the lock free: nodes and record go in one
 * commit, then the file. It may be done again after any crash. Every write of
 * a session looks for its record first, so that even a wrong end is safe.
 */
#ifndef BK_LMDB_SESSION_H
#define BK_LMDB_SESSION_H

#include "meta/lmdb_tree.h"

struct bk_lmdb_session {
	uint64_t id;    /* 0: none */
	int fd;         /* holds the lock; -1: none */
	char name[40];  /* of its file in sessions/ */
	char label[64]; /* "host pid", for messages */
};

/* A session not begun. */
void bk_lmdb_session_init(struct bk_lmdb_session *s, const char *label);

/* Make and lock the file. BK_OK, ENOSPACE, ESYS, ... */
enum bk_status bk_lmdb_session_prepare(struct bk_lmdb *store,
    struct bk_lmdb_session *s);
/* Give it its id, name and record, within a transaction that is then
 * committed. ECONFIG: the store is in use from another pid namespace. */
enum bk_status bk_lmdb_session_begin(struct bk_lmdb_txn *tx,
    struct bk_lmdb_session *s);
/* The file goes, and the lock with it. */
void bk_lmdb_session_drop(struct bk_lmdb *store, struct bk_lmdb_session *s);

/* Whether there are sessions whose process is gone. In a read transaction. */
bool bk_lmdb_any_dead(struct bk_lmdb_txn *tx);
/* End all of those, within a transaction; their files go after its commit, by
 * bk_lmdb_sweep_files(), which also clears away what crashes left. */
enum bk_status bk_lmdb_reap(struct bk_lmdb_txn *tx);
void bk_lmdb_sweep_files(struct bk_lmdb *store);
/* Whether a living session belongs to another pid namespace: their processes
 * could collide in LMDB's table of readers. */
bool bk_lmdb_foreign(struct bk_lmdb_txn *tx);

#endif
