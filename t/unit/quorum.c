/*
 * quorum.c - striping, coverage and verdicts, against brute force for every
 * E up to 6.
 */
#include "quorum/quorum.h"
#include "tap.h"

/* Could an unfenced writer still confirm some entry? Tries every entry and
 * every set of positions that might have answered it. */
static bool
writer_could_confirm(const struct bk_quorum *q, uint64_t known)
{
	uint64_t set;
	int e;

	for (e = 0; e < q->ensemble_size; e++)
		for (set = 0; set < UINT64_C(1) << q->ensemble_size; set++)
			if ((set & known) == 0 &&
			    (set & ~bk_quorum_write_set(q, e)) == 0 &&
			    bk_quorum_acked(q, set))
				return (true);
	return (false);
}

static int
wrong_coverage(const struct bk_quorum *q)
{
	uint64_t known;
	int wrong = 0;

	for (known = 0; known < UINT64_C(1) << q->ensemble_size; known++)
		wrong += bk_quorum_covered(q, known) ==
		    writer_could_confirm(q, known);
	return (wrong);
}

/* Striping as the rule says: (entry + i) mod E, and first/last on a position
 * found by walking. */
static int
wrong_striping(const struct bk_quorum *q)
{
	int64_t base = INT64_C(1) << 40, e, first, last;
	int position, wrong = 0;

	for (position = 0; position < q->ensemble_size; position++) {
		first = last = -1;
		for (e = base; e < base + 9; e++) {
			if ((bk_quorum_write_set(q, e) >> position & 1) == 0)
				continue;
			first = first == -1 ? e : first;
			last = e;
		}
		wrong +=
		    bk_quorum_first_on(q, position, base, base + 8) != first;
		wrong += bk_quorum_last_on(q, position, base, base + 8) != last;
	}
	return (wrong);
}

static void
test_all_small(void)
{
	struct bk_quorum q;
	int coverage = 0, striping = 0, combinations = 0;

	for (q.ensemble_size = 1; q.ensemble_size <= 6; q.ensemble_size++)
		for (q.write_quorum = 1; q.write_quorum <= q.ensemble_size;
		     q.write_quorum++)
			for (q.ack_quorum = 1; q.ack_quorum <= q.write_quorum;
			     q.ack_quorum++) {
				coverage += wrong_coverage(&q);
				striping += wrong_striping(&q);
				combinations++;
			}
	is_int(combinations, 56, "every E >= Qw >= Qa up to 6");
	is_int(coverage, 0,
	    "covered exactly when no writer can confirm another entry");
	is_int(striping, 0, "first and last entry of each position");
}

static void
test_verdicts(void)
{
	struct bk_quorum q = {3, 3, 2};

	is_int(bk_quorum_verdict(&q, 0, 1, 1), BK_VERDICT_OPEN,
	    "3/3/2: one denial decides nothing");
	is_int(bk_quorum_verdict(&q, 0, 2, 2), BK_VERDICT_ABSENT,
	    "3/3/2: two denials are absence");
	is_int(bk_quorum_verdict(&q, 1, 2, 3), BK_VERDICT_PRESENT,
	    "one positive answer wins");
	is_int(bk_quorum_verdict(&q, 0, 1, 3), BK_VERDICT_UNDECIDED,
	    "errors are never absence");
	ok(!bk_quorum_valid(&(struct bk_quorum){2, 3, 2}) &&
		!bk_quorum_valid(&(struct bk_quorum){3, 2, 3}) &&
		!bk_quorum_valid(&(struct bk_quorum){3, 2, 0}) &&
		!bk_quorum_valid(&(struct bk_quorum){65, 2, 2}) &&
		bk_quorum_valid(&(struct bk_quorum){3, 2, 2}),
	    "E >= Qw >= Qa >= 1, E at most 64");
}

static uint64_t
next_random(void *arg, uint64_t bound)
{
	uint64_t *x = arg;

	*x = *x * UINT64_C(6364136223846793005) + 1442695040888963407U;
	return ((*x >> 33) % bound);
}

static void
test_choice(void)
{
	static const char *const ids[] = {"a", "b", "c", "d", "e"};
	static const char *const not_these[] = {"b", "x"};
	int counts[5] = {0}, repeats = 0, i;
	uint64_t seed = 1;
	size_t out[5], n = 0;

	for (i = 0; i < 4000; i++) {
		n = bk_ensemble_choose(ids, 5, not_these, 2, 3, next_random,
		    &seed, out);
		repeats +=
		    out[0] == out[1] || out[1] == out[2] || out[0] == out[2];
		counts[out[0]]++;
	}
	ok(n == 3 && repeats == 0, "three distinct bookies are chosen");
	is_int(counts[1], 0, "never an excluded one");
	ok(counts[0] > 800 && counts[2] > 800 && counts[3] > 800 &&
		counts[4] > 800,
	    "the others come first equally often");
	is_int(bk_ensemble_choose(ids, 5, not_these, 2, 5, next_random, &seed,
		   out),
	    4, "fewer when there are fewer");
}

int
main(void)
{
	test_all_small();
	test_verdicts();
	test_choice();
	return (tap_done());
}
