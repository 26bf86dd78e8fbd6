/*
 * ledger_node.c - a ledger's node: made, read, deleted (spec/metadata.md 2.5,
 * 4.2, 4.7).
 *
 * A create whose answer is lost is tried again; the creation token in the
 * record then tells our own first try from a ledger of someone else.
 */
#include "meta/tree_call.h"

#include <sodium.h>
#include <stdlib.h>
#include <string.h>

struct create {
	const struct bk_tree *tree;
	struct bk_retry retry;
	bool generated;
	int64_t id;
	int64_t token;
	struct bk_buf record;
	bk_id_cb *cb;
	void *arg;
};

static void make_node(struct create *op);
static void choose_id(struct create *op);

static void
create_finish(struct create *op, enum bk_status status)
{
	op->cb(op->arg, status, status == BK_OK ? op->id : -1);
	bk_buf_fini(&op->record);
	free(op);
}

/* The node is there, and not by us. */
static void
clash(struct create *op)
{
	if (op->generated)
		choose_id(op);
	else
		create_finish(op, BK_EEXIST);
}

static void
on_existing(void *arg, enum bk_status status, const struct bk_meta_reply *reply)
{
	struct create *op = arg;
	struct bk_ledger_meta m;
	bool ours;

	if (status != BK_OK && status != BK_ENONODE) {
		create_finish(op, status);
		return;
	}
	if (status == BK_ENONODE ||
	    bk_ledger_meta_decode(reply->data, &m, NULL) != BK_OK) {
		clash(op);
		return;
	}
	ours = m.format == 3 && m.ctoken == op->token;
	bk_ledger_meta_fini(&m);
	if (ours)
		create_finish(op, BK_OK);
	else
		clash(op);
}

static void
look_whose(struct create *op)
{
	char path[BK_PATH_MAX + 1];

	(void)bk_ledger_path(op->tree, op->id, path); /* "" is refused */
	bk_meta_get(op->tree->meta, path, BK_NO_WATCH, on_existing, op);
}

static void
on_create_again(void *arg, enum bk_status status,
    const struct bk_meta_reply *reply)
{
	struct create *op = arg;

	(void)reply;
	if (status == BK_OK)
		make_node(op);
	else
		create_finish(op, status);
}

static void
on_node_made(void *arg, enum bk_status status,
    const struct bk_meta_reply *reply)
{
	struct create *op = arg;

	(void)reply;
	if (bk_answer_lost(status) &&
	    bk_retry_later(op->tree, &op->retry, on_create_again, op))
		return;
	if (status == BK_EEXIST)
		look_whose(op);
	else
		create_finish(op, status);
}

static void
make_node(struct create *op)
{
	struct bk_bytes record = {bk_buf_head(&op->record),
	    bk_buf_len(&op->record)};
	char path[BK_PATH_MAX + 1];

	(void)bk_ledger_path(op->tree, op->id, path); /* "" is refused */
	bk_meta_create_path(op->tree->meta, path, record, BK_NODE_PERSISTENT,
	    BK_ACL_CONF, on_node_made, op);
}

static void
on_id(void *arg, enum bk_status status, int64_t id)
{
	struct create *op = arg;

	op->id = id;
	if (status == BK_OK)
		make_node(op);
	else
		create_finish(op, status);
}

static void
choose_id(struct create *op)
{
	bk_ledger_new_id(op->tree, on_id, op);
}

/* Random and never 0, which is what an updated record carries. */
static int64_t
draw_token(void)
{
	uint64_t token;

	randombytes_buf(&token, sizeof(token));
	return ((int64_t)((token >> 1) | 1));
}

/* The record with the token; m is the caller's, so a shallow copy will do. */
static int
encode_with_token(struct create *op, const struct bk_ledger_meta *m)
{
	struct bk_ledger_meta copy = *m;

	copy.ctoken = op->token;
	return (bk_ledger_meta_encode(&copy, &op->record));
}

void
bk_ledger_create_node(const struct bk_tree *tree, int64_t ledger_id,
    const struct bk_ledger_meta *m, bk_id_cb *cb, void *arg)
{
	struct create *op = calloc(1, sizeof(*op));

	if (op == NULL) {
		cb(arg, BK_ENOMEM, -1);
		return;
	}
	op->tree = tree;
	op->generated = ledger_id == -1;
	op->id = ledger_id;
	op->token = draw_token();
	op->cb = cb;
	op->arg = arg;
	bk_buf_init(&op->record);
	if (encode_with_token(op, m) != 0)
		create_finish(op, BK_ENOMEM);
	else if (op->generated)
		choose_id(op);
	else
		make_node(op);
}

