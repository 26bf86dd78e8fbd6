/*
 * journal.c - append records to the batch that is filling, and see to it that
 * it is written.
 *
 * The normal course: journal_append() copies a record into the batch, whose
 * place in the current segment is known from its first record on.
 * journal_turn_end() writes the batch here, or offers it to the syncer, from
 * which the next append takes it back unless it is being written by then; so
 * whatever comes during a sync forms the next batch. A record that does not
 * fit is cut and goes on in the next batch, perhaps in the next segment, which
 * the spares have ready. A checkpoint gives segments back to them.
 *
 * There is one stream of batches. With several directories, segments are made
 * in them by turns, and replay reads all of them in order of their epochs.
 *
 * What can fail: no spare (the caller is told to come again, or that the disk
 * is full), and writing or syncing, after which nothing more is written.
 */
#include "journal.h"
#include "replay.h"
#include "segment.h"
#include "spares.h"
#include "syncer.h"

#include <errno.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SYNC_GAP (BK_MS / 2)
#define INLINE_RECORDS 3 /* one request: a key, an entry, a fence */
#define WAITING_MAX 8    /* batches, before callers are told to wait */

struct journal {
	struct journal_events events;
	void *arg;
	struct bk_wake *wake;
	struct spares *spares;
	struct syncer *syncer;
	struct segment_list live; /* hold batches; the last is current */
	struct segment *current;  /* NULL before the first batch */
	struct slot *filling;
	size_t limit;      /* bytes that the filling batch may have */
	bool offered;      /* and the syncer may have taken it */
	uint64_t next;     /* number of the next batch */
	uint64_t reported; /* by synced() */
	uint64_t checkpoint;
	bool full;
	bool refused; /* since then, room() is owed */
	bool failed;
};

/* The filling batch. */

/* The next one begins behind it. */
static void
fix_end(struct journal *j)
{
	const struct slot *slot = j->filling;

	j->current->end = slot->offset + batch_padded(slot->batch.len);
}

static void
push_filling(struct journal *j)
{
	struct slot *slot = j->filling;

	fix_end(j);
	j->filling = NULL;
	syncer_push(j->syncer, slot);
}

/* After this, the filling batch is ours, or there is none. */
static void
take_back(struct journal *j)
{
	if (!j->offered)
		return;
	j->offered = false;
	if (!syncer_take_back(j->syncer, j->filling))
		j->filling = NULL;
}

static size_t
room_in_batch(const struct journal *j)
{
	size_t used;

	if (j->filling == NULL)
		return (0);
	used = j->filling->batch.len + BATCH_RECORD;
	return (used < j->limit ? j->limit - used : 0);
}

/* Bytes that a batch may have which begins at the end of the segment. */
static size_t
batch_limit(const struct segment *s)
{
	uint64_t left = s != NULL ? s->size - s->end : 0;

	return (left < BATCH_MAX ? (size_t)left : BATCH_MAX);
}

static int
next_segment(struct journal *j, bool reserve)
{
	struct segment *s = spares_take(j->spares, reserve, j->next);

	if (s == NULL)
		return (-1);
	j->current = s;
	TAILQ_INSERT_TAIL(&j->live, s, link);
	j->full = spares_full(j->spares);
	return (0);
}

static int
begin_batch(struct journal *j, bool reserve)
{
	struct slot *slot;

	if (batch_limit(j->current) < BATCH_BLOCK &&
	    next_segment(j, reserve) == -1)
		return (-1);
	slot = syncer_slot(j->syncer);
	if (slot == NULL) {
		errno = ENOMEM;
		return (-1);
	}
	slot->segment = j->current;
	slot->offset = j->current->end;
	slot->number = j->next++;
	j->current->last = slot->number;
	j->limit = batch_limit(j->current);
	j->filling = slot;
	return (0);
}

/* Bytes left in the current segment, the filling batch's among them. */
static uint64_t
room_in_segment(const struct journal *j)
{
	const struct segment *s = j->current;

	if (j->filling != NULL)
		return (s->size - j->filling->offset - j->filling->batch.len);
	return (s != NULL ? s->size - s->end : 0);
}

/* Whether a record of len bytes that does not fit into the filling batch will
 * find room in this and the next segments; more is made ready if not. */
static bool
room_beyond(struct journal *j, size_t len, bool reserve)
{
	size_t nspares, batches;
	uint64_t room, need;

	room = room_in_segment(j) + spares_room(j->spares, reserve, &nspares);
	batches = (size_t)(room / BATCH_MAX) + nspares + 2;
	need = len + batches * (BATCH_HEADER + BATCH_RECORD);
	if (room >= need)
		return (true);
	spares_want(j->spares, need);
	return (false);
}

