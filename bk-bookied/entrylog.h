/*
 * entrylog.h - entry logs: written once, front to back, then never changed
 * (bk-disk(5)). Extents, then blocks of ledger states, then an end mark.
 */
#ifndef BOOKIE_ENTRYLOG_H
#define BOOKIE_ENTRYLOG_H

#include "bk-bookied/extent.h"
#include "bk-bookied/state.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ENTRYLOG_VERSION 1
#define ENTRYLOG_HEAD 24
/* Places in a log are 32-bit numbers. */
#define ENTRYLOG_MAX UINT32_MAX

struct entrylog;

/* Begin log number in dir, under its temporary name. NULL with errno set. */
struct entrylog *entrylog_new(const char *dir, uint32_t number);
/* Give up: remove what was written. NULL is fine. */
void entrylog_abort(struct entrylog *w);
/* Append one extent of these items (all of them, extent_fit()); record tells
 * the ledger and gets the rest. -1 with errno set, EFBIG if the log is
 * full. */
int entrylog_extent(struct entrylog *w, const struct extent_item *items,
    size_t n, size_t size, struct record *record);
/* Append the encoded state of a ledger; no extent may follow. */
int entrylog_state(struct entrylog *w, struct bk_bytes state);
/* End it, make it durable under its name, free it; position: with it and older
 * logs the journal up to there is safe; bytes is its size. -1 with errno set:
 * then it was given up. */
int entrylog_finish(struct entrylog *w, uint64_t position, uint64_t *bytes);

/* Check the head of a log and tell its seed: 0, or -1 with errno EBADMSG, or
 * ENOTSUP if the version is newer. */
int entrylog_head(int fd, uint32_t number, uint32_t *seed);

/* What a scan finds, in order; a false return ends it with ECANCELED. */
struct entrylog_scan {
	bool (*extent)(void *arg, const struct record *record);
	bool (*state)(void *arg, struct bk_bytes encoded);
	void *arg;
	uint64_t offset;   /* how far it was read */
	uint64_t position; /* as given to entrylog_finish(), 0 until the end */
};
/* Read a whole log, every byte checked. 0, or -1 with errno: EBADMSG if it is
 * damaged from offset on. */
int entrylog_scan(int fd, uint32_t number, struct entrylog_scan *scan);

#endif
