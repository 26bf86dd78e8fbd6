/*
 * ledger_id.c - a new ledger's id (spec/metadata.md 2.2, 2.3): the number that
 * the store appends to a node below idgen, and when its 31 bits have run out,
 * or somebody has run out before, one below idgen-long/HOB-N, under N as the
 * upper half.
 *
 * The nodes vanish with the session in any case; they are deleted right away
 * and nobody waits for that.
 */
#include "meta/tree_call.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LOW_END INT64_C(2147483647) /* numbers from here on are an overflow */
#define HIGH_MAX INT64_C(0x7fffffff)
#define HIGH_FIRST 1
#define HIGH_KEPT 3 /* upper halves that stay when old ones are cleared */

struct new_id {
	const struct bk_tree *tree;
	struct bk_retry retry;
	bool large;   /* below idgen-long */
	int64_t high; /* the upper half then */
	bk_id_cb *cb;
	void *arg;
};

static void list_high(struct new_id *op);
static void draw(struct new_id *op);

static void
ignore(void *arg, enum bk_status status, const struct bk_meta_reply *reply)
{
	(void)arg;
	(void)status;
	(void)reply;
}

static void
finish(struct new_id *op, enum bk_status status, int64_t id)
{
	op->cb(op->arg, status, id);
	free(op);
}

static bool
may_be_large(const struct bk_tree *tree)
{
	return (tree->layout == BK_LAYOUT_HIERARCHICAL ||
	    tree->layout == BK_LAYOUT_LONG);
}

/* The upper half in "HOB-0000000001", or -1. */
static int64_t
high_of(const char *name)
{
	int64_t v;

	if (strncmp(name, "HOB-", 4) != 0)
		return (-1);
	v = bk_digits_value(name + 4);
	return (v <= HIGH_MAX ? v : -1);
}

static void
on_high_made(void *arg, enum bk_status status,
    const struct bk_meta_reply *reply)
{
	struct new_id *op = arg;

	(void)reply;
	if (status == BK_OK || status == BK_EEXIST || bk_answer_lost(status))
		list_high(op);
	else
		finish(op, status, -1);
}

static void
make_high(struct new_id *op, int64_t high)
{
	char path[BK_PATH_MAX + 1];

	if (high > HIGH_MAX) {
		finish(op, BK_ETOOBIG, -1);
		return;
	}
	bk_tree_path(op->tree, path, "/idgen-long/HOB-%010" PRId64, high);
	bk_meta_create_path(op->tree->meta, path, (struct bk_bytes){NULL, 0},
	    BK_NODE_PERSISTENT, BK_ACL_OPEN, on_high_made, op);
}

/* Delete all upper halves but the highest; those in use have children and
 * stay. Names are sorted. */
static void
clear_high(const struct bk_tree *tree, const struct bk_meta_reply *reply)
{
	char path[BK_PATH_MAX + 1];

	for (size_t i = 0; i + HIGH_KEPT < reply->nchildren; i++) {
		if (high_of(reply->children[i]) < 0)
			continue;
		bk_tree_path(tree, path, "/idgen-long/%s", reply->children[i]);
		bk_meta_remove(tree->meta, path, 0, ignore, NULL);
	}
}

static void
on_high_listed(void *arg, enum bk_status status,
    const struct bk_meta_reply *reply)
{
	struct new_id *op = arg;
	int64_t high = -1, v;

	if (status != BK_OK && status != BK_ENONODE) {
		finish(op, status, -1);
		return;
	}
	for (size_t i = 0; status == BK_OK && i < reply->nchildren; i++)
		if ((v = high_of(reply->children[i])) > high)
			high = v;
	if (high < 0) {
		make_high(op, HIGH_FIRST);
		return;
	}
	op->high = high;
	draw(op);
	clear_high(op->tree, reply);
}