static uint64_t
refuse(struct journal *j, int error)
{
	j->refused = true;
	errno = error;
	return (0);
}

/* 0 if a record of this length can be appended now, else the errno. */
static int
check_room(struct journal *j, size_t len, bool reserve)
{
	size_t most = reserve ? 2 * WAITING_MAX : WAITING_MAX;

	if (!reserve && j->full)
		return (ENOSPC);
	if (len <= room_in_batch(j))
		return (0);
	if (syncer_waiting(j->syncer) >= most)
		return (EAGAIN);
	if (room_beyond(j, len, reserve))
		return (0);
	return (spares_exhausted(j->spares) ? ENOSPC : EAGAIN);
}

/* Records. */

/* The pieces of a record, and how much of them is taken. */
struct source {
	const struct bk_bytes *pieces;
	size_t at;   /* in the first of them */
	size_t left; /* in all */
};

static void
take(struct source *from, uint8_t *to, size_t len)
{
	from->left -= len;
	while (len > 0) {
		size_t n = from->pieces->len - from->at;

		if (n == 0) {
			from->pieces++;
			from->at = 0;
			continue;
		}
		if (n > len)
			n = len;
		memcpy(to, from->pieces->data + from->at, n);
		from->at += n;
		to += n;
		len -= n;
	}
}

/* As much as fits into the filling batch. */
static void
put_part(struct journal *j, enum journal_kind kind, struct source *from,
    uint8_t flags)
{
	struct batch *b = &j->filling->batch;
	size_t room = room_in_batch(j);
	size_t len = from->left < room ? from->left : room;

	take(from, batch_open_record(b, len), len);
	if (from->left > 0)
		flags |= BATCH_UNFINISHED;
	batch_close_record(b, len, (uint8_t)kind, flags);
}

/* A record is wanted as long as its last part is. */
static void
hold_segments(struct journal *j, struct segment *first)
{
	for (; first != NULL; first = TAILQ_NEXT(first, link))
		first->last = j->filling->number;
}

static int
put_record(struct journal *j, enum journal_kind kind, struct source *from,
    bool reserve)
{
	struct segment *first = NULL;
	uint8_t flags = 0;

	do {
		if (j->filling != NULL && room_in_batch(j) == 0)
			push_filling(j);
		if (j->filling == NULL && begin_batch(j, reserve) == -1)
			return (-1);
		if (first == NULL)
			first = j->current;
		put_part(j, kind, from, flags);
		flags = BATCH_CONTINUES;
	} while (from->left > 0);
	if (first != j->current)
		hold_segments(j, first);
	return (0);
}

uint64_t
journal_append(struct journal *j, enum journal_kind kind,
    const struct bk_bytes *pieces, size_t npieces, bool reserve)
{
	struct source from = {.pieces = pieces};
	size_t i;
	int error;

	for (i = 0; i < npieces; i++)
		from.left += pieces[i].len;
	if (j->failed || from.left > JOURNAL_RECORD_MAX) {
		errno = j->failed ? EIO : EMSGSIZE;
		return (0);
	}
	take_back(j);
	error = check_room(j, from.left, reserve);
	if (error != 0)
		return (refuse(j, error));
	if (put_record(j, kind, &from, reserve) == -1)
		return (refuse(j, errno));
	return (j->filling->number);
}

/* What becomes of it. */

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

/* Tell the store what has happened. */
static void
deliver(struct journal *j)
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
	deliver(arg);
}

/* On one of the threads. */
static void
wake_loop(void *arg)
{
	struct journal *j = arg;

	bk_wake_up(j->wake);
}

void
journal_turn_end(struct journal *j)
{
	struct slot *slot = j->filling;

	if (slot == NULL || j->offered || j->failed)
		return;
	fix_end(j);
	if (slot->batch.records <= INLINE_RECORDS &&
	    syncer_write_now(j->syncer, slot)) {
		j->filling = NULL;
		deliver(j);
		return;
	}
	j->offered = true;
	syncer_offer(j->syncer, slot);
}

uint64_t
journal_synced(const struct journal *j)
{
	return (syncer_synced(j->syncer));
}

uint64_t
journal_filling(const struct journal *j)
{
	return (j->filling != NULL ? j->filling->number : j->next);
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
	take_back(j);
	if (j->filling != NULL)
		push_filling(j);
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
