/*
 * pipe.h - entries on their way to their write sets: sent in parallel, counted
 * by position, acknowledged in order (client-protocol.md 1.3, 1.6, 1.8 steps 8
 * and 9, 6.3). Writers and recoveries are built on it; who is to replace a lost
 * bookie, and where that is written down, is their affair. Private to
 * lib/client.
 *
 *	tail        head          next
 *	 | acked     | pending     |
 *
 * Entries from head on wait for their ack quorum; those from tail to head have
 * it and still owe an answer of a slow member, or a copy to a member that is
 * just being replaced.
 *
 * A member is up, held (it asked for a pause) or down. Nothing is sent to one
 * that is down; it is asked now and then whether it is back, and its answers
 * to what was sent before still count. Members are not replaced here: the owner
 * is told by lost(), and says what became of it by bk_pipe_adopt().
 *
 * Time is counted in ticks, from a timer that runs only while there is
 * something to wait for; the path of an entry reads no clock.
 */
#ifndef BK_PIPE_H
#define BK_PIPE_H

#include "client/client.h"
#include "quorum/quorum.h"

struct bk_pipe;

enum bk_member_state { BK_MEMBER_UP, BK_MEMBER_HELD, BK_MEMBER_DOWN };

struct bk_pipe_member {
	struct bk_pipe *pipe;
	char *id;
	struct bk_peer *peer; /* NULL: the id is malformed */
	int position;
	enum bk_member_state state;
	enum bk_status why; /* of the last failure */
	int64_t cursor;     /* the next entry to consider for it */
	int64_t highest;    /* entry it stored; -1 */
	size_t inflight;    /* requests not answered */
	size_t inflight_bytes;
	uint32_t joined;   /* tick since which it can be late */
	uint32_t since;    /* tick before which no request was sent */
	uint32_t patience; /* ticks, then they are sent again; 0: default */
	uint32_t retry;    /* DOWN: tick of the next probe */
	unsigned failures; /* or refusals, in a row */
	uint64_t probe;    /* ticket of the probe under way, or 0 */
	bool told;         /* the owner's: its loss was reported */
};

struct bk_pending {
	uint8_t *entry; /* header, digest, payload; NULL: not needed more */
	uint32_t len;
	uint32_t payload;  /* bytes of it */
	uint64_t acked;    /* positions that stored it */
	uint64_t inflight; /* positions that have not answered */
	uint32_t tick;     /* of its birth */
};

struct bk_pipe_events {
	/* head has moved. */
	void (*advanced)(void *arg);
	/* One or more members went down. */
	void (*lost)(void *arg);
	/* A bookie refused for good: EFENCED or EUA; or an entry is stuck:
	 * ETIMEOUT. The owner calls bk_pipe_stop(). */
	void (*fatal)(void *arg, enum bk_status status);
	/* Nothing is owed by anyone any more: tail has reached next. */
	void (*idle)(void *arg);
	/* Time passes: every BK_PIPE_TICK while anything is pending or down. */
	void (*tick)(void *arg);
};

#define BK_PIPE_TICK (200 * BK_MS)

struct bk_pipe {
	struct bk_client *c;
	struct bk_env *env;
	const struct bk_pipe_events *events;
	void *arg;
	int64_t ledger_id;
	struct bk_quorum quorum;
	unsigned flags; /* of each ADD */
	uint8_t key[BK_KEY_SIZE];

	struct bk_pipe_member *members; /* one a position */
	uint64_t *write_sets;           /* by entry modulo E */
	uint64_t down;                  /* positions */
	uint64_t replacing;             /* positions, see bk_pipe_replacing() */

	struct bk_pending *ring; /* entry e at e modulo cap */
	uint64_t *tickets;       /* Qw an entry */
	size_t cap;              /* a power of two */
	int64_t tail, head, next;
	size_t bytes;          /* pending */
	size_t kept_bytes;     /* acked, kept for a new member */
	int64_t acked_payload; /* bytes, all that passed head */

	bool starving; /* since the tick and head below */
	uint32_t starving_since;
	int64_t starving_head;
	bool helped; /* called for help, at the tick below */
	uint32_t helped_at;

