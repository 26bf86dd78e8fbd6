/* filter.c - six bits in one block for each ledger. */
#include "bk-bookied/filter.h"

#include "bk-bookied/mix.h"

#define BITS_A_LEDGER 10
#define PROBES 6
#define BLOCK_BITS (FILTER_BLOCK * 8)

/* The filter is kept on disk, so its hash is the same everywhere. */
static const struct mix_key fixed = {UINT64_C(0x9e3779b97f4a7c15),
    UINT64_C(0xd6e8feb86659fd93)};

size_t
filter_size(size_t nledgers)
{
	return ((nledgers * BITS_A_LEDGER / BLOCK_BITS + 1) * FILTER_BLOCK);
}

static size_t
block_of(uint64_t hash, size_t size)
{
	return ((size_t)((hash >> 32) * (size / FILTER_BLOCK) >> 32) *
	    FILTER_BLOCK);
}

/* The probes take nine bits each of what a second turn makes of the hash. */
void
filter_add(uint8_t *filter, size_t size, int64_t ledger_id)
{
	uint64_t hash = mix_one(&fixed, (uint64_t)ledger_id);
	uint8_t *block = filter + block_of(hash, size);
	uint64_t bits = mix_one(&fixed, hash);

	for (unsigned i = 0; i < PROBES; i++, bits >>= 9)
		block[bits % BLOCK_BITS / 8] |= (uint8_t)(1U << (bits & 7));
}

bool
filter_has(const uint8_t *filter, size_t size, int64_t ledger_id)
{
	uint64_t hash = mix_one(&fixed, (uint64_t)ledger_id);
	const uint8_t *block = filter + block_of(hash, size);
	uint64_t bits = mix_one(&fixed, hash);

	for (unsigned i = 0; i < PROBES; i++, bits >>= 9)
		if ((block[bits % BLOCK_BITS / 8] & 1U << (bits & 7)) == 0)
			return (false);
	return (true);
}
