/*
 * meta_lmdb.c - the embedded store behind the face.
 *
 * Calls wait in one queue until the end of the turn. Reads at its head share
 * one read transaction, changes at its head one commit, made here or by a
 * helper thread; what was called later waits, so that answers come in order.
 * Before any answer the watches are called that concern what it shows.
 */
#include "meta/meta_lmdb.h"

#include "base/log.h"
#include "meta/meta_stores.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* How long the writer's lock is waited for, and how often tried meanwhile. */
#define WRITER_PATIENCE (2 * BK_SECOND)
#define WRITER_RETRY BK_MS
#define WRITER_SPIN BK_MS
/* A session that ends waits less: others clear away what it leaves. */
#define END_PATIENCE (BK_SECOND / 2)
#define READ_BATCH 256

static void pump(void *arg);
static void start_batch(struct meta_lmdb *m);

static struct meta_lmdb *
of(struct bk_meta *m)
{
	return ((struct meta_lmdb *)m);
}

/* Look at the queue at the end of this turn. */
void
bk_lmdb_schedule(struct meta_lmdb *m)
{
	if (m->q.closed || m->scheduled)
		return;
	m->scheduled = bk_loop_later(m->q.loop, pump, m) == 0;
	if (!m->scheduled)
		bk_timer_set(m->retry, 0);
}

void
bk_lmdb_deliver_events(struct meta_lmdb *m)
{
	while (!m->q.closed && bk_watches_deliver(&m->watches))
		continue;
}

static void
finish_calls(struct bk_calls *calls)
{
	struct bk_call *call;

	while ((call = STAILQ_FIRST(calls)) != NULL) {
		STAILQ_REMOVE_HEAD(calls, next);
		bk_call_finish(call);
	}
}

/* Reads. */

static enum bk_status
read_children(struct bk_lmdb_txn *tx, struct bk_call *call,
    const struct bk_lmdb_node *node)
{
	struct bk_names names = {NULL, 0, 0, 0};
	enum bk_status status;

	status = bk_lmdb_children(tx, call->path, node, &names);
	if (status == BK_OK && bk_call_keep_names(call, &names) != 0)
		status = BK_ENOMEM;
	bk_names_fini(&names);
	return (status);
}

static enum bk_status
read_data(struct bk_lmdb_txn *tx, struct bk_call *call,
    const struct bk_lmdb_node *node)
{
	enum bk_status status;
	struct bk_bytes data;

	status = bk_lmdb_node_data(tx, call->path, node, &data);
	if (status == BK_OK &&
	    bk_call_keep_data(call, data.data, data.len) != 0)
		status = BK_ENOMEM;
	return (status);
}

static enum bk_status
set_watch(struct meta_lmdb *m, struct bk_call *call,
    const struct bk_lmdb_node *node)
{
	struct bk_watch_seen seen = {0, 0, 0};
	enum bk_watch_kind kind = BK_WATCH_NODE;

	if (node != NULL)
		bk_lmdb_node_seen(node, &seen);
	if (call->kind == BK_CALL_CHILDREN)
		kind = BK_WATCH_LIST;
	if (bk_watches_add(&m->watches, call->path, kind, call->watch, &seen) !=
	    0)
		return (BK_ENOMEM);
	return (BK_OK);
}

static enum bk_status
read_node(struct meta_lmdb *m, struct bk_lmdb_txn *tx, struct bk_call *call)
{
	struct bk_lmdb_node node;
	enum bk_status status;

	status = bk_lmdb_node(tx, call->path, &node);
	if (status == BK_ENONODE && call->kind == BK_CALL_EXISTS)
		return (set_watch(m, call, NULL) == BK_OK ? status : BK_ENOMEM);
	if (status != BK_OK)
		return (status);
	bk_lmdb_node_stat(&node, &call->reply.stat);
	if (call->kind == BK_CALL_CHILDREN)
		status = read_children(tx, call, &node);
	else if (call->kind == BK_CALL_GET)
		status = read_data(tx, call, &node);
	return (status == BK_OK ? set_watch(m, call, &node) : status);
}

