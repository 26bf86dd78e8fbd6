/*
 * spares.c - the thread that makes and recycles segments.
 *
 * It keeps the reserve and one more ready. A segment given back gets a new
 * epoch, unless it is smaller than what is made by now, there are many, or the
 * file system would allocate anew anyway: then it is removed. The size doubles
 * when segments of it are used up within a second.
 */
#include "spares.h"
#include "disk.h"
#include "loop/loop.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define READY_WANTED (SPARES_RESERVE + 1)
#define READY_MAX 8
#define RETRY_SECONDS 1 /* after a full disk */
#define SHORT_LIFE INT64_C(1000000000)

struct spares {
	struct spares_config config;
	pthread_t thread;
	bool running;
	pthread_mutex_t lock;
	pthread_cond_t cond;
	atomic_bool stop;
	bool full;
	char error[256];
	struct segment_list given; /* by spares_give(), oldest first */
	struct segment_list ready; /* in order of epochs */
	size_t nready;
	uint64_t size;   /* of what is made next */
	uint64_t wanted; /* bytes outside of the reserve */
	uint64_t number;
	int64_t taken; /* when the last one was; 0 never */

	/* The maker's own. */
	uint64_t next_epoch;
	size_t next_dir;
};

struct spares *
spares_new(const struct spares_config *config)
{
	struct spares *p = calloc(1, sizeof(*p));
	pthread_condattr_t attr;

	if (p == NULL)
		return (NULL);
	p->config = *config;
	p->size = config->size;
	p->number = config->number;
	p->next_epoch = config->next_epoch;
	TAILQ_INIT(&p->given);
	TAILQ_INIT(&p->ready);
	(void)pthread_mutex_init(&p->lock, NULL);
	(void)pthread_condattr_init(&attr);
	(void)pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	(void)pthread_cond_init(&p->cond, &attr);
	(void)pthread_condattr_destroy(&attr);
	return (p);
}

void
spares_free(struct spares *p)
{
	if (p == NULL)
		return;
	segment_list_free(&p->given);
	segment_list_free(&p->ready);
	(void)pthread_cond_destroy(&p->cond);
	(void)pthread_mutex_destroy(&p->lock);
	free(p);
}

/* How many can be taken now. The very first may be one of the reserve: that
 * is then whole without it, or the disk is full from the beginning. */
static size_t
usable(const struct spares *p, bool reserve)
{
	if (reserve || p->nready == 0)
		return (p->nready);
	if (p->nready > SPARES_RESERVE)
		return (p->nready - SPARES_RESERVE);
	return (p->taken == 0 ? 1 : 0);
}

static uint64_t
room(const struct spares *p, size_t n)
{
	struct segment *s = TAILQ_FIRST(&p->ready);
	uint64_t bytes = 0;

	for (; n > 0; n--, s = TAILQ_NEXT(s, link))
		bytes += s->size - SEGMENT_BEGIN;
	return (bytes);
}

/* The maker: each of these does its disk work without the lock. */

static void
fail(struct spares *p, const char *doing, const char *dir)
{
	const char *why = strerror(errno);

	(void)pthread_mutex_lock(&p->lock);
	(void)snprintf(p->error, sizeof(p->error), "journal: %.128s: %s: %s",
	    dir, doing, why);
	(void)pthread_mutex_unlock(&p->lock);
}

static bool
is_full(int error)
{
	return (error == ENOSPC || error == EDQUOT);
}

/* In the first directory, in turn, that has room. */
static struct segment *
create_somewhere(struct spares *p, uint64_t size, uint64_t number)
{
	struct segment *s = NULL;
	size_t i;

	for (i = 0; i < p->config.ndirs && s == NULL; i++) {
		const char *dir = p->config.dirs[p->next_dir];

		p->next_dir = (p->next_dir + 1) % p->config.ndirs;
		s = segment_create(dir, size, p->next_epoch++, number,
		    &p->stop);
		if (s == NULL && errno != ECANCELED && !is_full(errno)) {
			fail(p, "make a segment", dir);
			return (NULL);
		}
	}
	return (s);
}

static struct segment *
create(struct spares *p, uint64_t size, uint64_t number)
{
	struct segment *s = create_somewhere(p, size, number);

	if (s == NULL && is_full(errno) && size > p->config.size_min)
		s = create_somewhere(p, p->config.size_min, number);
	return (s);
}

/* A new epoch for it if it is worth it; NULL if it is gone. */
static struct segment *
renew(struct spares *p, struct segment *s, uint64_t number, bool keep)
{
	const char *dir = s->dir;
	int overwrites = disk_overwrites(dir);

	if (keep && overwrites == 1 && s->size >= p->config.size_min) {
		if (segment_recycle(s, p->next_epoch++, number) == 0)
			return (s);
		fail(p, "recycle a segment", dir);
		segment_free(s);
	} else if (segment_remove(s) == -1) {
		fail(p, "remove a segment", dir);
	}
	return (NULL);
}

static void
note_ready(struct spares *p, struct segment *s)
{
	TAILQ_INSERT_TAIL(&p->ready, s, link);
	p->nready++;
	p->full = false;
}

static bool
enough(const struct spares *p, size_t count)
{
	return (p->nready >= count && room(p, usable(p, false)) >= p->wanted);
}

/* Do one thing, with the lock held at begin and end; false if there was
 * nothing to do, or nothing that could be done. */
