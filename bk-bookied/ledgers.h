/*
 * ledgers.h - the hot table: what is known of each ledger, in 32 bytes, for
 * all ledgers stored here. Loop thread only.
 *
 * The table is cut into segments that split one at a time when full, so that
 * growing never stops the loop for long and an idle bookie stays small.
 */
#ifndef BOOKIE_LEDGERS_H
#define BOOKIE_LEDGERS_H

#include "bk-bookied/hash.h"
#include "bk-bookied/keys.h"
#include "sums/digest.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * One ledger. A ledger that is "gone" was removed: it is kept until nothing of
 * it is left in an index file (floor in struct ledger_more), and for 7 days if
 * it was fenced.
 */
struct ledger {
	int64_t id;         /* -1: a free place */
	int64_t last_entry; /* highest entry id stored, -1 if none */
	int32_t lac_gap;    /* LAC = last_entry - lac_gap; or see more.lac */
	uint32_t changed;   /* low half of the position of its youngest change;
	                        see ledger_changed_at() */
	uint32_t newest;    /* its newest entry in a memtable; see memtable.h */
	uint32_t key : 28;  /* number in keys.h; 0: not known */
	uint32_t fenced : 1;
	uint32_t doubt : 1;
	uint32_t gone : 1;
	uint32_t more : 1; /* has a struct ledger_more */
};

/* What only few ledgers have. */
struct ledger_more {
	UT_hash_handle hh;
	int64_t id;
	int64_t lac;        /* if lac_gap cannot express it */
	int64_t gone_until; /* gone and fenced: remembered until then, seconds
	                        of the real-time clock */
	uint32_t floor;     /* extents in logs below it are not this ledger's,
	                        but of one removed before */
	uint8_t packet_len; /* explicit LAC, 0 if none */
	uint8_t packet[BK_LAC_PACKET_MAX];
	bool lost; /* the hash table had no memory for it */
};

struct ledgers;

/* NULL with errno ENOMEM. */
struct ledgers *ledgers_new(void);
void ledgers_free(struct ledgers *t);

/* The ledger, gone or not, or NULL. Pointers die at the next add or drop. */
struct ledger *ledgers_find(const struct ledgers *t, int64_t id);
void ledgers_prefetch(const struct ledgers *t, int64_t id);
/* A new ledger with nothing known of it; it must not be there. NULL with errno
 * ENOMEM. */
struct ledger *ledgers_add(struct ledgers *t, int64_t id);
/* Forget a ledger, its more and its use of a key. */
void ledgers_drop(struct ledgers *t, struct ledger *l);

/* Ledgers in the table, those gone included. */
size_t ledgers_count(const struct ledgers *t);
/* Each ledger in no order; fn may change it but must not add or drop. */
void ledgers_each(const struct ledgers *t,
    void (*fn)(void *arg, struct ledger *l), void *arg);

/* Keys of the ledgers. */
struct keys *ledgers_keys(const struct ledgers *t);
/* Give the ledger this key in place of the one it had; -1 when out of memory
 * and nothing changed. */
int ledgers_set_key(struct ledgers *t, struct ledger *l, struct bk_bytes key);
void ledgers_drop_key(struct ledgers *t, struct ledger *l);

/* The rest of a ledger: NULL if it has none; made empty (with lac -1) if it
 * has none, or NULL with errno ENOMEM. */
struct ledger_more *ledgers_more(const struct ledgers *t,
    const struct ledger *l);
struct ledger_more *ledgers_more_make(struct ledgers *t, struct ledger *l);
/* Free it if nothing in it matters any more. */
void ledgers_more_trim(struct ledgers *t, struct ledger *l);

/* The greatest LAC seen, -1 if none. */
int64_t ledgers_lac(const struct ledgers *t, const struct ledger *l);
/* Raise the LAC, if it is higher: whether it was. Lack of memory leaves it,
 * the LAC being a hint. */
bool ledgers_raise_lac(struct ledgers *t, struct ledger *l, int64_t lac);
/* Raise the last entry, if it is higher. */
void ledgers_raise_last(struct ledgers *t, struct ledger *l, int64_t entry_id);

/* Note that everything up to synced is durable, so that positions kept by
 * their low halves stay clear: to be called once the journal is open, and then
 * before 2^31 positions have passed. */
void ledgers_age(struct ledgers *t, uint64_t filling, uint64_t synced);

/* The position of the youngest change of the ledger, or an older one that is
 * durable; filling is the position the journal gives out now. */
static inline uint64_t
ledger_changed_at(const struct ledger *l, uint64_t filling)
{
	return (filling - (uint32_t)((uint32_t)filling - l->changed));
}

#endif
