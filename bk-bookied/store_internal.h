/*
 * store_internal.h - the store from within: what its files share. All of it
 * belongs to the loop thread but the run functions of jobs. Nothing else
 * includes this.
 */
#ifndef BOOKIE_STORE_INTERNAL_H
#define BOOKIE_STORE_INTERNAL_H

#include "bk-bookied/fileset.h"
#include "bk-bookied/journal.h"
#include "bk-bookied/ledgers.h"
#include "bk-bookied/logs.h"
#include "bk-bookied/memtable.h"
#include "bk-bookied/space.h"
#include "bk-bookied/state.h"
#include "bk-bookied/store.h"
#include "bk-bookied/worker.h"

/* A removed ledger that was fenced is remembered for 7 days from its last use
 * (bookie-protocol.md 5.1). */
#define STORE_REMEMBER (INT64_C(7) * 24 * 3600)

/* Room for why something failed, in one line. */
#define STORE_WHY 512

struct store_flush;
struct store_reads;
struct store_tidy;

struct store {
	struct bk_loop *loop;
	struct store_events events;
	void *arg;
	char *
	    *dirs; /* copies of the configured ones, ledger directories first */
	size_t ndirs;

	/* What is known of ledgers. */
	struct ledgers *ledgers;
	bool doubt_all; /* of ledgers not known, too */

	/* Changes on their way to disk. */
	struct journal *journal; /* NULL while it is replayed */
	bool turn_asked;         /* journal_turn_end() will be called */
	uint64_t last_position;  /* of the last record appended */
	uint64_t aged_position;  /* ledgers_age() was called there */

	/* Changes in memory. */
	struct memtable_pool *pool;
	struct memtable *active;
	struct memtable *frozen;  /* being flushed; NULL if none is */
	uint64_t frozen_position; /* the journal it covers */
	size_t memtable_bytes;    /* active is flushed above this */
	bool wants_room;          /* somebody was told BK_ECANCELED */

	/* Changes in files. */
	uint32_t next_log;
	struct fileset *set;
	struct logs *logs;

	struct space *space;
	struct worker *writer;
	struct worker *reader;
	struct store_flush *flush;
	struct store_tidy *tidy;
	struct store_reads *reads; /* NULL while the store opens */
	bool is_readonly;          /* the operator's */
	bool was_full;             /* as told by events.mode */
	bool has_failed;
	bool is_closing;

	struct store_figures figures; /* those counted here */
	char torn_file[256];
};

/* store_state.c */

/* Whether what is not found of the ledger (NULL: not known) may be lost. */
bool store_in_doubt(const struct store *s, const struct ledger *l);
/* Lowest log whose extents are the ledger's. */
uint32_t store_floor(const struct store *s, const struct ledger *l);
/* Make sure that the state of one ledger can be kept; -1 when out of memory. */
int store_prepare_state(struct store *s);
/* Keep a ledger's state as it is now, prepared just before. */
void store_keep_state(struct store *s, const struct ledger *l);
/* The same with a new explicit LAC. */
void store_keep_packet(struct store *s, struct ledger *l,
    struct ledger_more *more, struct bk_bytes packet);
/* Take over a state found in a file, if none newer was before. -1 when out of
 * memory. */
int store_take_state(struct store *s, const struct ledger_state *state);
/* A removed ledger is there again, with nothing of what it was. */
void store_revive(struct store *s, struct ledger *l);
/* Forget a ledger but for its removal, and until when it is remembered as
 * fenced (0: it is not); what is flushed of it so far lies below the floor.
 * Prepared just before. */
void store_forget(struct store *s, struct ledger *l, struct ledger_more *more,
    int64_t until);
/* Put a ledger, or with STATE_ALL all, in doubt or out of it. Durable with the
 * journal; while there is none, with the next flush. -1 with errno set. */
int store_doubt(struct store *s, int64_t ledger_id, bool doubt);
/* Put the known ledgers from low to high in doubt. */
void store_doubt_range(struct store *s, int64_t low, int64_t high);
/* After loading and replay: what is in doubt is kept as such, ledgers whose key
 * was lost among them. False when out of memory. */
bool store_keep_doubts(struct store *s);

/* store_change.c */

/* Append a record that is a ledger id and the rest to the journal. 0 with errno set, as journal_append(). */
uint64_t store_append(struct store *s, enum journal_kind kind,
    int64_t ledger_id, struct bk_bytes rest, bool reserve);

/* Put an entry that is in the journal at position into its prepared place. */
void store_insert(struct store *s, struct ledger *l,
    const struct memtable_place *place, struct bk_bytes entry, int64_t entry_id,
    uint64_t position);

/* store_replay.c: make a change that replay found. False when out of memory. */
bool store_replay_record(void *arg, const struct journal_record *record);

/* store_load.c: what is in the directories; ledgers get their states and last
 * entries. BK_OK or as store_open(). */
enum bk_status store_load(struct store *s, char why[STORE_WHY]);

/* store_flush.c */

/* NULL when out of memory. */
struct store_flush *store_flush_new(struct store *s);
void store_flush_free(struct store_flush *f);
/* If the active memtable is full, begin to flush it. False if it is, and the
 * one before is not flushed yet, or there is no memory. */
bool store_make_room(struct store *s);
/* Flush a memtable here and now; position as for flush_memtable(). 0, or -1
 * with errno set. */
int store_flush_now(struct store *s, const struct memtable *m,
    uint64_t position);

/* store_tidy.c */

struct store_tidy *store_tidy_new(struct store *s);
void store_tidy_free(struct store_tidy *t);
/* There is a new file: merge if there are enough of them. */
void store_merge(struct store *s);
/* Something was removed: soon, look for logs that nothing needs any more. */
void store_reclaim(struct store *s);

/* store_read.c */

struct store_reads *store_reads_new(struct store *s);
void store_reads_free(struct store_reads *r);
/* A ledger was removed: forget what was read of it. */
void store_reads_forget(struct store *s, int64_t ledger_id);

/* store.c */

/* Something was appended to the journal: have journal_turn_end() called. */
void store_turn(struct store *s);
/* There may be room again: tell who waits for it. */
void store_room(struct store *s);
/* The disks may have become too full, or not so any more: tell, if so. */
void store_mode(struct store *s);
/* The store failed for good; told once. */
void store_failed(struct store *s, const char *what);
/* Seconds of the real-time clock. */
int64_t store_wall_clock(void);

#endif
