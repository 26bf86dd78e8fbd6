/* record.c - a place of an extent to bytes and back. */
#include "bk-bookied/record.h"

#define LAC_UNKNOWN UINT32_MAX

/* The LAC is kept by its distance from the last entry. */
static uint32_t
lac_gap(const struct record *r)
{
	if (r->lac >= r->last)
		return (0);
	if (r->lac < 0 || r->last - r->lac >= LAC_UNKNOWN)
		return (LAC_UNKNOWN);
	return ((uint32_t)(r->last - r->lac));
}

void
record_encode(const struct record *r, uint8_t out[RECORD_SIZE])
{
	bk_be64_put(out, (uint64_t)r->ledger_id);
	bk_be64_put(out + 8, (uint64_t)r->first);
	bk_be32_put(out + 16, (uint32_t)(r->last - r->first));
	bk_be32_put(out + 20, lac_gap(r));
	bk_be32_put(out + 24, r->log);
	bk_be32_put(out + 28, r->offset);
	bk_be32_put(out + 32, r->length);
	bk_be32_put(out + 36, r->count);
}

bool
record_decode(const uint8_t in[RECORD_SIZE], struct record *r)
{
	uint32_t span = bk_be32_get(in + 16);
	uint32_t gap = bk_be32_get(in + 20);

	r->ledger_id = (int64_t)bk_be64_get(in);
	r->first = (int64_t)bk_be64_get(in + 8);
	if (r->ledger_id < 0 || r->first < 0 || r->first > INT64_MAX - span)
		return (false);
	r->last = r->first + span;
	r->lac = gap == LAC_UNKNOWN ? -1 : r->last - gap;
	r->log = bk_be32_get(in + 24);
	r->offset = bk_be32_get(in + 28);
	r->length = bk_be32_get(in + 32);
	r->count = bk_be32_get(in + 36);
	return (r->lac >= -1 && r->count > 0 && r->count <= (uint64_t)span + 1);
}

int
record_compare(const struct record *a, const struct record *b)
{
	if (a->ledger_id != b->ledger_id)
		return (a->ledger_id < b->ledger_id ? -1 : 1);
	if (a->first != b->first)
		return (a->first < b->first ? -1 : 1);
	if (a->log != b->log)
		return (a->log > b->log ? -1 : 1);
	if (a->offset != b->offset)
		return (a->offset > b->offset ? -1 : 1);
	return (0);
}
