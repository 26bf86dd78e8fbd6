/*
 * rebuild.h - the index of one log, made anew from the log itself.
 */
#ifndef BOOKIE_REBUILD_H
#define BOOKIE_REBUILD_H

#include <stdbool.h>
#include <stdint.h>

struct index;

/* Scan dir's log and write its index file. *is_damaged: not all of the log
 * could be read, and the index has what could. NULL with errno set: ENOTSUP if
 * the log's version is newer, ENOSPC, ... */
struct index *rebuild_index(const char *dir, uint32_t number, bool *is_damaged);

#endif
