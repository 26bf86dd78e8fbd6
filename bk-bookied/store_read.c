/*
 * store_read.c - one entry: from a memtable, from an extent read lately, from
 * an extent in the page cache, or else through the read thread.
 *
 * "Not here" is said only when it is proven: in a ledger in doubt what is not
 * found is unknown.
 */
#include "bk-bookied/store_internal.h"

#include "bk-bookied/disk_hint.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define READS_MAX 10000
#define AHEAD_BYTES (512 * 1024)

struct read_job {
	struct job job;
	struct store *store;
	struct fileset *files; /* in use while it runs */
	struct lookup lookup;
	struct loaded *found;
	enum lookup_result result;
	int error;
	bool urgent;
	store_read_cb *cb;
	void *arg;
};

/* The cache of extents. */

static size_t
cache_place(int64_t ledger_id)
{
	return ((uint64_t)ledger_id * UINT64_C(0x9e3779b97f4a7c15) >> 58);
}

_Static_assert(STORE_CACHE == 64, "cache_place() gives six bits");

static void
cache_put(struct store *s, struct loaded *x)
{
	struct loaded **place = &s->cache[cache_place(x->record.ledger_id)];

	loaded_unref(*place);
	x->users++;
	*place = x;
}

void
store_cache_drop(struct store *s, int64_t ledger_id)
{
	struct loaded **place = &s->cache[cache_place(ledger_id)];

	if (*place == NULL || (*place)->record.ledger_id != ledger_id)
		return;
	loaded_unref(*place);
	*place = NULL;
}

void
store_cache_fini(struct store *s)
{
	size_t i;

	for (i = 0; i < STORE_CACHE; i++)
		loaded_unref(s->cache[i]);
}

/* Answers. */

static void
answer_status(struct store_entry *e, enum bk_status status)
{
	*e = (struct store_entry){.status = status};
}

/* One user of the extent becomes the answer's. */
static void
answer_extent(struct store_entry *e, struct loaded *x, int64_t entry_id)
{
	e->status = BK_OK;
	e->bytes = extent_find(x->bytes, entry_id);
	e->owner = x;
}

/* Memtables do not keep their entries for readers: a copy. */
static void
answer_copy(struct store_entry *e, struct bk_bytes bytes)
{
	struct loaded *x = malloc(sizeof(*x) + bytes.len);

	if (x == NULL) {
		answer_status(e, BK_EIO);
		return;
	}
	x->users = 1;
	x->bytes = (struct bk_bytes){x->data, bytes.len};
	memcpy(x->data, bytes.data, bytes.len);
	e->status = BK_OK;
	e->bytes = x->bytes;
	e->owner = x;
}

void
store_entry_release(struct store_entry *e)
{
	loaded_unref(e->owner);
	e->owner = NULL;
}

static enum bk_status
not_found(const struct store *s, int64_t ledger_id)
{
	const struct ledger *l = ledgers_find(s->ledgers, ledger_id);

	if (store_in_doubt(s, l))
		return (BK_EUNKNOWNSTATE);
	return (l == NULL || l->gone ? BK_ENOLEDGER : BK_ENOENTRY);
}

static void
answer_lookup(struct store *s, const struct lookup *l,
    enum lookup_result result, struct loaded *found, struct store_entry *e)
{
	if (l->is_damaged)
		store_set_doubt(s, l->damage.low, l->damage.high);
	if (result == LOOKUP_FOUND) {
		cache_put(s, found);
		answer_extent(e, found, l->entry_id);
	} else if (result == LOOKUP_ABSENT) {
		answer_status(e, not_found(s, l->ledger_id));
	} else {
		answer_status(e, BK_EIO);
	}
}

/* The read thread. */

/* A ledger's extents lie one after the other in a log: who reads on will want
 * the next ones. */
static void
read_ahead(const struct read_job *r)
{
	const struct record *record = &r->found->record;
	struct log_use use;

	if (logs_use(r->lookup.logs, record->log, true, &use) == -1)
		return;
	disk_ahead(use.fd, (uint64_t)record->offset + record->length,
	    AHEAD_BYTES);
	logs_done(r->lookup.logs, &use);
}

static void
run_read(struct job *job)
{
	struct read_job *r = (struct read_job *)job;

	r->result = lookup_entry(&r->lookup, &r->found);
	r->error = errno;
	if (r->result == LOOKUP_FOUND)
		read_ahead(r);
}

static void
read_free(struct read_job *r)
{
	r->store->reads_waiting--;
	fileset_unref(r->files);
	free(r);
}

