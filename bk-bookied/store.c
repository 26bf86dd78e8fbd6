/* store.c - the store opened and closed, and what is known of it. */
#include "bk-bookied/store_internal.h"

#include "base/log.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define MEMTABLE_MIN ((size_t)256 * 1024)
#define MEMTABLE_MAX ((size_t)1024 * 1024 * 1024)
#define JOURNAL_MIN ((size_t)1024 * 1024)

static _Thread_local char why_text[STORE_WHY];

int64_t
store_wall_clock(void)
{
	struct timespec ts;

	(void)clock_gettime(CLOCK_REALTIME, &ts);
	return (ts.tv_sec);
}

/* Events. */

static void
turn_end(void *arg)
{
	struct store *s = arg;

	s->turn_asked = false;
	journal_turn_end(s->journal);
}

void
store_turn(struct store *s)
{
	if (s->turn_asked)
		return;
	if (bk_loop_later(s->loop, turn_end, s) == 0)
		s->turn_asked = true;
	else
		turn_end(s);
}

void
store_room(struct store *s)
{
	if (!s->wants_room || s->is_closing)
		return;
	s->wants_room = false;
	s->events.room(s->arg);
}

/* Why changes are refused for lack of space; NULL if they are not. */
static const char *
why_full(const struct store *s)
{
	if (space_readonly(s->space))
		return (space_why(s->space));
	return (journal_full(s->journal) ? "no room for the journal" : NULL);
}

void
store_mode(struct store *s)
{
	const char *why;

	if (s->is_closing)
		return;
	why = why_full(s);
	if ((why != NULL) == s->was_full)
		return;
	s->was_full = why != NULL;
	s->events.mode(s->arg, s->was_full || s->is_readonly,
	    why != NULL ? why : "there is room again");
}

void
store_failed(struct store *s, const char *what)
{
	if (s->has_failed || s->is_closing)
		return;
	s->has_failed = true;
	s->events.failed(s->arg, what);
}

static void
synced(void *arg, uint64_t position)
{
	struct store *s = arg;

	s->events.synced(s->arg, position);
}

static void
journal_failed(void *arg, const char *what)
{
	store_failed(arg, what);
}

static void
journal_room(void *arg)
{
	store_mode(arg);
	store_room(arg);
}

/* The disks were looked at, as they are from time to time. */
static void
space_looked(void *arg)
{
	struct store *s = arg;

	/* While the store opens, there is nobody to tell. */
	if (s->reads == NULL)
		return;
	store_mode(s);
	store_room(s);
}

/* Opening. */

static enum bk_status
no_memory(void)
{
	(void)snprintf(why_text, sizeof(why_text), "out of memory");
	return (BK_ENOMEM);
}

static int
copy_dirs(struct store *s, const struct store_config *c)
{
	const char *dir;

	s->ndirs = c->nledger_dirs + c->njournal_dirs;
	s->dirs = calloc(s->ndirs, sizeof(char *));
	if (s->dirs == NULL)
		return (-1);
	for (size_t i = 0; i < s->ndirs; i++) {
		dir = i < c->nledger_dirs ?
		    c->ledger_dirs[i] :
		    c->journal_dirs[i - c->nledger_dirs];
		s->dirs[i] = strdup(dir);
		if (s->dirs[i] == NULL)
			return (-1);
	}
	return (0);
}

static enum bk_status
open_space(struct store *s, const struct store_config *c)
{
	struct space_config config = {
	    .ledger_dirs = (const char *const *)s->dirs,
	    .nledger_dirs = c->nledger_dirs,
	    .journal_dirs = (const char *const *)s->dirs + c->nledger_dirs,
	    .njournal_dirs = c->njournal_dirs,
	    .ballast_bytes = c->ballast_bytes,
	    .flush_bytes = s->memtable_bytes,
	    .high_mark = c->high_mark,
	    .low_mark = c->low_mark,
	};

	return (space_open(s->loop, &config, space_looked, s, &s->space,
	    why_text, sizeof(why_text)));
}

/* What needs nothing but memory. */
static int
make_parts(struct store *s)
{
	s->ledgers = ledgers_new();
	s->pool = memtable_pool_new();
	s->logs = logs_new();
	s->writer = worker_new(s->loop);
	s->reader = worker_new(s->loop);
	s->flush = store_flush_new(s);
	s->tidy = store_tidy_new(s);
	return (s->ledgers != NULL && s->pool != NULL && s->logs != NULL &&
		    s->writer != NULL && s->reader != NULL &&
		    s->flush != NULL && s->tidy != NULL ?
		0 :
		-1);
}

