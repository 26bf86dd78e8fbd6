/*
 * chain_name.c - from a name to its chain, and new names.
 *
 * A new chain takes its id from the ledgers' numbers, which are never given
 * twice. Name and chain are made in one multi, so the id in the name's node
 * tells whether a multi whose answer was lost was ours.
 */
#include "meta/chain.h"
#include "meta/tree_call.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ID_ROOM 24

static const struct bk_bytes no_data = {NULL, 0};

/* The id in a name's node, or -1. */
static int64_t
id_of(struct bk_bytes data)
{
	char text[ID_ROOM];

	if (data.len >= sizeof(text))
		return (-1);
	if (data.len > 0)
		memcpy(text, data.data, data.len);
	text[data.len] = '\0';
	return (strlen(text) == data.len ? bk_digits_value(text) : -1);
}

struct lookup {
	bk_id_cb *cb;
	void *arg;
};

static void
on_name(void *arg, enum bk_status status, const struct bk_meta_reply *reply)
{
	struct lookup op = *(struct lookup *)arg;
	int64_t id = -1;

	free(arg);
	if (status == BK_OK && (id = id_of(reply->data)) < 0)
		status = BK_EBADMETA;
	op.cb(op.arg, status, id);
}

void
bk_name_lookup(const struct bk_tree *t, const char *name, bk_id_cb *cb,
    void *arg)
{
	struct lookup *op = malloc(sizeof(*op));
	char path[BK_PATH_MAX + 1];

	if (op == NULL) {
		cb(arg, BK_ENOMEM, -1);
		return;
	}
	*op = (struct lookup){cb, arg};
	(void)bk_name_path(t, name, path); /* "" is refused */
	bk_meta_get(t->meta, path, BK_NO_WATCH, on_name, op);
}

/* Making a name. */

struct new_name {
	const struct bk_tree *tree;
	struct bk_retry retry;
	struct bk_chain chain;
	char path[BK_PATH_MAX + 1]; /* of the name */
	bk_id_cb *cb;
	void *arg;
};

static void draw_id(struct new_name *op);
static void make_both(struct new_name *op);

static void
finish(struct new_name *op, enum bk_status status)
{
	op->cb(op->arg, status, status == BK_OK ? op->chain.id : -1);
	free(op);
}

static void
on_whose(void *arg, enum bk_status status, const struct bk_meta_reply *reply)
{
	struct new_name *op = arg;

	if (status == BK_ENONODE)
		make_both(op);
	else if (status != BK_OK)
		finish(op, status);
	else
		finish(op,
		    id_of(reply->data) == op->chain.id ? BK_OK : BK_EEXIST);
}

static void
on_lost(void *arg, enum bk_status status, const struct bk_meta_reply *reply)
{
	struct new_name *op = arg;

	(void)reply;
	if (status == BK_OK)
		bk_meta_get(op->tree->meta, op->path, BK_NO_WATCH, on_whose,
		    op);
	else
		finish(op, status);
}

static void
on_chains_made(void *arg, enum bk_status status,
    const struct bk_meta_reply *reply)
{
	struct new_name *op = arg;

	(void)reply;
	if (bk_answer_lost(status) &&
	    bk_retry_later(op->tree, &op->retry, on_lost, op))
		return;
	if (status == BK_OK || status == BK_EEXIST)
		make_both(op);
	else
		finish(op, status);
}

static void
on_names_made(void *arg, enum bk_status status,
    const struct bk_meta_reply *reply)
{
	struct new_name *op = arg;
	char path[BK_PATH_MAX + 1];

	if (status != BK_OK && status != BK_EEXIST) {
		on_chains_made(op, status, reply);
		return;
	}
	bk_tree_path(op->tree, path, "-bk/chains");
	bk_meta_create_path(op->tree->meta, path, no_data, BK_NODE_PERSISTENT,
	    BK_ACL_CONF, on_chains_made, op);
}

/* The first name of a cluster. */
static void
make_parents(struct new_name *op)
{
	char path[BK_PATH_MAX + 1];

	bk_tree_path(op->tree, path, "-bk/names");
	bk_meta_create_path(op->tree->meta, path, no_data, BK_NODE_PERSISTENT,
	    BK_ACL_CONF, on_names_made, op);
}

static void
on_both_made(void *arg, enum bk_status status,
    const struct bk_meta_reply *reply)
{
	struct new_name *op = arg;
	bool chain_failed = reply->failed == 0;

	if (bk_answer_lost(status) &&
	    bk_retry_later(op->tree, &op->retry, on_lost, op))
		return;
	if (status == BK_ENONODE)
		make_parents(op);
	else if (status == BK_EEXIST && chain_failed)
		draw_id(op); /* numbers began anew since that chain was made */
	else
		finish(op, status);
}

static void
make_both(struct new_name *op)
{
	char chain_path[BK_PATH_MAX + 1], id[ID_ROOM];
	struct bk_meta_op ops[2] = {
	    {.kind = BK_OP_CREATE, .path = chain_path},
	    {.kind = BK_OP_CREATE, .path = op->path},
	};
	struct bk_buf record;

	bk_buf_init(&record);
	if (bk_chain_encode(&op->chain, &record) != 0) {
		bk_buf_fini(&record);
		finish(op, BK_ENOMEM);
		return;
	}
	(void)bk_chain_path(op->tree, op->chain.id, chain_path);
	(void)snprintf(id, sizeof(id), "%" PRId64, op->chain.id);
	ops[0].data =
	    (struct bk_bytes){bk_buf_head(&record), bk_buf_len(&record)};
	ops[1].data = (struct bk_bytes){(const uint8_t *)id, strlen(id)};
	bk_meta_multi(op->tree->meta, ops, 2, on_both_made, op);
	bk_buf_fini(&record);
}

static void
on_id(void *arg, enum bk_status status, int64_t id)
{
	struct new_name *op = arg;

	op->chain.id = id;
	if (status == BK_OK)
		make_both(op);
	else
		finish(op, status);
}

static void
draw_id(struct new_name *op)
{
	bk_ledger_new_id(op->tree, on_id, op);
}

void
bk_name_create(const struct bk_tree *t, const char *name,
    const struct bk_chain *settings, bk_id_cb *cb, void *arg)
{
	struct new_name *op = calloc(1, sizeof(*op));

	if (op == NULL) {
		cb(arg, BK_ENOMEM, -1);
		return;
	}
	op->tree = t;
	op->chain = *settings;
	op->chain.epoch = op->chain.first = op->chain.count = 0;
	op->chain.holder[0] = '\0';
	op->chain.deleted_ms = 0;
	if (op->chain.state == 0)
		op->chain.state = BK_CHAIN_WRITING;
	op->cb = cb;
	op->arg = arg;
	(void)bk_name_path(t, name, op->path); /* "" is refused */
	draw_id(op);
}
