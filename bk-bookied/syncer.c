/*
 * syncer.c - write batches and sync them.
 *
 * A batch is written only after the one before it is synced, so that at most
 * one is ever in doubt. Any failure but a full disk is final; so is a failed
 * sync, always.
 */
#include "syncer.h"
#include "disk.h"
#include "loop/loop.h"
#include "segment.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define MS INT64_C(1000000)
#define LOADED 64      /* records waiting from which syncs are spaced */
#define QUICK (1 * MS) /* a sync that the loop may do itself */
#define RETRY_FULL (200 * MS)
#define SLOTS_KEPT 3

struct syncer {
	void (*done)(void *arg);
	void *arg;
	int64_t gap;
	pthread_t thread;
	bool running;
	pthread_mutex_t lock;
	pthread_cond_t cond;
	STAILQ_HEAD(, slot) queue; /* pushed */
	struct slot *offered;
	bool writing;        /* the thread is */
	bool waits_for_work; /* the thread does */
	bool stop;
	bool full;
	char error[512]; /* "" if all is well */
	int64_t last_start;
	int64_t sync_ns; /* running mean */
	uint64_t batches;
	atomic_uint_fast64_t synced;
	STAILQ_HEAD(, slot) pool;
	size_t npool;
	size_t nused;
};

/* Slots. */

static void
slot_free(struct slot *slot)
{
	if (slot == NULL)
		return;
	free(slot->bytes);
	free(slot);
}

static struct slot *
slot_new(void)
{
	struct slot *slot = calloc(1, sizeof(*slot));

	if (slot == NULL)
		return (NULL);
	slot->bytes = aligned_alloc(BATCH_BLOCK, BATCH_MAX);
	if (slot->bytes != NULL)
		return (slot);
	free(slot);
	return (NULL);
}

struct slot *
syncer_slot(struct syncer *y)
{
	struct slot *slot;

	(void)pthread_mutex_lock(&y->lock);
	slot = STAILQ_FIRST(&y->pool);
	if (slot != NULL) {
		STAILQ_REMOVE_HEAD(&y->pool, link);
		y->npool--;
	}
	y->nused++;
	(void)pthread_mutex_unlock(&y->lock);
	if (slot == NULL)
		slot = slot_new();
	if (slot != NULL) {
		batch_init(&slot->batch, slot->bytes);
		return (slot);
	}
	(void)pthread_mutex_lock(&y->lock);
	y->nused--;
	(void)pthread_mutex_unlock(&y->lock);
	return (NULL);
}

/* With the lock held. */
static void
put_back(struct syncer *y, struct slot *slot)
{
	y->nused--;
	if (y->npool >= SLOTS_KEPT) {
		slot_free(slot);
		return;
	}
	STAILQ_INSERT_HEAD(&y->pool, slot, link);
	y->npool++;
}

size_t
syncer_waiting(struct syncer *y)
{
	size_t n;

	(void)pthread_mutex_lock(&y->lock);
	n = y->nused;
	(void)pthread_mutex_unlock(&y->lock);
	return (n);
}

/* Writing. */

static void
say_error(struct syncer *y, const struct segment *s, const char *doing)
{
	char name[SEGMENT_NAME];
	const char *why = strerror(errno);

	segment_name(s->epoch, name);
	(void)pthread_mutex_lock(&y->lock);
	(void)snprintf(y->error, sizeof(y->error), "%.256s/%s: %s: %s", s->dir,
	    name, doing, why);
	(void)pthread_mutex_unlock(&y->lock);
}

enum outcome { WRITTEN, NO_SPACE, FAILED };

static enum outcome
write_slot(struct syncer *y, struct slot *slot)
{
	struct segment *s = slot->segment;
	struct batch_place place = {.epoch = s->epoch,
	    .number = slot->number,
	    .offset = slot->offset,
	    .key = s->key};
	size_t len = batch_seal(&slot->batch, &place);

	if (disk_write(s->fd, slot->bytes, len, slot->offset) == -1) {
		if (errno == ENOSPC || errno == EDQUOT)
			return (NO_SPACE);
		say_error(y, s, "write");
		return (FAILED);
	}
	if (disk_sync(s->fd) == -1) {
		say_error(y, s, "sync");
		return (FAILED);
	}
	return (WRITTEN);
}

