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

/* Callbacks may close the store. What runs them enters first and leaves last;
 * whoever leaves last of all frees it. */

void
bk_lmdb_enter(struct meta_lmdb *m)
{
	m->depth++;
}

void
bk_lmdb_leave(struct meta_lmdb *m)
{
	if (--m->depth == 0 && m->closed)
		free(m);
}

void
bk_lmdb_tell(struct meta_lmdb *m, enum bk_meta_state state,
    enum bk_status status, const char *reason)
{
	if (!m->closed && m->base.on_state != NULL)
		m->base.on_state(m->base.state_arg, state, status, reason);
}

/* Look at the queue at the end of this turn. */
void
bk_lmdb_schedule(struct meta_lmdb *m)
{
	if (m->closed || m->scheduled)
		return;
	m->scheduled = bk_loop_later(m->loop, pump, m) == 0;
	if (!m->scheduled)
		bk_timer_set(m->retry, 0);
}

void
bk_lmdb_deliver_events(struct meta_lmdb *m)
{
	while (!m->closed && bk_watches_deliver(&m->watches))
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

	while ((call = STAILQ_FIRST(&m->queue)) != NULL &&
	    bk_call_reads(call) && n++ < READ_BATCH) {
		STAILQ_REMOVE_HEAD(&m->queue, next);
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

	while ((call = STAILQ_FIRST(&m->queue)) != NULL &&
	    !bk_call_reads(call) && n++ < BK_LMDB_BATCH_CALLS &&
	    (size += call->size) < BK_LMDB_BATCH_BYTES) {
		STAILQ_REMOVE_HEAD(&m->queue, next);
		STAILQ_INSERT_TAIL(&m->batch.calls, call, next);
	}
}

/* There is a session now, a new one, or it could not be. */
static void
session_begun(struct meta_lmdb *m)
{
	char reason[600];

	if (m->batch.status == BK_OK) {
		bk_lmdb_tell(m,
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
	bk_lmdb_tell(m,
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
	bk_lmdb_tell(m, BK_META_CONNECTING, BK_EHELD, reason);
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
	bk_lmdb_enter(m);
	if (begun)
		session_begun(m);
	else if (m->batch.status == BK_EHELD)
		report_held(m);
	else if (m->held) {
		m->held = false;
		bk_lmdb_tell(m, BK_META_CONNECTED, BK_OK, "");
	}
	if (!m->closed)
		bk_lmdb_look(m);
	if (!m->closed && m->batch.status == BK_ESESSION)
		session_lost(m);
	finish_calls(&m->batch.calls);
	if (!m->closed)
		bk_lmdb_schedule(m);
	bk_lmdb_leave(m);
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
start_batch(struct meta_lmdb *m)
{
	m->batch.open_session = bk_lmdb_wants_session(m);
	m->batch.reap = m->reap;
	m->reap = false;
	m->working = true;
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
	struct bk_call *first = STAILQ_FIRST(&m->queue);

	m->scheduled = false;
	if (m->working)
		return;
	bk_lmdb_enter(m);
	if (bk_lmdb_wants_session(m) || m->reap ||
	    (first != NULL && !bk_call_reads(first)))
		start_batch(m);
	else if (first != NULL)
		run_reads(m);
	if (!m->closed && !m->working && !STAILQ_EMPTY(&m->queue))
		bk_lmdb_schedule(m);
	bk_lmdb_leave(m);
}

/* The calls. */

static const struct bk_bytes no_data = {NULL, 0};

static void
enqueue(struct meta_lmdb *m, struct bk_call *call, bk_meta_cb *cb, void *arg)
{
	static const struct bk_meta_reply nothing;

	if (m->closed || call == NULL) {
		bk_call_free(call);
		cb(arg, m->closed ? BK_ECANCELED : BK_ENOMEM, &nothing);
		return;
	}
	STAILQ_INSERT_TAIL(&m->queue, call, next);
	bk_lmdb_schedule(m);
}

static void
lmdb_create(struct bk_meta *m, const char *path, struct bk_bytes data,
    enum bk_node_kind kind, enum bk_node_acl acl, bk_meta_cb *cb, void *arg)
{
	struct bk_call *call;

	(void)acl; /* the whole store has one owner */
	call = bk_call_new(BK_CALL_CREATE, path, data, cb, arg);
	if (call != NULL)
		call->node = kind;
	enqueue(of(m), call, cb, arg);
}

static void
lmdb_read(struct bk_meta *m, enum bk_call_kind kind, const char *path,
    struct bk_watch w, bk_meta_cb *cb, void *arg)
{
	struct bk_call *call;

	call = bk_call_new(kind, path, no_data, cb, arg);
	if (call != NULL)
		call->watch = w;
	enqueue(of(m), call, cb, arg);
}

static void
lmdb_get(struct bk_meta *m, const char *path, struct bk_watch w, bk_meta_cb *cb,
    void *arg)
{
	lmdb_read(m, BK_CALL_GET, path, w, cb, arg);
}

static void
lmdb_exists(struct bk_meta *m, const char *path, struct bk_watch w,
    bk_meta_cb *cb, void *arg)
{
	lmdb_read(m, BK_CALL_EXISTS, path, w, cb, arg);
}

static void
lmdb_children(struct bk_meta *m, const char *path, struct bk_watch w,
    bk_meta_cb *cb, void *arg)
{
	lmdb_read(m, BK_CALL_CHILDREN, path, w, cb, arg);
}

static void
lmdb_sync(struct bk_meta *m, const char *path, bk_meta_cb *cb, void *arg)
{
	lmdb_read(m, BK_CALL_SYNC, path, BK_NO_WATCH, cb, arg);
}

static void
lmdb_verify(struct bk_meta *m, bk_meta_cb *cb, void *arg)
{
	lmdb_read(m, BK_CALL_VERIFY, "/", BK_NO_WATCH, cb, arg);
}

static void
lmdb_set(struct bk_meta *m, const char *path, struct bk_bytes data,
    int32_t version, bk_meta_cb *cb, void *arg)
{
	struct bk_call *call;

	call = bk_call_new(BK_CALL_SET, path, data, cb, arg);
	if (call != NULL)
		call->version = version;
	enqueue(of(m), call, cb, arg);
}

static void
lmdb_remove(struct bk_meta *m, const char *path, int32_t version,
    bk_meta_cb *cb, void *arg)
{
	struct bk_call *call;

	call = bk_call_new(BK_CALL_REMOVE, path, no_data, cb, arg);
	if (call != NULL)
		call->version = version;
	enqueue(of(m), call, cb, arg);
}

static void
lmdb_multi(struct bk_meta *m, const struct bk_meta_op *ops, size_t nops,
    bk_meta_cb *cb, void *arg)
{
	enqueue(of(m), bk_call_new_multi(ops, nops, cb, arg), cb, arg);
}

static void
lmdb_unwatch(struct bk_meta *m, bk_watch_cb *fn, void *arg)
{
	struct bk_call *call;

	bk_watches_drop(&of(m)->watches, fn, arg);
	STAILQ_FOREACH(call, &of(m)->queue, next) {
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

static void
lmdb_pause(struct bk_meta *m, int64_t delay, bk_meta_cb *cb, void *arg)
{
	static const struct bk_meta_reply nothing;

	if (of(m)->closed)
		cb(arg, BK_ECANCELED, &nothing);
	else if (bk_pauses_add(&of(m)->pauses, of(m)->loop, delay, cb, arg) !=
	    0)
		cb(arg, BK_ENOMEM, &nothing);
}

static int64_t
lmdb_now(struct bk_meta *m)
{
	(void)m;
	return (bk_clock_now());
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

	bk_lmdb_enter(m);
	m->closed = true;
	bk_loop_later_cancel(m->loop, pump, m);
	bk_lmdb_worker_free(m->worker);
	bk_timer_free(m->retry);
	bk_lmdb_watch_end(m);
	bk_watches_fini(&m->watches);
	end_session(m);
	bk_pauses_cancel(&m->pauses);
	bk_calls_finish(&m->reading, BK_ECANCELED);
	bk_calls_finish(&m->batch.calls, BK_ECANCELED);
	bk_calls_finish(&m->queue, BK_ECANCELED);
	bk_lmdb_close(m->store);
	bk_lmdb_leave(m);
}

static const struct bk_meta_ops ops = {
    .close = lmdb_close,
    .create = lmdb_create,
    .get = lmdb_get,
    .exists = lmdb_exists,
    .set = lmdb_set,
    .remove = lmdb_remove,
    .children = lmdb_children,
    .multi = lmdb_multi,
    .sync = lmdb_sync,
    .unwatch = lmdb_unwatch,
    .session = lmdb_session,
    .pause = lmdb_pause,
    .now = lmdb_now,
    .verify = lmdb_verify,
};

/* Opening. */

static enum bk_status
start(struct meta_lmdb *m, const struct bk_meta_config *config,
    const char **why)
{
	*why = "out of memory";
	m->retry = bk_timer_new(m->loop, retry, m);
	if (m->retry == NULL)
		return (BK_ENOMEM);
	if (config->own_thread && !config->read_only) {
		m->worker = bk_lmdb_worker_new(m->loop, WRITER_PATIENCE,
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
	m->base.ops = &ops;
	m->base.kind = "embedded";
	m->loop = loop;
	m->read_only = config->read_only;
	STAILQ_INIT(&m->queue);
	STAILQ_INIT(&m->reading);
	STAILQ_INIT(&m->batch.calls);
	LIST_INIT(&m->pauses);
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
		lmdb_close(&m->base);
		return (NULL);
	}
	bk_lmdb_schedule(m);
	return (&m->base);
}
