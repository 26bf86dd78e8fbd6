/*
 * cache.h - extents read lately, so that a reader who goes on in order reads
 * each but once. Loop thread only.
 */
#ifndef BOOKIE_CACHE_H
#define BOOKIE_CACHE_H

#include "bk-bookied/lookup.h"

struct cache;

/* NULL with errno ENOMEM. */
struct cache *cache_new(void);
void cache_free(struct cache *c);
/* Keep an extent, as one more user, in place of an older one. */
void cache_put(struct cache *c, struct loaded *x);
/* An extent here that has the entry, not one user more; NULL. */
struct loaded *cache_find(struct cache *c, int64_t ledger_id, int64_t entry_id,
    struct bk_bytes *entry);
/* Drop what there is of a ledger; or of all. */
void cache_forget(struct cache *c, int64_t ledger_id);
void cache_empty(struct cache *c);

#endif
