/*
 * journal.h - the bookie's journal: records gathered into batches, one write
 * and one sync a batch, segments written once in full and recycled
 * (design/bookie.md 2; bytes in bk-disk(5)).
 *
 * journal_append() is called on the loop thread; a thread of the journal's own
 * writes and syncs, except when idle, where the loop thread does it itself.
 * Positions count batches: a record appended now has the position of the batch
 * that will carry it; positions grow by one per batch and never repeat.
 */
#ifndef BOOKIE_JOURNAL_H
#define BOOKIE_JOURNAL_H

#include "base/buf.h"
#include "base/status.h"
#include "loop/loop.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct journal;

enum journal_kind {
	JOURNAL_ENTRY = 1,  /* bytes: an entry as stored */
	JOURNAL_KEY = 2,    /* ledger id, then the master key */
	JOURNAL_FENCE = 3,  /* ledger id */
	JOURNAL_LAC = 4,    /* an explicit-LAC packet */
	JOURNAL_REMOVE = 5, /* ledger id, flags: 1 = remember as fenced */
	JOURNAL_DOUBT = 6,  /* ledger id, 1 = set, 0 = cleared */
};

/* One record as replay hands it over; bytes die when the call returns. */
struct journal_record {
	enum journal_kind kind;
	struct bk_bytes bytes;
};

struct journal_config {
	const char *const *dirs;    /* one or more; batches go to them in turn
	                               by ledger, or all to the first: see .c */
	size_t ndirs;
	size_t segment_min;         /* 1 MB */
	size_t segment_max;         /* 64 MB */
	bool accept_damage;
};

struct journal_events {
	/* Batches up to and including position are on disk. On the loop. */
	void (*synced)(void *arg, uint64_t position);
	/* A write or sync failed: nothing may be answered any more. */
	void (*failed)(void *arg, const char *what);
};

struct journal_found {         /* result of replay */
	uint64_t batches;
	uint64_t records;
	uint64_t torn_bytes;
	char torn_file[256];       /* "" if nothing was cut */
	uint64_t torn_offset;
	bool damaged;              /* went on over damage (accept_damage) */
};

/* Open and replay: each() is called for every record of every valid batch, in
 * order; a false return aborts with BK_ENOMEM. BK_OK, BK_EDAMAGE (a bad batch
 * with a valid later one; *why names file and offset), BK_ECONFIG (newer
 * format), BK_ESYS. */
enum bk_status journal_open(struct bk_loop *loop,
    const struct journal_config *config, const struct journal_events *events,
    void *arg, bool (*each)(void *arg, const struct journal_record *record),
    struct journal **journal, struct journal_found *found, const char **why);
/* Sync what is there, stop the thread, free. */
void journal_close(struct journal *j);

/* Append a record to the batch that is filling, from up to three pieces put
 * together (so that the caller need not copy). Returns its position, never 0;
 * 0 with errno ENOSPC (no segment left: refuse the change), ENOMEM or EMSGSIZE.
 * reserve: may use the two segments kept for fences and recovery adds. */
uint64_t journal_append(struct journal *j, enum journal_kind kind,
    const struct bk_bytes *pieces, size_t npieces, bool reserve);
/* Nothing more comes in this turn of the loop: decide whether to write now.
 * Called once at the end of a turn by the store. */
void journal_turn_end(struct journal *j);

/* Last position that is durable, and the one filling. */
uint64_t journal_synced(const struct journal *j);
uint64_t journal_filling(const struct journal *j);
/* Everything up to and including position is safe elsewhere: segments that
 * hold only older batches may be recycled. Durable before it returns only in
 * the sense that replaying too much is harmless. */
void journal_checkpoint(struct journal *j, uint64_t position);
/* Bytes that replay would read now. */
uint64_t journal_live_bytes(const struct journal *j);
/* Counters. */
void journal_counts(const struct journal *j, uint64_t *batches,
    uint64_t *syncs);

#endif
