/*
 * replay.h - read the journal's segments back: every record of every valid
 * batch, in order; tell a torn tail from damage (bk-disk(5)).
 */
#ifndef BOOKIE_REPLAY_H
#define BOOKIE_REPLAY_H

#include "journal.h"
#include "segment.h"

struct replay_rules {
	uint64_t checkpoint; /* batches up to here may be missing */
	bool accept_damage;
	bool (*each)(void *arg, const struct journal_record *record);
	void *arg;
};

/*
 * Replay all segments of the list, which is in order of epochs. Sets end and
 * last of each segment, and *found. Then makes sure of the end: the last batch
 * may be in the page cache only, and what stands after it must never count, so
 * the batch is written again, with a block of zeros behind it, and synced.
 * Result as of journal_open().
 */
enum bk_status replay_run(struct segment_list *segments,
    const struct replay_rules *rules, struct journal_found *found,
    char why[SEGMENT_WHY]);

#endif
