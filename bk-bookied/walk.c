/* walk.c - a merge of cursors: the least of what each stands at. */
#include "bk-bookied/walk.h"

#include <errno.h>
#include <stdlib.h>

/* A file, and what the walk takes from it next. */
struct source {
	struct index_cursor *cursor;
	bool is_read; /* false: to be taken from the cursor */
	bool at_end;
	struct record record;
	struct ledger_state state;
	struct bk_bytes encoded;
};

struct walk {
	size_t n;
	struct source sources[]; /* newest file first */
};

struct walk *
walk_new(struct index *const *files, size_t n, enum index_kind kind)
{
	struct walk *w = calloc(1, sizeof(*w) + n * sizeof(struct source));

	if (w == NULL)
		return (NULL);
	for (; w->n < n; w->n++) {
		w->sources[w->n].cursor = index_cursor_new(files[w->n], kind);
		if (w->sources[w->n].cursor == NULL) {
			walk_free(w);
			errno = ENOMEM;
			return (NULL);
		}
	}
	return (w);
}

void
walk_free(struct walk *w)
{
	if (w == NULL)
		return;
	for (size_t i = 0; i < w->n; i++)
		index_cursor_free(w->sources[i].cursor);
	free(w);
}

int
walk_record(struct walk *w, struct record *record)
{
	struct source *least = NULL;
	struct source *s;
	int r;

	for (size_t i = 0; i < w->n; i++) {
		s = &w->sources[i];
		if (!s->is_read) {
			r = index_cursor_record(s->cursor, &s->record);
			if (r == -1)
				return (-1);
			s->is_read = true;
			s->at_end = r == 0;
		}
		if (!s->at_end &&
		    (least == NULL ||
			record_compare(&s->record, &least->record) < 0))
			least = s;
	}
	if (least == NULL)
		return (0);
	*record = least->record;
	least->is_read = false;
	return (1);
}

/* States are in the order of ids as unsigned numbers: STATE_ALL is last. */
static bool
is_before(const struct source *a, const struct source *b)
{
	return ((uint64_t)a->state.ledger_id < (uint64_t)b->state.ledger_id);
}

int
walk_state(struct walk *w, struct ledger_state *state, struct bk_bytes *encoded)
{
	struct source *least = NULL;
	struct source *s;
	int r;

	for (size_t i = 0; i < w->n; i++) {
		s = &w->sources[i];
		if (!s->is_read) {
			r = index_cursor_state(s->cursor, &s->state,
			    &s->encoded);
			if (r == -1)
				return (-1);
			s->is_read = true;
			s->at_end = r == 0;
		}
		if (!s->at_end && (least == NULL || is_before(s, least)))
			least = s;
	}
	if (least == NULL)
		return (0);
	*state = least->state;
	*encoded = least->encoded;
	for (size_t i = 0; i < w->n; i++)
		if (!w->sources[i].at_end &&
		    w->sources[i].state.ledger_id == state->ledger_id)
			w->sources[i].is_read = false;
	return (1);
}
