/*
 * quorum.h - the arithmetic of quorums, pure: striping, ack sets, coverage,
 * verdicts of recovery, choice of ensembles (client-protocol.md 1.2, 1.3, 3.3,
 * 3.4; metadata.md 6.3, 6.4).
 */
#ifndef BK_QUORUM_H
#define BK_QUORUM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* E >= Qw >= Qa >= 1, E <= 64. A set of positions is a bit mask. */
struct bk_quorum {
	int ensemble_size;
	int write_quorum;
	int ack_quorum;
};

bool bk_quorum_valid(const struct bk_quorum *q);
/* Position of replica i (0 <= i < Qw) of an entry: (entry + i) mod E. */
int bk_quorum_position(const struct bk_quorum *q, int64_t entry_id, int i);
/* The write set of an entry as a mask. */
uint64_t bk_quorum_write_set(const struct bk_quorum *q, int64_t entry_id);
/* Whether a set of positions that answered OK confirms the entry. */
bool bk_quorum_acked(const struct bk_quorum *q, uint64_t positions);
/* Whether a fence is covered: in every possible write set fewer than Qa
 * positions are not known (3.3). */
bool bk_quorum_covered(const struct bk_quorum *q, uint64_t known);

/* Verdict over one entry of recovery (3.4). */
enum bk_verdict {
	BK_VERDICT_OPEN,
	BK_VERDICT_PRESENT,
	BK_VERDICT_ABSENT,
	BK_VERDICT_UNDECIDED
};
enum bk_verdict bk_quorum_verdict(const struct bk_quorum *q, int positive,
    int negative, int answered);

/* First and last entry of [from, to] that is striped to a position, -1 if
 * none. */
int64_t bk_quorum_first_on(const struct bk_quorum *q, int position,
    int64_t from, int64_t to);
int64_t bk_quorum_last_on(const struct bk_quorum *q, int position, int64_t from,
    int64_t to);

/* Choose n distinct of count candidates, none in exclude, at random;
 * random(arg, bound) gives a number below bound. Returns how many were found
 * (may be fewer than n); out gets their indices. */
size_t bk_ensemble_choose(const char *const *candidates, size_t count,
    const char *const *exclude, size_t nexclude, size_t n,
    uint64_t (*random)(void *arg, uint64_t bound), void *arg, size_t *out);

#endif
