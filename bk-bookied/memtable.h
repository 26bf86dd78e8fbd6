/*
 * memtable.h - what has been added and not yet flushed: entries found by
 * (ledger, entry), and states of ledgers, in one growing arena.
 *
 * The loop thread fills the active memtable; once frozen it does not change,
 * and the flush thread may read it too. Everything in it has a reference, a
 * number in units of 8 bytes; the next memtable goes on where the one before
 * ended, so that the entries of a ledger form one chain through both, newest
 * first, from ledger.newest on.
 */
#ifndef BOOKIE_MEMTABLE_H
#define BOOKIE_MEMTABLE_H

#include "base/buf.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct memtable;
struct memtable_pool;

/* Pieces of memory for the arenas, kept for the next one. NULL with errno
 * ENOMEM. */
struct memtable_pool *memtable_pool_new(void);
/* Give back what is kept unused. */
void memtable_pool_trim(struct memtable_pool *pool);
void memtable_pool_free(struct memtable_pool *pool);

/* An empty memtable, whose log will have this number; its references begin at
 * base, which is the end of the one before or memtable_base_first(). NULL with
 * errno ENOMEM. */
struct memtable *memtable_new(struct memtable_pool *pool, uint32_t number,
    uint32_t base);
uint32_t memtable_base_first(void);
/* Its memory goes back to the pool. */
void memtable_free(struct memtable *m);

uint32_t memtable_number(const struct memtable *m);
/* First reference, and the one after the last: what a next memtable begins
 * at. */
uint32_t memtable_base(const struct memtable *m);
uint32_t memtable_end(const struct memtable *m);
/* Memory taken, and entries and states in it. */
size_t memtable_bytes(const struct memtable *m);
size_t memtable_count(const struct memtable *m);

/* Where an entry is to go. */
struct memtable_place {
	uint32_t slot;
	uint32_t tag;
};

enum memtable_room { MEMTABLE_FREE, MEMTABLE_HAS, MEMTABLE_ENOMEM };

/* Make sure that an entry of len bytes can be put, and find its place, which
 * is good until the next prepare. HAS: it is there already. */
enum memtable_room memtable_prepare(struct memtable *m, int64_t ledger_id,
    int64_t entry_id, size_t len, struct memtable_place *place);
/* Put a prepared entry: a copy of its bytes, which begin with ledger and entry
 * id. previous is the ledger's newest reference before. Returns its own. */
uint32_t memtable_put(struct memtable *m, const struct memtable_place *place,
    struct bk_bytes entry, uint32_t previous);
/* Make sure that one state of len bytes can be put; -1 when out of memory. */
int memtable_prepare_state(struct memtable *m, size_t len);
/* Put the encoded state of a ledger (state.h), prepared just before. */
void memtable_put_state(struct memtable *m, struct bk_bytes state);

/* An entry; data NULL if it is not here. */
struct bk_bytes memtable_find(const struct memtable *m, int64_t ledger_id,
    int64_t entry_id);
void memtable_prefetch(const struct memtable *m, int64_t ledger_id,
    int64_t entry_id);

/* Whether a reference is in this memtable. */
bool memtable_holds(const struct memtable *m, uint32_t ref);
/* The entry or state at a reference; data NULL if it was killed. */
struct bk_bytes memtable_at(const struct memtable *m, uint32_t ref);
/* The reference of the entry before it of the same ledger. */
uint32_t memtable_previous(const struct memtable *m, uint32_t ref);
/* Take an entry out: its ledger was removed. Active memtable only. */
void memtable_kill(struct memtable *m, uint32_t ref);

/* One thing in a memtable, as the flush wants it. */
struct memtable_item {
	uint64_t ledger_id;
	uint64_t entry_id;
	uint32_t ref; /* for memtable_at() */
};

/* All entries, by ledger and entry id; and the newest state of each ledger, by
 * ledger. The arrays are the caller's to free. -1 when out of memory. */
int memtable_entries(const struct memtable *m, struct memtable_item **items,
    size_t *n);
int memtable_states(const struct memtable *m, struct memtable_item **items,
    size_t *n);

#endif