static void
list_high(struct new_id *op)
{
	char path[BK_PATH_MAX + 1];

	op->large = true;
	bk_tree_path(op->tree, path, "/idgen-long");
	bk_meta_children(op->tree->meta, path, BK_NO_WATCH, on_high_listed, op);
}

/* Whatever came of making it, idgen-long is there now, or the next step
 * says why not. */
static void
on_switched(void *arg, enum bk_status status, const struct bk_meta_reply *reply)
{
	(void)reply;
	if (status == BK_ECANCELED)
		finish(arg, status, -1);
	else
		list_high(arg);
}

static void
overflow(struct new_id *op)
{
	char path[BK_PATH_MAX + 1];

	if (op->large) {
		make_high(op, op->high + 1);
	} else if (!may_be_large(op->tree)) {
		finish(op, BK_ETOOBIG, -1);
	} else {
		bk_tree_path(op->tree, path, "/idgen-long");
		bk_meta_create_path(op->tree->meta, path,
		    (struct bk_bytes){NULL, 0}, BK_NODE_PERSISTENT, BK_ACL_OPEN,
		    on_switched, op);
	}
}

static void
on_again(void *arg, enum bk_status status, const struct bk_meta_reply *reply)
{
	struct new_id *op = arg;

	(void)reply;
	if (status == BK_OK)
		draw(op);
	else
		finish(op, status, -1);
}

/* The number behind "ID-"; negative ones are -1. */
static int64_t
number_of(const char *path)
{
	const char *id = strrchr(path, '/');

	if (id == NULL || strncmp(id, "/ID-", 4) != 0)
		return (-1);
	return (bk_digits_value(id + 4));
}

static void
on_drawn(void *arg, enum bk_status status, const struct bk_meta_reply *reply)
{
	struct new_id *op = arg;
	int64_t low;

	if (bk_answer_lost(status) &&
	    bk_retry_later(op->tree, &op->retry, on_again, op))
		return;
	if (status != BK_OK) {
		finish(op, status, -1);
		return;
	}
	low = number_of(reply->path);
	bk_meta_remove(op->tree->meta, reply->path, BK_ANY_VERSION, ignore,
	    NULL);
	if (low < 0 || low >= LOW_END)
		overflow(op);
	else
		finish(op, BK_OK, op->large ? op->high << 32 | low : low);
}

/* Have the store number a node. */
static void
draw(struct new_id *op)
{
	char path[BK_PATH_MAX + 1];

	if (op->large)
		bk_tree_path(op->tree, path,
		    "/idgen-long/HOB-%010" PRId64 "/ID-", op->high);
	else if (op->tree->layout == BK_LAYOUT_FLAT)
		bk_tree_path(op->tree, path, "/ID-");
	else
		bk_tree_path(op->tree, path, "/idgen/ID-");
	bk_meta_create_path(op->tree->meta, path, (struct bk_bytes){NULL, 0},
	    BK_NODE_EPHEMERAL_SEQUENTIAL, BK_ACL_CONF, on_drawn, op);
}

static void
on_looked(void *arg, enum bk_status status, const struct bk_meta_reply *reply)
{
	struct new_id *op = arg;

	(void)reply;
	if (status == BK_OK)
		list_high(op);
	else if (status == BK_ENONODE)
		draw(op);
	else
		finish(op, status, -1);
}

/* Java remembers that there was no idgen-long; we look each time, so that the
 * switch is seen at once. */
void
bk_ledger_new_id(const struct bk_tree *tree, bk_id_cb *cb, void *arg)
{
	struct new_id *op = calloc(1, sizeof(*op));
	char path[BK_PATH_MAX + 1];

	if (op == NULL) {
		cb(arg, BK_ENOMEM, -1);
		return;
	}
	op->tree = tree;
	op->cb = cb;
	op->arg = arg;
	if (may_be_large(tree)) {
		bk_tree_path(tree, path, "/idgen-long");
		bk_meta_exists(tree->meta, path, BK_NO_WATCH, on_looked, op);
	} else {
		draw(op);
	}
}
