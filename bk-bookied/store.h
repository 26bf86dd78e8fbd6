/*
 * store.h - the bookie's storage as its protocol side sees it: add, fence,
 * read, explicit LAC, force, list, removal. Knows nothing of connections.
 *
 * Everything here is called on the loop thread. A change is made in one step
 * (check of key and fence, insert, journal append: design/bookie.md 1) and
 * returns the journal position its answer rests on; the caller holds the
 * answer back until on_synced() covers it. Reads answer at once when memory
 * or the page cache has the entry, else from the read thread through a
 * callback on the loop.
 */
#ifndef BOOKIE_STORE_H
#define BOOKIE_STORE_H

#include "base/buf.h"
#include "base/status.h"
#include "loop/loop.h"
#include "sums/digest.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct store;

struct store_config {
	const char *const *journal_dirs;
	size_t njournal_dirs;
	const char *const *ledger_dirs;
	size_t nledger_dirs;
	size_t memtable_bytes; /* flush above this; two may exist */
	size_t journal_max;    /* bytes a segment grows to, 64 MB */
	size_t ballast_bytes;  /* per ledger directory; 64 MB, 1 MB on demand */
	double high_mark;      /* usage above which it turns read-only, 0.95 */
	double low_mark;       /* below which it turns writable, 0.90 */
	bool accept_damage;    /* go on after a damaged journal, with doubt */
};

struct store_events {
	/* Every change up to and including position is durable. */
	void (*synced)(void *arg, uint64_t position);
	/* Memory has room again after store_add() said BK_ECANCELED. */
	void (*room)(void *arg);
	/* Disk space made the store turn read-only or writable; why is text. */
	void (*mode)(void *arg, bool readonly, const char *why);
	/* The journal or store failed for good: the bookie must end at once
	 * without another answer (overview.md 2, point 5). */
	void (*failed)(void *arg, const char *what);
	/* The LAC of a ledger rose, or it was fenced (fenced = true), or it was
	 * removed (gone = true): long polls look again. */
	void (*moved)(void *arg, int64_t ledger_id, bool fenced, bool gone);
};

struct store_replay { /* what the start found, for one log line */
	uint64_t batches;
	uint64_t entries;
	uint64_t torn_bytes;   /* cut off the end */
	const char *torn_file; /* NULL if nothing was cut */
	uint64_t torn_offset;
};

/* Open: lock directories, replay the journal, build the index in memory.
 * BK_OK, or BK_ECONFIG (in use, newer disk format), BK_EDAMAGE, BK_ESYS,
 * BK_ENOMEM with *why (thread-local text). Blocks. */
enum bk_status store_open(struct bk_loop *loop,
    const struct store_config *config, const struct store_events *events,
    void *arg, struct store **store, struct store_replay *replay,
    const char **why);
/* Flush, checkpoint, close and free; after it the journal is empty. */
void store_close(struct store *s);

/* A request for this entry comes soon: fetch what it will touch into the
 * processor's cache. Worth it over a batch of requests. */
void store_prefetch(const struct store *s, int64_t ledger_id, int64_t entry_id);

/* How an add is made. */
struct store_add {
	struct bk_bytes master_key;
	struct bk_bytes entry; /* ledger and entry id are in its bytes */
	bool recovery;         /* allowed when fenced; ignores deferral */
	bool deferred;         /* may be answered before the sync; batches
	                              are synced as they are written, so that
	                              is not sooner */
	bool high_priority;    /* passes read-only while space is left */
};

/*
 * Add one entry. Returns OK with *position to wait for (0: answer now), or the
 * answer to give: EUA, EFENCED, EIO (ledger in doubt), EREADONLY, EBADREQ
 * (negative ids, too short, over BK_ENTRY_MAX), which also wait for *position
 * when it is not 0. BK_ECANCELED: no memory now; put the whole request back
 * and call again after room().
 */
enum bk_status store_add(struct store *s, const struct store_add *add,
    uint64_t *position);

