/*
 * replay.c - read the journal back.
 *
 * Batches are numbered without gaps, and stand one behind the other. So at each
 * place the number that must come next is known, and what is found there is
 * that batch, or the segment ends there. It ends well if no later batch stands
 * in the rest of the segment, and the next one that follows in a later segment
 * is the one awaited. Else batches are missing: damage.
 */
#include "replay.h"
#include "disk.h"
#include "window.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WINDOW (2 * (size_t)BATCH_MAX)

struct replay {
	const struct replay_rules *rules;
	struct segment_list *segments;
	struct journal_found *found;
	char *why;
	struct window window;
	uint64_t awaited; /* number of the next batch; 0: any. Before the
	                          first one: none above it */

	/* The beginning of a record that goes on in the next batch. */
	struct bk_buf part;
	bool has_part;
	uint8_t part_kind;
	struct segment *part_begins;

	/* The last valid batch. */
	struct segment *tail;
	uint64_t tail_offset;
	size_t tail_len; /* padded */
};

/* Damage at a place of a segment: stop with *why, or go on when told; then the
 * segment is kept like one with batches, until the next checkpoint. */
static enum bk_status __attribute__((format(printf, 4, 5)))
damage(struct replay *r, struct segment *s, uint64_t offset, const char *fmt,
    ...)
{
	char name[SEGMENT_NAME];
	va_list ap;
	int n;

	r->found->damaged = true;
	if (s->last == 0)
		s->last = r->found->last > 0 ? r->found->last : 1;
	if (r->rules->accept_damage)
		return (BK_OK);
	segment_name(s->epoch, name);
	n = snprintf(r->why, SEGMENT_WHY, "%.256s/%s: offset %" PRIu64 ": ",
	    s->dir, name, offset);
	va_start(ap, fmt);
	(void)vsnprintf(r->why + n, SEGMENT_WHY - (size_t)n, fmt, ap);
	va_end(ap);
	return (BK_EDAMAGE);
}

static enum bk_status
failed(struct replay *r, const struct segment *s, const char *doing)
{
	char name[SEGMENT_NAME];

	segment_name(s->epoch, name);
	(void)snprintf(r->why, SEGMENT_WHY, "%.256s/%s: %s: %s", s->dir, name,
	    doing, strerror(errno));
	return (BK_ESYS);
}

static enum bk_status
no_memory(struct replay *r)
{
	(void)snprintf(r->why, SEGMENT_WHY, "journal: out of memory");
	return (BK_ENOMEM);
}

/* Records. */

static enum bk_status
hand_over(struct replay *r, uint8_t kind, struct bk_bytes bytes)
{
	struct journal_record record = {(enum journal_kind)kind, bytes};

	r->found->records++;
	if (r->rules->each(r->rules->arg, &record))
		return (BK_OK);
	return (no_memory(r));
}

/* No segment that holds a part of a record may go before its last part. */
static void
join_segments(struct segment *first, struct segment *until, uint64_t position)
{
	for (; first != until; first = TAILQ_NEXT(first, link))
		first->last = position;
}

static enum bk_status
take_part(struct replay *r, struct segment *s, uint64_t number,
    const struct batch_record *record)
{
	struct bk_bytes payload = record->payload;
	enum bk_status status;

	if (!(record->flags & BATCH_CONTINUES)) {
		bk_buf_consume(&r->part, bk_buf_len(&r->part));
		r->has_part = true;
		r->part_kind = record->kind;
		r->part_begins = s;
	}
	/* Without a beginning: that was in a segment not needed any more. */
	if (!r->has_part)
		return (BK_OK);
	if (bk_buf_len(&r->part) + payload.len > JOURNAL_RECORD_MAX ||
	    bk_buf_put(&r->part, payload.data, payload.len) == -1)
		return (no_memory(r));
	if (record->flags & BATCH_UNFINISHED)
		return (BK_OK);
	join_segments(r->part_begins, s, number);
	r->has_part = false;
	status = hand_over(r, r->part_kind,
	    (struct bk_bytes){bk_buf_head(&r->part), bk_buf_len(&r->part)});
	bk_buf_consume(&r->part, bk_buf_len(&r->part));
	return (status);
}

