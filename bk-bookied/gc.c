/*
 * gc.c - one pass of collection after another.
 *
 * A pass: the local list first, so that a ledger made meanwhile is not on it;
 * then INSTANCEID, lest another cluster's list be believed; the store's own
 * check of itself; all ledgers; and each local one that is not among them is
 * looked up by itself behind a sync. Whatever goes wrong ends the pass without
 * a removal: a list that is too short would destroy entries.
 *
 * A ledger goes when it was absent in this pass and the one before, unless
 * replication holds its lock, or so many would go that a mistake is likelier.
 */
#include "bk-bookied/gc.h"
#include "base/log.h"
#include "bk-bookied/store.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* More than this many, and this share of all: stop. */
#define MANY 100
#define SHARE 20

struct ids {
	int64_t *id; /* ascending */
	size_t n;
};

struct gc {
	struct gc_config config;
	struct bk_timer *timer;
	struct ids local;
	struct ids missing; /* of this pass, to be looked up */
	struct ids absent;  /* of this pass, looked up */
	struct ids before;  /* absent in the last pass */
	size_t merged;      /* of local: compared with the walk so far */
	size_t at;          /* of missing or absent: in hand */
	size_t held_back;   /* reported last: too many to go */
	bool is_running;
	bool is_stopping;
};

static void
ids_fini(struct ids *s)
{
	free(s->id);
	*s = (struct ids){NULL, 0};
}

/* Room for as many as there are local ledgers was made before. */
static void
ids_add(struct ids *s, int64_t id)
{
	s->id[s->n++] = id;
}

static int
ids_room(struct ids *s, size_t n)
{
	ids_fini(s);
	s->id = reallocarray(NULL, n + 1, sizeof(*s->id));
	return (s->id != NULL ? 0 : -1);
}

static int
compare(const void *a, const void *b)
{
	const int64_t *x = a, *y = b;

	return ((*x > *y) - (*x < *y));
}

static bool
ids_have(const struct ids *s, int64_t id)
{
	return (
	    s->n > 0 && bsearch(&id, s->id, s->n, sizeof(id), compare) != NULL);
}

/* The end of a pass. whole: its absent ones count for the next. */
static void
pass_end(struct gc *g, bool whole)
{
	ids_fini(&g->before);
	if (whole) {
		g->before = g->absent;
		g->absent = (struct ids){NULL, 0};
	}
	ids_fini(&g->local);
	ids_fini(&g->missing);
	ids_fini(&g->absent);
	g->is_running = false;
	if (!g->is_stopping)
		bk_timer_set(g->timer, g->config.interval);
}

/* Whether the pass goes on after an answer. */
static bool
goes_on(struct gc *g, enum bk_status status, const char *what)
{
	if (status == BK_OK && !g->is_stopping)
		return (true);
	if (status != BK_OK && !g->is_stopping)
		bk_log(BK_LOG_INFO, "collection: %s: %s; trying again later",
		    what, bk_status_text(status));
	pass_end(g, false);
	return (false);
}

/* Removal. */

static void remove_next(struct gc *g);

static void
drop(struct gc *g, int64_t ledger_id)
{
	enum bk_status status = store_remove(g->config.store, ledger_id);

	if (status == BK_OK)
		bk_log(BK_LOG_INFO, "ledger %" PRId64 ": removed: deleted",
		    ledger_id);
	else
		bk_log(BK_LOG_WARNING, "ledger %" PRId64 ": not removed: %s",
		    ledger_id, bk_status_text(status));
}

static void
on_lock(void *arg, enum bk_status status, const struct bk_meta_reply *reply)
{
	struct gc *g = arg;

	(void)reply;
	if (status == BK_ENONODE && !g->is_stopping) {
		drop(g, g->absent.id[g->at]);
		status = BK_OK;
	} else if (status == BK_OK)
		bk_log(BK_LOG_INFO,
		    "ledger %" PRId64 ": kept: being replicated",
		    g->absent.id[g->at]);
	if (!goes_on(g, status, "under-replication locks"))
		return;
	g->at++;
	remove_next(g);
}

static void
remove_next(struct gc *g)
{
	const struct bk_tree *tree = g->config.tree;
	char path[BK_PATH_MAX + 1];
	int n;

	while (
	    g->at < g->absent.n && !ids_have(&g->before, g->absent.id[g->at]))
		g->at++;
	if (g->at == g->absent.n) {
		pass_end(g, true);
		return;
	}
	n = snprintf(path, sizeof(path),
	    "%s/underreplication/locks/urL%010" PRId64, tree->root,
	    g->absent.id[g->at]);
	if (n < 0 || (size_t)n >= sizeof(path))
		(void)goes_on(g, BK_EINVAL, "under-replication locks");
	else
		bk_meta_exists(tree->meta, path, BK_NO_WATCH, on_lock, g);
}

static size_t
count_removable(const struct gc *g)
{
	size_t i, n = 0;

	for (i = 0; i < g->absent.n; i++)
		n += ids_have(&g->before, g->absent.id[i]);
	return (n);
}

