/*
 * zk_request.c - calls as requests of ZooKeeper's C client, and back.
 *
 * Each request that the client takes is completed exactly once. A loss code
 * means nobody knows whether it was done: reads are sent again, changes answer
 * ESTORE, and the caller looks.
 */
#include "meta/meta_zk.h"

#include "base/log.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum bk_status
bk_zk_status(int rc)
{
	switch (rc) {
	case ZOK:
		return (BK_OK);
	case ZNONODE:
		return (BK_ENONODE);
	case ZNODEEXISTS:
		return (BK_EEXIST);
	case ZBADVERSION:
		return (BK_EVERSION);
	case ZNOTEMPTY:
		return (BK_ENOTEMPTY);
	case ZNOAUTH:
	case ZINVALIDACL:
	case ZAUTHFAILED:
		return (BK_EACCESS);
	case ZNOCHILDRENFOREPHEMERALS:
	case ZBADARGUMENTS:
		return (BK_EINVAL);
	case ZSESSIONEXPIRED:
		return (BK_ESESSION);
	case ZSESSIONCLOSEDREQUIRESASLAUTH:
		return (BK_ESASL);
	case ZTHROTTLEDOP:
		return (BK_ETOOMANY);
	case ZSYSTEMERROR:
		return (BK_ENOMEM);
	default:
		return (BK_ESTORE);
	}
}

/* Answers. */

static bool
is_ephemeral(enum bk_node_kind kind)
{
	return (
	    kind == BK_NODE_EPHEMERAL || kind == BK_NODE_EPHEMERAL_SEQUENTIAL);
}

static bool
makes_ephemeral(const struct bk_call *call)
{
	return (call->kind == BK_CALL_CREATE && is_ephemeral(call->node));
}

static struct meta_zk *
store_of(const struct bk_call *call)
{
	return (call->store);
}

static void
set_stat(struct bk_call *call, const struct Stat *stat)
{
	call->reply.stat = (struct bk_node_stat){
	    .version = stat->version,
	    .cversion = stat->cversion,
	    .created_ms = stat->ctime,
	    .owner = (uint64_t)stat->ephemeralOwner,
	    .nchildren = (uint32_t)stat->numChildren,
	};
}

static enum bk_status
set_watch(struct meta_zk *m, struct bk_call *call)
{
	static const struct bk_watch_seen unused;
	enum bk_watch_kind kind = BK_WATCH_NODE;

	if (call->kind == BK_CALL_CHILDREN)
		kind = BK_WATCH_LIST;
	if (bk_watches_add(&m->watches, call->path, kind, call->watch,
		&unused) != 0)
		return (BK_ENOMEM);
	return (BK_OK);
}

static bool
watch_is_set(const struct bk_call *call)
{
	return (call->status == BK_OK ||
	    (call->status == BK_ENONODE && call->kind == BK_CALL_EXISTS));
}

static bool
to_repeat(struct meta_zk *m, struct bk_call *call)
{
	return (bk_call_reads(call) && !m->q.closed && m->failed == BK_OK &&
	    (call->status == BK_ESTORE || call->status == BK_ESESSION) &&
	    call->tries < BK_ZK_TRIES && call->deadline > bk_clock_now());
}

static void
fail_by_sasl(struct meta_zk *m)
{
	const char *server = zoo_get_current_server(m->zh);
	char reason[200];

	(void)snprintf(reason, sizeof(reason),
	    "%s: the server demands a login by SASL", server);
	bk_zk_fail(m, BK_ESASL, reason);
}

static void
completed(struct bk_call *call, int rc)
{
	struct meta_zk *m = store_of(call);

	STAILQ_REMOVE(&m->flight, call, bk_call, next);
	m->outstanding--;
	call->status = bk_zk_status(rc);
	if (makes_ephemeral(call))
		bk_zk_ephemerals_release(&m->ephemerals, strlen(call->path));
	if (call->cb == NULL) { /* cancelled when the store was closed */
		bk_call_free(call);
		return;
	}
	if (to_repeat(m, call)) {
		STAILQ_INSERT_TAIL(&m->again, call, next);
		return;
	}
	if (call->watch.fn != NULL && watch_is_set(call) &&
	    set_watch(m, call) != BK_OK)
		call->status = BK_ENOMEM;
	if (call->status == BK_ESASL)
		fail_by_sasl(m);
	bk_meta_enter(&m->q);
	bk_call_finish(call);
	bk_meta_leave(&m->q);
}

static void
void_done(int rc, const void *data)
{
	struct bk_call *call = (struct bk_call *)(uintptr_t)data;

	if (call->kind == BK_CALL_REMOVE && (rc == ZOK || rc == ZNONODE))
		bk_zk_ephemerals_remove(&store_of(call)->ephemerals,
		    call->path);
	completed(call, rc);
}

