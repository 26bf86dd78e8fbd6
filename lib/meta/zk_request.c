/*
 * zk_request.c - calls as requests of ZooKeeper's C client. Each that the
 * client takes is completed exactly once, in zk_answer.c.
 */
#include "meta/zk_answer.h"

#include <stdlib.h>
#include <string.h>

static const struct ACL_vector *
acl_of(const struct meta_zk *m, enum bk_node_acl acl)
{
	return (acl == BK_ACL_CONF && m->auth != NULL ? &ZOO_CREATOR_ALL_ACL :
							&ZOO_OPEN_ACL_UNSAFE);
}

static int
flags_of(enum bk_node_kind kind)
{
	switch (kind) {
	case BK_NODE_PERSISTENT:
		return (0);
	case BK_NODE_EPHEMERAL:
		return (ZOO_EPHEMERAL);
	case BK_NODE_SEQUENTIAL:
		return (ZOO_SEQUENCE);
	case BK_NODE_EPHEMERAL_SEQUENTIAL:
		return (ZOO_EPHEMERAL | ZOO_SEQUENCE);
	}
	return (0);
}

static void
set_op(const struct meta_zk *m, const struct bk_meta_op *op, zoo_op_t *zop)
{
	const char *data = (const char *)op->data.data;
	int len = (int)op->data.len;

	switch (op->kind) {
	case BK_OP_CREATE:
		zoo_create_op_init(zop, op->path, data, len, acl_of(m, op->acl),
		    flags_of(op->node), NULL, 0);
		break;
	case BK_OP_SET:
		zoo_set_op_init(zop, op->path, data, len, op->version, NULL);
		break;
	case BK_OP_DELETE:
		zoo_delete_op_init(zop, op->path, op->version);
		break;
	case BK_OP_CHECK:
		zoo_check_op_init(zop, op->path, op->version);
		break;
	}
}

/* The results must live until the completion, so the call keeps them. */
static int
send_multi(struct meta_zk *m, struct bk_call *call)
{
	zoo_op_result_t *results;
	zoo_op_t *zops;
	int rc;

	bk_call_reset(call);
	results = calloc(call->nops + 1, sizeof(*results));
	zops = calloc(call->nops + 1, sizeof(*zops));
	if (results == NULL || zops == NULL) {
		free(results);
		free(zops);
		return (ZSYSTEMERROR);
	}
	for (size_t i = 0; i < call->nops; i++)
		set_op(m, &call->ops[i], &zops[i]);
	call->owned = results;
	rc = zoo_amulti(m->zh, (int)call->nops, zops, results, bk_zk_multi_done,
	    call);
	free(zops);
	return (rc);
}

/* Sending. */

static int
hand_over(struct meta_zk *m, struct bk_call *call)
{
	watcher_fn watcher = call->watch.fn != NULL ? bk_zk_watcher : NULL;
	const char *data = (const char *)call->data.data;
	int len = (int)call->data.len;

	switch (call->kind) {
	case BK_CALL_GET:
		return (zoo_awget(m->zh, call->path, watcher, m,
		    bk_zk_data_done, call));
	case BK_CALL_EXISTS:
		return (zoo_awexists(m->zh, call->path, watcher, m,
		    bk_zk_stat_done, call));
	case BK_CALL_CHILDREN:
		return (zoo_awget_children2(m->zh, call->path, watcher, m,
		    bk_zk_strings_done, call));
	case BK_CALL_SYNC:
		return (zoo_async(m->zh, call->path, bk_zk_string_done, call));
	case BK_CALL_CREATE:
		return (zoo_acreate(m->zh, call->path, data, len,
		    acl_of(m, call->acl), flags_of(call->node),
		    bk_zk_string_done, call));
	case BK_CALL_SET:
		return (zoo_aset(m->zh, call->path, data, len, call->version,
		    bk_zk_stat_done, call));
	case BK_CALL_REMOVE:
		return (zoo_adelete(m->zh, call->path, call->version,
		    bk_zk_void_done, call));
	case BK_CALL_MULTI:
		return (send_multi(m, call));
	case BK_CALL_VERIFY:
		break;
	}
	return (ZBADARGUMENTS);
}

/* Bounds that the server would answer by hanging up on everybody. */
static enum bk_status
check_bounds(struct meta_zk *m, const struct bk_call *call)
{
	size_t watched = m->watches.bytes + 4 * m->watches.n;

	if (call->watch.fn != NULL &&
	    watched + strlen(call->path) > BK_ZK_WATCH_BYTES)
		return (BK_ETOOBIG);
	if (bk_zk_makes_ephemeral(call) &&
	    !bk_zk_ephemerals_reserve(&m->ephemerals, strlen(call->path)))
		return (BK_ETOOBIG);
	return (BK_OK);
}