static enum bk_status
run_read(struct meta_lmdb *m, struct bk_lmdb_txn *tx, struct bk_call *call)
{
	enum bk_status status;

	switch (call->kind) {
	case BK_CALL_SYNC:
		return (BK_OK);
	case BK_CALL_VERIFY:
		return (bk_lmdb_verify(tx));
	default:
		status = read_node(m, tx, call);
		if (status != BK_OK && status != BK_ENONODE)
			bk_call_reset(call);
		return (status);
	}
}

/* Take reads off the head of the queue; whether one of them sets a watch, or
 * is a sync. */
static void
take_reads(struct meta_lmdb *m, bool *watches, bool *syncs)
{
	struct bk_call *call;
	size_t n = 0;

	while ((call = STAILQ_FIRST(&m->q.calls)) != NULL &&
	    bk_call_reads(call) && n++ < READ_BATCH) {
		STAILQ_REMOVE_HEAD(&m->q.calls, next);
		STAILQ_INSERT_TAIL(&m->reading, call, next);
		*watches |= call->watch.fn != NULL;
		*syncs |= call->kind == BK_CALL_SYNC;
	}
}

static void
run_reads(struct meta_lmdb *m)
{
	bool watches = false, syncs = false;
	struct bk_lmdb_txn tx;
	enum bk_status status;
	struct bk_call *call;

	take_reads(m, &watches, &syncs);
	if (watches)
		bk_lmdb_watch_begin(m); /* before the state is read */
	if (syncs)
		bk_lmdb_uncover(m);
	status = bk_lmdb_begin(&tx, m->store, false);
	if (status == BK_OK)
		bk_lmdb_collect(m, &tx);
	STAILQ_FOREACH(call, &m->reading, next)
		call->status =
		    status == BK_OK ? run_read(m, &tx, call) : status;
	if (status == BK_OK)
		bk_lmdb_abort(&tx);
	bk_lmdb_deliver_events(m);
	finish_calls(&m->reading);
}

/* Changes. */

static void
take_changes(struct meta_lmdb *m)
{
	struct bk_call *call;
	size_t n = 0, size = 0;

	while ((call = STAILQ_FIRST(&m->q.calls)) != NULL &&
	    !bk_call_reads(call) && n++ < BK_LMDB_BATCH_CALLS &&
	    (size += call->size) < BK_LMDB_BATCH_BYTES) {
		STAILQ_REMOVE_HEAD(&m->q.calls, next);
		STAILQ_INSERT_TAIL(&m->batch.calls, call, next);
	}
}

/* There is a session now, a new one, or it could not be. */
static void
session_begun(struct meta_lmdb *m)
{
	char reason[600];

	if (m->batch.status == BK_OK) {
		bk_meta_tell(&m->q,
		    m->had_session ? BK_META_NEW_SESSION : BK_META_CONNECTED,
		    BK_OK, "");
		m->had_session = true;
		return;
	}
	m->session_due = bk_clock_now() + BK_SECOND;
	if (m->batch.status == BK_EHELD)
		(void)snprintf(reason, sizeof(reason), "%s: store held by %s",
		    m->store->dir, bk_lmdb_holder(m->store));
	else if (m->batch.status == BK_ECONFIG)
		(void)snprintf(reason, sizeof(reason),
		    "%s: used from another pid namespace", m->store->dir);
	else
		(void)snprintf(reason, sizeof(reason), "%s: %s", m->store->dir,
		    bk_status_text(m->batch.status));
	bk_meta_tell(&m->q,
	    m->batch.status == BK_ECONFIG ? BK_META_FAILED : BK_META_CONNECTING,
	    m->batch.status, reason);
}

static void
report_held(struct meta_lmdb *m)
{
	char reason[600];

	(void)snprintf(reason, sizeof(reason), "%s: store held by %s",
	    m->store->dir, bk_lmdb_holder(m->store));
	m->held = true;
	bk_meta_tell(&m->q, BK_META_CONNECTING, BK_EHELD, reason);
}