static void
stat_done(int rc, const struct Stat *stat, const void *data)
{
	struct bk_call *call = (struct bk_call *)(uintptr_t)data;

	if (rc == ZOK && stat != NULL)
		set_stat(call, stat);
	completed(call, rc);
}

static void
data_done(int rc, const char *value, int len, const struct Stat *stat,
    const void *data)
{
	struct bk_call *call = (struct bk_call *)(uintptr_t)data;

	if (rc == ZOK && stat != NULL)
		set_stat(call, stat);
	if (rc == ZOK && value != NULL && len > 0)
		call->reply.data =
		    (struct bk_bytes){(const uint8_t *)value, (size_t)len};
	completed(call, rc);
}

static void
string_done(int rc, const char *value, const void *data)
{
	struct bk_call *call = (struct bk_call *)(uintptr_t)data;

	if (rc == ZOK && call->kind == BK_CALL_CREATE && value != NULL) {
		call->reply.path = value;
		if (makes_ephemeral(call))
			bk_zk_ephemerals_add(&store_of(call)->ephemerals,
			    value);
	}
	completed(call, rc);
}

static int
compare_names(const void *a, const void *b)
{
	return (strcmp(*(const char *const *)a, *(const char *const *)b));
}

/* The list is the client's, but ours to sort: it only frees it. */
static void
strings_done(int rc, const struct String_vector *strings,
    const struct Stat *stat, const void *data)
{
	struct bk_call *call = (struct bk_call *)(uintptr_t)data;

	if (rc == ZOK && stat != NULL)
		set_stat(call, stat);
	if (rc == ZOK && strings != NULL && strings->count > 0) {
		qsort(strings->data, (size_t)strings->count,
		    sizeof(strings->data[0]), compare_names);
		call->reply.children =
		    (const char *const *)(uintptr_t)strings->data;
		call->reply.nchildren = (size_t)strings->count;
	}
	completed(call, rc);
}

/* Multi. The results must live until the completion, so the call keeps them. */

static void
multi_done(int rc, const void *data)
{
	struct bk_call *call = (struct bk_call *)(uintptr_t)data;
	struct bk_zk_ephemerals *e = &store_of(call)->ephemerals;
	const zoo_op_result_t *results = call->owned;
	const struct bk_meta_op *op;

	for (size_t i = 0; i < call->nops; i++) {
		op = &call->ops[i];
		if (rc != ZOK && results[i].err != ZOK) {
			call->reply.failed = i;
			break;
		}
		if (rc == ZOK && op->kind == BK_OP_CREATE &&
		    is_ephemeral(op->node))
			bk_zk_ephemerals_add(e, op->path);
		if (rc == ZOK && op->kind == BK_OP_DELETE)
			bk_zk_ephemerals_remove(e, op->path);
	}
	completed(call, rc);
}

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
	rc =
	    zoo_amulti(m->zh, (int)call->nops, zops, results, multi_done, call);
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
		return (
		    zoo_awget(m->zh, call->path, watcher, m, data_done, call));
	case BK_CALL_EXISTS:
		return (zoo_awexists(m->zh, call->path, watcher, m, stat_done,
		    call));
	case BK_CALL_CHILDREN:
		return (zoo_awget_children2(m->zh, call->path, watcher, m,
		    strings_done, call));
	case BK_CALL_SYNC:
		return (zoo_async(m->zh, call->path, string_done, call));
	case BK_CALL_CREATE:
		return (zoo_acreate(m->zh, call->path, data, len,
		    acl_of(m, call->acl), flags_of(call->node), string_done,
		    call));
	case BK_CALL_SET:
		return (zoo_aset(m->zh, call->path, data, len, call->version,
		    stat_done, call));
	case BK_CALL_REMOVE:
		return (zoo_adelete(m->zh, call->path, call->version, void_done,
		    call));
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
	if (makes_ephemeral(call) &&
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
	if (makes_ephemeral(call))
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

/* Events. */

void
bk_zk_watcher(zhandle_t *zh, int type, int state, const char *path, void *ctx)
{
	struct meta_zk *m = ctx;

	(void)zh;
	(void)state;
	if (m->q.closed || path == NULL)
		return;
	if (type == ZOO_CREATED_EVENT)
		bk_watches_fire(&m->watches, path, BK_WATCH_CREATED);
	else if (type == ZOO_CHANGED_EVENT)
		bk_watches_fire(&m->watches, path, BK_WATCH_CHANGED);
	else if (type == ZOO_DELETED_EVENT)
		bk_watches_fire(&m->watches, path, BK_WATCH_DELETED);
	else if (type == ZOO_CHILD_EVENT)
		bk_watches_fire(&m->watches, path, BK_WATCH_CHILDREN);
	bk_zk_deliver_events(m);
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
		fail_by_sasl(m);
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
