/*
 * ledger_cluster.c - the root of a cluster: finding its layout, making a new
 * one, and its instance id (spec/metadata.md 1.2, 1.5).
 */
#include "meta/tree_call.h"

#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define UUID_LEN 36

static const struct bk_bytes no_data = {NULL, 0};

struct cluster_call {
	struct bk_tree *tree;
	struct bk_retry retry;
	bool demanded; /* tree->layout is what must be found */
	char instance[UUID_LEN + 1];
	bk_done_cb *cb;
	void *arg;
};

static void read_layout(struct cluster_call *op);
static void make_root(struct cluster_call *op);

static void
finish(struct cluster_call *op, enum bk_status status)
{
	op->cb(op->arg, status);
	free(op);
}

static struct cluster_call *
call_new(struct bk_tree *tree, bk_done_cb *cb, void *arg)
{
	struct cluster_call *op = calloc(1, sizeof(*op));

	if (op == NULL) {
		cb(arg, BK_ENOMEM);
		return (NULL);
	}
	op->tree = tree;
	op->cb = cb;
	op->arg = arg;
	return (op);
}

/* LAYOUT, read and made where it is missing. */

static void
on_again(void *arg, enum bk_status status, const struct bk_meta_reply *reply)
{
	struct cluster_call *op = arg;

	(void)reply;
	if (status == BK_OK)
		read_layout(op);
	else
		finish(op, status);
}

/* Made by us or by another, it is read again. */
static void
on_layout_made(void *arg, enum bk_status status,
    const struct bk_meta_reply *reply)
{
	struct cluster_call *op = arg;

	(void)reply;
	if (bk_answer_lost(status) &&
	    bk_retry_later(op->tree, &op->retry, on_again, op))
		return;
	if (status == BK_OK || status == BK_EEXIST)
		read_layout(op);
	else
		finish(op, status);
}

static void
make_layout(struct cluster_call *op)
{
	char path[BK_PATH_MAX + 1];
	const char *text;

	if (!op->demanded)
		op->tree->layout = BK_LAYOUT_HIERARCHICAL;
	text = bk_layout_text(op->tree->layout);
	bk_tree_path(op->tree, path, "/LAYOUT");
	bk_meta_create(op->tree->meta, path,
	    (struct bk_bytes){(const uint8_t *)text, strlen(text)},
	    BK_NODE_PERSISTENT, BK_ACL_CONF, on_layout_made, op);
}

static void
on_root(void *arg, enum bk_status status, const struct bk_meta_reply *reply)
{
	struct cluster_call *op = arg;

	(void)reply;
	if (status == BK_OK)
		make_layout(op);
	else
		finish(op, status);
}

static void
settle_layout(struct cluster_call *op, struct bk_bytes text)
{
	enum bk_layout found;

	if (bk_layout_parse(text, &found) != 0) {
		finish(op, BK_EBADMETA);
	} else if (op->demanded && op->tree->layout != found) {
		finish(op, BK_ECONFIG);
	} else {
		op->tree->layout = found;
		finish(op, BK_OK);
	}
}

static void
on_layout(void *arg, enum bk_status status, const struct bk_meta_reply *reply)
{
	struct cluster_call *op = arg;

	if (status == BK_OK)
		settle_layout(op, reply->data);
	else if (status == BK_ENONODE)
		bk_meta_exists(op->tree->meta, op->tree->root, BK_NO_WATCH,
		    on_root, op);
	else
		finish(op, status);
}

static void
read_layout(struct cluster_call *op)
{
	char path[BK_PATH_MAX + 1];

	bk_tree_path(op->tree, path, "/LAYOUT");
	bk_meta_get(op->tree->meta, path, BK_NO_WATCH, on_layout, op);
}

static void
on_synced(void *arg, enum bk_status status, const struct bk_meta_reply *reply)
{
	struct cluster_call *op = arg;

	(void)reply;
	if (status == BK_OK)
		read_layout(op);
	else
		finish(op, status);
}

static void
on_unknown_name(void *arg, enum bk_status status,
    const struct bk_meta_reply *reply)
{
	(void)reply;
	finish(arg, status == BK_OK ? BK_ECONFIG : status);
}

void
bk_tree_open(struct bk_tree *tree, const char *demanded_name, bk_done_cb *cb,
    void *arg)
{
	struct cluster_call *op = call_new(tree, cb, arg);

	if (op == NULL)
		return;
	op->demanded = demanded_name != NULL;
	if (op->demanded &&
	    bk_layout_by_name(demanded_name, &tree->layout) != 0)
		bk_meta_pause(tree->meta, 0, on_unknown_name, op);
	else
		bk_meta_sync(tree->meta, tree->root, on_synced, op);
}

/* A new cluster. Its instance id, drawn once, tells whether a lost multi was
 * ours. */

