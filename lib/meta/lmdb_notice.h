/*
 * lmdb_notice.h - how a process hears of changes that others make in the
 * embedded store: inotify on changed and on sessions/. It is a hint and may be
 * missing (a user has 128 of them); so look at the store now and then, too.
 */
#ifndef BK_LMDB_NOTICE_H
#define BK_LMDB_NOTICE_H

#include "loop/loop.h"
#include "meta/lmdb_store.h"

struct bk_lmdb_notice;

/* changed is called after a commit, died when a session's file was closed. */
struct bk_lmdb_notice *bk_lmdb_notice_new(struct bk_loop *loop,
    struct bk_lmdb *store, bk_timer_cb *changed, bk_timer_cb *died, void *arg);
void bk_lmdb_notice_free(struct bk_lmdb_notice *n);

#endif