	struct bk_timer *ticker;
	struct bk_timer *resume; /* ends the pause of held members */
	uint32_t tick;
	bool ticking;
	bool stopped;
};

struct bk_pipe_config {
	struct bk_client *c;
	int64_t ledger_id;
	struct bk_quorum quorum;
	unsigned flags;       /* BK_REQ_KEY is added */
	const uint8_t *key;   /* BK_KEY_SIZE bytes */
	int64_t first;        /* id of the first entry */
	char *const *bookies; /* E ids, copied */
};

/* 0, or -1 when out of memory. events is kept by reference. */
int bk_pipe_init(struct bk_pipe *p, const struct bk_pipe_config *config,
    const struct bk_pipe_events *events, void *arg);
/* Forget everything. Not from within an event. */
void bk_pipe_fini(struct bk_pipe *p);

/* Take a packed entry, whose id is p->next, and send it. On success the entry
 * (of malloc) belongs to the pipe; -1 when out of memory. */
int bk_pipe_push(struct bk_pipe *p, uint8_t *entry, size_t len, size_t payload);

/* No more answers, no more events. What passed head stays passed. */
void bk_pipe_stop(struct bk_pipe *p);

/* These positions are about to be replaced: until bk_pipe_adopt() their
 * acknowledgements do not count, all others do. So the ledger goes on if an
 * ack quorum holds on the members that stay, which both the old and the new
 * ensemble name (1.8, without the stall). */
void bk_pipe_replacing(struct bk_pipe *p, uint64_t positions);

/* This is the ensemble now. What a replaced member had acknowledged is
 * forgotten, what is still in the ring is sent to the new one, and to it only;
 * then head moves, whether anything was replaced or not. -1 when out of
 * memory, and then the pipe is of no more use. */
int bk_pipe_adopt(struct bk_pipe *p, char *const *bookies);

/* Ask members that are down again, now. */
void bk_pipe_retry(struct bk_pipe *p);

/* Whether a pending entry cannot get its ack quorum from members that are up
 * and stay. */
bool bk_pipe_blocked(const struct bk_pipe *p);
/* Blocked, and for replace_timeout without any progress. To be asked at every
 * tick. */
bool bk_pipe_starved(struct bk_pipe *p);

/* A member is missed and there is no spare: have bookies started, if that is
 * possible; once a second at most. */
void bk_pipe_call_for_help(struct bk_pipe *p);

static inline size_t
bk_pipe_pending(const struct bk_pipe *p)
{
	return ((size_t)(p->next - p->head));
}

/* Between the files of the pipe. */

static inline uint64_t
bk_pipe_bit(const struct bk_pipe_member *m)
{
	return (UINT64_C(1) << m->position);
}

static inline struct bk_pending *
bk_pipe_slot(const struct bk_pipe *p, int64_t entry_id)
{
	return (&p->ring[(size_t)entry_id & (p->cap - 1)]);
}

static inline uint64_t
bk_pipe_write_set(const struct bk_pipe *p, int64_t entry_id)
{
	return (p->write_sets[entry_id % p->quorum.ensemble_size]);
}

void bk_pipe_advance(struct bk_pipe *p);
void bk_pipe_trim(struct bk_pipe *p);
void bk_pipe_wind(struct bk_pipe *p);
/* Send what the member has not got yet, as far as it takes it. */
void bk_pipe_pump(struct bk_pipe_member *m);
/* Cancel its requests for entries in [from, to). */
void bk_pipe_cancel(struct bk_pipe_member *m, int64_t from, int64_t to);
void bk_member_failed(struct bk_pipe_member *m, enum bk_status why);
void bk_member_up(struct bk_pipe_member *m);
void bk_member_hold(struct bk_pipe_member *m, int64_t entry_id);
/* Ask a member that is down for a sign of life, if it is time. */
void bk_member_probe(struct bk_pipe_member *m);
/* Members that are late while others are not. */
void bk_pipe_find_late(struct bk_pipe *p);
void bk_pipe_resume(void *arg);

#endif
