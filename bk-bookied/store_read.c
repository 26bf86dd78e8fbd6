/*
 * store_read.c - reading entries: memory, then the index and one extent, on the
 * loop if the page cache has them, else on the reader thread.
 *
 * At most one read of a ledger is on its way at a time; others of the ledger
 * wait for it, and then mostly find what they want in its extent.
 */
#include "bk-bookied/store_internal.h"

#include "bk-bookied/cache.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define WAITING_MAX 16384 /* reads that may wait; above, ETOOMANY */
#define IDLE_AFTER (10 * BK_SECOND)

/* A read that waits. */
struct waiter {
	int64_t entry_id;
	bool is_urgent;
	store_read_cb *cb;
	void *arg;
	STAILQ_ENTRY(waiter) link;
};
STAILQ_HEAD(waiter_list, waiter);

/* A ledger that the reader thread reads for, and who waits for that. Urgent
 * reads of it are a reading of their own. */
struct reading {
	struct job job;
	struct store *s;
	UT_hash_handle hh;
	uint64_t key; /* ledger id, doubled, 1 more if urgent */
	int64_t ledger_id;
	struct waiter_list waiters; /* the first one is being served */
	struct fileset *set;
	struct lookup lookup;
	enum lookup_result result;
	struct loaded *found;
	bool lost; /* the table had no memory for it */
};

struct store_reads {
	struct store *s;
	struct reading *table;
	struct cache *cache;
	struct bk_timer *idle;
	size_t nwaiting;
	bool was_used; /* since the idle timer was set */
};

static void
idle(void *arg)
{
	struct store_reads *r = arg;

	if (!r->was_used) {
		cache_empty(r->cache);
		return;
	}
	r->was_used = false;
	bk_timer_set(r->idle, IDLE_AFTER);
}

struct store_reads *
store_reads_new(struct store *s)
{
	struct store_reads *r = calloc(1, sizeof(*r));

	if (r == NULL)
		return (NULL);
	r->s = s;
	r->cache = cache_new();
	r->idle = bk_timer_new(s->loop, idle, r);
	if (r->cache == NULL || r->idle == NULL) {
		store_reads_free(r);
		errno = ENOMEM;
		return (NULL);
	}
	return (r);
}

void
store_reads_free(struct store_reads *r)
{
	if (r == NULL)
		return;
	cache_free(r->cache);
	bk_timer_free(r->idle);
	free(r);
}

void
store_reads_forget(struct store *s, int64_t ledger_id)
{
	cache_forget(s->reads->cache, ledger_id);
}

/* Answers. */

static void
answer_status(struct store_entry *entry, enum bk_status status)
{
	*entry = (struct store_entry){.status = status};
}

static void
answer_loaded(struct store_entry *entry, struct loaded *x,
    struct bk_bytes bytes)
{
	assert(x != NULL);
	x->users++;
	*entry =
	    (struct store_entry){.status = BK_OK, .bytes = bytes, .owner = x};
}

/* An entry in memory is copied: a flush may end at any time. */
static void
answer_copy(struct store_entry *entry, struct bk_bytes bytes)
{
	struct loaded *x = malloc(sizeof(*x) + bytes.len);

	if (x == NULL) {
		answer_status(entry, BK_EIO);
		return;
	}
	x->users = 0;
	memcpy(x->data, bytes.data, bytes.len);
	answer_loaded(entry, x, (struct bk_bytes){x->data, bytes.len});
}

void
store_entry_release(struct store_entry *entry)
{
	loaded_unref(entry->owner);
	entry->owner = NULL;
}

/* Where an entry may be, in turn. Each returns true with *entry filled. */

/* What the hot table alone can tell; *entry_id -1 becomes the last one. */
static bool
from_ledger(const struct store *s, const struct ledger *l, int64_t *entry_id,
    struct store_entry *entry)
{
	if (l == NULL || l->gone) {
		answer_status(entry,
		    s->doubt_all && l == NULL ? BK_EUNKNOWNSTATE :
						BK_ENOLEDGER);
		return (true);
	}
	if (*entry_id == -1)
		*entry_id = l->last_entry;
	if (*entry_id <= l->last_entry && *entry_id >= 0)
		return (false);
	answer_status(entry,
	    store_in_doubt(s, l) ? BK_EUNKNOWNSTATE : BK_ENOENTRY);
	return (true);
}