/* Reading. */

struct read_call {
	bk_ledger_meta_cb *cb;
	void *arg;
};

static void
on_read(void *arg, enum bk_status status, const struct bk_meta_reply *reply)
{
	struct read_call op = *(struct read_call *)arg;
	struct bk_ledger_meta m;

	free(arg);
	if (status != BK_OK) {
		op.cb(op.arg, status == BK_ENONODE ? BK_ENOLEDGER : status,
		    NULL, 0);
		return;
	}
	status = bk_ledger_meta_decode(reply->data, &m, NULL);
	op.cb(op.arg, status, status == BK_OK ? &m : NULL, reply->stat.version);
	bk_ledger_meta_fini(&m);
}

void
bk_ledger_read(const struct bk_tree *tree, int64_t ledger_id, struct bk_watch w,
    bk_ledger_meta_cb *cb, void *arg)
{
	struct read_call *op = malloc(sizeof(*op));
	char path[BK_PATH_MAX + 1];

	if (op == NULL) {
		cb(arg, BK_ENOMEM, NULL, 0);
		return;
	}
	*op = (struct read_call){cb, arg};
	(void)bk_ledger_path(tree, ledger_id, path); /* "" is refused */
	bk_meta_get(tree->meta, path, w, on_read, op);
}

/* Deleting: the node, then its directories as long as they are empty. */

struct removal {
	const struct bk_tree *tree;
	struct bk_retry retry;
	bk_done_cb *cb;
	void *arg;
	char path[BK_PATH_MAX + 1];
};

static void remove_node(struct removal *op);
static void prune(struct removal *op);

static void
removal_finish(struct removal *op, enum bk_status status)
{
	op->cb(op->arg, status);
	free(op);
}

static void
on_pruned(void *arg, enum bk_status status, const struct bk_meta_reply *reply)
{
	struct removal *op = arg;

	(void)reply;
	if (status == BK_OK)
		prune(op);
	else
		removal_finish(op, BK_OK);
}

static void
on_directory(void *arg, enum bk_status status,
    const struct bk_meta_reply *reply)
{
	struct removal *op = arg;

	if (status == BK_OK && reply->stat.nchildren == 0)
		bk_meta_remove(op->tree->meta, op->path, BK_ANY_VERSION,
		    on_pruned, op);
	else
		removal_finish(op, BK_OK);
}

/* The directory above path. What goes wrong here only leaves it empty. */
static void
prune(struct removal *op)
{
	char *slash = strrchr(op->path, '/');

	if (slash == op->path + strlen(op->tree->root)) {
		removal_finish(op, BK_OK);
		return;
	}
	*slash = '\0';
	bk_meta_exists(op->tree->meta, op->path, BK_NO_WATCH, on_directory, op);
}

static void
on_remove_again(void *arg, enum bk_status status,
    const struct bk_meta_reply *reply)
{
	struct removal *op = arg;

	(void)reply;
	if (status == BK_OK)
		remove_node(op);
	else
		removal_finish(op, status);
}

static void
on_removed(void *arg, enum bk_status status, const struct bk_meta_reply *reply)
{
	struct removal *op = arg;

	(void)reply;
	if (bk_answer_lost(status) &&
	    bk_retry_later(op->tree, &op->retry, on_remove_again, op))
		return;
	if (status != BK_OK && status != BK_ENONODE)
		removal_finish(op, status);
	else if (op->tree->layout == BK_LAYOUT_HIERARCHICAL ||
	    op->tree->layout == BK_LAYOUT_LONG)
		prune(op);
	else
		removal_finish(op, BK_OK);
}

static void
remove_node(struct removal *op)
{
	bk_meta_remove(op->tree->meta, op->path, BK_ANY_VERSION, on_removed,
	    op);
}

void
bk_ledger_remove(const struct bk_tree *tree, int64_t ledger_id, bk_done_cb *cb,
    void *arg)
{
	struct removal *op = calloc(1, sizeof(*op));

	if (op == NULL) {
		cb(arg, BK_ENOMEM);
		return;
	}
	op->tree = tree;
	op->cb = cb;
	op->arg = arg;
	(void)bk_ledger_path(tree, ledger_id, op->path); /* "" is refused */
	remove_node(op);
}