/* The greatest journal position that is safe in files. */
static uint64_t
safe_position(const struct store *s)
{
	uint64_t position = 0;

	for (size_t i = 0; i < s->set->n; i++)
		if (index_position(s->set->files[i]) > position)
			position = index_position(s->set->files[i]);
	return (position);
}

static enum bk_status
open_journal(struct store *s, const struct store_config *c,
    struct journal_found *found)
{
	static const struct journal_events events = {synced, journal_failed,
	    journal_room};
	struct journal_config config = {
	    .dirs = (const char *const *)s->dirs + c->nledger_dirs,
	    .ndirs = c->njournal_dirs,
	    .segment_min = JOURNAL_MIN,
	    .segment_max = c->journal_max,
	    .checkpoint = safe_position(s),
	    .accept_damage = c->accept_damage,
	};
	struct journal *journal = NULL;
	enum bk_status status;
	const char *why = NULL;

	status = journal_open(s->loop, &config, &events, s, store_replay_record,
	    &journal, found, &why);
	if (status != BK_OK) {
		(void)snprintf(why_text, sizeof(why_text), "%s", why);
		return (status);
	}
	s->journal = journal;
	if (found->damaged)
		s->doubt_all = true;
	return (BK_OK);
}

static void
report(struct store *s, const struct journal_found *found,
    struct store_replay *replay)
{
	(void)snprintf(s->torn_file, sizeof(s->torn_file), "%s",
	    found->torn_file);
	*replay = (struct store_replay){
	    .batches = found->batches,
	    .entries = found->records,
	    .torn_bytes = found->torn_bytes,
	    .torn_file = s->torn_file[0] != '\0' ? s->torn_file : NULL,
	    .torn_offset = found->torn_offset,
	};
}

/* Directories, files, journal, in this order. */
static enum bk_status
open_all(struct store *s, const struct store_config *c,
    struct store_replay *replay)
{
	struct journal_found found = {0};
	enum bk_status status;
	uint64_t synced_position;

	status = open_space(s, c);
	if (status == BK_OK && make_parts(s) == -1)
		status = no_memory();
	if (status == BK_OK)
		status = store_load(s, why_text);
	if (status != BK_OK)
		return (status);
	s->active = memtable_new(s->pool, s->next_log++, memtable_base_first());
	if (s->active == NULL)
		return (no_memory());
	status = open_journal(s, c, &found);
	if (status != BK_OK)
		return (status);
	if (!store_keep_doubts(s))
		return (no_memory());
	synced_position = journal_synced(s->journal);
	s->last_position = synced_position;
	s->aged_position = synced_position;
	ledgers_age(s->ledgers, journal_filling(s->journal), synced_position);
	s->reads = store_reads_new(s);
	if (s->reads == NULL)
		return (no_memory());
	report(s, &found, replay);
	(void)store_make_room(s);
	store_merge(s);
	store_reclaim(s);
	return (BK_OK);
}

static void
store_free(struct store *s)
{
	worker_free(s->reader);
	worker_free(s->writer);
	store_flush_free(s->flush);
	store_tidy_free(s->tidy);
	store_reads_free(s->reads);
	memtable_free(s->frozen);
	memtable_free(s->active);
	memtable_pool_free(s->pool);
	fileset_unref(s->set);
	logs_free(s->logs);
	ledgers_free(s->ledgers);
	space_close(s->space);
	for (size_t i = 0; s->dirs != NULL && i < s->ndirs; i++)
		free(s->dirs[i]);
	free(s->dirs);
	free(s);
}

static size_t
clamp(size_t n, size_t min, size_t max)
{
	return (n < min ? min : n > max ? max : n);
}

enum bk_status
store_open(struct bk_loop *loop, const struct store_config *config,
    const struct store_events *events, void *arg, struct store **store,
    struct store_replay *replay, const char **why)
{
	struct store *s = calloc(1, sizeof(*s));
	enum bk_status status;

	*why = why_text;
	if (s == NULL)
		return (no_memory());
	s->loop = loop;
	s->events = *events;
	s->arg = arg;
	s->memtable_bytes =
	    clamp(config->memtable_bytes, MEMTABLE_MIN, MEMTABLE_MAX);
	status = copy_dirs(s, config) == -1 ? no_memory() :
					      open_all(s, config, replay);
	if (status == BK_OK) {
		*store = s;
		return (BK_OK);
	}
	s->is_closing = true;
	(void)journal_close(s->journal);
	s->journal = NULL;
	store_free(s);
	return (status);
}

