/*
 * walk.c - through the ledgers of a source: where to begin, ledger by ledger
 * to the end, and waiting for more.
 *
 * One thing after the other: each step asks for something and turns the loop
 * until it is there. Only reading overlaps, inside the reader's window.
 */
#include "bk-read/read.h"

#include "base/log.h"
#include "client/recover.h"
#include "tool/opt.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>

#define LOOK_EVERY (100 * BK_MS) /* for a source that is not there yet */
#define GONE 1                   /* exit status: entries are gone */

struct places {
	struct place *items;
	size_t n, cap;
};

/* Turning the loop. */

void
reading_done(void *arg, enum bk_status status)
{
	struct reading *r = arg;

	if (r->over)
		return;
	r->status = status;
	r->waiting = false;
	bk_loop_stop(r->s->loop);
}

/* To its end, whatever becomes of the output: what is being opened is somebody's
 * to free. */
enum bk_status
reading_wait(struct reading *r)
{
	bool never = false;

	while (r->waiting)
		(void)bk_loop_run_until(r->s->loop, &never, BK_FOREVER);
	return (r->status);
}

/* The same for what may be left under way when nothing more is wanted: freeing
 * its reader ends it. */
static enum bk_status
wait_or_stop(struct reading *r)
{
	bool never = false;

	while (r->waiting && !r->stop)
		(void)bk_loop_run_until(r->s->loop, &never, BK_FOREVER);
	if (!r->waiting)
		return (r->status);
	r->waiting = false;
	return (BK_ECANCELED);
}

static void
pass_time(struct reading *r, int64_t ns)
{
	bool never = false;

	(void)bk_loop_run_until(r->s->loop, &never, bk_clock_now() + ns);
}

/* Readers. */

static void
opened(void *arg, enum bk_status status, struct bk_reader *reader)
{
	struct reading *r = arg;

	r->reader = reader;
	reading_done(r, status);
}

static bool
nobody_there(enum bk_status status)
{
	return (status == BK_EUNREACHABLE || status == BK_ETIMEOUT ||
	    status == BK_ENOTENOUGH);
}

/* Local bookies that left, or were killed, are started again, once. */
static bool
revive(struct reading *r)
{
	if (r->revived || !r->s->demand)
		return (false);
	r->revived = true;
	r->waiting = true;
	bk_session_revive(r->s, reading_done, r);
	return (reading_wait(r) == BK_OK);
}

enum bk_status
reading_open(struct reading *r, int64_t ledger_id)
{
	enum bk_status status;

	do {
		r->waiting = true;
		bk_reader_open(&r->s->client, ledger_id,
		    r->o->has_password ? &r->o->password : NULL, opened, r);
		status = reading_wait(r);
	} while (nobody_there(status) && revive(r));
	r->ledger_id = ledger_id;
	return (status);
}

static void
close_reader(struct reading *r)
{
	bk_reader_free(r->reader);
	r->reader = NULL;
}

/* Entries. */

static bool
got_entry(void *arg, const struct bk_read_entry *e)
{
	struct reading *r = arg;
	bool room;

	if (r->stop)
		return (false);
	room = output_put(r->out, e, r->ledger_id, r->name,
	    bk_reader_lac(r->reader));
	r->at = (struct cursor){r->ledger_id, e->entry_id};
	r->next = e->entry_id + 1;
	if (r->left > 0 && --r->left == 0) {
		r->stop = true;
		bk_loop_stop(r->s->loop);
		return (false);
	}
	return (room);
}

/* Entries r->next to last of the open ledger. */
static enum bk_status
read_to(struct reading *r, int64_t last)
{
	struct bk_read_options options = {.unconfirmed = r->o->unconfirmed,
	    .bookie = r->o->bookie};
	enum bk_status status;

	if (r->o->verify) {
		if (verify_entries(r, r->next, last) != EX_OK)
			r->gap = true;
		r->next = last + 1;
		return (BK_OK);
	}
	do {
		r->waiting = true;
		bk_reader_read(r->reader, r->next, last, &options, got_entry,
		    reading_done, r);
		status = wait_or_stop(r);
	} while (nobody_there(status) && revive(r));
	return (status);
}