/* A batch was written and synced since the time began. With the lock held. */
static void
note_written(struct syncer *y, struct slot *slot, int64_t began)
{
	y->sync_ns += (bk_clock_now() - began - y->sync_ns) / 8;
	y->last_start = began;
	y->full = false;
	y->batches++;
	atomic_store_explicit(&y->synced, slot->number, memory_order_release);
	put_back(y, slot);
}

/* The thread. */

/* Sleep until a time, or for ever (0), or until somebody calls. */
static void
sleep_until(struct syncer *y, int64_t when)
{
	struct timespec t = {when / BK_SECOND, when % BK_SECOND};

	y->waits_for_work = when == 0;
	if (when != 0)
		(void)pthread_cond_timedwait(&y->cond, &y->lock, &t);
	else
		(void)pthread_cond_wait(&y->cond, &y->lock);
	y->waits_for_work = false;
}

/* The next batch to write; NULL to wait, until *when if that is not 0. */
static struct slot *
next_slot(struct syncer *y, int64_t *when)
{
	struct slot *slot = STAILQ_FIRST(&y->queue);

	*when = 0;
	if (slot != NULL) {
		STAILQ_REMOVE_HEAD(&y->queue, link);
		return (slot);
	}
	slot = y->offered;
	if (slot == NULL)
		return (NULL);
	if (slot->batch.records >= LOADED &&
	    bk_clock_now() < y->last_start + y->gap) {
		*when = y->last_start + y->gap;
		return (NULL);
	}
	y->offered = NULL;
	return (slot);
}

/* Write one, waiting for space if need be. With the lock held at begin and
 * end, not between. */
static void
serve(struct syncer *y, struct slot *slot)
{
	int64_t began = bk_clock_now();
	enum outcome outcome;

	y->writing = true;
	(void)pthread_mutex_unlock(&y->lock);
	outcome = write_slot(y, slot);
	(void)pthread_mutex_lock(&y->lock);
	y->writing = false;
	if (outcome == WRITTEN) {
		note_written(y, slot, began);
		return;
	}
	STAILQ_INSERT_HEAD(&y->queue, slot, link);
	y->full = outcome == NO_SPACE;
	if (y->full && !y->stop)
		sleep_until(y, bk_clock_now() + RETRY_FULL);
}

static void *
run(void *arg)
{
	struct syncer *y = arg;
	struct slot *slot;
	int64_t when;

	(void)pthread_mutex_lock(&y->lock);
	while (y->error[0] == '\0' && !(y->stop && y->full)) {
		slot = next_slot(y, &when);
		if (slot == NULL) {
			if (y->stop)
				break;
			sleep_until(y, when);
			continue;
		}
		serve(y, slot);
		(void)pthread_mutex_unlock(&y->lock);
		y->done(y->arg);
		(void)pthread_mutex_lock(&y->lock);
	}
	(void)pthread_mutex_unlock(&y->lock);
	return (NULL);
}

/* The loop's side. */

void
syncer_push(struct syncer *y, struct slot *slot)
{
	(void)pthread_mutex_lock(&y->lock);
	STAILQ_INSERT_TAIL(&y->queue, slot, link);
	(void)pthread_cond_signal(&y->cond);
	(void)pthread_mutex_unlock(&y->lock);
}

void
syncer_offer(struct syncer *y, struct slot *slot)
{
	bool waits;

	(void)pthread_mutex_lock(&y->lock);
	y->offered = slot;
	waits = y->waits_for_work;
	(void)pthread_mutex_unlock(&y->lock);
	if (waits)
		(void)pthread_cond_signal(&y->cond);
}