/* Closing. */

/* What is in memory goes to files, so that the journal can be emptied. */
static void
flush_all(struct store *s)
{
	/* The older one first; after a failure the journal keeps both. */
	if (s->frozen != NULL &&
	    store_flush_now(s, s->frozen, s->frozen_position) == -1)
		return;
	if (memtable_count(s->active) == 0 ||
	    store_flush_now(s, s->active, s->last_position) == 0)
		journal_checkpoint(s->journal, s->last_position);
}

void
store_close(struct store *s)
{
	if (s == NULL)
		return;
	s->is_closing = true;
	worker_free(s->reader);
	s->reader = NULL;
	worker_free(s->writer);
	s->writer = NULL;
	bk_loop_later_cancel(s->loop, turn_end, s);
	if (!s->has_failed)
		flush_all(s);
	if (journal_close(s->journal) == -1)
		bk_log(BK_LOG_ERROR, "journal: %s", strerror(errno));
	store_free(s);
}

/* What is known. */

void
store_ledger(struct store *s, int64_t ledger_id, struct store_ledger *out)
{
	const struct ledger *l = ledgers_find(s->ledgers, ledger_id);
	const struct ledger_more *more;

	*out = (struct store_ledger){.last_entry = -1, .lac = -1};
	out->in_doubt = store_in_doubt(s, l);
	if (l == NULL)
		return;
	out->unsynced = store_force(s, ledger_id);
	if (l->gone)
		return;
	more = ledgers_more(s->ledgers, l);
	out->known = true;
	out->fenced = l->fenced;
	out->last_entry = l->last_entry;
	out->lac = ledgers_lac(s->ledgers, l);
	out->has_explicit_lac = more != NULL && more->packet_len > 0;
}

size_t
store_explicit_lac(struct store *s, int64_t ledger_id,
    uint8_t packet[BK_LAC_PACKET_MAX])
{
	const struct ledger *l = ledgers_find(s->ledgers, ledger_id);
	const struct ledger_more *more;

	if (l == NULL || l->gone)
		return (0);
	more = ledgers_more(s->ledgers, l);
	if (more == NULL)
		return (0);
	memcpy(packet, more->packet, more->packet_len);
	return (more->packet_len);
}

struct collect {
	int64_t *ids;
	size_t n;
};

static void
collect_id(void *arg, struct ledger *l)
{
	struct collect *c = arg;

	if (!l->gone)
		c->ids[c->n++] = l->id;
}

static int
by_id(const void *a, const void *b)
{
	const int64_t *x = a, *y = b;

	return (*x < *y ? -1 : *x > *y);
}

int
store_ledgers(struct store *s, int64_t **ids, size_t *n)
{
	struct collect c = {0};

	c.ids = malloc((ledgers_count(s->ledgers) + 1) * sizeof(*c.ids));
	if (c.ids == NULL)
		return (-1);
	ledgers_each(s->ledgers, collect_id, &c);
	qsort(c.ids, c.n, sizeof(*c.ids), by_id);
	*ids = c.ids;
	*n = c.n;
	return (0);
}

void
store_set_readonly(struct store *s, bool readonly)
{
	s->is_readonly = readonly;
}

bool
store_readonly(const struct store *s, const char **why)
{
	const char *reason;

	reason = s->is_readonly ? "set by the operator" : why_full(s);
	if (reason != NULL && why != NULL)
		*why = reason;
	return (reason != NULL);
}

int
store_space(struct store *s, int64_t *total, int64_t *free_bytes)
{
	return (space_usage(s->space, total, free_bytes));
}

void
store_figures(const struct store *s, struct store_figures *f)
{
	*f = s->figures;
	f->journal_bytes = journal_live_bytes(s->journal);
	f->ledgers = ledgers_count(s->ledgers);
	f->index_files = s->set->n;
	f->log_files = logs_count(s->logs);
	f->log_bytes = logs_bytes(s->logs);
	f->memtable_bytes = memtable_bytes(s->active);
	if (s->frozen != NULL)
		f->memtable_bytes += memtable_bytes(s->frozen);
	journal_counts(s->journal, &f->batches, &f->syncs);
}
