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
#define SESSION_RETRY BK_SECOND
#define END_PATIENCE (BK_SECOND / 2)

static void pump(void *arg);
static void start_batch(struct meta_lmdb *m);

static struct meta_lmdb *
of(struct bk_meta *m)
{
	return ((struct meta_lmdb *)m);
}

void
bk_lmdb_connected(struct meta_lmdb *m, enum bk_meta_state state)
{
	m->told_connected = true;
	bk_meta_tell(&m->q, state, BK_OK, "");
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

static void
fail(struct meta_lmdb *m, enum bk_status status, const char *reason)
{
	m->failed = status;
	bk_meta_tell(&m->q, BK_META_FAILED, status, reason);
}

static const char *
batch_reason(struct meta_lmdb *m)
{
	static _Thread_local char reason[600];
	const char *what = bk_status_text(m->batch.status);

	if (m->batch.status == BK_EHELD)
		(void)snprintf(reason, sizeof(reason), "%s: store held by %s",
		    m->store->dir, bk_lmdb_holder(m->store));
	else if (m->batch.status == BK_ECONFIG)
		(void)snprintf(reason, sizeof(reason),
		    "%s: used from another pid namespace", m->store->dir);
	else
		(void)snprintf(reason, sizeof(reason), "%s: %s", m->store->dir,
		    what);
	return (reason);
}

/* No session could be begun. On a full disk reading goes on without one. */
static void
session_refused(struct meta_lmdb *m)
{
	enum bk_status status = m->batch.status;

	m->session_due = bk_clock_now() + SESSION_RETRY;
	if (m->told_connected)
		bk_meta_tell(&m->q, BK_META_CONNECTING, status,
		    batch_reason(m));
	else if (status == BK_ENOSPACE)
		bk_lmdb_connected(m, BK_META_CONNECTED);
	else if (status == BK_ECONFIG || !m->patient)
		fail(m, status, batch_reason(m));
	else
		bk_meta_tell(&m->q, BK_META_CONNECTING, status,
		    batch_reason(m));
}

/* There is a session now, or a new one. */
static void
session_begun(struct meta_lmdb *m)
{
	bk_lmdb_connected(m,
	    m->had_session ? BK_META_NEW_SESSION : BK_META_CONNECTED);
	m->had_session = true;
}

static void
tell_of_batch(struct meta_lmdb *m)
{
	enum bk_status status = m->batch.status;

	if (m->store->panic)
		fail(m, BK_EIO, batch_reason(m));
	else if (m->batch.open_session && status == BK_OK)
		session_begun(m);
	else if (m->batch.open_session)
		session_refused(m);
	else if (status == BK_EHELD) {
		m->told_connected = false;
		bk_meta_tell(&m->q, BK_META_CONNECTING, status,
		    batch_reason(m));
	} else if (!m->told_connected)
		bk_lmdb_connected(m, BK_META_CONNECTED);
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
	m->working = false;
	bk_meta_enter(&m->q);
	tell_of_batch(m);
	if (!m->q.closed)
		bk_lmdb_look(m);
	if (!m->q.closed && m->batch.status == BK_ESESSION)
		session_lost(m);
	bk_calls_answer(&m->batch.calls);
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
	if (m->read_only && !m->told_connected)
		bk_lmdb_connected(m, BK_META_CONNECTED);
	if (m->failed != BK_OK)
		bk_calls_finish(&m->q.calls, m->failed);
	else if (bk_lmdb_wants_session(m) || m->reap)
		start_batch(m);
	else if (first != NULL && !bk_call_reads(first) && m->read_only)
		refuse_changes(m);
	else if (first != NULL && !bk_call_reads(first))
		start_batch(m);
	else if (first != NULL)
		bk_lmdb_run_reads(m);
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
called(struct bk_meta_queue *q, struct bk_call *call)
{
	(void)call;
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
	m->patient = config->connect_timeout == BK_FOREVER;
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
