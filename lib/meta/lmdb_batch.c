/*
 * lmdb_batch.c - many calls, one commit.
 *
 * A call that is refused has changed nothing, except for a multi that comes
 * apart in the middle: then the transaction is given up and begun again
 * without it. Nobody else can write in between, so the others fare the same.
 * When the commit fails, say on a full disk, each call is tried alone: small
 * ones and deletions may well go on.
 */
#include "meta/lmdb_batch.h"

#include "base/log.h"

#include <errno.h>
#include <string.h>

static enum bk_status
apply_op(struct bk_lmdb_txn *tx, const struct bk_meta_op *op, uint64_t session)
{
	char made[BK_PATH_MAX + 1];
	struct bk_node_stat stat;

	switch (op->kind) {
	case BK_OP_CREATE:
		return (bk_lmdb_create(tx, op->path, op->data, op->node,
		    session, made));
	case BK_OP_SET:
		return (
		    bk_lmdb_set(tx, op->path, op->data, op->version, &stat));
	case BK_OP_DELETE:
		return (bk_lmdb_delete(tx, op->path, op->version));
	case BK_OP_CHECK:
		return (bk_lmdb_check(tx, op->path, op->version));
	}
	return (BK_EINVAL);
}

/* Sets *apart when it had changed something before it was refused. */
static enum bk_status
apply_multi(struct bk_lmdb_txn *tx, struct bk_call *call, uint64_t session,
    bool *apart)
{
	size_t before = bk_buf_len(&tx->touched);
	enum bk_status status = BK_OK;
	size_t i;

	for (i = 0; i < call->nops && status == BK_OK; i++)
		status = apply_op(tx, &call->ops[i], session);
	if (status == BK_OK)
		return (BK_OK);
	call->reply.failed = i - 1;
	*apart = bk_buf_len(&tx->touched) > before;
	return (status);
}

static enum bk_status
apply_create(struct bk_lmdb_txn *tx, struct bk_call *call, uint64_t session)
{
	char made[BK_PATH_MAX + 1];
	enum bk_status status;

	status = bk_lmdb_create(tx, call->path, call->data, call->node, session,
	    made);
	if (status == BK_OK && bk_call_keep_path(call, made) != 0)
		status = bk_lmdb_fail(tx, ENOMEM);
	return (status);
}

static enum bk_status
apply(struct bk_lmdb_txn *tx, struct bk_call *call, uint64_t session,
    bool *apart)
{
	switch (call->kind) {
	case BK_CALL_CREATE:
		return (apply_create(tx, call, session));
	case BK_CALL_SET:
		return (bk_lmdb_set(tx, call->path, call->data, call->version,
		    &call->reply.stat));
	case BK_CALL_REMOVE:
		return (bk_lmdb_delete(tx, call->path, call->version));
	case BK_CALL_MULTI:
		return (apply_multi(tx, call, session, apart));
	default:
		return (BK_EINVAL);
	}
}

/* Sets *again when all has to be begun anew, without the call that is settled
 * now. */
static enum bk_status
apply_calls(struct bk_lmdb_txn *tx, struct bk_lmdb_batch *batch, bool *again)
{
	struct bk_call *call;
	size_t failed;

	STAILQ_FOREACH(call, &batch->calls, next) {
		if (call->settled)
			continue;
		bk_call_reset(call);
		tx->zxid = tx->state.zxid + 1;
		call->status = apply(tx, call, batch->session->id, again);
		if (tx->error != 0)
			return (call->status);
		if (*again) {
			call->settled = true;
			failed = call->reply.failed;
			bk_call_reset(call);
			call->reply.failed = failed;
			return (BK_OK);
		}
		if (call->status == BK_OK && tx->changed)
			tx->state.zxid = tx->zxid;
	}
	return (BK_OK);
}

static enum bk_status
apply_session(struct bk_lmdb_txn *tx, struct bk_lmdb_batch *batch)
{
	struct bk_lmdb_session *session = batch->session;
	struct bk_bytes about;
	enum bk_status status = BK_OK;

	tx->zxid = tx->state.zxid + 1;
	if (batch->reap)
		status = bk_lmdb_reap(tx);
	if (status == BK_OK && batch->end_session)
		status = bk_lmdb_session_delete(tx, session->id);
	if (status == BK_OK && bk_buf_len(&tx->touched) > 0)
		tx->state.zxid = tx->zxid;
	if (status != BK_OK)
		return (status);
	if (batch->open_session)
		return (bk_lmdb_session_begin(tx, session));
	if (STAILQ_EMPTY(&batch->calls))
		return (BK_OK);
	status = bk_lmdb_session_get(tx, session->id, &about);
	return (status == BK_ENONODE ? BK_ESESSION : status);
}

static enum bk_status
run_once(struct bk_lmdb_batch *batch, bool *again)
{
	struct bk_lmdb_txn tx;
	enum bk_status status;

	*again = false;
	status = bk_lmdb_begin(&tx, batch->store, true);
	if (status != BK_OK)
		return (status);
	status = apply_session(&tx, batch);
	if (status == BK_OK)
		status = apply_calls(&tx, batch, again);
	if (status == BK_OK && !*again)
		return (bk_lmdb_commit(&tx));
	bk_lmdb_abort(&tx);
	return (status);
}

static void
run(struct bk_lmdb_batch *batch)
{
	enum bk_status status = BK_OK;
	struct bk_call *call;
	bool again;

	if (batch->open_session)
		status = bk_lmdb_session_prepare(batch->store, batch->session);
	do {
		again = false;
		if (status == BK_OK)
			status = run_once(batch, &again);
	} while (again);
	if (status != BK_OK && batch->open_session)
		bk_lmdb_session_drop(batch->store, batch->session);
	batch->status = status;
	STAILQ_FOREACH(call, &batch->calls, next) {
		if (status != BK_OK && !call->settled) {
			bk_call_reset(call);
			call->status = status;
		}
	}
}

static void
run_singly(struct bk_lmdb_batch *batch)
{
	struct bk_calls calls = STAILQ_HEAD_INITIALIZER(calls), done;
	struct bk_call *call;

	STAILQ_INIT(&done);
	STAILQ_CONCAT(&calls, &batch->calls);
	while ((call = STAILQ_FIRST(&calls)) != NULL) {
		STAILQ_REMOVE_HEAD(&calls, next);
		STAILQ_INSERT_TAIL(&batch->calls, call, next);
		if (!call->settled)
			run(batch);
		STAILQ_CONCAT(&done, &batch->calls);
	}
	STAILQ_CONCAT(&batch->calls, &done);
}

static bool
several(const struct bk_calls *calls)
{
	return (!STAILQ_EMPTY(calls) &&
	    STAILQ_NEXT(STAILQ_FIRST(calls), next) != NULL);
}

void
bk_lmdb_batch_run(struct bk_lmdb_batch *batch)
{
	int dead;

	if (batch->open_session)
		(void)mdb_reader_check(batch->store->env, &dead);
	run(batch);
	if ((batch->status == BK_ENOSPACE || batch->status == BK_EIO) &&
	    !batch->open_session && several(&batch->calls))
		run_singly(batch);
	if (batch->reap && batch->status == BK_OK)
		bk_lmdb_sweep_files(batch->store);
}