/* All that is confirmed now, as far as limit. */
static enum bk_status
read_confirmed(struct reading *r, int64_t limit)
{
	int64_t lac = bk_reader_lac(r->reader);

	if (r->o->unconfirmed && !bk_reader_closed(r->reader) &&
	    limit == INT64_MAX)
		return (read_to(r, INT64_MAX));
	if (lac > limit)
		lac = limit;
	return (r->next > lac ? BK_OK : read_to(r, lac));
}

static int
save(struct reading *r)
{
	if (r->o->cursor == NULL)
		return (EX_OK);
	while (!output_empty(r->out) && output_error(r->out) == 0)
		pass_time(r, 10 * BK_MS);
	return (output_error(r->out) != 0 ?
		EX_OK :
		cursor_write(r->o->cursor, r->source, &r->at));
}

/* The open ledger to its end, which with follow may be far off. */
static enum bk_status
read_ledger(struct reading *r, int64_t limit)
{
	enum bk_status status = read_confirmed(r, limit);

	while (status == BK_OK && r->o->follow && !r->stop &&
	    !bk_reader_closed(r->reader) && r->next <= limit) {
		if (save(r) != EX_OK)
			return (BK_ECANCELED);
		r->waiting = true;
		bk_reader_wait(r->reader, r->next - 1, BK_FOREVER, reading_done,
		    r);
		status = wait_or_stop(r);
		if (status == BK_OK || status == BK_ETIMEOUT)
			status = read_confirmed(r, limit);
	}
	return (status);
}

/* Sources. */

static void
got_chain(void *arg, enum bk_status status, struct bk_name_reader *chain)
{
	struct reading *r = arg;

	r->chain = chain;
	reading_done(r, status);
}

struct placing {
	struct reading *r;
	struct place place;
};

static void
got_place(void *arg, enum bk_status status, const struct bk_name_place *p)
{
	struct placing *g = arg;

	if (status == BK_OK)
		g->place = (struct place){p->position, p->ledger_id};
	reading_done(g->r, status);
}

/* The place at a position of the chain, or the first after it. */
static enum bk_status
place_at(struct reading *r, uint64_t position, struct place *place)
{
	struct placing g = {.r = r};
	enum bk_status status;

	r->waiting = true;
	bk_name_reader_at(r->chain, position, got_place, &g);
	status = reading_wait(r);
	*place = g.place;
	return (status);
}

static int
add_place(struct places *p, const struct place *place)
{
	struct place *grown;

	if (p->n == p->cap) {
		p->cap = p->cap == 0 ? 16 : p->cap * 2;
		grown = reallocarray(p->items, p->cap, sizeof(*grown));
		if (grown == NULL)
			return (-1);
		p->items = grown;
	}
	p->items[p->n++] = *place;
	return (0);
}

static enum bk_status
list_places(struct reading *r, struct places *p)
{
	struct place place;
	enum bk_status status;
	uint64_t position = 0;

	if (r->chain == NULL) {
		place = (struct place){0, r->ledger_id};
		return (add_place(p, &place) == 0 ? BK_OK : BK_ENOMEM);
	}
	while ((status = place_at(r, position, &place)) == BK_OK) {
		if (add_place(p, &place) == -1)
			return (BK_ENOMEM);
		position = place.position + 1;
	}
	return (status == BK_ENOENTRY ? BK_OK : status);
}

/* How many entries a ledger has, as far as confirmed. */
static enum bk_status
count_entries(struct reading *r, int64_t ledger_id, int64_t *n)
{
	enum bk_status status = reading_open(r, ledger_id);

	if (status == BK_OK)
		*n = bk_reader_lac(r->reader) + 1;
	close_reader(r);
	return (status);
}

/* Where to begin: which place, and which entry of its ledger. */
struct begin {
	size_t place;
	int64_t entry;
	int64_t counted; /* entries of the source before it */
};

static enum bk_status
begin_at_last(struct reading *r, const struct places *p, struct begin *b)
{
	int64_t wanted = r->o->last, n = 0;
	enum bk_status status;
	size_t i;

	*b = (struct begin){0, 0, 0};
	for (i = p->n; i-- > 0 && wanted > 0;) {
		status = count_entries(r, p->items[i].ledger_id, &n);
		if (status != BK_OK)
			return (status);
		b->place = i;
		b->entry = n > wanted ? n - wanted : 0;
		wanted -= n > wanted ? wanted : n;
	}
	if (r->o->last == 0)
		*b = (struct begin){p->n, 0, 0};
	return (BK_OK);
}

