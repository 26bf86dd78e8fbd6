/*
 * store_list.c - which entries of a ledger are stored: those in memory at once,
 * the others on the reader thread, from the index and, where an extent has
 * holes, from its table.
 */
#include "bk-bookied/store_internal.h"

#include "bk-bookied/lookup.h"

#include <errno.h>
#include <stdlib.h>

struct runs {
	struct store_run *items;
	size_t n, cap;
};

struct contents {
	struct job job;
	struct store *s;
	int64_t ledger_id;
	uint32_t floor;
	struct fileset *set;
	struct runs runs;
	bool is_damaged;
	struct index_damage damage;
	enum bk_status status;
	store_list_cb *cb;
	void *arg;
};

static int
runs_add(struct runs *r, int64_t first, int64_t last)
{
	size_t cap = r->cap == 0 ? 64 : r->cap * 2;
	struct store_run *grown;

	/* Ids mostly come in order, either way. */
	if (r->n > 0 && r->items[r->n - 1].last + 1 == first) {
		r->items[r->n - 1].last = last;
		return (0);
	}
	if (r->n > 0 && r->items[r->n - 1].first - 1 == last) {
		r->items[r->n - 1].first = first;
		return (0);
	}
	if (r->n == r->cap) {
		grown = realloc(r->items, cap * sizeof(*grown));
		if (grown == NULL)
			return (-1);
		r->items = grown;
		r->cap = cap;
	}
	r->items[r->n++] = (struct store_run){first, last};
	return (0);
}

static int
by_first(const void *a, const void *b)
{
	const struct store_run *x = a, *y = b;

	return (x->first < y->first ? -1 : x->first > y->first);
}

/* In order, and what touches or overlaps put together. */
static void
runs_settle(struct runs *r)
{
	size_t kept = 0;

	if (r->n == 0)
		return;
	qsort(r->items, r->n, sizeof(*r->items), by_first);
	for (size_t i = 1; i < r->n; i++) {
		if (r->items[i].first > r->items[kept].last + 1)
			r->items[++kept] = r->items[i];
		else if (r->items[i].last > r->items[kept].last)
			r->items[kept].last = r->items[i].last;
	}
	r->n = kept + 1;
}

/* The entries of one memtable, along the chain from ref; *ref is where it
 * leaves. */
static int
add_memory(const struct memtable *m, uint32_t *ref, struct runs *runs)
{
	struct bk_bytes bytes;
	int64_t id;

	for (; memtable_holds(m, *ref); *ref = memtable_previous(m, *ref)) {
		bytes = memtable_at(m, *ref);
		if (bytes.data == NULL)
			continue;
		id = (int64_t)bk_be64_get(bytes.data + 8);
		if (runs_add(runs, id, id) == -1)
			return (-1);
	}
	return (0);
}

static void
note_damage(struct contents *c, int64_t low, int64_t high)
{
	if (!c->is_damaged || low < c->damage.low)
		c->damage.low = low;
	if (!c->is_damaged || high > c->damage.high)
		c->damage.high = high;
	c->is_damaged = true;
}

static int
add_extent(struct contents *c, const struct record *record)
{
	struct loaded *x;
	int64_t id;
	int r = 0;

	if (record_is_dense(record))
		return (runs_add(&c->runs, record->first, record->last));
	if (lookup_load_table(c->s->logs, record, &x) == -1) {
		if (!lookup_is_damage(errno))
			return (-1);
		note_damage(c, c->ledger_id, c->ledger_id);
		return (0);
	}
	for (uint32_t i = 0; r == 0 && i < record->count; i++) {
		id = extent_id(x->bytes, i);
		r = runs_add(&c->runs, id, id);
	}
	loaded_unref(x);
	return (r);
}

static int
add_file(struct contents *c, const struct index *file, struct records *records)
{
	struct index_damage damage;

	records->n = 0;
	if (index_find(file, c->ledger_id, 0, INT64_MAX, c->floor, true,
		records, &damage) == -1) {
		if (!lookup_is_damage(errno))
			return (-1);
		note_damage(c, damage.low, damage.high);
	}
	for (size_t i = 0; i < records->n; i++)
		if (add_extent(c, &records->items[i]) == -1)
			return (-1);
	return (0);
}

static void
contents_run(struct job *job)
{
	struct contents *c = (struct contents *)(void *)job;
	struct records records = {0};
	int r = 0;

	for (size_t i = 0; r == 0 && i < c->set->n; i++)
		r = add_file(c, c->set->files[i], &records);
	records_fini(&records);
	runs_settle(&c->runs);
	c->status = r == 0 ? BK_OK : errno == ENOMEM ? BK_ENOMEM : BK_EIO;
}

static void
contents_answer(struct contents *c)
{
	c->cb(c->arg, c->status, c->runs.items,
	    c->status == BK_OK ? c->runs.n : 0);
	fileset_unref(c->set);
	free(c->runs.items);
	free(c);
}

/* From the loop, also for what was clear at once. */
static void
answer_later(void *arg)
{
	contents_answer(arg);
}

static void
contents_done(struct job *job)
{
	struct contents *c = (struct contents *)(void *)job;
	const struct ledger *l = ledgers_find(c->s->ledgers, c->ledger_id);

	if (!job->was_run)
		c->status = BK_EIO;
	else if (l == NULL || l->gone || store_floor(c->s, l) != c->floor)
		c->status = BK_ENOLEDGER;
	else if (c->is_damaged) {
		store_doubt_range(c->s, c->damage.low, c->damage.high);
		c->status = BK_EIO;
	}
	contents_answer(c);
}

/* Begin with what is in memory: OK, or what to answer. */
static enum bk_status
begin(struct contents *c)
{
	struct store *s = c->s;
	const struct ledger *l = ledgers_find(s->ledgers, c->ledger_id);
	uint32_t ref;

	if (store_in_doubt(s, l))
		return (BK_EIO);
	if (l == NULL || l->gone)
		return (BK_ENOLEDGER);
	c->floor = store_floor(s, l);
	ref = l->newest;
	if (add_memory(s->active, &ref, &c->runs) == -1)
		return (BK_ENOMEM);
	if (s->frozen != NULL && memtable_number(s->frozen) >= c->floor &&
	    add_memory(s->frozen, &ref, &c->runs) == -1)
		return (BK_ENOMEM);
	c->set = fileset_ref(s->set);
	return (worker_do(s->reader, &c->job, false) == -1 ? BK_EIO : BK_OK);
}

void
store_list(struct store *s, int64_t ledger_id, store_list_cb *cb, void *arg)
{
	struct contents *c = calloc(1, sizeof(*c));

	if (c == NULL) {
		cb(arg, BK_ENOMEM, NULL, 0);
		return;
	}
	c->job = (struct job){.run = contents_run, .done = contents_done};
	c->s = s;
	c->ledger_id = ledger_id;
	c->cb = cb;
	c->arg = arg;
	c->status = begin(c);
	if (c->status != BK_OK && bk_loop_later(s->loop, answer_later, c) == -1)
		contents_answer(c);
}
