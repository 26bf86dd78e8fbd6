/*
 * store.c - the store as a whole: opening, closing, mode, and what is known
 * without a look at the disk.
 *
 * The normal start: lock the directories, load the index files into the table
 * of ledgers, replay the journal into a memtable. After a clean end there is
 * nothing to replay; after any other the same steps are enough.
 */
#include "bk-bookied/store_internal.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SEGMENT_MIN ((size_t)1024 * 1024)

static void
on_synced(void *arg, uint64_t position)
{
	struct store *s = arg;

	s->events.synced(s->arg, position);
}

static void
on_failed(void *arg, const char *what)
{
	store_fail(arg, what);
}

static void
on_room(void *arg)
{
	struct store *s = arg;

	if (!s->wants_room)
		return;
	s->wants_room = false;
	s->events.room(s->arg);
}

static const struct journal_events journal_events = {.synced = on_synced,
    .failed = on_failed,
    .room = on_room};

static void
on_space(void *arg)
{
	struct store *s = arg;
	const char *why = "there is room again";
	bool readonly = store_readonly(s, &why);

	s->events.mode(s->arg, readonly, why);
}

/* Opening, in steps; what a failed one leaves store_free() takes away. */

static void
store_free(struct store *s)
{
	worker_free(s->writer);
	worker_free(s->reader);
	if (s->retry != NULL)
		bk_timer_free(s->retry);
	memtable_free(s->frozen);
	memtable_free(s->active);
	if (s->pool != NULL)
		memtable_pool_free(s->pool);
	store_cache_fini(s);
	fileset_unref(s->files);
	if (s->logs != NULL)
		logs_free(s->logs);
	ledgers_free(s->ledgers);
	space_close(s->space);
	free(s);
}

static struct store *
store_new(struct bk_loop *loop, const struct store_config *config,
    const struct store_events *events, void *arg)
{
	struct store *s = calloc(1, sizeof(*s));

	if (s == NULL)
		return (NULL);
	s->loop = loop;
	s->config = *config;
	s->events = *events;
	s->arg = arg;
	s->ledgers = ledgers_new();
	s->pool = memtable_pool_new();
	s->logs = logs_new();
	s->writer = worker_new(loop);
	s->reader = worker_new(loop);
	s->retry = bk_timer_new(loop, store_flush_retry, s);
	if (s->ledgers == NULL || s->pool == NULL || s->logs == NULL ||
	    s->writer == NULL || s->reader == NULL || s->retry == NULL) {
		store_free(s);
		return (NULL);
	}
	return (s);
}

static enum bk_status
open_space(struct store *s, const char **why)
{
	struct space_config config = {
	    .dirs = s->config.ledger_dirs,
	    .ndirs = s->config.nledger_dirs,
	    .ballast_bytes = s->config.ballast_bytes,
	    .high_mark = s->config.high_mark,
	    .low_mark = s->config.low_mark,
	};

	return (space_open(s->loop, &config, on_space, s, &s->space, why));
}

static enum bk_status
open_journal(struct store *s, uint64_t position, struct store_replay *replay,
    const char **why)
{
	static char torn_file[256];
	struct journal_config config = {
	    .dirs = s->config.journal_dirs,
	    .ndirs = s->config.njournal_dirs,
	    .segment_min = SEGMENT_MIN,
	    .segment_max = s->config.journal_max,
	    .checkpoint = position,
	    .accept_damage = s->config.accept_damage,
	};
	struct journal_found found = {0};
	enum bk_status status;

	status = journal_open(s->loop, &config, &journal_events, s,
	    store_replay_record, &s->journal, &found, why);
	if (status != BK_OK)
		return (status);
	(void)snprintf(torn_file, sizeof(torn_file), "%s", found.torn_file);
	*replay = (struct store_replay){
	    .batches = found.batches,
	    .entries = found.records,
	    .torn_bytes = found.torn_bytes,
	    .torn_file = torn_file[0] != '\0' ? torn_file : NULL,
	    .torn_offset = found.torn_offset,
	};
	if (found.damaged)
		store_set_doubt(s, STATE_ALL, INT64_MAX);
	return (BK_OK);
}

