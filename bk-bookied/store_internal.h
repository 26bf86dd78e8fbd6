/*
 * store_internal.h - the store from within: what its files share. Everything
 * but the jobs' run functions belongs to the loop thread.
 */
#ifndef BOOKIE_STORE_INTERNAL_H
#define BOOKIE_STORE_INTERNAL_H

#include "bk-bookied/fileset.h"
#include "bk-bookied/journal.h"
#include "bk-bookied/ledgers.h"
#include "bk-bookied/logs.h"
#include "bk-bookied/lookup.h"
#include "bk-bookied/memtable.h"
#include "bk-bookied/space.h"
#include "bk-bookied/store.h"
#include "bk-bookied/worker.h"

/* Extents read last, one a place, so that who reads on need not load and check
 * the same one for every entry. */
#define STORE_CACHE 64

struct flush_job {
	struct job job;
	struct store *store;
	const struct memtable *memtable;
	const char *dir;
	uint64_t position;
	struct index *index; /* result */
	uint64_t log_bytes;
	int error; /* errno, 0: done */
};

struct store {
	struct bk_loop *loop;
	struct store_config config;
	struct store_events events;
	void *arg;

	struct journal *journal;
	struct ledgers *ledgers;
	struct memtable_pool *pool;
	struct memtable *active;
	struct memtable *frozen; /* being flushed, or NULL */
	uint32_t cleaned_at;     /* base when stale references were cleared */
	struct fileset *files;
	struct logs *logs;
	struct worker *writer; /* flush, merge */
	struct worker *reader;
	struct space *space;

	struct flush_job flush;
	struct bk_timer *retry; /* of a flush that found the disk full */
	bool merging;
	bool turn_ends; /* journal_turn_end() is asked for */
	bool operator_readonly;
	bool wants_room; /* somebody waits for room() */
	bool doubt_all;  /* of every ledger, known or not */
	bool has_failed;
	bool is_closing;  /* no job is begun any more */
	size_t next_dir;  /* ledger directory of the next flush */
	uint64_t aged_at; /* position of the last ledgers_age() */
	size_t reads_waiting;

	struct loaded *cache[STORE_CACHE];
	struct store_figures figures;
};

/* store_load.c: files into the table of ledgers, rebuilding index files that
 * are missing or damaged. *number is the next log's; *position the journal's
 * that is safe. *why as store_open(). */
enum bk_status store_load(struct store *s, uint32_t *number, uint64_t *position,
    const char **why);

/* store_state.c: what changes of a ledger's state. */

/* Put the ledger's state, as it is now, into the active memtable. -1 when out
 * of memory. */
int store_put_state(struct store *s, const struct ledger *l);
/* Take over a state from disk. -1 when out of memory. */
int store_take_state(struct store *s, const struct ledger_state *state);
/* Something unreadable may concern these ledgers: durably, they are in doubt.
 * low STATE_ALL: all, the unknown ones too. */
void store_set_doubt(struct store *s, int64_t low, int64_t high);
/* Apply a record of the journal. False when out of memory. */
bool store_replay_record(void *arg, const struct journal_record *record);

/* store_change.c */

/* Insert an entry that is in the journal into the active memtable. */
int store_insert(struct store *s, struct ledger *l, struct bk_bytes entry);
/* The ledger as removed: nothing of it is left but what must be remembered. */
int store_forget(struct store *s, struct ledger *l, bool remember);
/* The position an answer about this ledger must wait for; 0: none. */
uint64_t store_unsynced(const struct store *s, const struct ledger *l);
/* Have journal_turn_end() called at the end of this turn. */
void store_turn(struct store *s);

/* store_flush.c */

/* Freeze and flush the active memtable if it is full and can be. */
void store_flush_if_full(struct store *s);
/* Flush everything here and now: at the end. -1 with errno set. */
int store_flush_all(struct store *s);
void store_flush_retry(void *arg);
/* Merge index files if there are enough of one tier. */
void store_merge_if_due(struct store *s);

/* store_read.c */
void store_cache_drop(struct store *s, int64_t ledger_id);
void store_cache_fini(struct store *s);

static inline bool
store_in_doubt(const struct store *s, const struct ledger *l)
{
	return (s->doubt_all || (l != NULL && l->doubt));
}

/* Extents of the ledger in logs below it are not its own. */
static inline uint32_t
store_floor(const struct store *s, const struct ledger *l)
{
	const struct ledger_more *more = ledgers_more(s->ledgers, l);

	return (more == NULL ? 0 : more->floor);
}

/* The store cannot go on: said once. */
static inline void
store_fail(struct store *s, const char *what)
{
	if (s->has_failed)
		return;
	s->has_failed = true;
	s->events.failed(s->arg, what);
}

#endif
