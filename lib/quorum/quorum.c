/* quorum.c - striping, ack sets, coverage, verdicts: no state, no I/O. */
#include "quorum/quorum.h"

#include <string.h>

#define ENSEMBLE_MAX 64

bool
bk_quorum_valid(const struct bk_quorum *q)
{
	return (q->ack_quorum >= 1 && q->write_quorum >= q->ack_quorum &&
	    q->ensemble_size >= q->write_quorum &&
	    q->ensemble_size <= ENSEMBLE_MAX);
}

int
bk_quorum_position(const struct bk_quorum *q, int64_t entry_id, int i)
{
	return ((int)((entry_id % q->ensemble_size + i) % q->ensemble_size));
}

uint64_t
bk_quorum_write_set(const struct bk_quorum *q, int64_t entry_id)
{
	uint64_t set = 0;
	int i;

	for (i = 0; i < q->write_quorum; i++)
		set |= UINT64_C(1) << bk_quorum_position(q, entry_id, i);
	return (set);
}

bool
bk_quorum_acked(const struct bk_quorum *q, uint64_t positions)
{
	return (__builtin_popcountll(positions) >= q->ack_quorum);
}

bool
bk_quorum_covered(const struct bk_quorum *q, uint64_t known)
{
	int i;

	/* Write set i begins at position i; entry i has exactly that one. */
	for (i = 0; i < q->ensemble_size; i++) {
		uint64_t silent = bk_quorum_write_set(q, i) & ~known;

		if (__builtin_popcountll(silent) >= q->ack_quorum)
			return (false);
	}
	return (true);
}

enum bk_verdict
bk_quorum_verdict(const struct bk_quorum *q, int positive, int negative,
    int answered)
{
	if (positive > 0)
		return (BK_VERDICT_PRESENT);
	if (negative >= q->write_quorum - q->ack_quorum + 1)
		return (BK_VERDICT_ABSENT);
	if (answered >= q->write_quorum)
		return (BK_VERDICT_UNDECIDED);
	return (BK_VERDICT_OPEN);
}

static bool
on_position(const struct bk_quorum *q, int64_t entry_id, int position)
{
	return ((bk_quorum_write_set(q, entry_id) >> position & 1) != 0);
}

int64_t
bk_quorum_first_on(const struct bk_quorum *q, int position, int64_t from,
    int64_t to)
{
	int64_t e;

	/* Any E entries in a row meet every position. */
	for (e = from; e <= to && e - from < q->ensemble_size; e++)
		if (on_position(q, e, position))
			return (e);
	return (-1);
}

int64_t
bk_quorum_last_on(const struct bk_quorum *q, int position, int64_t from,
    int64_t to)
{
	int64_t e;

	for (e = to; e >= from && to - e < q->ensemble_size; e--)
		if (on_position(q, e, position))
			return (e);
	return (-1);
}

static bool
named(const char *id, const char *const *list, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++)
		if (list[i] != NULL && strcmp(id, list[i]) == 0)
			return (true);
	return (false);
}

size_t
bk_ensemble_choose(const char *const *candidates, size_t count,
    const char *const *exclude, size_t nexclude, size_t n,
    uint64_t (*random)(void *arg, uint64_t bound), void *arg, size_t *out)
{
	size_t i, seen = 0;

	/* Reservoir sampling, so that no copy of the list is needed; the slot
	 * of each choice is random, hence the order too. */
	for (i = 0; i < count; i++) {
		size_t slot;

		if (named(candidates[i], exclude, nexclude))
			continue;
		slot = (size_t)random(arg, seen + 1);
		if (seen < n) {
			out[seen] = out[slot];
			out[slot] = i;
		} else if (slot < n) {
			out[slot] = i;
		}
		seen++;
	}
	return (seen < n ? seen : n);
}