bool
syncer_take_back(struct syncer *y, struct slot *slot)
{
	bool ours;

	(void)pthread_mutex_lock(&y->lock);
	ours = y->offered == slot;
	y->offered = NULL;
	(void)pthread_mutex_unlock(&y->lock);
	return (ours);
}

static bool
may_write_now(struct syncer *y)
{
	bool may;

	(void)pthread_mutex_lock(&y->lock);
	may = !y->writing && STAILQ_EMPTY(&y->queue) && y->error[0] == '\0' &&
	    y->sync_ns < QUICK;
	(void)pthread_mutex_unlock(&y->lock);
	return (may);
}

bool
syncer_write_now(struct syncer *y, struct slot *slot)
{
	int64_t began = bk_clock_now();
	enum outcome outcome;

	/* The thread has nothing, and gets nothing while we are here. */
	if (!may_write_now(y))
		return (false);
	outcome = write_slot(y, slot);
	if (outcome == NO_SPACE)
		return (false);
	(void)pthread_mutex_lock(&y->lock);
	if (outcome == WRITTEN)
		note_written(y, slot, began);
	else
		put_back(y, slot);
	(void)pthread_mutex_unlock(&y->lock);
	return (true);
}

uint64_t
syncer_synced(const struct syncer *y)
{
	return (atomic_load_explicit(&y->synced, memory_order_acquire));
}

const char *
syncer_error(struct syncer *y)
{
	bool failed;

	(void)pthread_mutex_lock(&y->lock);
	failed = y->error[0] != '\0';
	(void)pthread_mutex_unlock(&y->lock);
	return (failed ? y->error : NULL);
}

bool
syncer_full(struct syncer *y)
{
	bool full;

	(void)pthread_mutex_lock(&y->lock);
	full = y->full;
	(void)pthread_mutex_unlock(&y->lock);
	return (full);
}

void
syncer_counts(struct syncer *y, uint64_t *batches, uint64_t *syncs)
{
	(void)pthread_mutex_lock(&y->lock);
	*batches = *syncs = y->batches;
	(void)pthread_mutex_unlock(&y->lock);
}

/* Life. */

static void
init_locks(struct syncer *y)
{
	pthread_condattr_t attr;

	(void)pthread_mutex_init(&y->lock, NULL);
	(void)pthread_condattr_init(&attr);
	(void)pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	(void)pthread_cond_init(&y->cond, &attr);
	(void)pthread_condattr_destroy(&attr);
}

struct syncer *
syncer_new(int64_t gap, uint64_t synced, void (*done)(void *arg), void *arg)
{
	struct syncer *y = calloc(1, sizeof(*y));
	int error;

	if (y == NULL)
		return (NULL);
	y->gap = gap;
	atomic_init(&y->synced, synced);
	y->done = done;
	y->arg = arg;
	STAILQ_INIT(&y->queue);
	STAILQ_INIT(&y->pool);
	init_locks(y);
	error = pthread_create(&y->thread, NULL, run, y);
	if (error == 0) {
		y->running = true;
		return (y);
	}
	syncer_free(y);
	errno = error;
	return (NULL);
}

void
syncer_stop(struct syncer *y)
{
	if (y == NULL || !y->running)
		return;
	(void)pthread_mutex_lock(&y->lock);
	y->stop = true;
	(void)pthread_cond_signal(&y->cond);
	(void)pthread_mutex_unlock(&y->lock);
	(void)pthread_join(y->thread, NULL);
	y->running = false;
}

void
syncer_free(struct syncer *y)
{
	struct slot *slot;

	if (y == NULL)
		return;
	STAILQ_CONCAT(&y->pool, &y->queue);
	while ((slot = STAILQ_FIRST(&y->pool)) != NULL) {
		STAILQ_REMOVE_HEAD(&y->pool, link);
		slot_free(slot);
	}
	slot_free(y->offered);
	(void)pthread_cond_destroy(&y->cond);
	(void)pthread_mutex_destroy(&y->lock);
	free(y);
}
