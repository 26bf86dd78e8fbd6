/*
 * reader_read.c - a range of entries in order: asked for ahead, in a window
 * bounded by count and by the bytes to be expected, delivered one by one.
 *
 * An entry that comes in turn is handed over where it lies; one that comes too
 * early is kept as a copy. A failed entry is only believed after a fresh look
 * at the metadata (client-protocol.md 2.2; 9, D8).
 */
#include "client/reader_impl.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define WINDOW_ENTRIES 512
#define WINDOW_BYTES ((size_t)4 * 1024 * 1024)
#define BEYOND 16 /* entries asked for at once where there may be none */

static struct bk_fetch *
slot(const struct bk_range *g, int64_t entry_id)
{
	return (&g->ring[(size_t)entry_id % g->window]);
}

/* Everything outstanding is dropped; the reader is free for another read. */
void
bk_range_stop(struct bk_reader *r)
{
	struct bk_range *g = &r->range;
	int64_t e;

	for (e = g->head; g->ring != NULL && e < g->next; e++)
		bk_fetch_drop(slot(g, e));
	free(g->ring);
	free(g->asks);
	memset(g, 0, sizeof(*g));
}

/* The end of a read; the user may free the reader or begin another. */
static void
finish(struct bk_reader *r, enum bk_status status)
{
	bk_done_cb *done = r->range.done;
	void *arg = r->range.arg;

	bk_range_stop(r);
	done(arg, status);
}

/* How many entries may be on their way. */
static int64_t
allowed(const struct bk_range *g)
{
	size_t n = g->window_bytes / g->estimate;

	if (n > g->window)
		n = g->window;
	if (g->to_the_end && n > BEYOND)
		n = BEYOND;
	return (n == 0 ? 1 : (int64_t)n);
}

static void
fill(struct bk_reader *r)
{
	struct bk_range *g = &r->range;

	while (!g->paused && g->next <= g->last &&
	    g->next - g->head < allowed(g)) {
		struct bk_fetch *f = slot(g, g->next);

		bk_fetch_start(f, g->next, g->only);
		if (f->state == BK_FETCH_FAILED)
			bk_reader_settle(r);
		g->next++;
	}
	bk_reader_wind(r);
}

/* Hand over the entry at head; false when the reader is gone. */
static bool
deliver(struct bk_reader *r, const struct bk_fetch *f)
{
	struct bk_range *g = &r->range;
	struct bk_read_entry entry = {
	    .entry_id = f->entry_id,
	    .payload = f->payload,
	    .header = f->header,
	    .bookie = f->from->id,
	};
	bool more;

	bk_reader_enter(r);
	more = g->each(g->arg, &entry);
	if (!bk_reader_leave(r))
		return (false);
	if (!more)
		g->paused = true;
	return (true);
}

static void look_again(struct bk_reader *r);

/* Above the confirmed entries absence is no news. */
static void
head_failed(struct bk_reader *r, const struct bk_fetch *f)
{
	struct bk_range *g = &r->range;

	if (g->refreshed != f->entry_id)
		look_again(r);
	else if (g->to_the_end && f->entry_id > r->lac &&
	    bk_status_negative(f->status))
		finish(r, BK_OK);
	else
		finish(r, f->status);
}

/* Deliver what is there in turn. The last call of whoever calls it. */
static void
go_on(struct bk_reader *r)
{
	struct bk_range *g = &r->range;

	while (!g->paused && !g->refreshing && g->head < g->next) {
		struct bk_fetch *f = slot(g, g->head);

		if (f->state == BK_FETCH_FAILED) {
			head_failed(r, f);
			return;
		}
		if (f->state != BK_FETCH_HAVE)
			break;
		if (!deliver(r, f))
			return;
		bk_fetch_drop(f);
		g->head++;
	}
	if (g->head > g->last && !g->paused) {
		finish(r, BK_OK);
		return;
	}
	fill(r);
}

static void
size_up(struct bk_range *g, size_t len)
{
	size_t fading = g->estimate - g->estimate / 16;

	len += sizeof(struct bk_fetch);
	g->estimate = len > fading ? len : fading;
}

void
bk_range_have(struct bk_fetch *f, struct bk_bytes entry)
{
	struct bk_reader *r = f->reader;
	struct bk_range *g = &r->range;

	size_up(g, entry.len);
	if (f->entry_id != g->head || g->paused || g->refreshing) {
		size_t head = (size_t)(f->payload.data - entry.data);

		if ((f->copy = malloc(entry.len)) == NULL) {
			finish(r, BK_ENOMEM);
			return;
		}
		memcpy(f->copy, entry.data, entry.len);
		f->payload.data = f->copy + head;
		return;
	}
	go_on(r);
}

