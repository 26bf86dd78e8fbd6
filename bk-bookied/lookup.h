/*
 * lookup.h - find an entry in the index files and read the extent it is in.
 * For the loop, if everything is in memory, or for the read thread.
 */
#ifndef BOOKIE_LOOKUP_H
#define BOOKIE_LOOKUP_H

#include "bk-bookied/extent.h"
#include "bk-bookied/fileset.h"
#include "bk-bookied/logs.h"

#include <stdbool.h>
#include <stdint.h>

/* An extent that was read and checked. Users are counted on one thread. */
struct loaded {
	unsigned users;
	struct record record;
	struct bk_bytes bytes; /* = data */
	uint8_t data[];
};

void loaded_unref(struct loaded *x);

/* What to find, and what came of it. */
struct lookup {
	const struct fileset *set;
	struct logs *logs;
	int64_t ledger_id;
	int64_t entry_id;
	uint32_t floor; /* logs below it are another ledger's */
	bool may_wait;  /* false: only what is in memory */

	/* Which ledgers something unreadable may concern; a miss then proves
	 * nothing. */
	bool is_damaged;
	struct index_damage damage;
};

enum lookup_result {
	LOOKUP_FOUND,
	LOOKUP_ABSENT, /* proven, unless is_damaged */
	LOOKUP_WOULD_WAIT,
	LOOKUP_FAILED, /* errno: lack of memory or descriptors */
};

/* FOUND: *found is the extent, with one user. Damage is logged. */
enum lookup_result lookup_entry(struct lookup *l, struct loaded **found);

/* Read one extent: 0, or -1 with errno: EAGAIN (would wait), EBADMSG
 * (damaged), ENOENT (no such log), EIO, ... */
int lookup_load(struct logs *logs, const struct record *record, bool may_wait,
    struct loaded **loaded);
/* The same of its table alone: what extent_id() wants. */
int lookup_load_table(struct logs *logs, const struct record *record,
    struct loaded **loaded);

/* Whether an errno says that data is bad, not that this process lacks
 * something. */
bool lookup_is_damage(int error);

#endif
