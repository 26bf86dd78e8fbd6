/*
 * walk.h - all records, or the newest states, of several index files, in order.
 */
#ifndef BOOKIE_WALK_H
#define BOOKIE_WALK_H

#include "bk-bookied/index.h"

struct walk;

/* Over files, newest first, which must outlive it. NULL with errno ENOMEM. */
struct walk *walk_new(struct index *const *files, size_t n,
    enum index_kind kind);
void walk_free(struct walk *w);

/* The next one: 1, 0 at the end, -1 with errno set (EBADMSG: damaged). Records
 * come in the order of record_compare(); of the states of a ledger only the
 * newest comes, its bytes good until the next call. */
int walk_record(struct walk *w, struct record *record);
int walk_state(struct walk *w, struct ledger_state *state,
    struct bk_bytes *encoded);

#endif
