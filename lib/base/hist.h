/*
 * hist.h - a log-linear histogram of durations or sizes: 1.6 % error over the
 * whole range of 64 bits, mergeable, fixed size. Not thread-safe.
 */
#ifndef BK_HIST_H
#define BK_HIST_H

#include <stdint.h>

/* 64 linear steps in each power of two. */
#define BK_HIST_STEP_BITS 6
#define BK_HIST_BUCKETS ((64 - BK_HIST_STEP_BITS + 1) << BK_HIST_STEP_BITS)

struct bk_hist {
	uint64_t count;
	uint64_t sum;
	uint64_t max;
	uint64_t bucket[BK_HIST_BUCKETS];
};

void bk_hist_init(struct bk_hist *h);
void bk_hist_add(struct bk_hist *h, uint64_t value);
/* Add all of from to h. */
void bk_hist_merge(struct bk_hist *h, const struct bk_hist *from);
/* The value below which this share (0 to 1) of all lies, at most one step too
 * high; 0 when empty. */
uint64_t bk_hist_quantile(const struct bk_hist *h, double share);
/* How many values were at most limit (rounded up to a step). */
uint64_t bk_hist_at_most(const struct bk_hist *h, uint64_t limit);

#endif