static enum bk_status
begin_at_count(struct reading *r, const struct places *p, struct begin *b)
{
	int64_t skip = r->o->from, n = 0;
	enum bk_status status;

	*b = (struct begin){0, skip, 0};
	/* The last ledger may still grow: begin inside it. */
	while (skip > 0 && b->place + 1 < p->n) {
		status = count_entries(r, p->items[b->place].ledger_id, &n);
		if (status != BK_OK)
			return (status);
		if (skip < n)
			break;
		skip -= n;
		b->counted += n;
		b->entry = skip;
		b->place++;
	}
	return (BK_OK);
}

/* After the last run's place; from the start when that ledger has gone. */
static void
begin_at_cursor(struct reading *r, const struct places *p, struct begin *b)
{
	size_t i;

	*b = (struct begin){0, 0, 0};
	if (r->at.ledger_id < 0)
		return;
	for (i = 0; i < p->n; i++) {
		if (p->items[i].ledger_id == r->at.ledger_id) {
			b->place = i;
			b->entry = r->at.entry_id + 1;
			return;
		}
	}
	bk_log(BK_LOG_WARNING,
	    "%s: ledger %lld, where the last run stopped, "
	    "is gone; from the oldest on",
	    r->source, (long long)r->at.ledger_id);
	r->gap = true;
}

static enum bk_status
find_begin(struct reading *r, const struct places *p, struct begin *b)
{
	if (r->o->last >= 0)
		return (begin_at_last(r, p, b));
	if (r->o->cursor != NULL && r->at.ledger_id >= 0) {
		begin_at_cursor(r, p, b);
		return (BK_OK);
	}
	return (begin_at_count(r, p, b));
}

/* The walk. */

/* The next ledger of the chain, waiting for it if asked to. ENOENTRY: there is
 * none, and none to wait for. */
static enum bk_status
next_place(struct reading *r, uint64_t position, struct place *place)
{
	enum bk_status status;

	if (r->chain == NULL)
		return (BK_ENOENTRY);
	for (;;) {
		status = place_at(r, position, place);
		if (status != BK_ENOENTRY || !r->o->follow || r->stop)
			return (status);
		if (!r->o->for_ever &&
		    bk_name_reader_chain(r->chain)->state != BK_CHAIN_WRITING)
			return (BK_ENOENTRY);
		if (save(r) != EX_OK)
			return (BK_ECANCELED);
		r->waiting = true;
		bk_name_reader_wait(r->chain, reading_done, r);
		if ((status = wait_or_stop(r)) != BK_OK)
			return (status);
	}
}

/* A ledger that left its chain while it was being read. */
static void
tell_gap(struct reading *r, int64_t lac)
{
	r->gap = true;
	if (lac >= r->next)
		bk_log(BK_LOG_WARNING,
		    "%s: %" PRId64 " entries are gone: the ledger was "
		    "truncated away",
		    r->source, lac - r->next + 1);
	else
		bk_log(BK_LOG_WARNING,
		    "%s: entries are gone: the ledger was "
		    "truncated away",
		    r->source);
}

/* One ledger: OK when it is out, or has left the chain. */
static enum bk_status
read_place(struct reading *r, const struct place *place, int64_t *counted)
{
	int64_t limit = INT64_MAX, lac = -1;
	enum bk_status status = reading_open(r, place->ledger_id);

	if (r->o->to != INT64_MAX)
		limit = r->o->to - *counted;
	if (status == BK_OK) {
		status = limit < 0 ? BK_OK : read_ledger(r, limit);
		lac = bk_reader_lac(r->reader);
	}
	if (status == BK_ENOLEDGER && r->chain != NULL) {
		tell_gap(r, lac);
		status = BK_OK;
	}
	close_reader(r);
	*counted += lac + 1;
	return (status);
}