/* Somebody ended our session: begin another. */
static void
session_lost(struct meta_lmdb *m)
{
	bk_lmdb_session_drop(m->store, &m->session);
	bk_watches_fire_all(&m->watches, BK_WATCH_SESSION);
	bk_lmdb_deliver_events(m);
}

static void
batch_done(struct meta_lmdb *m)
{
	bool begun = m->batch.open_session;

	m->working = false;
	bk_meta_enter(&m->q);
	if (begun)
		session_begun(m);
	else if (m->batch.status == BK_EHELD)
		report_held(m);
	else if (m->held) {
		m->held = false;
		bk_meta_tell(&m->q, BK_META_CONNECTED, BK_OK, "");
	}
	if (!m->q.closed)
		bk_lmdb_look(m);
	if (!m->q.closed && m->batch.status == BK_ESESSION)
		session_lost(m);
	finish_calls(&m->batch.calls);
	if (!m->q.closed)
		bk_lmdb_schedule(m);
	bk_meta_leave(&m->q);
}

static void
worker_done(void *arg)
{
	struct meta_lmdb *m = arg;

	if (m->working && bk_lmdb_worker_idle(m->worker))
		batch_done(m);
}

static void
give_up_batch(struct meta_lmdb *m)
{
	struct bk_call *call;

	m->batch.status = BK_EHELD;
	STAILQ_FOREACH(call, &m->batch.calls, next)
		call->status = BK_EHELD;
	batch_done(m);
}

/* Run the batch in this thread, as soon as the lock is had; meanwhile the loop
 * goes on. */
static void
try_batch(struct meta_lmdb *m)
{
	if (bk_lmdb_wait_lock(m->store, WRITER_SPIN)) {
		bk_lmdb_batch_run(&m->batch);
		bk_lmdb_unlock(m->store);
		batch_done(m);
	} else if (bk_clock_now() >= m->give_up) {
		give_up_batch(m);
	} else {
		bk_timer_set(m->retry, WRITER_RETRY);
	}
}

static void
refuse_changes(struct meta_lmdb *m)
{
	take_changes(m);
	bk_calls_finish(&m->batch.calls, BK_EINVAL);
}

static void
start_batch(struct meta_lmdb *m)
{
	m->batch.open_session = !m->read_only && m->session.id == 0;
	m->batch.reap = m->reap;
	m->reap = false;
	m->working = true;
	if (!m->read_only)
		take_changes(m);
	m->give_up = bk_clock_now() + WRITER_PATIENCE;
	if (m->worker != NULL)
		bk_lmdb_worker_run(m->worker, &m->batch);
	else
		try_batch(m);
}

static void
retry(void *arg)
{
	struct meta_lmdb *m = arg;

	if (m->working)
		try_batch(m);
	else
		pump(m);
}

static void
pump(void *arg)
{
	struct meta_lmdb *m = arg;
	struct bk_call *first = STAILQ_FIRST(&m->q.calls);

	m->scheduled = false;
	if (m->working)
		return;
	bk_meta_enter(&m->q);
	if (bk_lmdb_wants_session(m) || m->reap)
		start_batch(m);
	else if (first != NULL && !bk_call_reads(first) && m->read_only)
		refuse_changes(m);
	else if (first != NULL && !bk_call_reads(first))
		start_batch(m);
	else if (first != NULL)
		run_reads(m);
	if (!m->q.closed && !m->working && !STAILQ_EMPTY(&m->q.calls))
		bk_lmdb_schedule(m);
	bk_meta_leave(&m->q);
}

static void
lmdb_unwatch(struct bk_meta *m, bk_watch_cb *fn, void *arg)
{
	struct bk_call *call;

	bk_watches_drop(&of(m)->watches, fn, arg);
	STAILQ_FOREACH(call, &of(m)->q.calls, next) {
		if (call->watch.fn == fn && call->watch.arg == arg)
			call->watch.fn = NULL;
	}
}

static uint64_t
lmdb_session(struct bk_meta *m)
{
	return (of(m)->working && of(m)->batch.open_session ?
		0 :
		of(m)->session.id);
}

/* Closing. */

