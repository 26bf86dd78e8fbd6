/*
 * record.h - where an extent lies: what an index file keeps of each, in 40
 * bytes (bk-disk(5)).
 */
#ifndef BOOKIE_RECORD_H
#define BOOKIE_RECORD_H

#include "base/buf.h"

#include <stdbool.h>
#include <stdint.h>

#define RECORD_SIZE 40

struct record {
	int64_t ledger_id;
	int64_t first; /* lowest and highest entry id in it; not more than */
	int64_t last;  /* RECORD_SPAN_MAX apart; there may be holes */
	int64_t lac;   /* greatest LAC of its entries, or something lower */
	uint32_t log;
	uint32_t offset; /* in the log */
	uint32_t length; /* of the extent, table and all */
	uint32_t count;  /* entries in it */
};

#define RECORD_SPAN_MAX UINT32_MAX

void record_encode(const struct record *r, uint8_t out[RECORD_SIZE]);
/* False if no extent can be like that. */
bool record_decode(const uint8_t in[RECORD_SIZE], struct record *r);

/* Whether it has every id from first to last. */
static inline bool
record_is_dense(const struct record *r)
{
	return ((uint64_t)(r->last - r->first) + 1 == r->count);
}

/* Order of records in an index file: ledger, first, then age, newest first. */
int record_compare(const struct record *a, const struct record *b);

#endif
