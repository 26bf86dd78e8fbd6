/*
 * merge.h - several index files become one. What newer extents cover and what
 * belongs to removed ledgers is dropped.
 */
#ifndef BOOKIE_MERGE_H
#define BOOKIE_MERGE_H

#include "bk-bookied/index.h"

#include <stdbool.h>
#include <stdint.h>

/* A ledger whose extents in logs below floor are gone; sorted by id. */
struct merge_gone {
	int64_t ledger_id;
	uint32_t floor;
	bool forget; /* its state too, if nothing older can have one */
};

struct merge {
	struct index *const *files; /* newest first, neighbours in number */
	size_t n;
	const char *dir; /* where the new one goes */
	const struct merge_gone *gone;
	size_t ngone;
	bool is_oldest; /* no file is older than these */
	/* Result: the logs of the range that still have extents, ascending;
	 * the caller's to free. */
	uint32_t *used;
	size_t nused;
};

/* Merge, on any thread. pause() is called now and then; false gives up with
 * ECANCELED. The new file, or NULL with errno set. */
struct index *merge_files(struct merge *m, bool (*pause)(void *arg), void *arg);

#endif
