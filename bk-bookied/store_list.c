/* store_list.c - which entries of a ledger are stored, as runs of ids. */
#include "bk-bookied/store_internal.h"

#include <errno.h>
#include <stdlib.h>

struct runs {
	struct store_run *items;
	size_t n, cap;
};

struct list_job {
	struct job job;
	struct store *store;
	struct fileset *files;
	int64_t ledger_id;
	uint32_t floor;
	struct runs runs;      /* at first what the memtables have */
	int error;             /* errno, 0: done */
	enum bk_status status; /* known before the job began */
	store_list_cb *cb;
	void *arg;
};

static int
add_run(struct runs *r, int64_t first, int64_t last)
{
	struct store_run *grown;

	if (r->n > 0 && r->items[r->n - 1].last + 1 == first) {
		r->items[r->n - 1].last = last;
		return (0);
	}
	if (r->n == r->cap) {
		size_t cap = r->cap == 0 ? 16 : r->cap * 2;

		grown = reallocarray(r->items, cap, sizeof(*grown));
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

/* Sort, and join what overlaps or touches. */
static void
join_runs(struct runs *r)
{
	size_t i, n = 0;

	if (r->n < 2)
		return;
	qsort(r->items, r->n, sizeof(*r->items), by_first);
	for (i = 1; i < r->n; i++) {
		struct store_run *last = &r->items[n], *next = &r->items[i];

		if (next->first > last->last + 1)
			r->items[++n] = *next;
		else if (next->last > last->last)
			last->last = next->last;
	}
	r->n = n + 1;
}

/* An extent with holes: its table tells. */
static int
add_sparse(struct list_job *j, const struct record *record)
{
	struct loaded *x;
	uint32_t i;
	int r = 0;

	if (lookup_load_table(j->store->logs, record, &x) == -1)
		return (-1);
	for (i = 0; r == 0 && i < record->count; i++)
		r = add_run(&j->runs, extent_id(x->bytes, i),
		    extent_id(x->bytes, i));
	loaded_unref(x);
	return (r);
}

static void
run_list(struct job *job)
{
	struct list_job *j = (struct list_job *)job;
	struct records found = {0};
	struct index_damage damage;
	size_t i;
	int r;

	j->error = 0;
	r = fileset_find(j->files, j->ledger_id, 0, INT64_MAX, j->floor, true,
	    &found, &damage);
	for (i = 0; r == 0 && i < found.n; i++)
		r = record_is_dense(&found.items[i]) ?
		    add_run(&j->runs, found.items[i].first,
			found.items[i].last) :
		    add_sparse(j, &found.items[i]);
	if (r == -1)
		j->error = errno;
	records_fini(&found);
	join_runs(&j->runs);
}

static void
list_free(struct list_job *j)
{
	j->store->reads_waiting--;
	fileset_unref(j->files);
	free(j->runs.items);
	free(j);
}

static void
list_done(struct job *job)
{
	struct list_job *j = (struct list_job *)job;
	enum bk_status status = j->status;

	if (job->was_run) {
		if (status == BK_OK && j->error != 0)
			status = j->error == ENOMEM ? BK_ENOMEM : BK_EIO;
		j->cb(j->arg, status, j->runs.items,
		    status == BK_OK ? j->runs.n : 0);
	}
	list_free(j);
}

/* Entries of the ledger in a memtable, along their chain. */
static int
add_memtable(struct list_job *j, const struct memtable *m, uint32_t *ref)
{
	struct bk_bytes entry;
	int64_t id;

	for (; *ref != 0 && memtable_holds(m, *ref);
	     *ref = memtable_previous(m, *ref)) {
		entry = memtable_at(m, *ref);
		if (entry.data == NULL)
			continue;
		id = (int64_t)bk_be64_get(entry.data + 8);
		if (add_run(&j->runs, id, id) == -1)
			return (-1);
	}
	return (0);
}

static enum bk_status
look_at_ledger(struct list_job *j)
{
	struct store *s = j->store;
	const struct ledger *l;
	uint32_t ref;

	if (j->ledger_id < 0)
		return (BK_EBADREQ);
	l = ledgers_find(s->ledgers, j->ledger_id);
	if (store_in_doubt(s, l))
		return (BK_EIO);
	if (l == NULL || l->gone)
		return (BK_ENOLEDGER);
	j->floor = store_floor(s, l);
	ref = l->newest;
	if (add_memtable(j, s->active, &ref) == -1 ||
	    (s->frozen != NULL && add_memtable(j, s->frozen, &ref) == -1))
		return (BK_ENOMEM);
	return (BK_OK);
}

void
store_list(struct store *s, int64_t ledger_id, store_list_cb *cb, void *arg)
{
	struct list_job *j = calloc(1, sizeof(*j));

	if (j == NULL) {
		store_fail(s, "out of memory");
		return;
	}
	j->job.run = run_list;
	j->job.done = list_done;
	j->store = s;
	j->files = fileset_ref(s->files);
	j->ledger_id = ledger_id;
	j->cb = cb;
	j->arg = arg;
	s->reads_waiting++;
	j->status = look_at_ledger(j);
	if (worker_do(s->reader, &j->job, false) == -1)
		store_fail(s, "no thread for reading");
}
