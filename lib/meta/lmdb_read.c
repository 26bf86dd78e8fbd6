/* lmdb_read.c - reads of the embedded store, many in one transaction. */
#include "meta/meta_lmdb.h"

/* So many share a transaction. */
#define READ_BATCH 256

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

void
bk_lmdb_run_reads(struct meta_lmdb *m)
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
	bk_calls_answer(&m->reading);
}
