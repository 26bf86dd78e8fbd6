/*
 * writer_change.c - a lost member is replaced (client-protocol.md 1.8;
 * design/overview.md 4).
 *
 *	members down -> spares chosen -> compare-and-set of the last segment
 *	-> the pipe adopts the new ensemble -> next, if more went down meanwhile
 *
 * One change at a time. While the compare-and-set is under way, or its outcome
 * unknown, acknowledgements of the members to be replaced do not count and
 * those of all others do: an entry acknowledged by members which the old and
 * the new list both name is safe whichever list the store ends up with. So
 * there is no stall while the ack quorum holds. The key of the new segment is
 * LAC + 1 as of the start; it can only grow too small, never too large.
 *
 * No spare: one warning, and on without the member. No ack quorum either: wait
 * for replace_timeout, for a spare or for the member itself.
 */
#include "client/writer_impl.h"

#include "client/pick.h"

#include <stdlib.h>
#include <string.h>

#define STORE_PAUSE ((uint32_t)(BK_SECOND / BK_PIPE_TICK))

static void begin(struct bk_writer *w);

static void
forget(struct bk_writer *w)
{
	int i;

	for (i = 0; i < w->meta.ensemble_size; i++) {
		free(w->change.lost[i]);
		free(w->change.spare[i]);
		w->change.lost[i] = NULL;
		w->change.spare[i] = NULL;
	}
}

void
bk_change_fini(struct bk_writer *w)
{
	if (w->change.lost != NULL && w->change.spare != NULL)
		forget(w);
	free(w->change.lost);
	free(w->change.spare);
}

static bool
in_segment(const struct bk_ledger_meta *m, const struct bk_segment *s,
    const char *id)
{
	int i;

	for (i = 0; i < m->ensemble_size; i++)
		if (strcmp(s->bookies[i], id) == 0)
			return (true);
	return (false);
}

/* Put the spares in for those lost members that are still in the last list;
 * false when there are none: someone did it, or it was our own lost answer. */
static bool
substitute(const struct bk_writer *w, const struct bk_ledger_meta *m,
    const char **list)
{
	const struct bk_segment *last = &m->segments[m->nsegments - 1];
	bool any = false;
	int i;

	for (i = 0; i < m->ensemble_size; i++) {
		const char *spare = w->change.spare[i];

		list[i] = last->bookies[i];
		if (spare == NULL ||
		    strcmp(last->bookies[i], w->change.lost[i]) != 0 ||
		    in_segment(m, last, spare))
			continue;
		list[i] = spare;
		any = true;
	}
	return (any);
}

/* Steps 3 and 4 of 1.8, on the record as it is now. */
static enum bk_update
decide(void *arg, struct bk_ledger_meta *m, enum bk_status *status)
{
	const struct bk_guard *g = arg;
	const struct bk_writer *w = g->owner;
	const char *list[BK_ENSEMBLE_MAX];
	size_t last = m->nsegments - 1;
	int i;

	*status = BK_ECANCELED;
	if (w == NULL || w->status != BK_OK)
		return (BK_UPDATE_STOP);
	if ((*status = bk_writer_judge(w, m)) != BK_OK)
		return (BK_UPDATE_STOP);
	if (!substitute(w, m, list))
		return (BK_UPDATE_DONE);
	m->ctoken = 0;
	if (m->segments[last].first_entry < w->change.first) {
		*status = BK_ENOMEM;
		return (bk_ledger_meta_append(m, w->change.first, list) == 0 ?
			BK_UPDATE_WRITE :
			BK_UPDATE_STOP);
	}
	if (m->segments[last].first_entry > w->change.first) {
		*status = BK_EBADMETA;
		return (BK_UPDATE_STOP);
	}
	for (i = 0; i < m->ensemble_size; i++) {
		if (strcmp(m->segments[last].bookies[i], list[i]) == 0)
			continue;
		*status = BK_ENOMEM;
		if (bk_ledger_meta_replace(m, last, i, list[i]) != 0)
			return (BK_UPDATE_STOP);
	}
	return (BK_UPDATE_WRITE);
}

static void
report(struct bk_writer *w)
{
	int i;

	if (w->events.replaced == NULL)
		return;
	for (i = 0; i < w->meta.ensemble_size; i++)
		if (w->change.spare[i] != NULL)
			w->events.replaced(w->arg, w->change.lost[i],
			    w->change.spare[i], w->change.first);
}

