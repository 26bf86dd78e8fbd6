/*
 * session.h - a tool's connection to its cluster: loop, store, tree, bookies,
 * rpc and client in one, with the on-demand start of local bookies behind it
 * (design/meta.md 4). What bk-add, bk-read, bk-ledger, hub-pub and hub-sub
 * open first and close last.
 */
#ifndef BK_SESSION_H
#define BK_SESSION_H

#include "client/client.h"
#include "loop/loop.h"
#include "meta/registry.h"

struct bk_session_config {
	const char *cluster;   /* BK_CLUSTER text, or NULL: the local one */
	const char *auth_file; /* ZooKeeper digest, or NULL */
	bool need_bookies;     /* start local ones if missing (writers) */
	bool bookies;          /* watch the bookie lists at all */
	bool create;           /* a missing local store is made; else a
	                              missing one reads as empty: ENONODE */
	int64_t timeout;       /* ns to reach the store; 10 s */
	unsigned wire_version; /* 2, 3 or 0 */
	size_t window_entries, window_bytes;
};

struct bk_session {
	struct bk_loop *loop;
	struct bk_meta *meta;
	struct bk_tree tree;
	struct bk_registry *registry;
	struct bk_env *env;
	struct bk_client client;
	bool local; /* the embedded cluster */
};

/* Open: connects, syncs, reads LAYOUT, lists bookies. Runs the loop until that
 * is done. BK_OK, or the reason (ESTORE, ETLS, ESASL, ECONFIG, ENOTENOUGH, ...)
 * already reported with one clear line through bk_log(). */
enum bk_status bk_session_open(const struct bk_session_config *config,
    struct bk_session **session);
void bk_session_close(struct bk_session *s);
/* Report "object: what: why" for a status and return its exit code. */
int bk_session_fail(enum bk_status status, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

#endif
