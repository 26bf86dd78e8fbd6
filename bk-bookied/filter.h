/*
 * filter.h - which ledgers an index file has: a Bloom filter in blocks of a
 * cache line, ten bits a ledger. "No" is certain, "yes" is wrong about once in
 * a hundred.
 */
#ifndef BOOKIE_FILTER_H
#define BOOKIE_FILTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FILTER_BLOCK 64

/* Bytes for this many ledgers: whole blocks. */
size_t filter_size(size_t nledgers);
/* Both want size bytes of a filter, which begin as zeros. */
void filter_add(uint8_t *filter, size_t size, int64_t ledger_id);
bool filter_has(const uint8_t *filter, size_t size, int64_t ledger_id);

#endif