static void
refuse(struct meta_zk *m, struct bk_call *call, enum bk_status status)
{
	call->status = status;
	bk_call_reset(call);
	bk_meta_enter(&m->q);
	bk_call_finish(call);
	bk_meta_leave(&m->q);
}

/* False when the client takes nothing more. */
static bool
send_call(struct meta_zk *m, struct bk_call *call)
{
	enum bk_status status = check_bounds(m, call);
	int rc;

	if (status != BK_OK) {
		refuse(m, call, status);
		return (true);
	}
	call->store = m;
	call->tries++;
	STAILQ_INSERT_TAIL(&m->flight, call, next);
	m->outstanding++;
	rc = hand_over(m, call);
	if (rc == ZOK)
		return (true);
	STAILQ_REMOVE(&m->flight, call, bk_call, next);
	m->outstanding--;
	if (bk_zk_makes_ephemeral(call))
		bk_zk_ephemerals_release(&m->ephemerals, strlen(call->path));
	if (rc == ZINVALIDSTATE) {
		STAILQ_INSERT_HEAD(&m->again, call, next);
		return (false);
	}
	refuse(m, call, rc == ZMARSHALLINGERROR ? BK_ENOMEM : bk_zk_status(rc));
	return (true);
}

static struct bk_call *
take_next(struct meta_zk *m)
{
	struct bk_calls *calls = &m->again;
	struct bk_call *call;

	if (STAILQ_EMPTY(calls))
		calls = &m->q.calls;
	call = STAILQ_FIRST(calls);
	if (call != NULL)
		STAILQ_REMOVE_HEAD(calls, next);
	return (call);
}

void
bk_zk_pump(struct meta_zk *m)
{
	struct bk_call *call;

	while (m->serving && !m->q.closed && !m->expired &&
	    m->outstanding < BK_ZK_OUTSTANDING &&
	    (call = take_next(m)) != NULL) {
		if (!send_call(m, call))
			break;
	}
}

/* Calls that are not sent. */

static void
finish_where(struct meta_zk *m, struct bk_calls *calls,
    bool (*match)(const struct bk_call *, int64_t), int64_t arg,
    enum bk_status status)
{
	struct bk_calls matched = STAILQ_HEAD_INITIALIZER(matched), rest;
	struct bk_call *call;

	STAILQ_INIT(&rest);
	while ((call = STAILQ_FIRST(calls)) != NULL) {
		STAILQ_REMOVE_HEAD(calls, next);
		if (match(call, arg))
			STAILQ_INSERT_TAIL(&matched, call, next);
		else
			STAILQ_INSERT_TAIL(&rest, call, next);
	}
	STAILQ_CONCAT(calls, &rest);
	bk_meta_enter(&m->q);
	bk_calls_finish(&matched, status);
	bk_meta_leave(&m->q);
}

static bool
is_late(const struct bk_call *call, int64_t now)
{
	return (call->deadline <= now);
}

static bool
is_change(const struct bk_call *call, int64_t unused)
{
	(void)unused;
	return (!bk_call_reads(call));
}

void
bk_zk_expire_calls(struct meta_zk *m, int64_t now)
{
	finish_where(m, &m->again, is_late, now, BK_ESTORE);
	finish_where(m, &m->q.calls, is_late, now, BK_ESTORE);
}

void
bk_zk_fail_changes(struct meta_zk *m, enum bk_status status)
{
	finish_where(m, &m->again, is_change, 0, status);
	finish_where(m, &m->q.calls, is_change, 0, status);
}

/* The first request. */

static void
asked(int rc, const struct Stat *stat, const void *data)
{
	struct meta_zk *m = (struct meta_zk *)(uintptr_t)data;
	enum bk_status status = bk_zk_status(rc);

	(void)stat;
	m->asked = false;
	if (m->q.closed)
		return;
	if (status == BK_ESASL)
		bk_zk_fail_by_sasl(m);
	else if (status != BK_ESTORE && status != BK_ESESSION)
		m->serving = true;
}

void
bk_zk_ask(struct meta_zk *m)
{
	if (m->asked)
		return;
	m->asked = zoo_aexists(m->zh, "/", 0, asked, m) == ZOK;
	bk_zk_schedule(m); /* it may not have gone out whole */
}
