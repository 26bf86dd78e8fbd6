/*
 * store_tidy.c - many index files become few, and logs that nothing needs any
 * more go: on the writer thread, behind flushes.
 */
#include "bk-bookied/store_internal.h"

#include "base/log.h"
#include "bk-bookied/disk.h"
#include "bk-bookied/lookup.h"
#include "bk-bookied/merge.h"
#include "bk-bookied/names.h"
#include "bk-bookied/reclaim.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define TIER 8                  /* files of a tier that become one */
#define RECLAIM_AFTER BK_SECOND /* a removal; more may follow it */
#define RECLAIM_SHARE 20        /* times as long as one took, until the next */

struct store_tidy {
	struct store *s;
	struct bk_timer *reclaim;
	int64_t pause;     /* ns until the next look for logs */
	uint32_t bad_high; /* files up to here are not merged, one of */
	bool is_merging;   /* them being damaged, until the next start */
	bool is_reclaiming;
	bool want_reclaim;
};

/* One piece of work; what it needs stays as it was when it began. */
struct chore {
	struct job job; /* first, so that it is the whole */
	struct store *s;
	struct fileset *set;
	struct gone_table gone;
	/* Merging. */
	struct merge merge;
	struct index *merged;
	/* Reclaiming. */
	struct reclaim reclaim;
	int64_t took;
	int error; /* errno; 0: done */
};

static void
chore_free(struct chore *c)
{
	if (c == NULL)
		return;
	index_unref(c->merged);
	fileset_unref(c->set);
	gone_fini(&c->gone);
	free(c);
}

struct listing {
	struct store *s;
	struct gone_table *gone;
	uint64_t synced;
	bool failed;
};

/* What was removed, if that is durable. */
static void
list_gone(void *arg, struct ledger *l)
{
	struct listing *t = arg;
	const struct ledger_more *more;
	struct gone item;

	if (!l->more || (more = ledgers_more(t->s->ledgers, l))->floor == 0 ||
	    ledger_changed_at(l, journal_filling(t->s->journal)) > t->synced)
		return;
	item.ledger_id = l->id;
	item.floor = more->floor;
	item.is_over = l->gone && more->gone_until < store_wall_clock();
	if (gone_add(t->gone, &item) == -1)
		t->failed = true;
}

static struct chore *
chore_new(struct store *s, void (*run)(struct job *job),
    void (*done)(struct job *job))
{
	struct chore *c = calloc(1, sizeof(*c));
	struct listing listing = {.s = s};

	if (c == NULL)
		return (NULL);
	c->job = (struct job){.run = run, .done = done};
	c->s = s;
	c->set = fileset_ref(s->set);
	c->reclaim =
	    (struct reclaim){.set = c->set, .logs = s->logs, .gone = &c->gone};
	listing.gone = &c->gone;
	listing.synced = journal_synced(s->journal);
	ledgers_each(s->ledgers, list_gone, &listing);
	if (listing.failed) {
		chore_free(c);
		return (NULL);
	}
	gone_sort(&c->gone);
	return (c);
}

static bool
pause_chore(void *arg)
{
	struct store *s = arg;

	return (worker_pause(s->writer));
}

/* Merging. */

static void
remove_inputs(const struct merge *m)
{
	char name[NAME_SIZE];

	for (size_t i = 0; i < m->n; i++) {
		name_index(name, index_low(m->files[i]),
		    index_high(m->files[i]));
		/* If it stays, the next start removes it. */
		(void)disk_remove(index_dir(m->files[i]), name);
	}
}

static void
merge_run(struct job *job)
{
	struct chore *c = (struct chore *)(void *)job;

	c->merged = merge_files(&c->merge, pause_chore, c->s);
	if (c->merged == NULL)
		c->error = errno;
	else
		remove_inputs(&c->merge);
}

/* Nothing of ledgers removed before is left in any file: their floors, and
 * those of them that need not be remembered, can go. */
static void
drop_gone(struct store *s, const struct chore *c)
{
	uint32_t high = index_high(c->merged);
	struct ledger_more *more;
	const struct gone *g;
	struct ledger *l;

	for (size_t i = 0; i < c->gone.n; i++) {
		g = &c->gone.items[i];
		l = ledgers_find(s->ledgers, g->ledger_id);
		more = l == NULL ? NULL : ledgers_more(s->ledgers, l);
		if (more == NULL || more->floor != g->floor || g->floor > high)
			continue;
		if (!l->gone) {
			more->floor = 0;
			ledgers_more_trim(s->ledgers, l);
		} else if (g->is_over)
			ledgers_drop(s->ledgers, l);
	}
}

static void
merge_failed(struct store *s, const struct chore *c)
{
	const struct merge *m = &c->merge;

	if (c->error == ECANCELED || c->error == ENOMEM)
		return;
	bk_log(BK_LOG_ERROR,
	    "index files %08" PRIx32 " to %08" PRIx32 ": not merged: %s",
	    index_low(m->files[m->n - 1]), index_high(m->files[0]),
	    c->error == EBADMSG ? "checksum does not match" :
				  strerror(c->error));
	if (c->error == ENOSPC || c->error == EDQUOT)
		space_full(s->space, m->dir);
	else if (lookup_is_damage(c->error))
		s->tidy->bad_high = index_high(m->files[0]);
	else
		store_failed(s, "an index file cannot be written");
}

