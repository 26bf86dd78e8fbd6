/*
 * calls.c - requests that wait for their answers.
 *
 * A ticket is the number of a slot and, above it, how often the slot was used:
 * an answer to an earlier use names nothing. Small numbers first, since the
 * ticket travels as a varint.
 */
#include "loop/calls.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define CHUNK ((size_t)256)
#define SLOT_BITS 24
#define SLOTS ((size_t)1 << SLOT_BITS)
#define TIMEOUT_BITS 5 /* significant ones */

struct bk_timeouts {
	int64_t timeout;
	struct bk_call_queue waiting; /* by due */
	SLIST_ENTRY(bk_timeouts) next;
};

void
bk_calls_init(struct bk_calls *calls)
{
	memset(calls, 0, sizeof(*calls));
	TAILQ_INIT(&calls->unused);
	SLIST_INIT(&calls->timeouts);
}

void
bk_calls_fini(struct bk_calls *calls)
{
	struct bk_timeouts *t;

	while ((t = SLIST_FIRST(&calls->timeouts)) != NULL) {
		SLIST_REMOVE_HEAD(&calls->timeouts, next);
		free(t);
	}
	for (size_t i = 0; i < calls->nchunks; i++)
		free(calls->chunks[i]);
	free(calls->chunks);
	bk_calls_init(calls);
}

static int
add_chunk(struct bk_calls *calls)
{
	struct bk_call **chunks;
	struct bk_call *chunk;
	size_t first = calls->nchunks * CHUNK;

	if (first >= SLOTS) {
		errno = ENOMEM;
		return (-1);
	}
	chunks = reallocarray(calls->chunks, calls->nchunks + 1,
	    sizeof(struct bk_call *));
	if (chunks == NULL)
		return (-1);
	calls->chunks = chunks;
	chunk = calloc(CHUNK, sizeof(*chunk));
	if (chunk == NULL)
		return (-1);
	calls->chunks[calls->nchunks++] = chunk;
	for (size_t i = 0; i < CHUNK; i++) {
		chunk[i].ticket = first + i;
		bk_call_enqueue(&chunk[i], &calls->unused);
	}
	return (0);
}

struct bk_call *
bk_calls_take(struct bk_calls *calls)
{
	struct bk_call *call;

	if (TAILQ_EMPTY(&calls->unused) && add_chunk(calls) == -1)
		return (NULL);
	call = TAILQ_FIRST(&calls->unused);
	bk_call_dequeue(call);
	call->ticket += SLOTS;
	return (call);
}

void
bk_calls_give(struct bk_calls *calls, struct bk_call *call)
{
	bk_call_dequeue(call);
	if (call->timeouts != NULL)
		TAILQ_REMOVE(&call->timeouts->waiting, call, by_time);
	call->timeouts = NULL;
	call->cb = NULL;
	/* In front: it is still in the processor's cache. */
	TAILQ_INSERT_HEAD(&calls->unused, call, in_queue);
	call->queue = &calls->unused;
}

struct bk_call *
bk_calls_find(const struct bk_calls *calls, uint64_t ticket)
{
	size_t slot = ticket & (SLOTS - 1);
	struct bk_call *call;

	if (slot / CHUNK >= calls->nchunks)
		return (NULL);
	call = &calls->chunks[slot / CHUNK][slot % CHUNK];
	return (call->ticket == ticket && call->cb != NULL ? call : NULL);
}

void
bk_call_enqueue(struct bk_call *call, struct bk_call_queue *queue)
{
	TAILQ_INSERT_TAIL(queue, call, in_queue);
	call->queue = queue;
}

void
bk_call_dequeue(struct bk_call *call)
{
	if (call->queue != NULL)
		TAILQ_REMOVE(call->queue, call, in_queue);
	call->queue = NULL;
}

/* Round up to TIMEOUT_BITS significant bits. */
static int64_t
rounded(int64_t timeout)
{
	int bits = timeout > 0 ? 64 - __builtin_clzll((uint64_t)timeout) : 0;
	int64_t below;

	if (bits <= TIMEOUT_BITS)
		return (timeout);
	below = (INT64_C(1) << (bits - TIMEOUT_BITS)) - 1;
	return ((timeout + below) & ~below);
}

static struct bk_timeouts *
timeouts_of(struct bk_calls *calls, int64_t timeout)
{
	struct bk_timeouts *t;

	for (t = SLIST_FIRST(&calls->timeouts); t != NULL;
	     t = SLIST_NEXT(t, next)) {
		if (t->timeout == timeout)
			return (t);
	}
	t = malloc(sizeof(*t));
	if (t == NULL)
		return (NULL);
	t->timeout = timeout;
	TAILQ_INIT(&t->waiting);
	SLIST_INSERT_HEAD(&calls->timeouts, t, next);
	return (t);
}

int
bk_calls_time(struct bk_calls *calls, struct bk_call *call, int64_t timeout,
    int64_t now)
{
	/* Ten years are for ever, and nothing overflows. */
	const int64_t most = 10 * 365 * 86400 * BK_SECOND;

	if (timeout > most)
		timeout = most;
	timeout = rounded(timeout > 0 ? timeout : 0);
	call->timeouts = timeouts_of(calls, timeout);
	if (call->timeouts == NULL)
		return (-1);
	call->due = now + timeout;
	TAILQ_INSERT_TAIL(&call->timeouts->waiting, call, by_time);
	return (0);
}

struct bk_call *
bk_calls_due(const struct bk_calls *calls, int64_t now)
{
	struct bk_timeouts *t;
	struct bk_call *first;

	for (t = SLIST_FIRST(&calls->timeouts); t != NULL;
	     t = SLIST_NEXT(t, next)) {
		first = TAILQ_FIRST(&t->waiting);
		if (first != NULL && first->due <= now)
			return (first);
	}
	return (NULL);
}

int64_t
bk_calls_next_due(const struct bk_calls *calls)
{
	struct bk_timeouts *t;
	struct bk_call *first;
	int64_t next = BK_FOREVER;

	for (t = SLIST_FIRST(&calls->timeouts); t != NULL;
	     t = SLIST_NEXT(t, next)) {
		first = TAILQ_FIRST(&t->waiting);
		if (first != NULL && first->due < next)
			next = first->due;
	}
	return (next);
}