static bool
make_one(struct spares *p)
{
	struct segment *s = TAILQ_FIRST(&p->given);
	uint64_t size = p->size, number = p->number;
	bool given = s != NULL, keep;

	if (p->error[0] != '\0' || (!given && enough(p, READY_WANTED)))
		return (false);
	keep = !enough(p, READY_MAX) && given && (s->size >= size || p->full);
	if (given)
		TAILQ_REMOVE(&p->given, s, link);
	(void)pthread_mutex_unlock(&p->lock);
	s = given ? renew(p, s, number, keep) : create(p, size, number);
	(void)pthread_mutex_lock(&p->lock);
	if (s != NULL)
		note_ready(p, s);
	else if (!given)
		p->full = is_full(errno);
	return (given || s != NULL);
}

static void
wait_for_work(struct spares *p)
{
	struct timespec t;

	if (!p->full) {
		(void)pthread_cond_wait(&p->cond, &p->lock);
		return;
	}
	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	t.tv_sec += RETRY_SECONDS;
	(void)pthread_cond_timedwait(&p->cond, &p->lock, &t);
}

/* What was given back is dealt with before the end. */
static bool
at_end(const struct spares *p)
{
	return (p->stop && (TAILQ_EMPTY(&p->given) || p->error[0] != '\0'));
}

static void *
maker(void *arg)
{
	struct spares *p = arg;

	(void)pthread_mutex_lock(&p->lock);
	while (!at_end(p)) {
		bool made = make_one(p);
		bool changed = made || p->full || p->error[0] != '\0';

		(void)pthread_mutex_unlock(&p->lock);
		if (changed)
			p->config.changed(p->config.arg);
		(void)pthread_mutex_lock(&p->lock);
		if (!made && !p->stop)
			wait_for_work(p);
	}
	(void)pthread_mutex_unlock(&p->lock);
	return (NULL);
}

int
spares_start(struct spares *p)
{
	int error;

	(void)pthread_mutex_lock(&p->lock);
	while (p->nready == 0 && make_one(p))
		;
	(void)pthread_mutex_unlock(&p->lock);
	if (spares_error(p) != NULL) {
		errno = EIO;
		return (-1);
	}
	error = pthread_create(&p->thread, NULL, maker, p);
	p->running = error == 0;
	errno = error;
	return (error == 0 ? 0 : -1);
}

void
spares_stop(struct spares *p)
{
	if (p == NULL || !p->running)
		return;
	(void)pthread_mutex_lock(&p->lock);
	p->stop = true;
	(void)pthread_cond_signal(&p->cond);
	(void)pthread_mutex_unlock(&p->lock);
	(void)pthread_join(p->thread, NULL);
	p->running = false;
}

/* The loop's side. */

void
spares_give(struct spares *p, struct segment *s)
{
	(void)pthread_mutex_lock(&p->lock);
	TAILQ_INSERT_TAIL(&p->given, s, link);
	(void)pthread_cond_signal(&p->cond);
	(void)pthread_mutex_unlock(&p->lock);
}

/* Grow while segments are used up fast. */
static void
note_taken(struct spares *p, const struct segment *s, uint64_t number)
{
	int64_t now = bk_clock_now();

	if (p->taken != 0 && now - p->taken < SHORT_LIFE && s->size >= p->size)
		p->size *= 2;
	if (p->size > p->config.size_max)
		p->size = p->config.size_max;
	p->taken = now;
	p->number = number;
	p->nready--;
}

struct segment *
spares_take(struct spares *p, bool reserve, uint64_t number)
{
	struct segment *s = NULL;
	int error = EAGAIN;

	(void)pthread_mutex_lock(&p->lock);
	if (p->error[0] != '\0') {
		error = EIO;
	} else if (usable(p, reserve) > 0) {
		s = TAILQ_FIRST(&p->ready);
		TAILQ_REMOVE(&p->ready, s, link);
		note_taken(p, s, number);
		(void)pthread_cond_signal(&p->cond);
	} else if (p->full) {
		error = ENOSPC;
	}
	(void)pthread_mutex_unlock(&p->lock);
	errno = error;
	return (s);
}

uint64_t
spares_room(struct spares *p, bool reserve, size_t *n)
{
	uint64_t bytes;

	(void)pthread_mutex_lock(&p->lock);
	*n = usable(p, reserve);
	bytes = room(p, *n);
	(void)pthread_mutex_unlock(&p->lock);
	return (bytes);
}

void
spares_want(struct spares *p, uint64_t bytes)
{
	(void)pthread_mutex_lock(&p->lock);
	if (bytes > p->wanted) {
		p->wanted = bytes;
		(void)pthread_cond_signal(&p->cond);
	}
	(void)pthread_mutex_unlock(&p->lock);
}

bool
spares_exhausted(struct spares *p)
{
	bool full;

	(void)pthread_mutex_lock(&p->lock);
	full = p->full;
	(void)pthread_mutex_unlock(&p->lock);
	return (full);
}

bool
spares_full(struct spares *p)
{
	bool full;

	(void)pthread_mutex_lock(&p->lock);
	full = p->full && p->nready < SPARES_RESERVE;
	(void)pthread_mutex_unlock(&p->lock);
	return (full);
}

const char *
spares_error(struct spares *p)
{
	bool failed;

	(void)pthread_mutex_lock(&p->lock);
	failed = p->error[0] != '\0';
	(void)pthread_mutex_unlock(&p->lock);
	return (failed ? p->error : NULL);
}

int
spares_empty(struct spares *p, struct segment *s)
{
	segment_free(renew(p, s, p->number, p->nready++ < READY_MAX));
	return (spares_error(p) == NULL ? 0 : -1);
}
