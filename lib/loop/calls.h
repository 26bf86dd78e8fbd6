/*
 * calls.h - requests that wait for their answers: a slab in which a ticket
 * names one for good, and time-outs.
 */
#ifndef BK_CALLS_H
#define BK_CALLS_H

#include "env/env.h"

#include <bsd/sys/queue.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct bk_link;
struct bk_timeouts;

TAILQ_HEAD(bk_call_queue, bk_call);

struct bk_call {
	uint64_t ticket;
	bk_reply_cb *cb; /* NULL: not in use */
	void *arg;
	enum bk_op op;
	enum bk_status status; /* when it failed and waits to be told */
	int64_t ledger_id;
	int64_t entry_id;
	int64_t due;
	struct bk_timeouts *timeouts; /* with which it waits, or NULL */
	struct bk_call_queue *queue;  /* in which it is, or NULL */
	struct bk_link *index;        /* whose index it is in, or NULL */
	unsigned round;               /* in which it failed */
	bool is_v2;
	bool has_key; /* the request carried a password */
	TAILQ_ENTRY(bk_call) in_queue;
	TAILQ_ENTRY(bk_call) by_time;
	LIST_ENTRY(bk_call) by_key;
};

struct bk_calls {
	struct bk_call **chunks;
	size_t nchunks;
	struct bk_call_queue unused;
	SLIST_HEAD(bk_timeouts_list, bk_timeouts) timeouts;
};

void bk_calls_init(struct bk_calls *calls);
void bk_calls_fini(struct bk_calls *calls);

/* A call with a new ticket and everything else zero, or NULL. The same slot is
 * given again with another ticket. */
struct bk_call *bk_calls_take(struct bk_calls *calls);
/* Out of its queue and its time-out, and back into the slab. */
void bk_calls_give(struct bk_calls *calls, struct bk_call *call);
/* The call in use that has this ticket, or NULL. */
struct bk_call *bk_calls_find(const struct bk_calls *calls, uint64_t ticket);

void bk_call_enqueue(struct bk_call *call, struct bk_call_queue *queue);
void bk_call_dequeue(struct bk_call *call);

/*
 * Time-outs. Calls with the same time-out are due in the order in which they
 * were made, so each such time has a queue and nothing is sorted. To keep the
 * queues few, a time is rounded up by at most a sixteenth.
 */

/* Set a call's time, timeout ns after now; 0, or -1 when out of memory. */
int bk_calls_time(struct bk_calls *calls, struct bk_call *call, int64_t timeout,
    int64_t now);
/* A call whose time is up, or NULL. */
struct bk_call *bk_calls_due(const struct bk_calls *calls, int64_t now);
/* When the next one is due; BK_FOREVER when none waits. */
int64_t bk_calls_next_due(const struct bk_calls *calls);

#endif
