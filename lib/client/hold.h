/*
 * hold.h - being the one who writes a chain: find it by name, become its
 * holder, keep the holder node over session loss, change the chain, let go.
 *
 * A new holder raises the chain's epoch in the multi that makes its node, so
 * every later change by the one before fails with EFENCED.
 */
#ifndef BK_HOLD_H
#define BK_HOLD_H

#include "client/client.h"
#include "meta/chain.h"

struct bk_hold;

/* EHELD: holder is the other one's text. */
typedef void bk_hold_cb(void *arg, enum bk_status status, const char *holder);

/* Take hold of a name, made with settings (copied) if it is missing. fence:
 * also of one whose holder lives. NULL when out of memory; the callback comes
 * from the loop. */
struct bk_hold *bk_hold_open(struct bk_client *c, const char *name,
    const struct bk_chain *settings, bool fence, bk_hold_cb *cb, void *arg);
/* Forget it; the node goes with the session. No callback after. NULL is
 * fine. */
void bk_hold_free(struct bk_hold *h);

/* The chain as last read or changed; valid once held. */
const struct bk_chain_at *bk_hold_chain(const struct bk_hold *h);
int64_t bk_hold_chain_id(const struct bk_hold *h);

/* Append a ledger, in one multi with a check that its metadata still has this
 * version. EFENCED when somebody else holds the chain now. One change at a
 * time. */
void bk_hold_append(struct bk_hold *h, int64_t ledger_id, int32_t version,
    bk_done_cb *cb, void *arg);
/* Let go: the holder node is deleted, the chain marked as ended if so. */
void bk_hold_release(struct bk_hold *h, bool ended, bk_done_cb *cb, void *arg);

#endif