static void
end_session(struct meta_lmdb *m)
{
	struct bk_calls calls = STAILQ_HEAD_INITIALIZER(calls);

	if (m->session.id != 0 && bk_lmdb_wait_lock(m->store, END_PATIENCE)) {
		STAILQ_SWAP(&calls, &m->batch.calls, bk_call);
		m->batch.open_session = m->batch.reap = false;
		m->batch.end_session = true;
		bk_lmdb_batch_run(&m->batch);
		bk_lmdb_unlock(m->store);
		STAILQ_SWAP(&calls, &m->batch.calls, bk_call);
	}
	bk_lmdb_session_drop(m->store, &m->session);
}

static void
lmdb_close(struct bk_meta *base)
{
	struct meta_lmdb *m = of(base);

	bk_meta_enter(&m->q);
	m->q.closed = true;
	bk_loop_later_cancel(m->q.loop, pump, m);
	bk_lmdb_worker_free(m->worker);
	bk_timer_free(m->retry);
	bk_lmdb_watch_end(m);
	bk_watches_fini(&m->watches);
	end_session(m);
	bk_pauses_cancel(&m->q.pauses);
	bk_calls_finish(&m->reading, BK_ECANCELED);
	bk_calls_finish(&m->batch.calls, BK_ECANCELED);
	bk_calls_finish(&m->q.calls, BK_ECANCELED);
	bk_lmdb_close(m->store);
	bk_meta_leave(&m->q);
}

static void
gone(struct bk_meta_queue *q)
{
	free(q);
}

static void
called(struct bk_meta_queue *q)
{
	bk_lmdb_schedule((struct meta_lmdb *)q);
}

static const struct bk_meta_ops ops = {
    .close = lmdb_close,
    .create = bk_meta_queue_create,
    .get = bk_meta_queue_get,
    .exists = bk_meta_queue_exists,
    .set = bk_meta_queue_set,
    .remove = bk_meta_queue_remove,
    .children = bk_meta_queue_children,
    .multi = bk_meta_queue_multi,
    .sync = bk_meta_queue_sync,
    .unwatch = lmdb_unwatch,
    .session = lmdb_session,
    .pause = bk_meta_queue_pause,
    .now = bk_meta_queue_now,
    .verify = bk_meta_queue_verify,
};

/* Opening. */

static enum bk_status
start(struct meta_lmdb *m, const struct bk_meta_config *config,
    const char **why)
{
	*why = "out of memory";
	m->retry = bk_timer_new(m->q.loop, retry, m);
	if (m->retry == NULL)
		return (BK_ENOMEM);
	if (config->own_thread && !config->read_only) {
		m->worker = bk_lmdb_worker_new(m->q.loop, WRITER_PATIENCE,
		    worker_done, m);
		if (m->worker == NULL) {
			*why = "no thread for the store";
			return (BK_ESYS);
		}
	}
	return (bk_lmdb_watch_start(m, why));
}

struct bk_meta *
bk_meta_lmdb_open(struct bk_loop *loop, const struct bk_cluster_uri *uri,
    const struct bk_meta_config *config, enum bk_status *status,
    const char **why)
{
	struct meta_lmdb *m;

	*why = "out of memory";
	*status = BK_ENOMEM;
	m = calloc(1, sizeof(*m));
	if (m == NULL)
		return (NULL);
	bk_meta_queue_init(&m->q, loop);
	m->q.base.ops = &ops;
	m->q.base.kind = "embedded";
	m->q.called = called;
	m->q.gone = gone;
	m->read_only = config->read_only;
	STAILQ_INIT(&m->reading);
	STAILQ_INIT(&m->batch.calls);
	bk_watches_init(&m->watches);
	bk_lmdb_session_init(&m->session, config->label);
	m->batch.session = &m->session;
	*status = bk_lmdb_open(uri->dir, config->create, &m->store, why);
	if (*status != BK_OK) {
		free(m);
		return (NULL);
	}
	m->batch.store = m->store;
	*status = start(m, config, why);
	if (*status != BK_OK) {
		lmdb_close(&m->q.base);
		return (NULL);
	}
	bk_lmdb_schedule(m);
	return (&m->q.base);
}
