/*
 * reclaim.h - logs that nothing needs any more are removed.
 */
#ifndef BOOKIE_RECLAIM_H
#define BOOKIE_RECLAIM_H

#include "bk-bookied/fileset.h"
#include "bk-bookied/gone.h"
#include "bk-bookied/logs.h"

struct reclaim {
	const struct fileset *set;
	struct logs *logs;
	const struct gone_table *gone;
	/* Results. */
	uint64_t live_bytes; /* of extents, in all logs */
	size_t removed;      /* logs */
};

/* Look through the set and remove those of its logs that have neither an extent
 * of a ledger that is there nor the newest state of one. On any thread; pause
 * as for merge_files(). 0, or -1 with errno set. */
int reclaim_logs(struct reclaim *r, bool (*pause)(void *arg), void *arg);

#endif