static bool
from_memory(const struct store *s, const struct ledger *l, int64_t entry_id,
    struct store_entry *entry)
{
	struct bk_bytes bytes;

	bytes = memtable_find(s->active, l->id, entry_id);
	if (bytes.data == NULL && s->frozen != NULL &&
	    memtable_number(s->frozen) >= store_floor(s, l))
		bytes = memtable_find(s->frozen, l->id, entry_id);
	if (bytes.data == NULL)
		return (false);
	answer_copy(entry, bytes);
	return (true);
}

static bool
from_cache(const struct store *s, const struct ledger *l, int64_t entry_id,
    struct store_entry *entry)
{
	struct bk_bytes bytes;
	struct loaded *x;

	x = cache_find(s->reads->cache, l->id, entry_id, &bytes);
	if (x == NULL)
		return (false);
	answer_loaded(entry, x, bytes);
	return (true);
}

static void
lookup_init(const struct store *s, const struct ledger *l, int64_t entry_id,
    bool may_wait, struct lookup *lookup)
{
	*lookup = (struct lookup){
	    .set = s->set,
	    .logs = s->logs,
	    .ledger_id = l->id,
	    .entry_id = entry_id,
	    .floor = store_floor(s, l),
	    .may_wait = may_wait,
	};
}

/* Answer with what a lookup came to; the ledger is still as it was then. */
static void
answer_lookup(struct store *s, const struct ledger *l,
    const struct lookup *lookup, enum lookup_result result,
    struct loaded *found, struct store_entry *entry)
{
	if (lookup->is_damaged)
		store_doubt_range(s, lookup->damage.low, lookup->damage.high);
	if (result == LOOKUP_FOUND)
		answer_loaded(entry, found,
		    extent_find(found->bytes, lookup->entry_id));
	else if (result == LOOKUP_FAILED || lookup->is_damaged)
		answer_status(entry, BK_EIO);
	else
		answer_status(entry,
		    store_in_doubt(s, l) ? BK_EUNKNOWNSTATE : BK_ENOENTRY);
}

static void
keep(struct store_reads *r, struct loaded *found)
{
	if (found->bytes.len <= EXTENT_MAX)
		cache_put(r->cache, found);
	if (!r->was_used)
		bk_timer_set(r->idle, IDLE_AFTER);
	r->was_used = true;
}

static bool
from_files(struct store *s, const struct ledger *l, int64_t entry_id,
    struct store_entry *entry)
{
	struct loaded *found = NULL;
	enum lookup_result result;
	struct lookup lookup;

	lookup_init(s, l, entry_id, false, &lookup);
	result = lookup_entry(&lookup, &found);
	if (result == LOOKUP_WOULD_WAIT)
		return (false);
	answer_lookup(s, l, &lookup, result, found, entry);
	if (found != NULL && result == LOOKUP_FOUND) {
		keep(s->reads, found);
		loaded_unref(found);
	}
	return (true);
}

/* Whether the entry can be answered at once. */
static bool
from_anywhere(struct store *s, int64_t ledger_id, int64_t *entry_id,
    struct store_entry *entry)
{
	const struct ledger *l = ledgers_find(s->ledgers, ledger_id);

	return (from_ledger(s, l, entry_id, entry) ||
	    from_memory(s, l, *entry_id, entry) ||
	    from_cache(s, l, *entry_id, entry) ||
	    from_files(s, l, *entry_id, entry));
}

/* The reader thread. */

static void reading_done(struct job *job);

static void
reading_run(struct job *job)
{
	struct reading *g = (struct reading *)(void *)job;

	g->result = lookup_entry(&g->lookup, &g->found);
}

/* Read for the first one who waits. */
static int
reading_start(struct reading *g)
{
	struct store *s = g->s;
	const struct waiter *w = STAILQ_FIRST(&g->waiters);
	const struct ledger *l = ledgers_find(s->ledgers, g->ledger_id);

	fileset_unref(g->set);
	g->set = fileset_ref(s->set);
	g->found = NULL;
	lookup_init(s, l, w->entry_id, true, &g->lookup);
	return (worker_do(s->reader, &g->job, w->is_urgent));
}

static void
waiter_answer(struct reading *g, struct waiter *w, struct store_entry *entry)
{
	STAILQ_REMOVE_HEAD(&g->waiters, link);
	g->s->reads->nwaiting--;
	w->cb(w->arg, entry);
	free(w);
}

