/*
 * journal.h - the bookie's journal: records gathered into batches, one write
 * and one sync a batch, segments written once in full and recycled
 * (design/bookie.md 2; bytes in bk-disk(5)).
 *
 * All of it is called on the loop thread; a thread of the journal's own writes
 * and syncs, except when idle, where the loop thread does it itself.
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

/* Longest record: the longest entry there is, and room for what else goes with
 * it. */
#define JOURNAL_RECORD_MAX (6 * 1024 * 1024)

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
	const char *const *dirs; /* one or more, all existing; one stream of
	                            batches, its segments made in them by turns */
	size_t ndirs;
	size_t segment_min; /* bytes; 1 MB */
	size_t segment_max; /* bytes; 64 MB */
	/* The last position the store knows to be safe elsewhere, durably; 0 if
	 * it keeps no such mark. Every batch after it must be there: if the
	 * first one found is a later one, that is damage. */
	uint64_t checkpoint;
	int64_t sync_gap; /* ns between two syncs under load; 0: 0.5 ms */
	bool accept_damage;
};

struct journal_events {
	/* Batches up to and including position are on disk. On the loop, and
	 * possibly from within journal_turn_end(). */
	void (*synced)(void *arg, uint64_t position);
	/* A write or sync failed: nothing may be answered any more. */
	void (*failed)(void *arg, const char *what);
	/* journal_append() said EAGAIN or ENOSPC, and now there may be room. */
	void (*room)(void *arg);
};

struct journal_found { /* result of replay */
	uint64_t batches;
	uint64_t records;
	uint64_t first; /* numbers of the first and last batch, */
	uint64_t last;  /* 0 if there are none */
	uint64_t torn_bytes;
	char torn_file[256]; /* "" if nothing was cut */
	uint64_t torn_offset;
	bool damaged; /* went on over damage (accept_damage) */
};

/* Open and replay: each() is called for every record of every valid batch, in
 * order; a false return aborts with BK_ENOMEM. All that was replayed is durable
 * when this returns. BK_OK, BK_EDAMAGE (a bad batch with a valid later one, a
 * batch or file that is missing or cannot be read; *why names file and
 * offset), BK_ECONFIG (newer format), BK_ENOMEM, BK_ESYS. *why is text of this
 * thread, set unless BK_OK. A full disk is no error: then normal changes find
 * ENOSPC. */
enum bk_status journal_open(struct bk_loop *loop,
    const struct journal_config *config, const struct journal_events *events,
    void *arg, bool (*each)(void *arg, const struct journal_record *record),
    struct journal **journal, struct journal_found *found, const char **why);
/* Sync what is there, stop the threads, free. If the last checkpoint covers
 * everything, the journal is empty afterwards. No event is delivered. 0, or
 * -1 with errno set if something could not be made durable. NULL is fine. */
int journal_close(struct journal *j);

/* Append a record to the batch that is filling, from a few pieces put together
 * (so that the caller need not copy). Returns its position, never 0; or 0,
 * nothing appended, with errno
 *	ENOSPC    no segment left: refuse the change;
 *	EAGAIN    more waits for the disk than may, or the next segment is not
 *	          ready yet: put the request back and try again after room();
 *	EMSGSIZE  over JOURNAL_RECORD_MAX;
 *	ENOMEM, or EIO after failed().
 * reserve: may use the two segments kept for fences and recovery adds. */
uint64_t journal_append(struct journal *j, enum journal_kind kind,
    const struct bk_bytes *pieces, size_t npieces, bool reserve);
/* Nothing more comes in this turn of the loop: decide whether to write now.
 * Called once at the end of a turn by the store. */
void journal_turn_end(struct journal *j);

/* Last position that is durable. */
uint64_t journal_synced(const struct journal *j);
/* The lowest position that a record appended now can get. All records so far
 * have this one or a lower one; so a memtable closed now is covered by a
 * checkpoint of journal_filling() - 1, or a later one. */
uint64_t journal_filling(const struct journal *j);
/* Everything up to and including position is safe elsewhere: segments that
 * hold only older batches may be recycled, which happens later. Replaying too
 * much is harmless. */
void journal_checkpoint(struct journal *j, uint64_t position);
/* Bytes that replay would read now. */
uint64_t journal_live_bytes(const struct journal *j);
/* Whether normal changes are refused because only the reserve is left. */
bool journal_full(const struct journal *j);
/* Counters since the start. */
void journal_counts(const struct journal *j, uint64_t *batches,
    uint64_t *syncs);

#endif