static enum bk_status
walk_places(struct reading *r, const struct places *p, const struct begin *b)
{
	int64_t counted = b->counted;
	uint64_t position;
	struct place place;
	enum bk_status status = BK_OK;

	if (b->place < p->n)
		place = p->items[b->place];
	else if ((status = next_place(r,
		      p->n == 0 ? 0 : p->items[p->n - 1].position + 1,
		      &place)) != BK_OK)
		return (status == BK_ENOENTRY ? BK_OK : status);
	r->next = b->entry;
	for (;;) {
		status = read_place(r, &place, &counted);
		if (status != BK_OK || r->stop || counted > r->o->to)
			return (status);
		position = place.position + 1;
		status = next_place(r, position, &place);
		if (status != BK_OK)
			return (status == BK_ENOENTRY ? BK_OK : status);
		r->next = 0;
		if (place.position != position)
			tell_gap(r, -1);
	}
}

static void
recovered(void *arg, enum bk_status status, int64_t last, int64_t length)
{
	(void)last;
	(void)length;
	reading_done(arg, status);
}

static enum bk_status
recover_last(struct reading *r, const struct places *p)
{
	enum bk_status status;

	if (!r->o->recover || p->n == 0)
		return (BK_OK);
	do {
		r->waiting = true;
		if (bk_recover(&r->s->client, p->items[p->n - 1].ledger_id,
			r->o->has_password ? &r->o->password : NULL, recovered,
			r) == NULL)
			return (BK_ENOMEM);
		status = reading_wait(r);
	} while (nobody_there(status) && revive(r));
	return (status);
}

static enum bk_status
open_source(struct reading *r)
{
	enum bk_status status;

	if (r->name != NULL) {
		r->waiting = true;
		bk_name_reader_open(&r->s->client, r->name, got_chain, r);
		return (reading_wait(r));
	}
	status = reading_open(r, r->ledger_id);
	close_reader(r);
	return (status);
}

static enum bk_status
open_patiently(struct reading *r)
{
	int64_t deadline = r->o->wait_for == BK_FOREVER ?
	    BK_FOREVER :
	    bk_clock_now() + r->o->wait_for;
	enum bk_status status;

	while ((status = open_source(r)) == BK_ENOLEDGER && r->o->wait &&
	    !r->stop && bk_clock_now() < deadline)
		pass_time(r, LOOK_EVERY);
	return (status);
}

static int
report(const struct reading *r, enum bk_status status)
{
	if (r->chain != NULL || r->name == NULL)
		if (status != BK_ENOLEDGER && status != BK_EUA)
			return (bk_session_fail(status,
			    "%s: ledger %lld "
			    "entry %lld",
			    r->source, (long long)r->ledger_id,
			    (long long)r->next));
	return (r->name != NULL ?
		bk_session_fail(status, "%s", r->source) :
		bk_session_fail(status, "ledger %s", r->source));
}

static void
take_source(struct reading *r, const char *source)
{
	r->source = source;
	r->name = NULL;
	if (isdigit((unsigned char)source[0]) &&
	    bk_parse_int(source, 0, INT64_MAX, &r->ledger_id) == 0)
		return;
	if (!bk_name_valid(source))
		bk_usage("'%s' is neither a ledger's id nor a name", source);
	r->name = source;
}

static enum bk_status
walk(struct reading *r)
{
	struct places p = {.n = 0};
	struct begin b;
	enum bk_status status;

	if ((status = open_patiently(r)) == BK_OK)
		status = list_places(r, &p);
	if (status == BK_OK)
		status = recover_last(r, &p);
	if (status == BK_OK)
		status = find_begin(r, &p, &b);
	if (status == BK_OK)
		status = walk_places(r, &p, &b);
	free(p.items);
	return (status);
}

int
walk_source(struct reading *r, const char *source)
{
	enum bk_status status;
	int code;

	take_source(r, source);
	r->at = (struct cursor){-1, -1};
	if (r->o->cursor != NULL &&
	    (code = cursor_read(r->o->cursor, source, &r->at)) != EX_OK)
		return (code);
	status = walk(r);
	close_reader(r);
	code = status == BK_OK || r->stop ? EX_OK : report(r, status);
	bk_name_reader_free(r->chain);
	r->chain = NULL;
	if (code == EX_OK)
		code = save(r);
	return (code == EX_OK && r->gap ? GONE : code);
}
