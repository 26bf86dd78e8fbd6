/* merge.c - a walk over several index files at once, in order. */
#include "bk-bookied/merge.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define PAUSE_EVERY 4096 /* records */

struct source {
	struct index_cursor *cursor;
	struct record record;
	struct ledger_state state;
	struct bk_bytes encoded;
	bool at_end;
};

struct walk {
	struct merge *m;
	struct source *source; /* newest first, as the files */
	struct index_writer *out;
	struct record cover; /* the dense one that reaches farthest */
	bool has_cover;
	uint8_t *used; /* one a log of the range */
};

static const struct merge_gone *
gone_of(const struct merge *m, int64_t ledger_id)
{
	size_t low = 0, high = m->ngone, mid;

	while (low < high) {
		mid = low + (high - low) / 2;
		if (m->gone[mid].ledger_id < ledger_id)
			low = mid + 1;
		else
			high = mid;
	}
	return (low < m->ngone && m->gone[low].ledger_id == ledger_id ?
		&m->gone[low] :
		NULL);
}

static int
begin(struct walk *w, enum index_kind kind)
{
	size_t i;

	for (i = 0; i < w->m->n; i++) {
		struct source *s = &w->source[i];

		memset(s, 0, sizeof(*s));
		s->cursor = index_cursor_new(w->m->files[i], kind);
		if (s->cursor == NULL)
			return (-1);
	}
	return (0);
}

static void
end(struct walk *w)
{
	size_t i;

	for (i = 0; i < w->m->n; i++) {
		index_cursor_free(w->source[i].cursor);
		w->source[i].cursor = NULL;
	}
}

/* Whether a newer extent, seen already, has every entry of this one. */
static bool
is_covered(const struct walk *w, const struct record *r)
{
	return (w->has_cover && w->cover.ledger_id == r->ledger_id &&
	    w->cover.last >= r->last && w->cover.log > r->log);
}

static void
note_cover(struct walk *w, const struct record *r)
{
	bool other = !w->has_cover || w->cover.ledger_id != r->ledger_id;

	if (record_is_dense(r) && (other || r->last >= w->cover.last)) {
		w->cover = *r;
		w->has_cover = true;
	} else if (other) {
		w->has_cover = false;
	}
}

static int
put_record(struct walk *w, const struct record *r)
{
	const struct merge_gone *gone = gone_of(w->m, r->ledger_id);
	uint32_t low = index_low(w->m->files[w->m->n - 1]);

	if ((gone != NULL && r->log < gone->floor) || is_covered(w, r))
		return (0);
	note_cover(w, r);
	w->used[r->log - low] = 1;
	return (index_writer_record(w->out, r));
}

/* 1, 0 at the end, -1. */
static int
advance_record(struct source *s)
{
	int r = index_cursor_record(s->cursor, &s->record);

	s->at_end = r == 0;
	return (r);
}

static struct source *
least_record(struct walk *w)
{
	struct source *least = NULL;
	size_t i;

	for (i = 0; i < w->m->n; i++) {
		struct source *s = &w->source[i];

		if (!s->at_end &&
		    (least == NULL ||
			record_compare(&s->record, &least->record) < 0))
			least = s;
	}
	return (least);
}

static int
merge_records(struct walk *w, bool (*pause)(void *arg), void *arg)
{
	struct source *s;
	size_t i, done = 0;

	for (i = 0; i < w->m->n; i++)
		if (advance_record(&w->source[i]) == -1)
			return (-1);
	while ((s = least_record(w)) != NULL) {
		if (put_record(w, &s->record) == -1 || advance_record(s) == -1)
			return (-1);
		if (++done % PAUSE_EVERY == 0 && !pause(arg)) {
			errno = ECANCELED;
			return (-1);
		}
	}
	return (0);
}

static int
advance_state(struct source *s)
{
	int r = index_cursor_state(s->cursor, &s->state, &s->encoded);

	s->at_end = r == 0;
	return (r);
}

/* The lowest ledger, STATE_ALL being the highest; of several files that have
 * it the newest. */
static struct source *
least_state(struct walk *w)
{
	struct source *least = NULL;
	size_t i;

	for (i = 0; i < w->m->n; i++) {
		struct source *s = &w->source[i];

		if (!s->at_end &&
		    (least == NULL ||
			(uint64_t)s->state.ledger_id <
			    (uint64_t)least->state.ledger_id))
			least = s;
	}
	return (least);
}

static int
put_state(struct walk *w, const struct source *s)
{
	const struct merge_gone *gone = gone_of(w->m, s->state.ledger_id);

	if (gone != NULL && gone->forget && w->m->is_oldest && s->state.gone)
		return (0);
	return (index_writer_state(w->out, s->encoded));
}

static int
merge_states(struct walk *w)
{
	struct source *s;
	int64_t id;
	size_t i;

	for (i = 0; i < w->m->n; i++)
		if (advance_state(&w->source[i]) == -1)
			return (-1);
	while ((s = least_state(w)) != NULL) {
		id = s->state.ledger_id;
		if (put_state(w, s) == -1)
			return (-1);
		for (i = 0; i < w->m->n; i++) {
			s = &w->source[i];
			if (!s->at_end && s->state.ledger_id == id &&
			    advance_state(s) == -1)
				return (-1);
		}
	}
	return (0);
}

/* What outlives the merge of the files' numbers. */
static struct index_writer *
open_writer(const struct merge *m)
{
	uint64_t position = 0, ledgers = 0;
	uint32_t tier = 0;
	size_t i;

	for (i = 0; i < m->n; i++) {
		const struct index *f = m->files[i];

		if (index_position(f) > position)
			position = index_position(f);
		if (index_tier(f) >= tier)
			tier = index_tier(f) + 1;
		ledgers += index_ledgers(f);
	}
	return (index_writer_new(m->dir, index_low(m->files[m->n - 1]),
	    index_high(m->files[0]), tier, position, (size_t)ledgers));
}

static int
list_used(struct merge *m, const uint8_t *used, size_t n)
{
	uint32_t low = index_low(m->files[m->n - 1]);
	size_t i;

	if ((m->used = calloc(n, sizeof(*m->used))) == NULL)
		return (-1);
	for (i = 0; i < n; i++)
		if (used[i] != 0)
			m->used[m->nused++] = low + (uint32_t)i;
	return (0);
}

struct index *
merge_files(struct merge *m, bool (*pause)(void *arg), void *arg)
{
	size_t range =
	    (size_t)index_high(m->files[0]) - index_low(m->files[m->n - 1]) + 1;
	struct walk w = {.m = m};
	struct index *out = NULL;
	int r = -1;

	m->used = NULL;
	m->nused = 0;
	w.source = calloc(m->n, sizeof(*w.source));
	w.used = calloc(range, 1);
	if (w.source != NULL && w.used != NULL)
		w.out = open_writer(m);
	if (w.out != NULL && begin(&w, INDEX_RECORDS) == 0)
		r = merge_records(&w, pause, arg);
	if (w.source != NULL)
		end(&w);
	if (r == 0 && (r = begin(&w, INDEX_STATES)) == 0)
		r = merge_states(&w);
	if (w.source != NULL)
		end(&w);
	if (r == 0)
		r = list_used(m, w.used, range);
	if (r == 0) {
		out = index_writer_finish(w.out);
		w.out = NULL;
	}
	index_writer_abort(w.out);
	if (out == NULL) {
		free(m->used);
		m->used = NULL;
	}
	free(w.used);
	free(w.source);
	return (out);
}