static void
read_done(struct job *job)
{
	struct read_job *r = (struct read_job *)job;
	struct store *s = r->store;
	struct store_entry entry;

	if (!job->was_run) {
		read_free(r); /* the store is being closed */
		return;
	}
	/* A merge has meanwhile removed files that this lookup wanted. */
	if (r->lookup.is_damaged && r->files != s->files) {
		fileset_unref(r->files);
		r->files = fileset_ref(s->files);
		r->lookup.set = r->files;
		if (r->result == LOOKUP_FOUND)
			loaded_unref(r->found);
		if (worker_do(s->reader, &r->job, r->urgent) == 0)
			return;
		r->result = LOOKUP_FAILED;
	}
	answer_lookup(s, &r->lookup, r->result, r->found, &entry);
	r->cb(r->arg, &entry);
	read_free(r);
}

static enum bk_status
submit(struct store *s, const struct lookup *l, bool urgent, store_read_cb *cb,
    void *arg)
{
	struct read_job *r;

	if (s->reads_waiting >= READS_MAX)
		return (BK_ETOOMANY);
	if ((r = calloc(1, sizeof(*r))) == NULL)
		return (BK_EIO);
	r->job.run = run_read;
	r->job.done = read_done;
	r->store = s;
	r->files = fileset_ref(s->files);
	r->lookup = *l;
	r->lookup.set = r->files;
	r->lookup.may_wait = true;
	r->urgent = urgent;
	r->cb = cb;
	r->arg = arg;
	s->reads_waiting++;
	if (worker_do(s->reader, &r->job, urgent) == -1) {
		read_free(r);
		return (BK_EIO);
	}
	return (BK_OK);
}

/* On the loop. */

static bool
from_memory(struct store *s, int64_t ledger_id, int64_t entry_id,
    struct store_entry *e)
{
	struct loaded *x = s->cache[cache_place(ledger_id)];
	struct bk_bytes bytes = memtable_find(s->active, ledger_id, entry_id);

	if (bytes.data == NULL && s->frozen != NULL)
		bytes = memtable_find(s->frozen, ledger_id, entry_id);
	if (bytes.data != NULL) {
		answer_copy(e, bytes);
		return (true);
	}
	if (x == NULL || x->record.ledger_id != ledger_id ||
	    extent_find(x->bytes, entry_id).data == NULL)
		return (false);
	x->users++;
	answer_extent(e, x, entry_id);
	return (true);
}

/* What can be said without looking for the entry. OK: look. */
static enum bk_status
before_lookup(const struct store *s, int64_t ledger_id, int64_t *entry_id)
{
	const struct ledger *l;

	if (ledger_id < 0 || *entry_id < -1)
		return (BK_EBADREQ);
	l = ledgers_find(s->ledgers, ledger_id);
	if (l == NULL || l->gone)
		return (not_found(s, ledger_id));
	if (*entry_id == -1) {
		/* The last one may be among those lost. */
		if (store_in_doubt(s, l))
			return (BK_EUNKNOWNSTATE);
		*entry_id = l->last_entry;
	}
	if (*entry_id > l->last_entry || l->last_entry == -1)
		return (not_found(s, ledger_id));
	return (BK_OK);
}

bool
store_read(struct store *s, int64_t ledger_id, int64_t entry_id, bool urgent,
    struct store_entry *entry, store_read_cb *cb, void *arg)
{
	enum bk_status status = before_lookup(s, ledger_id, &entry_id);
	struct lookup l = {.set = s->files,
	    .logs = s->logs,
	    .ledger_id = ledger_id,
	    .entry_id = entry_id};
	struct loaded *found = NULL;
	enum lookup_result result;

	s->figures.reads++;
	if (status != BK_OK) {
		answer_status(entry, status);
		return (true);
	}
	l.floor = store_floor(s, ledgers_find(s->ledgers, ledger_id));
	/* A frozen memtable may still hold a ledger removed since. */
	if ((s->frozen == NULL || memtable_number(s->frozen) >= l.floor) &&
	    from_memory(s, ledger_id, entry_id, entry))
		return (true);
	result = lookup_entry(&l, &found);
	if (result != LOOKUP_WOULD_WAIT) {
		answer_lookup(s, &l, result, found, entry);
		return (true);
	}
	if ((status = submit(s, &l, urgent, cb, arg)) == BK_OK)
		return (false);
	answer_status(entry, status);
	return (true);
}