static enum bk_status
take_records(struct replay *r, struct segment *s, const uint8_t *bytes,
    const struct batch_found *b)
{
	struct batch_record record;
	enum bk_status status = BK_OK;
	struct bk_cursor c;

	bk_cursor_init(&c, bytes + BATCH_HEADER, b->len - BATCH_HEADER);
	while (status == BK_OK && batch_next(&c, &record)) {
		if (record.flags != 0) {
			status = take_part(r, s, b->number, &record);
			continue;
		}
		r->has_part = false;
		status = hand_over(r, record.kind, record.payload);
	}
	return (status);
}

/* Batches. */

static enum batch_verdict
look(struct replay *r, const struct segment *s, uint64_t offset,
    const uint8_t **bytes, struct batch_found *b)
{
	struct batch_place place = {.epoch = s->epoch,
	    .offset = offset,
	    .key = s->key};
	size_t len;

	*bytes = window_at(&r->window, offset, BATCH_BLOCK, &len);
	if (len < BATCH_BLOCK)
		return (BATCH_NONE);
	*bytes = window_at(&r->window, offset,
	    batch_padded(batch_length(*bytes, &place)), &len);
	return (batch_check(*bytes, len, &place, b));
}

/* The first valid batch at offset or after it in this segment. */
static bool
search(struct replay *r, const struct segment *s, uint64_t *offset)
{
	const uint8_t *bytes;
	struct batch_found b;

	for (; *offset + BATCH_BLOCK <= s->size; *offset += BATCH_BLOCK)
		if (look(r, s, *offset, &bytes, &b) == BATCH_VALID)
			return (true);
	return (false);
}

/* Whether the number may come here. Batches that the store says are safe
 * elsewhere may be missing; without its word, any number may be the first. */
static enum bk_status
check_number(struct replay *r, struct segment *s, uint64_t offset,
    uint64_t number)
{
	if (number == r->awaited || r->awaited == 0)
		return (BK_OK);
	if (number > r->awaited && number <= r->rules->checkpoint + 1)
		return (BK_OK);
	if (number < r->awaited && r->found->batches == 0)
		return (BK_OK);
	if (number < r->awaited)
		return (damage(r, s, offset,
		    "batch %" PRIu64 " comes after %" PRIu64, number,
		    r->awaited - 1));
	if (r->found->torn_file[0] != '\0')
		return (damage(r, s, offset,
		    "batch %" PRIu64 " at offset %" PRIu64
		    " of %s is damaged, and %" PRIu64 " follows here",
		    r->awaited, r->found->torn_offset, r->found->torn_file,
		    number));
	return (damage(r, s, offset,
	    "batches %" PRIu64 " to %" PRIu64 " before this one are missing",
	    r->awaited, number - 1));
}

static enum bk_status
take_batch(struct replay *r, struct segment *s, uint64_t offset,
    const uint8_t *bytes, const struct batch_found *b)
{
	struct journal_found *f = r->found;
	enum bk_status status = check_number(r, s, offset, b->number);

	if (status != BK_OK)
		return (status);
	if (b->number != r->awaited)
		r->has_part = false;
	f->torn_file[0] = '\0';
	f->torn_bytes = f->torn_offset = 0;
	if (f->batches++ == 0)
		f->first = b->number;
	f->last = b->number;
	r->awaited = b->number + 1;
	r->tail = s;
	r->tail_offset = offset;
	r->tail_len = batch_padded(b->len);
	s->last = b->number;
	s->end = offset + r->tail_len;
	return (take_records(r, s, bytes, b));
}