static enum bk_status
open_all(struct store *s, struct store_replay *replay, const char **why)
{
	enum bk_status status;
	uint64_t position;
	uint32_t number;
	bool doubt;

	if ((status = open_space(s, why)) != BK_OK ||
	    (status = store_load(s, &number, &position, why)) != BK_OK)
		return (status);
	s->active = memtable_new(s->pool, number, memtable_base_first());
	if (s->active == NULL)
		return (BK_ENOMEM);
	s->cleaned_at = memtable_base_first();
	doubt = s->doubt_all;
	s->doubt_all = false;
	if ((status = open_journal(s, position, replay, why)) != BK_OK)
		return (status);
	if (doubt)
		store_set_doubt(s, STATE_ALL, INT64_MAX);
	s->aged_at = journal_filling(s->journal);
	ledgers_age(s->ledgers, s->aged_at, journal_synced(s->journal));
	store_flush_if_full(s);
	store_merge_if_due(s);
	return (BK_OK);
}

enum bk_status
store_open(struct bk_loop *loop, const struct store_config *config,
    const struct store_events *events, void *arg, struct store **store,
    struct store_replay *replay, const char **why)
{
	struct store *s = store_new(loop, config, events, arg);
	enum bk_status status;

	*why = "out of memory";
	if (s == NULL)
		return (BK_ENOMEM);
	if ((status = open_all(s, replay, why)) != BK_OK) {
		(void)journal_close(s->journal);
		store_free(s);
		return (status);
	}
	*store = s;
	return (BK_OK);
}

void
store_close(struct store *s)
{
	if (s == NULL)
		return;
	bk_timer_stop(s->retry);
	s->is_closing = true;
	/* Ends the flush and the reads under way. */
	worker_free(s->writer);
	worker_free(s->reader);
	s->writer = s->reader = NULL;
	/* If this fails the journal still has everything. */
	if (!s->has_failed)
		(void)store_flush_all(s);
	(void)journal_close(s->journal);
	store_free(s);
}

/* What is known. */

void
store_prefetch(const struct store *s, int64_t ledger_id, int64_t entry_id)
{
	ledgers_prefetch(s->ledgers, ledger_id);
	memtable_prefetch(s->active, ledger_id, entry_id);
}

void
store_ledger(struct store *s, int64_t ledger_id, struct store_ledger *out)
{
	const struct ledger *l = ledgers_find(s->ledgers, ledger_id);
	const struct ledger_more *more;

	*out = (struct store_ledger){.last_entry = -1,
	    .lac = -1,
	    .in_doubt = store_in_doubt(s, l)};
	if (l == NULL)
		return;
	more = ledgers_more(s->ledgers, l);
	out->known = !l->gone;
	out->unsynced = store_unsynced(s, l);
	if (l->gone)
		return;
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

	if (l == NULL || l->gone ||
	    (more = ledgers_more(s->ledgers, l)) == NULL)
		return (0);
	memcpy(packet, more->packet, more->packet_len);
	return (more->packet_len);
}

struct ids {
	int64_t *items;
	size_t n;
};

static void
take_id(void *arg, struct ledger *l)
{
	struct ids *ids = arg;

	if (!l->gone)
		ids->items[ids->n++] = l->id;
}

static int
ascending(const void *a, const void *b)
{
	const int64_t *x = a, *y = b;

	return (*x < *y ? -1 : *x > *y);
}

int
store_ledgers(struct store *s, int64_t **ids, size_t *n)
{
	struct ids all = {.n = 0};

	all.items = calloc(ledgers_count(s->ledgers) + 1, sizeof(*all.items));
	if (all.items == NULL)
		return (-1);
	ledgers_each(s->ledgers, take_id, &all);
	qsort(all.items, all.n, sizeof(*all.items), ascending);
	*ids = all.items;
	*n = all.n;
	return (0);
}

void
store_set_readonly(struct store *s, bool readonly)
{
	s->operator_readonly = readonly;
}

bool
store_readonly(const struct store *s, const char **why)
{
	if (s->operator_readonly) {
		if (why != NULL)
			*why = "set by the operator";
		return (true);
	}
	return (space_full(s->space, why));
}

int
store_space(struct store *s, int64_t *total, int64_t *usable)
{
	return (space_sum(s->space, total, usable));
}

void
store_figures(const struct store *s, struct store_figures *f)
{
	*f = s->figures;
	journal_counts(s->journal, &f->batches, &f->syncs);
	f->memtable_bytes = memtable_bytes(s->active) +
	    (s->frozen == NULL ? 0 : memtable_bytes(s->frozen));
	f->journal_bytes = journal_live_bytes(s->journal);
	f->ledgers = ledgers_count(s->ledgers);
	f->index_files = s->files->n;
	f->log_files = logs_count(s->logs);
	f->log_bytes = logs_bytes(s->logs);
	f->live_bytes = f->log_bytes;
}
