/*
 * local.h - the embedded cluster of one user: where it lives, and its bookies,
 * started on demand (design/meta.md 4).
 *
 *	DIR/store               the metadata store
 *	DIR/b1, DIR/b2, DIR/b3  the bookies, each with its socket
 *	DIR/start.lock          flock(2): shared by whoever is about to come,
 *	                        exclusive for who starts or ends bookies
 *	DIR/bookie.log          what the bookies say
 *
 * They leave by themselves when nobody has used them for a while.
 */
#ifndef BK_LOCAL_H
#define BK_LOCAL_H

#include "loop/loop.h"
#include "meta/ledger_tree.h"

#include <sys/types.h>

#define BK_LOCAL_BOOKIES 3

struct bk_local {
	char *dir;
	int lock;    /* descriptor of start.lock, or -1 */
	bool is_new; /* the directory was made just now */
};

/* ${XDG_STATE_HOME:-~/.local/state}/bk, or /var/lib/bk for root. Allocated;
 * NULL when out of memory, or, with errno 0, when no home is known. */
char *bk_local_dir(void);

/* Find the directory, make it if wanted, and take the shared lock, so that
 * bookies in use stay. BK_OK; ENONODE (no such directory); else reported:
 * ECONFIG no usable directory, EACCESS somebody else's, EHELD a starter or
 * leaver does not come to an end. */
enum bk_status bk_local_open(struct bk_local *l, bool make);
/* Our session is in the store and keeps the bookies: release the lock. */
void bk_local_entered(struct bk_local *l);
/* For an l that is zeroed, or was opened, also in vain. */
void bk_local_close(struct bk_local *l);

/* Whether a bookie's socket has a listener; number from 1. */
bool bk_local_is_up(const struct bk_local *l, int number);

/* Start the bookies that are not up. done(status) comes from the loop: BK_OK,
 * or EUNREACHABLE, reported, if none came up. NULL when out of memory. */
struct bk_starter;
struct bk_starter *bk_starter_new(struct bk_loop *loop, struct bk_local *l,
    bk_done_cb *done, void *arg);
/* Forget it; bookies on their way come up nevertheless. NULL is fine. */
void bk_starter_free(struct bk_starter *st);

/* Become a bookie, in a child process with descriptor 3 as its --ready-fd;
 * returns only when that fails, errno set. */
void bk_local_exec(const char *dir, int number);
/* A process that starts a bookie and writes to *report a byte: 0 when it is
 * ready, else its exit status. Its pid, or -1 with errno. */
pid_t bk_local_spawn(const char *dir, int number, int *report);

#endif