/* Remember where a batch was begun and not finished. */
static void
note_torn(struct replay *r, const struct segment *s, uint64_t offset)
{
	struct batch_place place = {.epoch = s->epoch,
	    .offset = offset,
	    .key = s->key};
	struct journal_found *f = r->found;
	char name[SEGMENT_NAME];
	const uint8_t *bytes;
	size_t len;

	bytes = window_at(&r->window, offset, BATCH_BLOCK, &len);
	len = batch_length(bytes, &place);
	segment_name(s->epoch, name);
	(void)snprintf(f->torn_file, sizeof(f->torn_file), "%.*s/%s",
	    (int)(sizeof(f->torn_file) - SEGMENT_NAME - 1), s->dir, name);
	f->torn_offset = offset;
	f->torn_bytes = len > 0 ? batch_padded(len) : BATCH_BLOCK;
}

/* Nothing valid at offset: the end of the segment, or damage. *offset goes to
 * where reading carries on, or to the end of the segment. */
static enum bk_status
pass_gap(struct replay *r, struct segment *s, enum batch_verdict verdict,
    uint64_t *offset)
{
	uint64_t at = *offset, next = at + BATCH_BLOCK;
	enum bk_status status = BK_OK;

	if (search(r, s, &next)) {
		*offset = next;
		return (damage(r, s, at,
		    "a batch is damaged, and a later one stands at %" PRIu64,
		    next));
	}
	*offset = s->size;
	if (r->window.unreadable)
		status = damage(r, s, r->window.bad_offset, "cannot be read");
	else if (verdict == BATCH_TORN)
		note_torn(r, s, at);
	return (status);
}

static enum bk_status
replay_segment(struct replay *r, struct segment *s)
{
	uint64_t offset = SEGMENT_BEGIN;
	enum bk_status status = BK_OK;

	if (s->state == SEGMENT_EMPTY)
		return (BK_OK);
	if (s->state == SEGMENT_DAMAGED)
		return (damage(r, s, 0, "neither header can be read"));
	window_open(&r->window, s->fd, s->size);
	while (status == BK_OK && offset + BATCH_BLOCK <= s->size) {
		const uint8_t *bytes;
		struct batch_found b;
		enum batch_verdict verdict = look(r, s, offset, &bytes, &b);

		if (verdict != BATCH_VALID) {
			status = pass_gap(r, s, verdict, &offset);
			continue;
		}
		status = take_batch(r, s, offset, bytes, &b);
		offset += batch_padded(b.len);
	}
	return (status);
}

/* Write the last batch again where it stands, zeros behind it. */
static enum bk_status
make_sure_of_tail(struct replay *r)
{
	struct segment *s = r->tail;
	size_t len = r->tail_len;
	uint8_t *copy;
	enum bk_status status = BK_OK;

	if (s == NULL)
		return (BK_OK);
	copy = calloc(1, len + BATCH_BLOCK);
	if (copy == NULL)
		return (no_memory(r));
	if (disk_read(s->fd, copy, len, r->tail_offset) != (ssize_t)len)
		status = failed(r, s, "read");
	if (s->size - r->tail_offset - len >= BATCH_BLOCK)
		len += BATCH_BLOCK;
	if (status == BK_OK &&
	    disk_write(s->fd, copy, len, r->tail_offset) == -1)
		status = failed(r, s, "write");
	if (status == BK_OK && disk_sync(s->fd) == -1)
		status = failed(r, s, "sync");
	free(copy);
	return (status);
}

enum bk_status
replay_run(struct segment_list *segments, const struct replay_rules *rules,
    struct journal_found *found, char why[SEGMENT_WHY])
{
	struct replay r = {.rules = rules,
	    .segments = segments,
	    .found = found,
	    .why = why};
	enum bk_status status = BK_OK;
	struct segment *s;

	memset(found, 0, sizeof(*found));
	bk_buf_init(&r.part);
	if (rules->checkpoint > 0)
		r.awaited = rules->checkpoint + 1;
	if (window_init(&r.window, WINDOW) == -1)
		return (no_memory(&r));
	TAILQ_FOREACH(s, segments, link) {
		status = replay_segment(&r, s);
		if (status != BK_OK)
			break;
	}
	if (status == BK_OK)
		status = make_sure_of_tail(&r);
	window_fini(&r.window);
	bk_buf_fini(&r.part);
	return (status);
}
