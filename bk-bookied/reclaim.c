/*
 * reclaim.c - what lives in each log, counted over all index files.
 *
 * A log with the newest state of a ledger stays, too: should an index file be
 * lost, keys and fences come from there.
 */
#include "bk-bookied/reclaim.h"

#include "bk-bookied/walk.h"

#include <errno.h>
#include <stdlib.h>

#define PAUSE_EVERY 4096 /* records or states */

struct counting {
	struct reclaim *r;
	uint32_t *numbers; /* of logs, ascending */
	size_t n;
	bool *is_needed; /* of each */
	size_t last;     /* looked at last: mostly it is the next */
	bool (*pause)(void *arg);
	void *arg;
	unsigned since_pause;
};

static int
take_breath(struct counting *c)
{
	if (++c->since_pause < PAUSE_EVERY)
		return (0);
	c->since_pause = 0;
	if (c->pause(c->arg))
		return (0);
	errno = ECANCELED;
	return (-1);
}

static int
by_number(const void *a, const void *b)
{
	const uint32_t *x = a, *y = b;

	return (*x < *y ? -1 : *x > *y);
}

static void
need(struct counting *c, uint32_t log)
{
	const uint32_t *at;

	if (c->numbers[c->last] != log) {
		at = bsearch(&log, c->numbers, c->n, sizeof(log), by_number);
		if (at == NULL)
			return;
		c->last = (size_t)(at - c->numbers);
	}
	c->is_needed[c->last] = true;
}

static int
count_file(struct counting *c, const struct index *ix)
{
	struct index_cursor *cursor = index_cursor_new(ix, INDEX_RECORDS);
	const struct gone *gone;
	struct record record;
	int r = -1;

	while (
	    cursor != NULL && (r = index_cursor_record(cursor, &record)) == 1) {
		gone = gone_find(c->r->gone, record.ledger_id);
		if (gone == NULL || record.log >= gone->floor) {
			c->r->live_bytes += record.length;
			need(c, record.log);
		}
		if (take_breath(c) == -1) {
			r = -1;
			break;
		}
	}
	index_cursor_free(cursor);
	return (r);
}

static int
count_states(struct counting *c)
{
	struct walk *w = walk_new(c->r->set->files, c->r->set->n, INDEX_STATES);
	struct ledger_state state;
	struct bk_bytes encoded;
	int r = -1;

	while (w != NULL && (r = walk_state(w, &state, &encoded)) == 1) {
		need(c, state.log);
		if (take_breath(c) == -1) {
			r = -1;
			break;
		}
	}
	walk_free(w);
	return (r);
}

/* Logs above the newest file of the set came later. */
static int
remove_unneeded(struct counting *c)
{
	uint32_t newest = index_high(c->r->set->files[0]);

	for (size_t i = 0; i < c->n && c->numbers[i] <= newest; i++) {
		if (c->is_needed[i])
			continue;
		if (logs_remove(c->r->logs, c->numbers[i]) == -1)
			return (-1);
		c->r->removed++;
		if (take_breath(c) == -1)
			return (-1);
	}
	return (0);
}

int
reclaim_logs(struct reclaim *r, bool (*pause)(void *arg), void *arg)
{
	struct counting c = {.r = r, .pause = pause, .arg = arg};
	int status = 0;

	r->live_bytes = 0;
	r->removed = 0;
	if (r->set->n == 0)
		return (0);
	if (logs_numbers(r->logs, &c.numbers, &c.n) == -1)
		return (-1);
	c.is_needed = calloc(c.n + 1, sizeof(bool));
	if (c.is_needed == NULL)
		status = -1;
	for (size_t i = 0; status == 0 && c.n > 0 && i < r->set->n; i++)
		status = count_file(&c, r->set->files[i]);
	if (status == 0 && c.n > 0)
		status = count_states(&c);
	if (status == 0)
		status = remove_unneeded(&c);
	free(c.is_needed);
	free(c.numbers);
	return (status);
}