static void
done(void *arg, enum bk_status status, const struct bk_ledger_meta *m,
    int32_t version)
{
	struct bk_writer *w = bk_guard_release(arg);

	if (w == NULL)
		return;
	w->change.running = false;
	if (w->status != BK_OK)
		return;
	switch (status) {
	case BK_OK:
		w->change.unknown = false;
		report(w);
		forget(w);
		bk_writer_adopt_meta(w, m, version);
		if (w->status == BK_OK)
			begin(w);
		bk_writer_close_step(w);
		break;
	case BK_ESTORE:
	case BK_ESESSION:
		w->change.unknown = true;
		w->change.again = w->pipe.tick + STORE_PAUSE;
		bk_writer_close_step(w);
		break;
	default:
		bk_writer_fail(w, status);
		break;
	}
}

/* Write down what was chosen. fresh: our record is as good as any. */
static void
write_down(struct bk_writer *w, bool fresh)
{
	w->change.running = true;
	bk_ledger_update(w->c->tree, w->ledger_id, fresh ? &w->meta : NULL,
	    w->version, decide, done, bk_guard_hold(w->guard));
}

/* Choose spares for the members that are down; returns their positions. */
static uint64_t
choose(struct bk_writer *w)
{
	const char *members[BK_ENSEMBLE_MAX] = {NULL};
	const char *spares[BK_ENSEMBLE_MAX];
	size_t e = (size_t)w->meta.ensemble_size, i, n, used = 0;
	uint64_t chosen = 0;

	for (i = 0; i < e; i++)
		members[i] = w->pipe.members[i].id;
	n = bk_pick(w->c, members, e,
	    (size_t)__builtin_popcountll(w->pipe.down), true, spares);
	for (i = 0; i < e && used < n; i++) {
		if ((w->pipe.down >> i & 1) == 0)
			continue;
		w->change.lost[i] = strdup(members[i]);
		w->change.spare[i] = strdup(spares[used++]);
		if (w->change.lost[i] == NULL || w->change.spare[i] == NULL) {
			bk_writer_fail(w, BK_ENOMEM);
			return (0);
		}
		chosen |= UINT64_C(1) << i;
	}
	return (chosen);
}

/* No spare for some: a warning for each, once, and a call for help. */
static void
do_without(struct bk_writer *w)
{
	int i;

	for (i = 0; i < w->meta.ensemble_size; i++) {
		struct bk_pipe_member *m = &w->pipe.members[i];

		if ((w->pipe.down >> i & 1) == 0 || m->told)
			continue;
		m->told = true;
		if (w->events.replaced != NULL)
			w->events.replaced(w->arg, m->id, NULL, w->pipe.head);
	}
	bk_pipe_call_for_help(&w->pipe);
}

/* A reason no waiting will mend: the bookie wants what we do not speak. */
static enum bk_status
hopeless(const struct bk_writer *w)
{
	int i;

	for (i = 0; i < w->meta.ensemble_size; i++) {
		const struct bk_pipe_member *m = &w->pipe.members[i];

		if (m->state == BK_MEMBER_DOWN &&
		    (m->why == BK_ETLS || m->why == BK_ESASL))
			return (m->why);
	}
	return (BK_OK);
}

/* Without an ack quorum and without a spare the writer waits, but not for
 * ever. */
static void
check_quorum(struct bk_writer *w)
{
	enum bk_status why;

	if (w->change.running || w->change.unknown ||
	    !bk_pipe_blocked(&w->pipe))
		return;
	if ((why = hopeless(w)) != BK_OK)
		bk_writer_fail(w, why);
	else if (bk_pipe_starved(&w->pipe))
		bk_writer_fail(w, BK_EOUTCOME);
}

static void
begin(struct bk_writer *w)
{
	uint64_t chosen;

	if (w->status != BK_OK || w->change.running || w->change.unknown ||
	    w->close_running || w->closed || w->pipe.down == 0)
		return;
	chosen = choose(w);
	if (w->status != BK_OK)
		return;
	if (chosen != 0) {
		w->change.first = w->pipe.head;
		bk_pipe_replacing(&w->pipe, chosen);
		write_down(w, true);
	} else {
		do_without(w);
	}
	check_quorum(w);
}

void
bk_writer_lost(void *arg)
{
	begin(arg);
}

void
bk_writer_tick(void *arg)
{
	struct bk_writer *w = arg;

	if (w->change.unknown && !w->change.running && !w->close_running &&
	    (int32_t)(w->pipe.tick - w->change.again) >= 0)
		write_down(w, false);
	else
		begin(w);
	bk_writer_close_step(w);
}

void
bk_writer_bookies_changed(struct bk_writer *w)
{
	if (w->status != BK_OK || w->pipe.down == 0)
		return;
	bk_pipe_retry(&w->pipe);
	begin(w);
}
