/*
 * flush.c - all entries of a memtable by ledger, then the states of ledgers:
 * the log first, and when that is durable, the index.
 */
#include "bk-bookied/flush.h"

#include "bk-bookied/entrylog.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct flush {
	const struct memtable *memtable;
	struct entrylog *log;
	struct index_writer *index;
	/* Entries of one ledger, for one extent after the other. */
	struct extent_item *items;
	size_t nitems, cap;
};

/* Ledgers among sorted items. */
static size_t
count_ledgers(const struct memtable_item *items, size_t n)
{
	size_t ledgers = 0;

	for (size_t i = 0; i < n; i++)
		if (i == 0 || items[i].ledger_id != items[i - 1].ledger_id)
			ledgers++;
	return (ledgers);
}

/* Gather a ledger's entries, the first n items. */
static int
gather(struct flush *f, const struct memtable_item *items, size_t n)
{
	struct extent_item *grown;

	if (n > f->cap) {
		grown = realloc(f->items, n * sizeof(*grown));
		if (grown == NULL)
			return (-1);
		f->items = grown;
		f->cap = n;
	}
	for (size_t i = 0; i < n; i++) {
		f->items[i].entry_id = (int64_t)items[i].entry_id;
		f->items[i].bytes = memtable_at(f->memtable, items[i].ref);
	}
	f->nitems = n;
	return (0);
}

/* Write a ledger's entries as extents, in order. */
static int
write_ledger(struct flush *f, int64_t ledger_id)
{
	struct record record;
	size_t n, size;

	for (size_t i = 0; i < f->nitems; i += n) {
		n = extent_fit(f->items + i, f->nitems - i, &size);
		record = (struct record){.ledger_id = ledger_id};
		if (entrylog_extent(f->log, f->items + i, n, size, &record) ==
			-1 ||
		    index_writer_record(f->index, &record) == -1)
			return (-1);
	}
	return (0);
}

static int
write_entries(struct flush *f, const struct memtable_item *items, size_t n)
{
	size_t count;

	for (size_t i = 0; i < n; i += count) {
		for (count = 1; i + count < n &&
		     items[i + count].ledger_id == items[i].ledger_id;
		     count++)
			continue;
		if (gather(f, items + i, count) == -1 ||
		    write_ledger(f, (int64_t)items[i].ledger_id) == -1)
			return (-1);
	}
	return (0);
}

static int
write_states(struct flush *f)
{
	uint8_t copy[STATE_MAX];
	struct memtable_item *items;
	struct bk_bytes state;
	size_t n;
	int r = 0;

	if (memtable_states(f->memtable, &items, &n) == -1)
		return (-1);
	for (size_t i = 0; r == 0 && i < n; i++) {
		state = memtable_at(f->memtable, items[i].ref);
		memcpy(copy, state.data, state.len);
		state_set_log(copy, memtable_number(f->memtable));
		state.data = copy;
		r = entrylog_state(f->log, state);
		if (r == 0)
			r = index_writer_state(f->index, state);
	}
	free(items);
	return (r);
}

static int
finish(struct flush *f, uint64_t position, struct flushed *flushed)
{
	int r;

	r = entrylog_finish(f->log, position, &flushed->log_bytes);
	f->log = NULL;
	if (r == -1)
		return (-1);
	flushed->index = index_writer_finish(f->index);
	f->index = NULL;
	return (flushed->index == NULL ? -1 : 0);
}

int
flush_memtable(const struct memtable *m, const char *dir, uint64_t position,
    struct flushed *flushed)
{
	uint32_t number = memtable_number(m);
	struct flush f = {.memtable = m};
	struct memtable_item *items = NULL;
	int r = -1;
	size_t n;

	if (memtable_entries(m, &items, &n) == -1)
		return (-1);
	f.log = entrylog_new(dir, number);
	if (f.log != NULL)
		f.index = index_writer_new(dir, number, number, 0, position,
		    count_ledgers(items, n));
	if (f.index != NULL && write_entries(&f, items, n) == 0 &&
	    write_states(&f) == 0)
		r = finish(&f, position, flushed);
	entrylog_abort(f.log);
	index_writer_abort(f.index);
	free(f.items);
	free(items);
	return (r);
}
