/*
 * store_flush.c - memtables to disk, and index files into fewer.
 *
 * A full memtable is frozen and the next one begun; the writer thread turns the
 * frozen one into a log and an index file; then the set of files is exchanged
 * and the journal's checkpoint moves. A disk that is full only delays that: the
 * frozen memtable stays, and is tried again. Anything else is the end.
 */
#include "bk-bookied/store_internal.h"

#include "base/log.h"
#include "bk-bookied/disk.h"
#include "bk-bookied/flush.h"
#include "bk-bookied/merge.h"
#include "bk-bookied/names.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define RETRY_AFTER (2 * BK_SECOND)
#define TIER_FILES 8
/* References of ledgers into memtables long gone are cleared each time the
 * arenas have moved on by so many units, before the numbers come round. */
#define CLEAN_EVERY (1U << 30)

static bool
is_full_disk(int error)
{
	return (error == ENOSPC || error == EDQUOT);
}

static void
run_flush(struct job *job)
{
	struct flush_job *f = (struct flush_job *)job;
	struct flushed flushed;

	f->error = 0;
	if (flush_memtable(f->memtable, f->dir, f->position, &flushed) == -1) {
		f->error = errno;
		return;
	}
	f->index = flushed.index;
	f->log_bytes = flushed.log_bytes;
}

/* The flushed memtable's files take its place. */
static int
adopt(struct store *s, struct flush_job *f)
{
	struct fileset *files = fileset_with(s->files, f->index);

	index_unref(f->index);
	f->index = NULL;
	if (files == NULL ||
	    logs_add(s->logs, f->dir, memtable_number(f->memtable),
		f->log_bytes) == -1) {
		fileset_unref(files);
		return (-1);
	}
	fileset_unref(s->files);
	s->files = files;
	return (0);
}

static void
clean(void *arg, struct ledger *l)
{
	struct store *s = arg;

	if (!memtable_holds(s->active, l->newest))
		l->newest = 0;
}

static void
drop_frozen(struct store *s)
{
	memtable_free(s->frozen);
	s->frozen = NULL;
	if (memtable_base(s->active) - s->cleaned_at < CLEAN_EVERY)
		return;
	s->cleaned_at = memtable_base(s->active);
	ledgers_each(s->ledgers, clean, s);
}

static void
tell_room(struct store *s)
{
	if (!s->wants_room)
		return;
	s->wants_room = false;
	s->events.room(s->arg);
}

static void
flush_done(struct job *job)
{
	struct flush_job *f = (struct flush_job *)job;
	struct store *s = f->store;
	char what[160];

	if (!job->was_run)
		return; /* the store is being closed and flushes itself */
	if (f->error != 0 && is_full_disk(f->error)) {
		space_exhausted(s->space, f->dir);
		bk_timer_set(s->retry, RETRY_AFTER);
		return;
	}
	if (f->error != 0 || adopt(s, f) == -1) {
		(void)snprintf(what, sizeof(what), "%s: cannot be written: %s",
		    f->dir, strerror(f->error != 0 ? f->error : ENOMEM));
		store_fail(s, what);
		return;
	}
	s->figures.flushes++;
	drop_frozen(s);
	journal_checkpoint(s->journal, f->position);
	store_merge_if_due(s);
	store_flush_if_full(s);
	tell_room(s);
}

static void
start_flush(struct store *s)
{
	struct flush_job *f = &s->flush;

	f->job.run = run_flush;
	f->job.done = flush_done;
	f->store = s;
	f->memtable = s->frozen;
	f->dir = s->config.ledger_dirs[s->next_dir++ % s->config.nledger_dirs];
	if (worker_do(s->writer, &f->job, true) == -1)
		store_fail(s, "no thread for writing");
}

void
store_flush_retry(void *arg)
{
	struct store *s = arg;

	if (s->frozen != NULL && !s->has_failed)
		start_flush(s);
}

