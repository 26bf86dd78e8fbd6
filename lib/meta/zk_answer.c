/*
 * zk_answer.c - what ZooKeeper's C client completes: calls, and watches.
 *
 * A loss code means nobody knows whether it was done: reads are sent again,
 * changes answer ESTORE, and the caller looks.
 */
#include "meta/zk_answer.h"

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

bool
bk_zk_is_ephemeral(enum bk_node_kind kind)
{
	return (
	    kind == BK_NODE_EPHEMERAL || kind == BK_NODE_EPHEMERAL_SEQUENTIAL);
}

bool
bk_zk_makes_ephemeral(const struct bk_call *call)
{
	return (call->kind == BK_CALL_CREATE && bk_zk_is_ephemeral(call->node));
}

void
bk_zk_fail_by_sasl(struct meta_zk *m)
{
	const char *server = zoo_get_current_server(m->zh);
	char reason[200];

	(void)snprintf(reason, sizeof(reason),
	    "%s: the server demands a login by SASL", server);
	bk_zk_fail(m, BK_ESASL, reason);
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
completed(struct bk_call *call, int rc)
{
	struct meta_zk *m = store_of(call);

	STAILQ_REMOVE(&m->flight, call, bk_call, next);
	m->outstanding--;
	call->status = bk_zk_status(rc);
	if (bk_zk_makes_ephemeral(call))
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
		bk_zk_fail_by_sasl(m);
	bk_meta_enter(&m->q);
	bk_call_finish(call);
	bk_meta_leave(&m->q);
}

void
bk_zk_void_done(int rc, const void *data)
{
	struct bk_call *call = (struct bk_call *)(uintptr_t)data;

	if (call->kind == BK_CALL_REMOVE && (rc == ZOK || rc == ZNONODE))
		bk_zk_ephemerals_remove(&store_of(call)->ephemerals,
		    call->path);
	completed(call, rc);
}

void
bk_zk_stat_done(int rc, const struct Stat *stat, const void *data)
{
	struct bk_call *call = (struct bk_call *)(uintptr_t)data;

	if (rc == ZOK && stat != NULL)
		set_stat(call, stat);
	completed(call, rc);
}

void
bk_zk_data_done(int rc, const char *value, int len, const struct Stat *stat,
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

void
bk_zk_string_done(int rc, const char *value, const void *data)
{
	struct bk_call *call = (struct bk_call *)(uintptr_t)data;

	if (rc == ZOK && call->kind == BK_CALL_CREATE && value != NULL) {
		call->reply.path = value;
		if (bk_zk_makes_ephemeral(call))
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
void
bk_zk_strings_done(int rc, const struct String_vector *strings,
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

void
bk_zk_multi_done(int rc, const void *data)
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
		    bk_zk_is_ephemeral(op->node))
			bk_zk_ephemerals_add(e, op->path);
		if (rc == ZOK && op->kind == BK_OP_DELETE)
			bk_zk_ephemerals_remove(e, op->path);
	}
	completed(call, rc);
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
