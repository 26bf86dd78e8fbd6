/*
 * watch.h - a ledger's metadata, read now and again at every change, for as
 * long as the watch stands. Lost sessions and lost answers are dealt with
 * here. Private to lib/client.
 */
#ifndef BK_LEDGER_WATCH_H
#define BK_LEDGER_WATCH_H

#include "client/client.h"

struct bk_ledger_watch;

/* Start: cb is called, never from inside, with each fresh record (BK_OK; m
 * lives during the call), with ENOLEDGER when the ledger was deleted, and with
 * EBADMETA when the record cannot be read. Other errors are tried again. cb
 * must not free the watch. NULL when out of memory. */
struct bk_ledger_watch *bk_ledger_watch_new(struct bk_client *c,
    int64_t ledger_id, bk_ledger_meta_cb *cb, void *arg);
/* No more calls. NULL is fine. */
void bk_ledger_watch_free(struct bk_ledger_watch *w);

#endif
