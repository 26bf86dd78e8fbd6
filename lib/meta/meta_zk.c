/* meta_zk.c - ZooKeeper behind the face: opening, closing, and its calls. */
#include "meta/meta_zk.h"

#include "meta/meta_stores.h"
#include "meta/zk_auth.h"

#include <stdlib.h>

#define SESSION_DEFAULT (10 * BK_SECOND)
#define SESSION_MIN BK_SECOND
#define SESSION_MAX (600 * BK_SECOND)
#define CONNECT_DEFAULT (10 * BK_SECOND)

static struct meta_zk *
of(struct bk_meta *m)
{
	return ((struct meta_zk *)m);
}

void
bk_zk_deliver_events(struct meta_zk *m)
{
	bk_meta_enter(&m->q);
	while (!m->q.closed && bk_watches_deliver(&m->watches))
		continue;
	bk_meta_leave(&m->q);
}

/* A call may wait for a connection as long as a session may. */
static void
called(struct bk_meta_queue *q, struct bk_call *call)
{
	struct meta_zk *m = (struct meta_zk *)q;
	int64_t now = bk_clock_now();

	call->deadline = now + m->session_timeout;
	if (m->connect_deadline != BK_FOREVER &&
	    call->deadline < m->connect_deadline)
		call->deadline = m->connect_deadline + BK_SECOND;
	bk_zk_schedule(m);
}

static void
forget_watch(struct bk_calls *calls, bk_watch_cb *fn, const void *arg)
{
	struct bk_call *call;

	STAILQ_FOREACH(call, calls, next) {
		if (call->watch.fn == fn && call->watch.arg == arg)
			call->watch = BK_NO_WATCH;
	}
}

static void
zk_unwatch(struct bk_meta *base, bk_watch_cb *fn, void *arg)
{
	struct meta_zk *m = of(base);

	bk_watches_retire(&m->watches, fn, arg);
	forget_watch(&m->q.calls, fn, arg);
	forget_watch(&m->again, fn, arg);
	forget_watch(&m->flight, fn, arg);
}

static uint64_t
zk_session(struct bk_meta *m)
{
	return (of(m)->session);
}

/* Last of all, outside of the client: what it still completes frees itself. */
static void
gone(struct bk_meta_queue *q)
{
	struct meta_zk *m = (struct meta_zk *)q;

	bk_zk_close_client(m);
	bk_zk_auth_free(m->auth);
	free(m->list);
	free(m);
}

static void
cancel_flight(struct meta_zk *m)
{
	static const struct bk_meta_reply nothing;
	struct bk_call *call;
	bk_meta_cb *cb;

	STAILQ_FOREACH(call, &m->flight, next) {
		cb = call->cb;
		call->cb = NULL;
		if (cb != NULL)
			cb(call->arg, BK_ECANCELED, &nothing);
	}
}

static void
zk_close(struct bk_meta *base)
{
	struct meta_zk *m = of(base);

	bk_meta_enter(&m->q);
	m->q.closed = true;
	bk_zk_stop(m);
	bk_watches_fini(&m->watches);
	bk_zk_ephemerals_clear(&m->ephemerals);
	bk_pauses_cancel(&m->q.pauses);
	cancel_flight(m);
	bk_calls_finish(&m->again, BK_ECANCELED);
	bk_calls_finish(&m->q.calls, BK_ECANCELED);
	bk_meta_leave(&m->q);
}

static const struct bk_meta_ops ops = {
    .close = zk_close,
    .create = bk_meta_queue_create,
    .get = bk_meta_queue_get,
    .exists = bk_meta_queue_exists,
    .set = bk_meta_queue_set,
    .remove = bk_meta_queue_remove,
    .children = bk_meta_queue_children,
    .multi = bk_meta_queue_multi,
    .sync = bk_meta_queue_sync,
    .unwatch = zk_unwatch,
    .session = zk_session,
    .pause = bk_meta_queue_pause,
    .now = bk_meta_queue_now,
};

static int64_t
session_timeout(const struct bk_meta_config *config)
{
	int64_t timeout = config->session_timeout;

	if (timeout == 0)
		timeout = SESSION_DEFAULT;
	if (timeout < SESSION_MIN)
		timeout = SESSION_MIN;
	return (timeout < SESSION_MAX ? timeout : SESSION_MAX);
}

static int64_t
connect_deadline(const struct bk_meta_config *config)
{
	int64_t now = bk_clock_now(), timeout = config->connect_timeout;

	if (timeout == 0)
		timeout = CONNECT_DEFAULT;
	return (timeout < BK_FOREVER - now ? now + timeout : BK_FOREVER);
}

struct bk_meta *
bk_meta_zk_open(struct bk_loop *loop, const struct bk_cluster_uri *uri,
    const struct bk_meta_config *config, enum bk_status *status,
    const char **why)
{
	struct meta_zk *m;

	*status = BK_ENOMEM;
	*why = "out of memory";
	m = calloc(1, sizeof(*m));
	if (m == NULL)
		return (NULL);
	bk_meta_queue_init(&m->q, loop);
	m->q.base.ops = &ops;
	m->q.base.kind = "zookeeper";
	m->q.called = called;
	m->q.gone = gone;
	m->session_timeout = m->lease = session_timeout(config);
	m->connect_deadline = connect_deadline(config);
	STAILQ_INIT(&m->again);
	STAILQ_INIT(&m->flight);
	bk_watches_init(&m->watches);
	if (config->auth_file != NULL) {
		m->auth = bk_zk_auth_read(config->auth_file, status, why);
		if (m->auth == NULL) {
			zk_close(&m->q.base);
			return (NULL);
		}
	}
	*status = bk_zk_start(m, uri->hosts);
	if (*status != BK_OK) {
		zk_close(&m->q.base);
		return (NULL);
	}
	return (&m->q.base);
}
