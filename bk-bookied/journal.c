/*
 * journal.c - open the journal, tell the store what is durable, give back what
 * is not needed, close.
 *
 * There is one stream of batches. With several directories, segments are made
 * in them by turns, and replay reads all of them in order of their epochs. Two
 * threads work for the loop: the syncer writes batches, the spares make and
 * recycle segments. A failure of either is the last thing the store hears.
 */
#include "journal_internal.h"
#include "replay.h"

#include <errno.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SYNC_GAP (BK_MS / 2)

/* Give back segments that hold nothing that is wanted. */
static void
release(struct journal *j)
{
	uint64_t safe =
	    j->checkpoint < j->reported ? j->checkpoint : j->reported;
	struct segment *s;

	while ((s = TAILQ_FIRST(&j->live)) != NULL && s != j->current &&
	    s->last <= safe) {
		TAILQ_REMOVE(&j->live, s, link);
		spares_give(j->spares, s);
	}
}

static const char *
what_failed(struct journal *j)
{
	const char *what = syncer_error(j->syncer);

	return (what != NULL ? what : spares_error(j->spares));
}

void
journal_deliver(struct journal *j)
{
	const char *what = what_failed(j);
	uint64_t synced = syncer_synced(j->syncer);

	if (j->failed)
		return;
	if (what != NULL) {
		j->failed = true;
		j->events.failed(j->arg, what);
		return;
	}
	j->full = spares_full(j->spares) || syncer_full(j->syncer);
	if (synced > j->reported) {
		j->reported = synced;
		release(j);
		j->events.synced(j->arg, synced);
	}
	if (j->refused) {
		j->refused = false;
		j->events.room(j->arg);
	}
}

static void
woken(void *arg)
{
	journal_deliver(arg);
}

/* On one of the threads. */
static void
wake_loop(void *arg)
{
	struct journal *j = arg;

	bk_wake_up(j->wake);
}

uint64_t
journal_synced(const struct journal *j)
{
	return (syncer_synced(j->syncer));
}

void
journal_checkpoint(struct journal *j, uint64_t position)
{
	if (position > j->checkpoint)
		j->checkpoint = position;
	release(j);
}

uint64_t
journal_live_bytes(const struct journal *j)
{
	uint64_t bytes = 0;
	struct segment *s;

	TAILQ_FOREACH(s, &j->live, link)
		bytes += s->end - SEGMENT_BEGIN;
	return (bytes);
}

bool
journal_full(const struct journal *j)
{
	return (j->full);
}

void
journal_counts(const struct journal *j, uint64_t *batches, uint64_t *syncs)
{
	syncer_counts(j->syncer, batches, syncs);
}

/* Open and close. */

static _Thread_local char why_text[SEGMENT_WHY];

static enum bk_status
cannot_start(const struct journal *j)
{
	const char *what = NULL;

	if (j != NULL && j->spares != NULL)
		what = spares_error(j->spares);
	(void)snprintf(why_text, sizeof(why_text), "%s",
	    what != NULL ? what : strerror(errno));
	return (errno == ENOMEM ? BK_ENOMEM : BK_ESYS);
}

/* Segments with batches stay in the list; the others go to the spares. */
static void
give_unused(struct journal *j)
{
	struct segment *s, *next;

	for (s = TAILQ_FIRST(&j->live); s != NULL; s = next) {
		next = TAILQ_NEXT(s, link);
		if (s->last != 0)
			continue;
		TAILQ_REMOVE(&j->live, s, link);
		spares_give(j->spares, s);
	}
}

/* Number of the first batch to come: after all that may still be there. */
static uint64_t
first_number(const struct journal *j, const struct journal_config *config,
    const struct journal_found *found)
{
	uint64_t number = config->checkpoint > found->last ?
	    config->checkpoint + 1 :
	    found->last + 1;
	struct segment *s;

	if (found->batches > 0)
		return (number);
	TAILQ_FOREACH(s, &j->live, link)
		if (s->base > number)
			number = s->base;
	return (number);
}

static uint64_t
clamp(uint64_t n, uint64_t min, uint64_t max)
{
	return (n < min ? min : n > max ? max : n);
}

