/*
 * store_flush.c - memory becomes files.
 *
 * A full memtable is frozen and the next one begun; the writer thread makes a
 * log and an index file of it; the loop takes these over and moves the
 * journal's checkpoint. A full disk only delays that: the frozen memtable
 * stays, and is tried again. Any other failure is the end.
 */
#include "bk-bookied/store_internal.h"

#include "base/log.h"
#include "bk-bookied/flush.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RETRY_AFTER BK_SECOND

/* Positions are kept by their low halves: see ledgers_age(). */
#define AGE_EVERY (UINT64_C(1) << 30)
/* References to memory begin anew above this, well before they end. */
#define REF_LIMIT 0xe0000000U

struct store_flush {
	struct job job; /* first, so that it is the whole */
	struct store *s;
	struct bk_timer *retry;
	const char *dir;
	struct flushed flushed;
	int error; /* errno; 0: done */
};

static bool
may_try_again(int error)
{
	return (error == ENOSPC || error == EDQUOT || error == ENOMEM ||
	    error == EMFILE || error == ENFILE);
}

/* Take over what a memtable was flushed to. */
static int
take_flushed(struct store *s, uint32_t number, const char *dir,
    struct flushed *flushed)
{
	struct fileset *set = fileset_with(s->set, flushed->index);

	index_unref(flushed->index);
	if (set == NULL ||
	    logs_add(s->logs, dir, number, flushed->log_bytes) == -1) {
		fileset_unref(set);
		return (-1);
	}
	fileset_unref(s->set);
	s->set = set;
	s->figures.live_bytes += flushed->log_bytes;
	s->figures.flushes++;
	return (0);
}

static void
flush_run(struct job *job)
{
	struct store_flush *f = (struct store_flush *)(void *)job;
	struct store *s = f->s;

	f->error = 0;
	if (flush_memtable(s->frozen, f->dir, s->frozen_position,
		&f->flushed) == -1)
		f->error = errno;
}

static void
try_again(struct store_flush *f)
{
	if (f->error == ENOSPC || f->error == EDQUOT)
		space_full(f->s->space, f->dir);
	else
		bk_log(BK_LOG_WARNING, "%s: flush: %s, trying again", f->dir,
		    strerror(f->error));
	bk_timer_set(f->retry, RETRY_AFTER);
}

static void
flush_done(struct job *job)
{
	struct store_flush *f = (struct store_flush *)(void *)job;
	struct store *s = f->s;
	char what[PATH_MAX + 64];

	if (!job->was_run)
		return;
	if (f->error == 0 &&
	    take_flushed(s, memtable_number(s->frozen), f->dir, &f->flushed) ==
		-1)
		f->error = ENOMEM;
	if (f->error == 0) {
		memtable_free(s->frozen);
		s->frozen = NULL;
		journal_checkpoint(s->journal, s->frozen_position);
		store_merge(s);
		store_room(s);
	} else if (!may_try_again(f->error)) {
		(void)snprintf(what, sizeof(what), "%s: flush: %s", f->dir,
		    strerror(f->error));
		store_failed(s, what);
	} else if (!s->is_closing)
		try_again(f);
}

static void
flush_start(void *arg)
{
	struct store_flush *f = arg;

	f->dir = space_choose(f->s->space);
	if (worker_do(f->s->writer, &f->job, true) == -1)
		bk_timer_set(f->retry, RETRY_AFTER);
}

struct store_flush *
store_flush_new(struct store *s)
{
	struct store_flush *f = calloc(1, sizeof(*f));

	if (f == NULL)
		return (NULL);
	f->s = s;
	f->job = (struct job){.run = flush_run, .done = flush_done};
	f->retry = bk_timer_new(s->loop, flush_start, f);
	if (f->retry == NULL) {
		free(f);
		return (NULL);
	}
	return (f);
}

void
store_flush_free(struct store_flush *f)
{
	if (f == NULL)
		return;
	bk_timer_free(f->retry);
	free(f);
}

/* Going on to the next memtable. */

static void
forget_ref(void *arg, struct ledger *l)
{
	const struct store *s = arg;

	if (!memtable_holds(s->active, l->newest))
		l->newest = 0;
}

/* The memtable after the active one. When references begin anew, no ledger may
 * be left with one that is older than the memory there is. */
static struct memtable *
next_memtable(struct store *s)
{
	uint32_t base = memtable_end(s->active);

	if (base >= REF_LIMIT || base < memtable_base_first()) {
		ledgers_each(s->ledgers, forget_ref, s);
		base = memtable_base_first();
	}
	return (memtable_new(s->pool, s->next_log, base));
}

static void
age(struct store *s)
{
	uint64_t filling = journal_filling(s->journal);

	if (filling - s->aged_position < AGE_EVERY)
		return;
	s->aged_position = filling;
	ledgers_age(s->ledgers, filling, journal_synced(s->journal));
}

int
store_flush_now(struct store *s, const struct memtable *m, uint64_t position)
{
	const char *dir = space_choose(s->space);
	struct flushed flushed;
	int r;

	r = flush_memtable(m, dir, position, &flushed);
	if (r == -1 && (errno == ENOSPC || errno == EDQUOT)) {
		space_full(s->space, dir);
		dir = space_choose(s->space);
		r = flush_memtable(m, dir, position, &flushed);
	}
	if (r == 0)
		r = take_flushed(s, memtable_number(m), dir, &flushed);
	if (r == -1)
		bk_log(BK_LOG_ERROR, "%s: flush: %s", dir, strerror(errno));
	return (r);
}

/* Replay fills memory too, and nobody else is there to flush it. */
static bool
flush_replayed(struct store *s)
{
	struct memtable *next = next_memtable(s);

	if (next == NULL)
		return (false);
	if (store_flush_now(s, s->active, 0) == -1) {
		memtable_free(next);
		return (false);
	}
	s->next_log++;
	memtable_free(s->active);
	s->active = next;
	return (true);
}

bool
store_make_room(struct store *s)
{
	struct memtable *next;

	if (memtable_bytes(s->active) < s->memtable_bytes)
		return (true);
	if (s->journal == NULL)
		return (flush_replayed(s));
	if (s->frozen != NULL)
		return (false);
	next = next_memtable(s);
	if (next == NULL)
		return (false);
	s->next_log++;
	s->frozen = s->active;
	s->frozen_position = journal_filling(s->journal) - 1;
	s->active = next;
	age(s);
	flush_start(s->flush);
	return (true);
}
