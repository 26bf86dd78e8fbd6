/*
 * chain.c - reading a chain, and the one multi that changes it.
 *
 * A chain's record and its last page are two nodes, but every change of a page
 * comes with one of the record; so what was read of both belongs together when
 * the page holds as much as the record says.
 */
#include "meta/chain.h"
#include "meta/tree_call.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* The page of the last position; only for a count above 0. */
static uint64_t
last_page_of(const struct bk_chain *c)
{
	return ((c->count - 1) / BK_CHAIN_PAGE);
}

/* Positions on that page. */
static size_t
used_of(const struct bk_chain *c)
{
	return ((size_t)((c->count - 1) % BK_CHAIN_PAGE) + 1);
}

/* Reading a chain. */

struct chain_read {
	const struct bk_tree *tree;
	int64_t id;
	bool torn; /* its page did not fit to this version */
	struct bk_chain_at at;
	bk_chain_cb *cb;
	void *arg;
};

static void read_chain(struct chain_read *op, struct bk_watch w);

static void
read_finish(struct chain_read *op, enum bk_status status)
{
	op->cb(op->arg, status, status == BK_OK ? &op->at : NULL);
	free(op);
}

/* The chain has moved on since it was read, so its watch, if any, has spoken
 * or will; the next reading needs none. */
static void
read_again(struct chain_read *op)
{
	op->torn = true;
	read_chain(op, BK_NO_WATCH);
}

static void
on_last_page(void *arg, enum bk_status status,
    const struct bk_meta_reply *reply)
{
	struct chain_read *op = arg;
	size_t used = used_of(&op->at.chain);

	if (status == BK_OK) {
		status = bk_chain_page_decode(reply->data, &op->at.last_page);
		op->at.page_version = reply->stat.version;
	}
	if (status == BK_ENONODE ||
	    (status == BK_OK && op->at.last_page.n < used)) {
		read_again(op);
		return;
	}
	op->at.last_page.n = used;
	read_finish(op, status);
}

static void
read_last_page(struct chain_read *op)
{
	char path[BK_PATH_MAX + 1];

	(void)bk_chain_page_path(op->tree, op->id, last_page_of(&op->at.chain),
	    path); /* "" is refused */
	bk_meta_get(op->tree->meta, path, BK_NO_WATCH, on_last_page, op);
}

static void
on_chain(void *arg, enum bk_status status, const struct bk_meta_reply *reply)
{
	struct chain_read *op = arg;
	int32_t before = op->at.version;

	if (status == BK_OK)
		status = bk_chain_decode(reply->data, &op->at.chain);
	if (status != BK_OK) {
		read_finish(op, status);
		return;
	}
	op->at.version = reply->stat.version;
	if (op->at.chain.id != op->id ||
	    (op->torn && op->at.version == before)) {
		read_finish(op, BK_EBADMETA);
	} else if (op->at.chain.count == 0) {
		op->at.last_page.n = 0;
		op->at.page_version = -1;
		read_finish(op, BK_OK);
	} else {
		read_last_page(op);
	}
}

static void
read_chain(struct chain_read *op, struct bk_watch w)
{
	char path[BK_PATH_MAX + 1];

	(void)bk_chain_path(op->tree, op->id, path); /* "" is refused */
	bk_meta_get(op->tree->meta, path, w, on_chain, op);
}

void
bk_chain_read(const struct bk_tree *t, int64_t chain_id, struct bk_watch w,
    bk_chain_cb *cb, void *arg)
{
	struct chain_read *op = calloc(1, sizeof(*op));

	if (op == NULL) {
		cb(arg, BK_ENOMEM, NULL);
		return;
	}
	op->tree = t;
	op->id = chain_id;
	op->cb = cb;
	op->arg = arg;
	read_chain(op, w);
}

/* Reading a page. */

struct page_read {
	bk_chain_page_cb *cb;
	void *arg;
};

static void
on_page(void *arg, enum bk_status status, const struct bk_meta_reply *reply)
{
	struct page_read op = *(struct page_read *)arg;
	struct bk_chain_page page;

	free(arg);
	if (status == BK_OK)
		status = bk_chain_page_decode(reply->data, &page);
	op.cb(op.arg, status, status == BK_OK ? &page : NULL,
	    reply->stat.version);
}

void
bk_chain_page_read(const struct bk_tree *t, int64_t chain_id, uint64_t page,
    bk_chain_page_cb *cb, void *arg)
{
	struct page_read *op = malloc(sizeof(*op));
	char path[BK_PATH_MAX + 1];

	if (op == NULL) {
		cb(arg, BK_ENOMEM, NULL, 0);
		return;
	}
	*op = (struct page_read){cb, arg};
	(void)bk_chain_page_path(t, chain_id, page, path); /* "" is refused */
	bk_meta_get(t->meta, path, BK_NO_WATCH, on_page, op);
}

/* Changing. */

struct commit {
	struct bk_chain_at next;
	enum bk_status refused; /* before anything was sent */
	bk_chain_cb *cb;
	void *arg;
};

/* What a commit sends, while it is put together. */
struct commit_ops {
	struct bk_meta_op ops[2 + BK_CHAIN_MORE];
	size_t n;
	struct bk_buf chain, page;
	char chain_path[BK_PATH_MAX + 1], page_path[BK_PATH_MAX + 1];
};

