/*
 * session.h - a tool's connection to its cluster: loop, store, tree, bookies,
 * rpc and client in one, with the on-demand start of local bookies behind it
 * (design/meta.md 4). What bk-add, bk-read, bk-ledger, hub-pub and hub-sub
 * open first and close last.
 */
#ifndef BK_SESSION_H
#define BK_SESSION_H

#include "client/writer.h"
#include "loop/loop.h"
#include "meta/registry.h"

struct bk_session_config {
	const char *cluster;   /* BK_CLUSTER text, or NULL: the local one */
	const char *auth_file; /* ZooKeeper digest, or NULL */
	bool bookies;          /* watch the bookie lists at all */
	/* With no cluster configured, bookies are started on demand: */
	bool need_bookies;     /* those that are missing (writers) */
	bool need_any;         /* all, if none is there (readers) */
	bool create;           /* a missing local store is made; else it is
	                          ENONODE; implied by need_bookies */
	int64_t timeout;       /* ns to reach the store; 0 = 10 s */
	unsigned wire_version; /* 2, 3, or 0 */
	size_t window_entries, window_bytes; /* 0 = the client's defaults */
};

struct bk_session {
	struct bk_loop *loop;
	struct bk_meta *meta;
	struct bk_tree tree;
	struct bk_registry *registry; /* NULL without bookies */
	struct bk_env *env;           /* without bookies it reaches none */
	struct bk_client client;
	bool local;  /* the embedded cluster */
	bool demand; /* its bookies are started on demand */
};

/*
 * Open: connects, syncs, reads LAYOUT, lists bookies. Runs the loop until that
 * is done. BK_OK; ENONODE, not reported: there is no local store yet, and none
 * was to be made, so it has no ledgers and no names; or else the reason
 * (ESTORE, ETLS, ESASL, ECONFIG, EACCESS, ...), already reported with one clear
 * line. *session is NULL then.
 */
enum bk_status bk_session_open(const struct bk_session_config *config,
    struct bk_session **session);
/* Frees all of it; readers, writers and calls to the store must be gone or
 * ready for ECANCELED. NULL is fine. */
void bk_session_close(struct bk_session *s);

/* No bookie is left to turn to: start the local ones again. The callback comes
 * from the loop, BK_OK when they are up; EUNREACHABLE when there is nothing
 * that we could start. One at a time. */
void bk_session_revive(struct bk_session *s, bk_done_cb *cb, void *arg);

/* Fill the quorum sizes of a new ledger that are 0, not given: the client's
 * (cli.md 3.4: 2/2/2 embedded, 3/3/2 else) as far as the others allow. */
void bk_session_quorum(const struct bk_session *s, struct bk_ledger_params *p);

/* Report "object: what" for a status and return its exit code. */
int bk_session_fail(enum bk_status status, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

#endif
