/* hist.c - quantiles of known distributions, within the stated error. */
#include "base/hist.h"
#include "tap.h"

static bool
near(uint64_t got, uint64_t want)
{
	return (got >= want && got <= want + want / 60 + 1);
}

int
main(void)
{
	static struct bk_hist h, other;
	uint64_t i;

	bk_hist_init(&h);
	is_int(bk_hist_quantile(&h, 0.5), 0, "an empty one has no median");
	for (i = 1; i <= 100000; i++)
		bk_hist_add(&h, i * 1000);
	ok(near(bk_hist_quantile(&h, 0.5), 50001000), "p50 of 1..100000 us");
	ok(near(bk_hist_quantile(&h, 0.99), 99001000), "p99");
	is_int(bk_hist_quantile(&h, 1), 100000000, "the greatest is exact");
	bk_hist_init(&other);
	bk_hist_add(&other, UINT64_MAX);
	bk_hist_add(&other, 0);
	bk_hist_merge(&h, &other);
	ok(h.count == 100002 && h.max == UINT64_MAX &&
		bk_hist_at_most(&h, 0) == 1,
	    "merged, with the extremes of 64 bits");
	return (tap_done());
}
