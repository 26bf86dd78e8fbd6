/* merge.c - a walk over index files, what lives of it written to a new one. */
#include "bk-bookied/merge.h"

#include "bk-bookied/walk.h"

#include <errno.h>

#define PAUSE_EVERY 4096 /* records or states */

struct merging {
	const struct merge *m;
	struct index_writer *out;
	struct record cover; /* of those put, a dense one that reaches far */
	bool (*pause)(void *arg);
	void *arg;
	unsigned since_pause;
};

static int
take_breath(struct merging *g)
{
	if (++g->since_pause < PAUSE_EVERY)
		return (0);
	g->since_pause = 0;
	if (g->pause(g->arg))
		return (0);
	errno = ECANCELED;
	return (-1);
}

/* Whether a newer extent, which begins no later, has all that this one has. */
static bool
is_covered(const struct merging *g, const struct record *r)
{
	return (g->cover.ledger_id == r->ledger_id &&
	    g->cover.last >= r->last && g->cover.log > r->log);
}

static int
put_record(struct merging *g, const struct record *r)
{
	const struct gone *gone = gone_find(g->m->gone, r->ledger_id);

	if ((gone != NULL && r->log < gone->floor) || is_covered(g, r))
		return (0);
	if (record_is_dense(r) &&
	    (g->cover.ledger_id != r->ledger_id || g->cover.last <= r->last))
		g->cover = *r;
	return (index_writer_record(g->out, r));
}

static int
merge_records(struct merging *g)
{
	struct walk *w = walk_new(g->m->files, g->m->n, INDEX_RECORDS);
	struct record record;
	int r = -1;

	while (w != NULL && (r = walk_record(w, &record)) == 1)
		if (put_record(g, &record) == -1 || take_breath(g) == -1) {
			r = -1;
			break;
		}
	walk_free(w);
	return (r);
}

/* A removed ledger needs no state when nothing older can have extents of it,
 * and nobody has to be told that it was fenced. */
static bool
is_over(const struct merging *g, const struct ledger_state *state)
{
	const struct gone *gone;

	if (!g->m->is_oldest || !state->gone)
		return (false);
	gone = gone_find(g->m->gone, state->ledger_id);
	return (gone != NULL && gone->is_over);
}

static int
merge_states(struct merging *g)
{
	struct walk *w = walk_new(g->m->files, g->m->n, INDEX_STATES);
	struct ledger_state state;
	struct bk_bytes encoded;
	int r = -1;

	while (w != NULL && (r = walk_state(w, &state, &encoded)) == 1) {
		if ((!is_over(g, &state) &&
			index_writer_state(g->out, encoded) == -1) ||
		    take_breath(g) == -1) {
			r = -1;
			break;
		}
	}
	walk_free(w);
	return (r);
}

static struct index_writer *
open_writer(const struct merge *m)
{
	uint64_t position = 0, ledgers = 0;
	uint32_t tier = 0;

	for (size_t i = 0; i < m->n; i++) {
		if (index_position(m->files[i]) > position)
			position = index_position(m->files[i]);
		if (index_tier(m->files[i]) > tier)
			tier = index_tier(m->files[i]);
		ledgers += index_ledgers(m->files[i]);
	}
	return (index_writer_new(m->dir, index_low(m->files[m->n - 1]),
	    index_high(m->files[0]), tier + 1, position, (size_t)ledgers));
}

struct index *
merge_files(const struct merge *m, bool (*pause)(void *arg), void *arg)
{
	struct merging g = {.m = m, .pause = pause, .arg = arg};

	g.cover.ledger_id = -1;
	g.out = open_writer(m);
	if (g.out == NULL)
		return (NULL);
	if (merge_records(&g) == 0 && merge_states(&g) == 0)
		return (index_writer_finish(g.out));
	index_writer_abort(g.out);
	return (NULL);
}
