/*
 * flush.h - a memtable becomes an entry log and an index file, both durable
 * (bk-disk(5)).
 */
#ifndef BOOKIE_FLUSH_H
#define BOOKIE_FLUSH_H

#include "bk-bookied/index.h"
#include "bk-bookied/memtable.h"

#include <stdint.h>

struct flushed {
	struct index *index;
	uint64_t log_bytes;
};

/* Write a frozen memtable to dir, on any thread. position goes into the index:
 * the journal up to it is covered. 0, or -1 with errno set: ENOSPC or EDQUOT if
 * the disk is full, ENOMEM; anything else is the end. Nothing is left behind
 * then but perhaps the log, complete, which another try replaces. */
int flush_memtable(const struct memtable *m, const char *dir, uint64_t position,
    struct flushed *flushed);

#endif