static void
remove_absent(struct gc *g)
{
	size_t n = count_removable(g);

	if (n > MANY && n > g->local.n / SHARE) {
		if (n != g->held_back)
			bk_log(BK_LOG_WARNING,
			    "collection: stopped: %zu of %zu ledgers are gone "
			    "from the cluster at once; check it, then run "
			    "'bk-ledger compact --confirm'",
			    n, g->local.n);
		g->held_back = n;
		pass_end(g, true);
		return;
	}
	g->held_back = 0;
	g->at = 0;
	remove_next(g);
}

/* Looking up each missing one by itself. */

static void look_up_next(struct gc *g);

static void
on_ledger(void *arg, enum bk_status status, const struct bk_ledger_meta *m,
    int32_t version)
{
	struct gc *g = arg;

	(void)m;
	(void)version;
	if (status == BK_ENOLEDGER) {
		ids_add(&g->absent, g->missing.id[g->at]);
		status = BK_OK;
	} else if (status == BK_EBADMETA)
		status = BK_OK; /* it is there, whatever it says */
	if (!goes_on(g, status, "metadata"))
		return;
	g->at++;
	look_up_next(g);
}

static void
look_up_next(struct gc *g)
{
	if (g->at == g->missing.n)
		remove_absent(g);
	else
		bk_ledger_read(g->config.tree, g->missing.id[g->at],
		    BK_NO_WATCH, on_ledger, g);
}

static void
on_second_sync(void *arg, enum bk_status status,
    const struct bk_meta_reply *reply)
{
	struct gc *g = arg;

	(void)reply;
	if (!goes_on(g, status, "sync"))
		return;
	g->at = 0;
	look_up_next(g);
}

/* The walk over all ledgers, merged with the local list. */

static void
skip_to(struct gc *g, int64_t ledger_id)
{
	while (g->merged < g->local.n && g->local.id[g->merged] < ledger_id)
		ids_add(&g->missing, g->local.id[g->merged++]);
}

static bool
on_listed(void *arg, int64_t ledger_id)
{
	struct gc *g = arg;

	skip_to(g, ledger_id);
	if (g->merged < g->local.n && g->local.id[g->merged] == ledger_id)
		g->merged++;
	return (!g->is_stopping);
}

static void
on_walked(void *arg, enum bk_status status)
{
	struct gc *g = arg;

	if (!goes_on(g, status, "list of ledgers"))
		return;
	while (g->merged < g->local.n)
		ids_add(&g->missing, g->local.id[g->merged++]);
	bk_meta_sync(g->config.tree->meta, g->config.tree->root, on_second_sync,
	    g);
}

static void
on_sync(void *arg, enum bk_status status, const struct bk_meta_reply *reply)
{
	struct gc *g = arg;

	(void)reply;
	if (goes_on(g, status, "sync"))
		bk_ledger_walk(g->config.tree, on_listed, on_walked, g);
}

static void
on_verified(void *arg, enum bk_status status, const struct bk_meta_reply *reply)
{
	struct gc *g = arg;

	(void)reply;
	if (status == BK_EBADMETA)
		bk_log(BK_LOG_ERROR,
		    "collection: refused: the metadata store is damaged");
	if (goes_on(g, status, "check of the store"))
		bk_meta_sync(g->config.tree->meta, g->config.tree->root,
		    on_sync, g);
}

static void
on_instance(void *arg, enum bk_status status, const char *text)
{
	struct gc *g = arg;
	const char *ours = g->config.instance_id;

	if (status == BK_ENONODE && ours == NULL)
		status = BK_OK;
	else if (status == BK_OK && (ours == NULL || strcmp(text, ours) != 0)) {
		bk_log(BK_LOG_ERROR,
		    "collection: refused: the cluster is another one now "
		    "(instance %s)",
		    text);
		status = BK_ECONFIG;
	}
	if (goes_on(g, status, "instance id"))
		bk_meta_verify(g->config.tree->meta, on_verified, g);
}

static void
pass_begin(void *arg)
{
	struct gc *g = arg;

	g->is_running = true;
	g->merged = 0;
	if (store_ledgers(g->config.store, &g->local.id, &g->local.n) == -1 ||
	    ids_room(&g->missing, g->local.n) == -1 ||
	    ids_room(&g->absent, g->local.n) == -1)
		(void)goes_on(g, BK_ENOMEM, "local ledgers");
	else if (g->local.n == 0)
		pass_end(g, true);
	else
		bk_tree_instance(g->config.tree, on_instance, g);
}

struct gc *
gc_new(struct bk_loop *loop, const struct gc_config *config)
{
	struct gc *g = calloc(1, sizeof(*g));

	if (g == NULL)
		return (NULL);
	g->config = *config;
	if ((g->timer = bk_timer_new(loop, pass_begin, g)) == NULL) {
		free(g);
		return (NULL);
	}
	bk_timer_set(g->timer, config->interval);
	return (g);
}

void
gc_set_interval(struct gc *g, int64_t interval)
{
	g->config.interval = interval;
	if (!g->is_running && !g->is_stopping)
		bk_timer_set(g->timer, interval);
}

void
gc_stop(struct gc *g)
{
	g->is_stopping = true;
	bk_timer_stop(g->timer);
}

void
gc_free(struct gc *g)
{
	if (g == NULL)
		return;
	bk_timer_free(g->timer);
	ids_fini(&g->local);
	ids_fini(&g->missing);
	ids_fini(&g->absent);
	ids_fini(&g->before);
	free(g);
}