static void
draw_uuid(char text[UUID_LEN + 1])
{
	uint8_t b[16];

	randombytes_buf(b, sizeof(b));
	b[6] = (uint8_t)((b[6] & 0x0f) | 0x40); /* version 4, random */
	b[8] = (uint8_t)((b[8] & 0x3f) | 0x80);
	(void)snprintf(text, UUID_LEN + 1,
	    "%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-"
	    "%02x%02x%02x%02x%02x%02x",
	    b[0], b[1], b[2], b[3], b[4], b[5], b[6], b[7], b[8], b[9], b[10],
	    b[11], b[12], b[13], b[14], b[15]);
}

static void
on_whose(void *arg, enum bk_status status, const struct bk_meta_reply *reply)
{
	struct cluster_call *op = arg;

	if (status == BK_ENONODE)
		make_root(op);
	else if (status != BK_OK)
		finish(op, status);
	else if (reply->data.len == UUID_LEN &&
	    memcmp(reply->data.data, op->instance, UUID_LEN) == 0)
		make_layout(op);
	else
		finish(op, BK_EEXIST);
}

static void
on_lost_root(void *arg, enum bk_status status,
    const struct bk_meta_reply *reply)
{
	struct cluster_call *op = arg;
	char path[BK_PATH_MAX + 1];

	(void)reply;
	if (status != BK_OK) {
		finish(op, status);
		return;
	}
	bk_tree_path(op->tree, path, "/INSTANCEID");
	bk_meta_get(op->tree->meta, path, BK_NO_WATCH, on_whose, op);
}

static void
on_root_made(void *arg, enum bk_status status,
    const struct bk_meta_reply *reply)
{
	struct cluster_call *op = arg;

	(void)reply;
	if (bk_answer_lost(status) &&
	    bk_retry_later(op->tree, &op->retry, on_lost_root, op))
		return;
	if (status == BK_OK)
		make_layout(op);
	else
		finish(op, status);
}

static void
make_root(struct cluster_call *op)
{
	char available[BK_PATH_MAX + 1], readonly[BK_PATH_MAX + 1];
	char instance[BK_PATH_MAX + 1];
	struct bk_meta_op ops[] = {
	    {.path = op->tree->root},
	    {.path = available},
	    {.path = readonly},
	    {.path = instance,
		.data = {(const uint8_t *)op->instance, UUID_LEN}},
	};

	bk_tree_path(op->tree, available, "/available");
	bk_tree_path(op->tree, readonly, "/available/readonly");
	bk_tree_path(op->tree, instance, "/INSTANCEID");
	for (size_t i = 0; i < sizeof(ops) / sizeof(*ops); i++)
		ops[i].kind = BK_OP_CREATE;
	bk_meta_multi(op->tree->meta, ops, sizeof(ops) / sizeof(*ops),
	    on_root_made, op);
}

static void
on_parents_made(void *arg, enum bk_status status,
    const struct bk_meta_reply *reply)
{
	struct cluster_call *op = arg;

	(void)reply;
	if (status == BK_OK || status == BK_EEXIST)
		make_root(op);
	else
		finish(op, status);
}

void
bk_tree_init(struct bk_tree *tree, bk_done_cb *cb, void *arg)
{
	struct cluster_call *op = call_new(tree, cb, arg);
	char parent[BK_PATH_MAX + 1];
	char *slash;

	if (op == NULL)
		return;
	op->demanded = true;
	draw_uuid(op->instance);
	(void)snprintf(parent, sizeof(parent), "%s", tree->root);
	slash = strrchr(parent, '/');
	if (slash == NULL || slash == parent) {
		make_root(op);
		return;
	}
	*slash = '\0';
	bk_meta_create_path(tree->meta, parent, no_data, BK_NODE_PERSISTENT,
	    BK_ACL_CONF, on_parents_made, op);
}

/* INSTANCEID. */

struct instance_call {
	bk_text_cb *cb;
	void *arg;
};

static void
on_instance(void *arg, enum bk_status status, const struct bk_meta_reply *reply)
{
	struct instance_call op = *(struct instance_call *)arg;
	char *text = NULL;

	free(arg);
	if (status == BK_OK) {
		text = strndup((const char *)reply->data.data, reply->data.len);
		if (text == NULL)
			status = BK_ENOMEM;
	}
	op.cb(op.arg, status, text);
	free(text);
}

void
bk_tree_instance(const struct bk_tree *tree, bk_text_cb *cb, void *arg)
{
	struct instance_call *op = malloc(sizeof(*op));
	char path[BK_PATH_MAX + 1];

	if (op == NULL) {
		cb(arg, BK_ENOMEM, NULL);
		return;
	}
	*op = (struct instance_call){cb, arg};
	bk_tree_path(tree, path, "/INSTANCEID");
	bk_meta_get(tree->meta, path, BK_NO_WATCH, on_instance, op);
}