static void
spares_config_init(struct spares_config *c, struct journal *j,
    const struct journal_config *config)
{
	struct segment *s;

	c->dirs = config->dirs;
	c->ndirs = config->ndirs;
	c->size_min =
	    clamp(config->segment_min, SEGMENT_SIZE_MIN, SEGMENT_SIZE_MAX);
	c->size_max = clamp(config->segment_max, c->size_min, SEGMENT_SIZE_MAX);
	c->size = c->size_min;
	c->next_epoch = 1;
	c->number = j->next;
	c->changed = wake_loop;
	c->arg = j;
	TAILQ_FOREACH(s, &j->live, link) {
		c->size = clamp(s->size, c->size, c->size_max);
		if (s->epoch >= c->next_epoch)
			c->next_epoch = s->epoch + 1;
	}
}

static int
start(struct journal *j, struct bk_loop *loop,
    const struct journal_config *config)
{
	struct spares_config spares;
	int64_t gap = config->sync_gap > 0 ? config->sync_gap : SYNC_GAP;

	spares_config_init(&spares, j, config);
	j->wake = bk_wake_new(loop, woken, j);
	if (j->wake == NULL)
		return (-1);
	j->spares = spares_new(&spares);
	if (j->spares == NULL)
		return (-1);
	give_unused(j);
	if (spares_start(j->spares) == -1)
		return (-1);
	j->full = spares_full(j->spares);
	j->syncer = syncer_new(gap, j->reported, wake_loop, j);
	return (j->syncer != NULL ? 0 : -1);
}

static void
journal_free(struct journal *j)
{
	syncer_stop(j->syncer);
	spares_stop(j->spares);
	syncer_free(j->syncer);
	spares_free(j->spares);
	if (j->wake != NULL)
		bk_wake_free(j->wake);
	segment_list_free(&j->live);
	free(j);
}

static enum bk_status
replay(struct journal *j, const struct journal_config *config, void *arg,
    bool (*each)(void *arg, const struct journal_record *record),
    struct journal_found *found)
{
	struct replay_rules rules = {.checkpoint = config->checkpoint,
	    .accept_damage = config->accept_damage,
	    .each = each,
	    .arg = arg};
	enum bk_status status = BK_OK;
	size_t i;

	for (i = 0; i < config->ndirs && status == BK_OK; i++)
		status = segment_scan(config->dirs[i], &j->live, why_text);
	if (status == BK_OK)
		status = replay_run(&j->live, &rules, found, why_text);
	return (status);
}

enum bk_status
journal_open(struct bk_loop *loop, const struct journal_config *config,
    const struct journal_events *events, void *arg,
    bool (*each)(void *arg, const struct journal_record *record),
    struct journal **journal, struct journal_found *found, const char **why)
{
	struct journal *j = calloc(1, sizeof(*j));
	enum bk_status status;

	*why = why_text;
	if (j == NULL || sodium_init() == -1) {
		free(j);
		return (cannot_start(NULL));
	}
	j->events = *events;
	j->arg = arg;
	j->checkpoint = config->checkpoint;
	TAILQ_INIT(&j->live);
	status = replay(j, config, arg, each, found);
	if (status == BK_OK) {
		j->next = first_number(j, config, found);
		j->reported = j->next - 1;
		if (start(j, loop, config) == -1)
			status = cannot_start(j);
	}
	if (status != BK_OK) {
		journal_free(j);
		return (status);
	}
	release(j);
	*journal = j;
	return (BK_OK);
}

/* Nothing in it is wanted any more: let the next start find nothing. */
static int
empty_segments(struct journal *j)
{
	struct segment *s;

	while ((s = TAILQ_FIRST(&j->live)) != NULL) {
		TAILQ_REMOVE(&j->live, s, link);
		if (spares_empty(j->spares, s) == -1)
			return (-1);
	}
	return (0);
}

int
journal_close(struct journal *j)
{
	int rc = 0;

	if (j == NULL)
		return (0);
	journal_push(j);
	syncer_stop(j->syncer);
	spares_stop(j->spares);
	if (what_failed(j) != NULL || journal_synced(j) + 1 < j->next)
		rc = -1;
	else if (j->checkpoint + 1 >= j->next)
		rc = empty_segments(j);
	journal_free(j);
	if (rc == -1)
		errno = EIO;
	return (rc);
}
