/*
 * mix.h - the keyed hash of ledger and entry ids, and the checksum of what the
 * store keeps on disk.
 */
#ifndef BOOKIE_MIX_H
#define BOOKIE_MIX_H

#include <isa-l/crc.h>
#include <stddef.h>
#include <stdint.h>

/* A secret key, drawn at start: ids come from strangers, who must not be able
 * to choose ids that fall together. */
struct mix_key {
	uint64_t a;
	uint64_t b;
};

/* The 128 bits of a product, folded into 64. */
static inline uint64_t
mix_fold(uint64_t x, uint64_t y)
{
	__extension__ unsigned __int128 product = x;

	product *= y;
	return ((uint64_t)product ^ (uint64_t)(product >> 64));
}

static inline uint64_t
mix_one(const struct mix_key *key, uint64_t x)
{
	return (mix_fold(mix_fold(x ^ key->a, key->b), key->a | 1));
}

static inline uint64_t
mix_two(const struct mix_key *key, uint64_t x, uint64_t y)
{
	return (mix_fold(mix_fold(x ^ key->a, key->b) ^ y, key->a | 1));
}

/* CRC32C over data that fits an int, carried on from seed. */
static inline uint32_t
mix_sum(uint32_t seed, const void *data, size_t len)
{
	unsigned char *p = (unsigned char *)(uintptr_t)data;

	return (crc32_iscsi(p, (int)len, seed));
}

#endif
