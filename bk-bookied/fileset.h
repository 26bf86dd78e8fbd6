/*
 * fileset.h - the index files in use at a time, newest first. A set never
 * changes; a flush or a merge makes another one, and readers keep theirs.
 */
#ifndef BOOKIE_FILESET_H
#define BOOKIE_FILESET_H

#include "bk-bookied/index.h"

#include <stdatomic.h>

struct fileset {
	atomic_uint users;
	size_t n;
	struct index *files[];
};

/* A set of these files, each of which is used once more. NULL with errno
 * ENOMEM. */
struct fileset *fileset_new(struct index *const *files, size_t n);
struct fileset *fileset_ref(struct fileset *set);
/* NULL is fine. */
void fileset_unref(struct fileset *set);
/* Another set: with file in place of all those whose logs it covers. */
struct fileset *fileset_with(const struct fileset *set, struct index *file);

/* Where an entry, or any entry of a ledger, may lie: as index_find(), over all
 * files; records of newer files come first. */
int fileset_find(const struct fileset *set, int64_t ledger_id, int64_t first,
    int64_t last, uint32_t floor, bool may_wait, struct records *found,
    struct index_damage *damage);

#endif
