/*
 * journal_internal.h - what the files of the journal share: journal.c opens,
 * delivers and closes, journal_append.c fills batches.
 */
#ifndef BOOKIE_JOURNAL_INTERNAL_H
#define BOOKIE_JOURNAL_INTERNAL_H

#include "journal.h"
#include "segment.h"
#include "spares.h"
#include "syncer.h"

struct journal {
	struct journal_events events;
	void *arg;
	struct bk_wake *wake;
	struct spares *spares;
	struct syncer *syncer;
	struct segment_list live; /* hold batches; the last is current */
	struct segment *current;  /* NULL before the first batch */
	struct slot *filling;
	size_t limit; /* bytes that the filling batch may have */
	bool offered; /* and the syncer may have taken it */
	uint64_t offered_number;
	uint64_t next;     /* number of the next batch */
	uint64_t reported; /* by synced() */
	uint64_t checkpoint;
	bool full;
	bool refused; /* since then, room() is owed */
	bool failed;
};

/* Tell the store what has happened: synced, failed, room. */
void journal_deliver(struct journal *j);
/* Hand over what is filling, for good. */
void journal_push(struct journal *j);

#endif