static void
take_merged(struct store *s, const struct chore *c)
{
	struct fileset *set = fileset_with(s->set, c->merged);

	/* Without memory the old files stay in use: they are open. */
	if (set == NULL)
		return;
	fileset_unref(s->set);
	s->set = set;
	s->figures.merges++;
	if (c->merge.is_oldest)
		drop_gone(s, c);
	store_reclaim(s);
}

static void
merge_done(struct job *job)
{
	struct chore *c = (struct chore *)(void *)job;
	struct store *s = c->s;
	bool go_on = c->error == 0 && job->was_run;

	s->tidy->is_merging = false;
	if (go_on && !s->is_closing)
		take_merged(s, c);
	else if (job->was_run && c->error != 0)
		merge_failed(s, c);
	chore_free(c);
	if (go_on)
		store_merge(s);
}

/* The oldest TIER neighbours of one tier: place of the newest of them, or n. */
static size_t
find_run(const struct store *s)
{
	const struct fileset *set = s->set;
	size_t run = 0;

	for (size_t i = set->n; i-- > 0;) {
		if (index_low(set->files[i]) <= s->tidy->bad_high)
			continue;
		if (run > 0 &&
		    index_tier(set->files[i]) == index_tier(set->files[i + 1]))
			run++;
		else
			run = 1;
		if (run == TIER)
			return (i);
	}
	return (set->n);
}

void
store_merge(struct store *s)
{
	size_t first = find_run(s);
	struct chore *c;

	if (s->tidy->is_merging || s->is_closing || s->has_failed ||
	    space_readonly(s->space) || first == s->set->n)
		return;
	c = chore_new(s, merge_run, merge_done);
	if (c == NULL)
		return;
	c->merge = (struct merge){
	    .files = &c->set->files[first],
	    .n = TIER,
	    .dir = space_choose(s->space),
	    .gone = &c->gone,
	    .is_oldest = first + TIER == c->set->n,
	};
	if (worker_do(s->writer, &c->job, false) == -1)
		chore_free(c);
	else
		s->tidy->is_merging = true;
}

/* Reclaiming. */

static void
reclaim_run(struct job *job)
{
	struct chore *c = (struct chore *)(void *)job;
	int64_t began = bk_clock_now();

	if (reclaim_logs(&c->reclaim, pause_chore, c->s) == -1)
		c->error = errno;
	c->took = bk_clock_now() - began;
}

static void
reclaim_done(struct job *job)
{
	struct chore *c = (struct chore *)(void *)job;
	struct store *s = c->s;
	struct store_tidy *t = s->tidy;

	t->is_reclaiming = false;
	if (job->was_run && c->error == 0) {
		s->figures.live_bytes = c->reclaim.live_bytes;
		if (c->reclaim.removed > 0)
			bk_log(BK_LOG_INFO,
			    "%zu logs removed, nothing in them "
			    "is needed any more",
			    c->reclaim.removed);
	} else if (job->was_run && c->error != ECANCELED)
		bk_log(BK_LOG_WARNING, "logs not removed: %s",
		    strerror(c->error));
	t->pause = RECLAIM_AFTER + c->took * RECLAIM_SHARE;
	chore_free(c);
	if (t->want_reclaim && !s->is_closing)
		bk_timer_set(t->reclaim, t->pause);
}

static void
reclaim_start(void *arg)
{
	struct store_tidy *t = arg;
	struct chore *c;

	if (t->is_reclaiming || t->s->is_closing || t->s->has_failed)
		return;
	c = chore_new(t->s, reclaim_run, reclaim_done);
	if (c == NULL || worker_do(t->s->writer, &c->job, false) == -1) {
		chore_free(c);
		bk_timer_set(t->reclaim, t->pause);
		return;
	}
	t->is_reclaiming = true;
	t->want_reclaim = false;
}

void
store_reclaim(struct store *s)
{
	struct store_tidy *t = s->tidy;

	if (!t->want_reclaim && !t->is_reclaiming && !s->is_closing)
		bk_timer_set(t->reclaim, t->pause);
	t->want_reclaim = true;
}

struct store_tidy *
store_tidy_new(struct store *s)
{
	struct store_tidy *t = calloc(1, sizeof(*t));

	if (t == NULL)
		return (NULL);
	t->s = s;
	t->pause = RECLAIM_AFTER;
	t->reclaim = bk_timer_new(s->loop, reclaim_start, t);
	if (t->reclaim == NULL) {
		free(t);
		return (NULL);
	}
	return (t);
}

void
store_tidy_free(struct store_tidy *t)
{
	if (t == NULL)
		return;
	bk_timer_free(t->reclaim);
	free(t);
}
