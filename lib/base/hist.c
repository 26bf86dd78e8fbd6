/* hist.c - log-linear buckets. */
#include "base/hist.h"

#include <string.h>

#define STEPS (UINT64_C(1) << BK_HIST_STEP_BITS)

/* Values below STEPS have a bucket each; above, the STEP_BITS bits behind the
 * leading one choose within its power of two. */
static unsigned
bucket_of(uint64_t value)
{
	unsigned shift;

	if (value < STEPS)
		return ((unsigned)value);
	shift = 63 - (unsigned)__builtin_clzll(value) - BK_HIST_STEP_BITS;
	return (((shift + 1) << BK_HIST_STEP_BITS) +
	    (unsigned)((value >> shift) - STEPS));
}

/* The greatest value that falls into a bucket. */
static uint64_t
bucket_top(unsigned bucket)
{
	unsigned shift;
	uint64_t base;

	if (bucket < STEPS)
		return (bucket);
	shift = (bucket >> BK_HIST_STEP_BITS) - 1;
	base = STEPS + (bucket & (STEPS - 1));
	return ((base << shift) + ((UINT64_C(1) << shift) - 1));
}

void
bk_hist_init(struct bk_hist *h)
{
	memset(h, 0, sizeof(*h));
}

void
bk_hist_add(struct bk_hist *h, uint64_t value)
{
	h->count++;
	h->sum += value;
	if (value > h->max)
		h->max = value;
	h->bucket[bucket_of(value)]++;
}

void
bk_hist_merge(struct bk_hist *h, const struct bk_hist *from)
{
	unsigned i;

	h->count += from->count;
	h->sum += from->sum;
	if (from->max > h->max)
		h->max = from->max;
	for (i = 0; i < BK_HIST_BUCKETS; i++)
		h->bucket[i] += from->bucket[i];
}

uint64_t
bk_hist_quantile(const struct bk_hist *h, double share)
{
	uint64_t wanted = (uint64_t)((double)h->count * share), seen = 0;
	unsigned i;

	for (i = 0; i < BK_HIST_BUCKETS; i++) {
		seen += h->bucket[i];
		if (seen > wanted || (seen == h->count && seen > 0))
			return (
			    bucket_top(i) < h->max ? bucket_top(i) : h->max);
	}
	return (0);
}

uint64_t
bk_hist_at_most(const struct bk_hist *h, uint64_t limit)
{
	uint64_t seen = 0;
	unsigned i, last = bucket_of(limit);

	for (i = 0; i <= last; i++)
		seen += h->bucket[i];
	return (seen);
}