void
bk_range_failed(struct bk_fetch *f)
{
	if (f->entry_id == f->reader->range.head)
		go_on(f->reader);
}

/* A closed ledger has nothing above its end to show. */
static void
clamp(struct bk_reader *r)
{
	struct bk_range *g = &r->range;
	int64_t e;

	if (!r->closed || g->last <= r->lac)
		return;
	g->last = r->lac > g->head - 1 ? r->lac : g->head - 1;
	for (e = g->last + 1; e < g->next; e++)
		bk_fetch_drop(slot(g, e));
	if (g->next > g->last + 1)
		g->next = g->last + 1;
}

static void
looked_again(void *arg, enum bk_status status, const struct bk_ledger_meta *m,
    int32_t version)
{
	struct bk_reader *r = bk_guard_release(arg);
	struct bk_range *g;
	int64_t e;

	if (r == NULL || !r->range.refreshing)
		return;
	g = &r->range;
	g->refreshing = false;
	if (status == BK_ENOLEDGER ||
	    (status == BK_OK && bk_reader_adopt(r, m, version) != 0)) {
		finish(r, status == BK_OK ? BK_ENOMEM : status);
		return;
	}
	clamp(r);
	for (e = g->head; e < g->next; e++) {
		struct bk_fetch *f = slot(g, e);

		if (f->state == BK_FETCH_FAILED && g->only == NULL &&
		    bk_fetch_moved(f))
			bk_fetch_start(f, e, NULL);
	}
	go_on(r);
}

static void
look_again(struct bk_reader *r)
{
	r->range.refreshing = true;
	r->range.refreshed = r->range.head;
	bk_ledger_read(r->c->tree, r->ledger_id, BK_NO_WATCH, looked_again,
	    bk_guard_hold(r->guard));
}

void
bk_range_tick(struct bk_reader *r)
{
	struct bk_range *g = &r->range;
	int64_t e;

	if (!g->active)
		return;
	for (e = g->head; e < g->next; e++)
		bk_fetch_tick(slot(g, e));
	bk_reader_wind(r);
	go_on(r);
}

void
bk_range_settle(struct bk_reader *r)
{
	if (!r->range.active)
		return;
	if (r->range.status != BK_OK)
		finish(r, r->range.status);
	else
		go_on(r);
}

static enum bk_status
prepare(struct bk_reader *r, const struct bk_read_options *o)
{
	struct bk_range *g = &r->range;
	size_t i, qw = (size_t)r->quorum.write_quorum;

	g->window = o->window_entries != 0 ? o->window_entries : WINDOW_ENTRIES;
	g->window_bytes = o->window_bytes != 0 ? o->window_bytes : WINDOW_BYTES;
	if ((uint64_t)(g->last - g->head) < g->window)
		g->window = (size_t)(g->last - g->head) + 1;
	g->estimate = g->window_bytes / 8 + 1;
	if (o->bookie != NULL &&
	    (g->only = bk_reader_replica(r, o->bookie)) == NULL)
		return (BK_ENOMEM);
	g->ring = calloc(g->window, sizeof(*g->ring));
	g->asks = calloc(g->window * qw, sizeof(*g->asks));
	if (g->ring == NULL || g->asks == NULL)
		return (BK_ENOMEM);
	for (i = 0; i < g->window; i++) {
		g->ring[i].reader = r;
		g->ring[i].asks = g->asks + i * qw;
	}
	return (BK_OK);
}

void
bk_reader_read(struct bk_reader *r, int64_t first, int64_t last,
    const struct bk_read_options *options, bk_entry_cb *each, bk_done_cb *done,
    void *arg)
{
	static const struct bk_read_options plain = {.unconfirmed = false};
	const struct bk_read_options *o = options != NULL ? options : &plain;
	struct bk_range *g = &r->range;

	assert(!g->active);
	*g = (struct bk_range){
	    .active = true,
	    .to_the_end = o->unconfirmed && last == INT64_MAX && !r->closed,
	    .head = first,
	    .next = first,
	    .last = last,
	    .refreshed = -1,
	    .each = each,
	    .done = done,
	    .arg = arg,
	};
	if (last == INT64_MAX && !g->to_the_end)
		g->last = r->lac;
	else if (last > r->lac && o->unconfirmed && r->closed)
		g->last = r->lac;
	else if (last < first || (last > r->lac && !o->unconfirmed))
		g->status = BK_EINVAL;
	if (first < 0)
		g->status = BK_EINVAL;
	if (g->status == BK_OK && g->last >= first)
		g->status = prepare(r, o);
	bk_reader_settle(r);
}

void
bk_reader_resume(struct bk_reader *r)
{
	r->range.paused = false;
	bk_reader_settle(r);
}
