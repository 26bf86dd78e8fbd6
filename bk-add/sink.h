/*
 * sink.h - where entries go: the ledgers of a name, or one ledger by its id,
 * which is claimed first.
 */
#ifndef ADD_SINK_H
#define ADD_SINK_H

#include "bk-add/options.h"
#include "tool/session.h"

struct sink;

struct sink_events {
	/* Entries may be added; or they may not, and why not has been
	 * reported. */
	void (*opened)(void *arg, enum bk_status status);
	/* All up to this one are stored. */
	void (*acked)(void *arg, int64_t ledger_id, int64_t entry_id);
	/* sink_add() said EAGAIN, and may be tried again. */
	void (*room)(void *arg);
	/* Nothing more is stored; reported. */
	void (*failed)(void *arg, enum bk_status status);
};

/* Open; opened() follows. NULL when out of memory. */
struct sink *sink_open(struct bk_session *s, const struct options *o,
    const struct sink_events *events, void *arg);
void sink_free(struct sink *k);
/* As bk_writer_add(). */
int sink_add(struct sink *k, struct bk_bytes payload, int64_t *ledger_id,
    int64_t *entry_id);
/* Wait for what is on its way, then close; also after failed(). */
void sink_close(struct sink *k, bk_done_cb *cb, void *arg);

/*
 * Claim a ledger that is open, empty and nobody's, by a compare-and-set of its
 * custom metadata (claim.c). cb gets the record and version to write with, or
 * the reason, which has been reported.
 */
void claim_ledger(struct bk_session *s, const struct options *o,
    bk_ledger_meta_cb *cb, void *arg);

#endif