/* Begin the next memtable. -1 when out of memory. */
static int
freeze(struct store *s)
{
	struct memtable *next = memtable_new(s->pool,
	    memtable_number(s->active) + 1, memtable_end(s->active));

	if (next == NULL)
		return (-1);
	s->frozen = s->active;
	s->active = next;
	s->flush.position = journal_filling(s->journal) - 1;
	return (0);
}

void
store_flush_if_full(struct store *s)
{
	if (s->frozen != NULL || s->is_closing ||
	    memtable_bytes(s->active) < s->config.memtable_bytes)
		return;
	if (freeze(s) == 0)
		start_flush(s);
}

/* One memtable, here and now. */
static int
flush_here(struct store *s, uint64_t position)
{
	struct flush_job *f = &s->flush;
	size_t i;

	f->memtable = s->frozen;
	f->position = position;
	f->error = ENOSPC;
	for (i = 0; i < s->config.nledger_dirs && is_full_disk(f->error); i++) {
		f->dir = s->config.ledger_dirs[i];
		run_flush(&f->job);
		if (is_full_disk(f->error)) {
			space_exhausted(s->space, f->dir);
			run_flush(&f->job);
		}
	}
	errno = f->error;
	if (f->error != 0 || adopt(s, f) == -1)
		return (-1);
	memtable_free(s->frozen);
	s->frozen = NULL;
	return (0);
}

int
store_flush_all(struct store *s)
{
	uint64_t position = journal_filling(s->journal);

	if (s->frozen != NULL && flush_here(s, s->flush.position) == -1)
		return (-1);
	if (memtable_count(s->active) > 0 &&
	    (freeze(s) == -1 || flush_here(s, position) == -1))
		return (-1);
	journal_checkpoint(s->journal, position);
	return (0);
}

/* Merging. */

struct merge_job {
	struct job job;
	struct store *store;
	struct fileset *files; /* in use while it runs */
	struct merge merge;
	struct merge_gone *gone;
	size_t cap;
	struct index *index;
	int error;
};

static bool
pause_merge(void *arg)
{
	struct store *s = arg;

	return (worker_pause(s->writer));
}

static void
run_merge(struct job *job)
{
	struct merge_job *m = (struct merge_job *)job;

	m->index = merge_files(&m->merge, pause_merge, m->store);
	m->error = m->index == NULL ? errno : 0;
}

/* Ledgers whose state went with the merge are known no more. */
static void
drop_gone(struct store *s, const struct merge *m)
{
	struct ledger *l;
	size_t i;

	for (i = 0; m->is_oldest && i < m->ngone; i++) {
		l = ledgers_find(s->ledgers, m->gone[i].ledger_id);
		if (l != NULL && l->gone && m->gone[i].forget &&
		    m->gone[i].floor <= index_high(m->files[0]) &&
		    !memtable_holds(s->active, l->newest))
			ledgers_drop(s->ledgers, l);
	}
}

/* Files that the merged one stands for, and logs without live extents. They
 * are of no use any more, whether or not this is done. */
static void
run_removal(struct job *job)
{
	struct merge_job *m = (struct merge_job *)job;
	const struct merge *g = &m->merge;
	char name[NAME_SIZE];
	uint32_t number;
	size_t i, used = 0;

	for (i = 0; i < g->n; i++) {
		name_index(name, index_low(g->files[i]),
		    index_high(g->files[i]));
		(void)disk_remove(index_dir(g->files[i]), name);
	}
	for (number = index_low(m->index); number <= index_high(m->index);
	     number++) {
		while (used < g->nused && g->used[used] < number)
			used++;
		if ((used == g->nused || g->used[used] != number) &&
		    logs_has(m->store->logs, number))
			(void)logs_remove(m->store->logs, number);
	}
}

static void
merge_free(struct merge_job *m)
{
	index_unref(m->index);
	fileset_unref(m->files);
	free(m->merge.used);
	free(m->gone);
	free(m);
}

static void
removal_done(struct job *job)
{
	struct merge_job *m = (struct merge_job *)job;
	struct store *s = m->store;
	bool was_run = job->was_run;

	s->merging = false;
	merge_free(m);
	if (was_run)
		store_merge_if_due(s);
}

