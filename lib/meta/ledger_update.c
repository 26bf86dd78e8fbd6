/*
 * ledger_update.c - the one loop through which every change of a record goes
 * (spec/metadata.md 4.1).
 *
 * The decision looks at what the record says, never at how it came to say it,
 * so a lost race and a lost answer are met alike: read, and decide again. A
 * race may be lost any number of times; lost answers only as long as the
 * tree's patience lasts.
 */
#include "meta/tree_call.h"

#include <stdlib.h>

struct update {
	const struct bk_tree *tree;
	struct bk_retry retry;
	int64_t id;
	struct bk_ledger_meta m;    /* as last known */
	struct bk_ledger_meta next; /* as decided, while it is written */
	int32_t version;            /* of m */
	bk_update_fn *decide;
	bk_ledger_meta_cb *cb;
	void *arg;
};

static void
finish(struct update *op, enum bk_status status, const struct bk_ledger_meta *m)
{
	op->cb(op->arg, status, m, op->version);
	bk_ledger_meta_fini(&op->m);
	bk_ledger_meta_fini(&op->next);
	free(op);
}

static void decide(struct update *op);

static void
on_reread(void *arg, enum bk_status status, const struct bk_ledger_meta *m,
    int32_t version)
{
	struct update *op = arg;

	if (status != BK_OK) {
		finish(op, status, NULL);
		return;
	}
	bk_ledger_meta_fini(&op->m);
	if (bk_ledger_meta_copy(&op->m, m) != 0) {
		finish(op, BK_ENOMEM, NULL);
		return;
	}
	op->version = version;
	decide(op);
}

static void
reread(struct update *op)
{
	bk_ledger_read(op->tree, op->id, BK_NO_WATCH, on_reread, op);
}

static void
on_again(void *arg, enum bk_status status, const struct bk_meta_reply *reply)
{
	struct update *op = arg;

	(void)reply;
	if (status == BK_OK)
		reread(op);
	else
		finish(op, status, NULL);
}

static void
on_written(void *arg, enum bk_status status, const struct bk_meta_reply *reply)
{
	struct update *op = arg;

	if (status == BK_EVERSION) {
		reread(op);
		return;
	}
	if (bk_answer_lost(status) &&
	    bk_retry_later(op->tree, &op->retry, on_again, op))
		return;
	if (status != BK_OK) {
		finish(op, status == BK_ENONODE ? BK_ENOLEDGER : status, NULL);
		return;
	}
	op->version = reply->stat.version;
	finish(op, BK_OK, &op->next);
}

/* As Java does, an updated record carries no creation token. */
static void
write_next(struct update *op)
{
	char path[BK_PATH_MAX + 1];
	struct bk_bytes record;
	struct bk_buf out;

	op->next.ctoken = 0;
	bk_buf_init(&out);
	if (bk_ledger_meta_encode(&op->next, &out) != 0) {
		bk_buf_fini(&out);
		finish(op, BK_ENOMEM, NULL);
		return;
	}
	record = (struct bk_bytes){bk_buf_head(&out), bk_buf_len(&out)};
	(void)bk_ledger_path(op->tree, op->id, path); /* "" is refused */
	bk_meta_set(op->tree->meta, path, record, op->version, on_written, op);
	bk_buf_fini(&out);
}

static void
decide(struct update *op)
{
	enum bk_status status = BK_ECANCELED;

	bk_ledger_meta_fini(&op->next);
	if (bk_ledger_meta_copy(&op->next, &op->m) != 0) {
		finish(op, BK_ENOMEM, NULL);
		return;
	}
	switch (op->decide(op->arg, &op->next, &status)) {
	case BK_UPDATE_WRITE:
		write_next(op);
		break;
	case BK_UPDATE_DONE:
		finish(op, BK_OK, &op->m);
		break;
	case BK_UPDATE_STOP:
		finish(op, status, &op->m);
		break;
	}
}

/* The first decision, from the loop like all that follow. */
static void
on_begin(void *arg, enum bk_status status, const struct bk_meta_reply *reply)
{
	struct update *op = arg;

	(void)reply;
	if (status == BK_OK)
		decide(op);
	else
		finish(op, status, NULL);
}

void
bk_ledger_update(const struct bk_tree *tree, int64_t ledger_id,
    const struct bk_ledger_meta *m, int32_t version, bk_update_fn *decide_fn,
    bk_ledger_meta_cb *cb, void *arg)
{
	struct update *op = calloc(1, sizeof(*op));

	if (op == NULL) {
		cb(arg, BK_ENOMEM, NULL, 0);
		return;
	}
	op->tree = tree;
	op->id = ledger_id;
	op->version = version;
	op->decide = decide_fn;
	op->cb = cb;
	op->arg = arg;
	bk_ledger_meta_init(&op->m);
	bk_ledger_meta_init(&op->next);
	if (m == NULL) {
		reread(op);
		return;
	}
	if (bk_ledger_meta_copy(&op->m, m) != 0) {
		finish(op, BK_ENOMEM, NULL);
		return;
	}
	bk_meta_pause(tree->meta, 0, on_begin, op);
}