static void
reading_free(struct reading *g)
{
	HASH_DEL(g->s->reads->table, g);
	fileset_unref(g->set);
	free(g);
}

/* The first waiter is answered by what was read, unless it was overtaken. */
static void
serve_first(struct reading *g)
{
	struct store *s = g->s;
	struct waiter *w = STAILQ_FIRST(&g->waiters);
	const struct ledger *l = ledgers_find(s->ledgers, g->ledger_id);
	struct store_entry entry;

	if (!g->job.was_run)
		answer_status(&entry, BK_EIO);
	else if (l == NULL || l->gone || store_floor(s, l) != g->lookup.floor)
		answer_status(&entry, BK_ENOLEDGER);
	else if (g->result != LOOKUP_FOUND && g->set != s->set)
		/* A merge may have dropped what the old files named. */
		return;
	else
		answer_lookup(s, l, &g->lookup, g->result, g->found, &entry);
	waiter_answer(g, w, &entry);
}

/* Answer those whose entries can be had now; the next one is read for. */
static void
serve_others(struct reading *g)
{
	struct store_entry entry;
	struct waiter *w;

	while ((w = STAILQ_FIRST(&g->waiters)) != NULL) {
		if (g->s->is_closing)
			answer_status(&entry, BK_EIO);
		else if (!from_anywhere(g->s, g->ledger_id, &w->entry_id,
			     &entry)) {
			if (reading_start(g) == 0)
				return;
			answer_status(&entry, BK_EIO);
		}
		waiter_answer(g, w, &entry);
	}
	reading_free(g);
}

static void
reading_done(struct job *job)
{
	struct reading *g = (struct reading *)(void *)job;
	struct loaded *found;

	found = job->was_run && g->result == LOOKUP_FOUND ? g->found : NULL;
	if (found != NULL && g->lookup.ledger_id == g->ledger_id)
		keep(g->s->reads, found);
	serve_first(g);
	loaded_unref(found);
	serve_others(g);
}

static uint64_t
reading_key(int64_t ledger_id, bool is_urgent)
{
	return ((uint64_t)ledger_id * 2 + is_urgent);
}

static struct reading *
reading_new(struct store *s, int64_t ledger_id, bool is_urgent)
{
	struct reading *g = calloc(1, sizeof(*g));

	if (g == NULL)
		return (NULL);
	g->job = (struct job){.run = reading_run, .done = reading_done};
	g->s = s;
	g->ledger_id = ledger_id;
	g->key = reading_key(ledger_id, is_urgent);
	STAILQ_INIT(&g->waiters);
	HASH_ADD(hh, s->reads->table, key, sizeof(g->key), g);
	if (g->lost) {
		free(g);
		return (NULL);
	}
	return (g);
}

/* Queue a read. OK, or what to answer at once. */
static enum bk_status
wait_for(struct store *s, int64_t ledger_id, const struct waiter *what)
{
	uint64_t key = reading_key(ledger_id, what->is_urgent);
	struct waiter *w = malloc(sizeof(*w));
	struct reading *g;
	bool is_new;

	if (w == NULL)
		return (BK_EIO);
	*w = *what;
	HASH_FIND(hh, s->reads->table, &key, sizeof(key), g);
	is_new = g == NULL;
	if (is_new)
		g = reading_new(s, ledger_id, what->is_urgent);
	if (g == NULL) {
		free(w);
		return (BK_EIO);
	}
	STAILQ_INSERT_TAIL(&g->waiters, w, link);
	if (is_new && reading_start(g) == -1) {
		reading_free(g);
		free(w);
		return (BK_EIO);
	}
	s->reads->nwaiting++;
	return (BK_OK);
}

bool
store_read(struct store *s, int64_t ledger_id, int64_t entry_id, bool urgent,
    struct store_entry *entry, store_read_cb *cb, void *arg)
{
	struct waiter w = {.is_urgent = urgent, .cb = cb, .arg = arg};
	enum bk_status status = BK_ETOOMANY;

	s->figures.reads++;
	if (ledger_id < 0 || entry_id < -1) {
		answer_status(entry, BK_EBADREQ);
		return (true);
	}
	if (from_anywhere(s, ledger_id, &entry_id, entry))
		return (true);
	w.entry_id = entry_id;
	if (urgent || s->reads->nwaiting < WAITING_MAX)
		status = wait_for(s, ledger_id, &w);
	if (status == BK_OK)
		return (false);
	answer_status(entry, status);
	return (true);
}