static struct bk_bytes
bytes_of(const struct bk_buf *b)
{
	return ((struct bk_bytes){bk_buf_head(b), bk_buf_len(b)});
}

/* Whether both chains are the same text; that of b stays in out. */
static enum bk_status
encode_chains(const struct bk_chain *a, const struct bk_chain *b,
    struct bk_buf *out, bool *same)
{
	enum bk_status status = BK_OK;
	struct bk_buf before;

	bk_buf_init(&before);
	if (bk_chain_encode(a, &before) != 0 || bk_chain_encode(b, out) != 0)
		status = errno == EINVAL ? BK_EINVAL : BK_ENOMEM;
	*same = status == BK_OK && bk_buf_len(&before) == bk_buf_len(out) &&
	    memcmp(bk_buf_head(&before), bk_buf_head(out), bk_buf_len(out)) ==
		0;
	bk_buf_fini(&before);
	return (status);
}

static enum bk_status
add_chain(struct commit_ops *o, const struct bk_tree *t,
    const struct bk_chain_at *at, struct bk_chain_at *next)
{
	enum bk_status status;
	bool same;

	status = encode_chains(&at->chain, &next->chain, &o->chain, &same);
	if (status != BK_OK)
		return (status);
	(void)bk_chain_path(t, at->chain.id, o->chain_path); /* "" is refused */
	o->ops[o->n++] = (struct bk_meta_op){
	    .kind = same ? BK_OP_CHECK : BK_OP_SET,
	    .path = o->chain_path,
	    .data = same ? (struct bk_bytes){NULL, 0} : bytes_of(&o->chain),
	    .version = at->version,
	};
	next->version = same ? at->version : at->version + 1;
	return (BK_OK);
}

static bool
same_page(const struct bk_chain_page *a, const struct bk_chain_page *b)
{
	return (a->n == b->n &&
	    memcmp(a->ledgers, b->ledgers, a->n * sizeof(*a->ledgers)) == 0);
}

static enum bk_status
add_page(struct commit_ops *o, const struct bk_tree *t,
    const struct bk_chain_at *at, struct bk_chain_at *next)
{
	uint64_t before = at->chain.count, after = next->chain.count;
	bool new;

	if (after < before)
		return (BK_EINVAL);
	next->page_version = at->page_version;
	if (after == 0)
		return (BK_OK);
	new = before == 0 ||
	    last_page_of(&next->chain) != last_page_of(&at->chain);
	if (next->last_page.n != used_of(&next->chain) ||
	    (new &&after - before > next->last_page.n))
		return (BK_EINVAL);
	if (!new &&same_page(&at->last_page, &next->last_page))
		return (BK_OK);
	if (bk_chain_page_encode(&next->last_page, &o->page) != 0)
		return (BK_ENOMEM);
	(void)bk_chain_page_path(t, at->chain.id, last_page_of(&next->chain),
	    o->page_path); /* "" is refused */
	o->ops[o->n++] = (struct bk_meta_op){
	    .kind = new ? BK_OP_CREATE : BK_OP_SET,
	    .path = o->page_path,
	    .data = bytes_of(&o->page),
	    .version = at->page_version,
	    .node = BK_NODE_PERSISTENT,
	    .acl = BK_ACL_CONF,
	};
	next->page_version = new ? 0 : at->page_version + 1;
	return (BK_OK);
}

static void
on_committed(void *arg, enum bk_status status,
    const struct bk_meta_reply *reply)
{
	struct commit *op = arg;

	(void)reply;
	if (status == BK_OK)
		status = op->refused;
	op->cb(op->arg, status, status == BK_OK ? &op->next : NULL);
	free(op);
}

static void
send_commit(struct commit *op, const struct bk_tree *t,
    const struct bk_chain_at *at, const struct bk_meta_op *more, size_t nmore,
    struct commit_ops *o)
{
	op->refused =
	    nmore > BK_CHAIN_MORE || at->chain.id != op->next.chain.id ?
	    BK_EINVAL :
	    add_chain(o, t, at, &op->next);
	if (op->refused == BK_OK)
		op->refused = add_page(o, t, at, &op->next);
	if (op->refused != BK_OK) {
		bk_meta_pause(t->meta, 0, on_committed, op);
		return;
	}
	for (size_t i = 0; i < nmore; i++)
		o->ops[o->n++] = more[i];
	bk_meta_multi(t->meta, o->ops, o->n, on_committed, op);
}

void
bk_chain_commit(const struct bk_tree *t, const struct bk_chain_at *at,
    const struct bk_chain_at *next, const struct bk_meta_op *more, size_t nmore,
    bk_chain_cb *cb, void *arg)
{
	struct commit *op = calloc(1, sizeof(*op));
	struct commit_ops o;

	if (op == NULL) {
		cb(arg, BK_ENOMEM, NULL);
		return;
	}
	op->next = *next;
	op->cb = cb;
	op->arg = arg;
	o.n = 0;
	bk_buf_init(&o.chain);
	bk_buf_init(&o.page);
	send_commit(op, t, at, more, nmore, &o);
	bk_buf_fini(&o.chain);
	bk_buf_fini(&o.page);
}
