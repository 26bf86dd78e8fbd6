/*
 * merge.h - several index files become one. What newer extents cover and what
 * belonged to removed ledgers is dropped; logs are not touched.
 */
#ifndef BOOKIE_MERGE_H
#define BOOKIE_MERGE_H

#include "bk-bookied/gone.h"
#include "bk-bookied/index.h"

#include <stdbool.h>

struct merge {
	struct index *const *files; /* newest first, neighbours in number */
	size_t n;
	const char *dir; /* where the new one goes */
	const struct gone_table *gone;
	bool is_oldest; /* no file is older than these */
};

/* Merge, on any thread. pause() is called now and then; false gives up with
 * ECANCELED. The new file, durable; or NULL with errno set. */
struct index *merge_files(const struct merge *m, bool (*pause)(void *arg),
    void *arg);

#endif
