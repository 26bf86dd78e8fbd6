/*
 * sim_bookie.h - a bookie in memory with the semantics of bookie-protocol.md 5:
 * keys, fences, adds that are answered after a sync, last entry and LAC, long
 * polls. A crash may lose any part of what was not synced, and nothing else.
 */
#ifndef T_SIM_BOOKIE_H
#define T_SIM_BOOKIE_H

#include "t/sim/sim_env.h"

struct sim_bookie;

/* Running, and listening under id. */
struct sim_bookie *sim_bookie_new(struct sim *s, struct sim_net *n,
    const char *id);
void sim_bookie_free(struct sim_bookie *b);
const char *sim_bookie_id(const struct sim_bookie *b);

/* Killed; lose: as by a power cut, a part of the unsynced tail is gone. silent:
 * its host does not even refuse. */
void sim_bookie_kill(struct sim_bookie *b, bool lose, bool silent);
void sim_bookie_start(struct sim_bookie *b);
bool sim_bookie_running(const struct sim_bookie *b);
/* Requests and syncs wait until a time. */
void sim_bookie_pause(struct sim_bookie *b, int64_t until);

/* How it is. */
struct sim_bookie_mood {
	int64_t sync_min, sync_max; /* ns */
	bool readonly;
	unsigned busy;   /* of 1000 requests: ETOOMANY */
	unsigned broken; /* of 1000 requests: EIO */
	unsigned deaf;   /* of 1000 requests: no answer */
};
struct sim_bookie_mood *sim_bookie_mood(struct sim_bookie *b);

/* What it holds, synced or not; false if it does not. The bytes live until
 * the entry is written again. */
bool sim_bookie_holds(const struct sim_bookie *b, int64_t ledger_id,
    int64_t entry_id, struct bk_bytes *entry);
bool sim_bookie_fenced(const struct sim_bookie *b, int64_t ledger_id);
/* Spoil a stored entry: one bit of its payload, or of its digest. */
bool sim_bookie_spoil(struct sim_bookie *b, int64_t ledger_id,
    int64_t entry_id);
/* All of a ledger goes to another bookie. */
void sim_bookie_move(struct sim_bookie *from, struct sim_bookie *to,
    int64_t ledger_id);
/* ADDs taken so far. */
size_t sim_bookie_adds(const struct sim_bookie *b);

#endif
