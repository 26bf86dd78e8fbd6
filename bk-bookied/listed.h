/*
 * listed.h - a registration that outlives its session, for a bookie that
 * leaves when idle and is started again by whoever connects (--stay-listed).
 * A dead machine stays listed too.
 */
#ifndef BOOKIE_LISTED_H
#define BOOKIE_LISTED_H

#include "meta/ledger_tree.h"

struct listed;

/* Put a persistent node in the writable or read-only list, or take over the
 * one that is there. state(arg, BK_OK) once it stands, or why it does not.
 * NULL when out of memory. The payload is copied. */
struct listed *listed_new(const struct bk_tree *tree, const char *bookie_id,
    struct bk_bytes payload, bool readonly, bk_done_cb *state, void *arg);
/* Change lists: the new node is made before the old one goes. */
void listed_mode(struct listed *l, bool readonly);
/* Forget it; the node stays. NULL is fine. Only once the store is
 * closed, so that no answer can come any more. */
void listed_free(struct listed *l);

#endif
