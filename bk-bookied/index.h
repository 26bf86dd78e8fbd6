/*
 * index.h - index files: where the extents of a range of logs lie, and the
 * states of ledgers flushed with them (bk-disk(5)). Written once, never
 * changed; little of them is in memory.
 *
 * A file with the number range low to high stands for all the logs with these
 * numbers. Files are shared between threads by reference.
 */
#ifndef BOOKIE_INDEX_H
#define BOOKIE_INDEX_H

#include "bk-bookied/record.h"
#include "bk-bookied/state.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define INDEX_VERSION 1

struct index;
struct index_writer;

/* Begin an index file in dir, under its temporary name. tier counts the merges
 * it took; position: with it and what is older, the journal up to there is
 * safe; nledgers is at least the number of ledgers its records will have. NULL
 * with errno set. */
struct index_writer *index_writer_new(const char *dir, uint32_t low,
    uint32_t high, uint32_t tier, uint64_t position, size_t nledgers);
/* Records in the order of record_compare(), encoded states by ledger, each
 * kind on its own. -1 with errno set. */
int index_writer_record(struct index_writer *w, const struct record *record);
int index_writer_state(struct index_writer *w, struct bk_bytes state);
/* End it, make it durable under its name, free the writer and open the file.
 * NULL with errno set: then it was given up. */
struct index *index_writer_finish(struct index_writer *w);
/* Give up. NULL is fine. */
void index_writer_abort(struct index_writer *w);

/* Open dir's index file of these logs. NULL with errno set: EBADMSG if it is
 * damaged, ENOTSUP if its version is newer. dir is kept by reference. */
struct index *index_open(const char *dir, uint32_t low, uint32_t high);
struct index *index_ref(struct index *ix);
/* One user less; the last one closes it. NULL is fine. */
void index_unref(struct index *ix);

const char *index_dir(const struct index *ix);
uint32_t index_low(const struct index *ix);
uint32_t index_high(const struct index *ix);
uint32_t index_tier(const struct index *ix);
uint64_t index_position(const struct index *ix);
uint64_t index_ledgers(const struct index *ix); /* with records */

/* A growing array of records. */
struct records {
	struct record *items;
	size_t n, cap;
};
int records_add(struct records *r, const struct record *record);
void records_fini(struct records *r);

/* Which ledgers a bad page may concern. */
struct index_damage {
	int64_t low, high;
};

/* Append to found the extents of a ledger that reach into first to last and
 * lie in log floor or above. 0, or -1 with errno: EAGAIN if may_wait is false
 * and not all of it is in memory, EBADMSG with *damage if a page is bad, EIO
 * (then *damage too), ENOMEM. */
int index_find(const struct index *ix, int64_t ledger_id, int64_t first,
    int64_t last, uint32_t floor, bool may_wait, struct records *found,
    struct index_damage *damage);

/* All of one kind, in order. */
struct index_cursor;
enum index_kind { INDEX_RECORDS = 1, INDEX_STATES = 2 };
/* NULL with errno ENOMEM; ix must outlive it. */
struct index_cursor *index_cursor_new(const struct index *ix,
    enum index_kind kind);
void index_cursor_free(struct index_cursor *c);
/* The next one: 1, 0 at the end, -1 with errno set (EBADMSG: damaged). Bytes
 * of a state are good until the next call. */
int index_cursor_record(struct index_cursor *c, struct record *record);
int index_cursor_state(struct index_cursor *c, struct ledger_state *state,
    struct bk_bytes *encoded);

#endif
