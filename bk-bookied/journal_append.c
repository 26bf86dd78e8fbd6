/*
 * journal_append.c - put records into the batch that is filling.
 *
 * The normal course: journal_append() copies a record into the batch, whose
 * place in the current segment is known from its first record on.
 * journal_turn_end() writes the batch here and now, or offers it to the syncer,
 * from which the next append takes it back unless it is being written by then;
 * so whatever comes during a sync forms the next batch. A record that does not
 * fit is cut and goes on in the next batch, perhaps in the next segment, which
 * the spares have ready.
 *
 * What can fail: no spare, or too much waits; the caller is told to come again,
 * or that the disk is full.
 */
#include "journal_internal.h"

#include <errno.h>
#include <string.h>

#define INLINE_RECORDS 3 /* one request: a key, an entry, a fence */
#define WAITING_MAX 8    /* batches, before callers are told to wait */

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
		journal_deliver(j);
		return;
	}
	j->offered = true;
	j->offered_number = slot->number;
	syncer_offer(j->syncer, slot);
}

uint64_t
journal_filling(const struct journal *j)
{
	/* An offered batch may be written and gone by now. */
	if (j->offered)
		return (j->offered_number);
	return (j->filling != NULL ? j->filling->number : j->next);
}

void
journal_push(struct journal *j)
{
	take_back(j);
	if (j->filling != NULL)
		push_filling(j);
}
