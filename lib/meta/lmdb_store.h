/*
 * lmdb_store.h - the embedded store's directory: its files, its format, the
 * lock before LMDB's own (zookeeper-and-lmdb.md part C).
 *
 *	data.mdb, lock.mdb   LMDB's
 *	writer               locked by whoever writes
 *	sessions/            a locked file for each living session
 *	changed              number of the last change, for inotify; made last,
 *	                     so a directory that has it once held a whole store
 *
 * A process opens a directory once, however many users it has in there:
 * LMDB's locks would fall at the first of two closes.
 */
#ifndef BK_LMDB_STORE_H
#define BK_LMDB_STORE_H

#include "base/status.h"

#include <bsd/sys/queue.h>
#include <lmdb.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct bk_lmdb {
	LIST_ENTRY(bk_lmdb) next;
	unsigned users;
	dev_t dev;
	ino_t ino;
	char *dir; /* as named, for messages */
	int dir_fd;
	int sessions_fd;
	int writer_fd;
	int changed_fd;
	uint64_t pid_namespace;
	MDB_env *env;
	atomic_bool panic; /* LMDB has given it up */
	MDB_dbi dbi;
	pthread_mutex_t mutex; /* the writer's lock, within this process */
	sigset_t mask;         /* signals held back before it was taken */
};

/* Open the store in dir, or make it when there is none and create says so.
 * ENONODE: there is none; ECONFIG, EACCESS, EDAMAGE, ENOSPACE, ENOMEM, EHELD,
 * ESYS with *why, which is static or thread-local. */
enum bk_status bk_lmdb_open(const char *dir, bool create,
    struct bk_lmdb **store, const char **why);
void bk_lmdb_close(struct bk_lmdb *store);

/* The writer's lock. TSTP, INT and TERM wait while this thread has it. Try
 * returns at once; wait tries until limit ns have passed. */
bool bk_lmdb_try_lock(struct bk_lmdb *store);
bool bk_lmdb_wait_lock(struct bk_lmdb *store, int64_t limit);
void bk_lmdb_unlock(struct bk_lmdb *store);
/* Who has it: "pid 7 (stopped)". The text is thread-local. */
const char *bk_lmdb_holder(struct bk_lmdb *store);

/* Tell everybody that there is a change: its number. */
void bk_lmdb_announce(struct bk_lmdb *store, uint64_t zxid);

/* Whether its file system has no room left. */
bool bk_lmdb_full(struct bk_lmdb *store);

/* What LMDB returned, in our terms. */
enum bk_status bk_lmdb_status(int rc);
const char *bk_lmdb_strerror(int rc);

#endif
