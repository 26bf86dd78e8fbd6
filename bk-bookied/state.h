/*
 * state.h - the state of a ledger as it is kept on disk, in entry logs and
 * index files: key, fence, explicit LAC, doubt, removal (bk-disk(5)). Of
 * several states of a ledger the one from the highest log counts.
 */
#ifndef BOOKIE_STATE_H
#define BOOKIE_STATE_H

#include "base/buf.h"
#include "bk-bookied/keys.h"
#include "sums/digest.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ledger_state {
	int64_t ledger_id; /* STATE_ALL: of all ledgers, doubt only */
	uint32_t log;      /* log it was flushed with */
	uint32_t floor;    /* extents in lower logs are not its own */
	bool fenced;
	bool doubt;
	bool gone;          /* removed */
	bool has_key;       /* false: the key is not known */
	int64_t gone_until; /* gone and fenced: kept until, real-time s */
	struct bk_bytes key;
	struct bk_bytes packet; /* explicit LAC; empty if none */
};

#define STATE_ALL INT64_C(-1)
#define STATE_HEAD 28
#define STATE_MAX (STATE_HEAD + KEY_MAX + BK_LAC_PACKET_MAX)

/* Bytes that it takes, at most STATE_MAX. */
size_t state_size(const struct ledger_state *s);
void state_encode(const struct ledger_state *s, uint8_t *out);
/* Take one off the cursor; key and packet are slices of its bytes. False if
 * it is malformed. */
bool state_decode(struct bk_cursor *r, struct ledger_state *s);
/* Write another log number into an encoded state. */
void state_set_log(uint8_t *encoded, uint32_t log);

#endif