/* Set the fence of a ledger (created if unknown). OK, or EUA, EIO, EBADREQ
 * (negative id), ENOLEDGER (was fenced and removed); wait for *position before
 * any answer that rests on it. */
enum bk_status store_fence(struct store *s, int64_t ledger_id,
    struct bk_bytes master_key, uint64_t *position);

/* Store an explicit-LAC packet (ledger from its bytes 0..7, LAC from 8..15).
 * Answers as store_add(), and ENOLEDGER (was fenced and removed). */
enum bk_status store_write_lac(struct store *s, struct bk_bytes master_key,
    struct bk_bytes packet, uint64_t *position);

/* The position that covers everything of this ledger so far (FORCE). */
uint64_t store_force(struct store *s, int64_t ledger_id);

/* What is known of a ledger, without I/O. */
struct store_ledger {
	bool known;
	bool fenced;
	bool in_doubt;
	int64_t last_entry; /* -1 if none */
	int64_t lac;        /* greatest seen; -1 */
	bool has_explicit_lac;
	uint64_t unsynced; /* youngest unsynced change, 0 if none */
};
void store_ledger(struct store *s, int64_t ledger_id, struct store_ledger *l);
/* The explicit-LAC packet, copied out; its length, 0 if none. */
size_t store_explicit_lac(struct store *s, int64_t ledger_id,
    uint8_t packet[BK_LAC_PACKET_MAX]);

/* An entry that was read: bytes valid until store_entry_release(), which may
 * be called on the loop thread only. A lent entry may hold up to 64 KiB of its
 * neighbours in memory. */
struct store_entry {
	enum bk_status status; /* OK, ENOLEDGER, ENOENTRY, EBADREQ, EIO,
	                           EUNKNOWNSTATE (in doubt, not found),
	                           ETOOMANY (too many reads wait) */
	struct bk_bytes bytes;
	void *owner; /* opaque */
};
void store_entry_release(struct store_entry *e);
typedef void store_read_cb(void *arg, struct store_entry *entry);

/* Read an entry; entry_id -1: the one with the highest id. Returns true with
 * *entry filled when it could be answered at once; false when cb will be
 * called from the loop. urgent: fencing and recovery reads go first. */
bool store_read(struct store *s, int64_t ledger_id, int64_t entry_id,
    bool urgent, struct store_entry *entry, store_read_cb *cb, void *arg);
/* Entries with consecutive ids. */
struct store_run {
	int64_t first, last;
};
/* Which entries of a ledger are stored, as runs, ascending and apart; they die
 * when the call returns. OK, ENOLEDGER, EIO (also in doubt), ENOMEM, ETOOMANY.
 * The index is read on the read thread: cb always comes later, from the
 * loop. */
typedef void store_list_cb(void *arg, enum bk_status status,
    const struct store_run *runs, size_t n);
void store_list(struct store *s, int64_t ledger_id, store_list_cb *cb,
    void *arg);

/* All ledgers stored here, ascending; the array is the caller's to free.
 * -1 when out of memory. */
int store_ledgers(struct store *s, int64_t **ids, size_t *n);
/* Remove a ledger whose metadata is gone. A fenced one is remembered for 7
 * days (bookie-protocol.md 5.1). */
enum bk_status store_remove(struct store *s, int64_t ledger_id);

void store_set_readonly(struct store *s, bool readonly); /* the operator's */
bool store_readonly(const struct store *s, const char **why);
/* Total and usable bytes over ledger directories, each file system once. */
int store_space(struct store *s, int64_t *total, int64_t *free);

/* Figures, for metrics and USR1. */
struct store_figures {
	uint64_t adds, add_bytes, reads, syncs, batches, flushes, merges;
	uint64_t memtable_bytes, journal_bytes, ledgers, index_files, log_files;
	uint64_t log_bytes, live_bytes;
};
void store_figures(const struct store *s, struct store_figures *f);

#endif