/* The merged file takes the place of the others. */
static int
adopt_merged(struct store *s, struct merge_job *m)
{
	struct fileset *files = fileset_with(s->files, m->index);

	if (files == NULL)
		return (-1);
	fileset_unref(s->files);
	s->files = files;
	s->figures.merges++;
	drop_gone(s, &m->merge);
	if (s->is_closing)
		return (-1); /* the next start finds what is left */
	m->job.run = run_removal;
	m->job.done = removal_done;
	return (worker_do(s->writer, &m->job, false));
}

static void
merge_failed(struct store *s, const struct merge_job *m)
{
	if (lookup_is_damage(m->error))
		bk_log(BK_LOG_ERROR, "index files %08x-%08x: not merged: %s",
		    index_low(m->merge.files[m->merge.n - 1]),
		    index_high(m->merge.files[0]), strerror(m->error));
	else if (m->error != ECANCELED && m->error != ENOMEM &&
	    !is_full_disk(m->error))
		store_fail(s, "an index file cannot be written");
}

static void
merge_done(struct job *job)
{
	struct merge_job *m = (struct merge_job *)job;
	struct store *s = m->store;

	if (job->was_run && m->index != NULL && adopt_merged(s, m) == 0)
		return;
	if (job->was_run && m->index == NULL)
		merge_failed(s, m);
	s->merging = false;
	merge_free(m);
}

static void
note_gone(void *arg, struct ledger *l)
{
	struct merge_job *m = arg;
	uint32_t floor = store_floor(m->store, l);
	const struct ledger_more *more = ledgers_more(m->store->ledgers, l);
	struct merge_gone *grown;

	if (floor == 0)
		return;
	if (m->merge.ngone == m->cap) {
		m->cap = m->cap == 0 ? 64 : m->cap * 2;
		grown = reallocarray(m->gone, m->cap, sizeof(*grown));
		if (grown == NULL) {
			m->cap = m->merge.ngone;
			return; /* dropped by a later merge */
		}
		m->gone = grown;
	}
	m->gone[m->merge.ngone++] = (struct merge_gone){l->id, floor,
	    l->gone &&
		(more == NULL || more->gone_until <= (int64_t)time(NULL))};
}

static int
by_ledger(const void *a, const void *b)
{
	const struct merge_gone *x = a, *y = b;

	return (x->ledger_id < y->ledger_id ? -1 : x->ledger_id > y->ledger_id);
}

/* TIER_FILES neighbours of one tier: the first of them, or n. */
static size_t
find_run(const struct fileset *set)
{
	size_t i, run = 0;

	for (i = 0; i < set->n; i++) {
		if (i > 0 &&
		    index_tier(set->files[i]) == index_tier(set->files[i - 1]))
			run++;
		else
			run = 1;
		if (run == TIER_FILES)
			return (i + 1 - TIER_FILES);
	}
	return (set->n);
}

void
store_merge_if_due(struct store *s)
{
	size_t first = find_run(s->files);
	struct merge_job *m;

	if (s->merging || s->has_failed || s->is_closing ||
	    first == s->files->n || (m = calloc(1, sizeof(*m))) == NULL)
		return;
	m->job.run = run_merge;
	m->job.done = merge_done;
	m->store = s;
	m->files = fileset_ref(s->files);
	m->merge.files = &m->files->files[first];
	m->merge.n = TIER_FILES;
	m->merge.dir = index_dir(m->files->files[first]);
	m->merge.is_oldest = first + TIER_FILES == m->files->n;
	ledgers_each(s->ledgers, note_gone, m);
	if (m->merge.ngone > 0)
		qsort(m->gone, m->merge.ngone, sizeof(*m->gone), by_ledger);
	m->merge.gone = m->gone;
	s->merging = true;
	if (worker_do(s->writer, &m->job, false) == -1) {
		s->merging = false;
		merge_free(m);
	}
}
