/* meta_queue.c - calls into a store's queue. */
#include "meta/meta_queue.h"

static const struct bk_bytes no_data = {NULL, 0};
static const struct bk_meta_reply no_reply;

void
bk_meta_queue_init(struct bk_meta_queue *q, struct bk_loop *loop)
{
	q->loop = loop;
	STAILQ_INIT(&q->calls);
	LIST_INIT(&q->pauses);
}

void
bk_meta_enter(struct bk_meta_queue *q)
{
	q->depth++;
}

void
bk_meta_leave(struct bk_meta_queue *q)
{
	if (--q->depth == 0 && q->closed)
		q->gone(q);
}

void
bk_meta_tell(struct bk_meta_queue *q, enum bk_meta_state state,
    enum bk_status status, const char *reason)
{
	if (!q->closed && q->base.on_state != NULL)
		q->base.on_state(q->base.state_arg, state, status, reason);
}

static struct bk_meta_queue *
queue_of(struct bk_meta *m)
{
	return ((struct bk_meta_queue *)m);
}

static void
enqueue(struct bk_meta *m, struct bk_call *call, bk_meta_cb *cb, void *arg)
{
	struct bk_meta_queue *q = queue_of(m);

	if (call == NULL || q->closed) {
		bk_call_free(call);
		cb(arg, q->closed ? BK_ECANCELED : BK_ENOMEM, &no_reply);
		return;
	}
	STAILQ_INSERT_TAIL(&q->calls, call, next);
	q->called(q, call);
}

static void
enqueue_read(struct bk_meta *m, enum bk_call_kind kind, const char *path,
    struct bk_watch w, bk_meta_cb *cb, void *arg)
{
	struct bk_call *call;

	call = bk_call_new(kind, path, no_data, cb, arg);
	if (call != NULL)
		call->watch = w;
	enqueue(m, call, cb, arg);
}

static void
enqueue_change(struct bk_meta *m, enum bk_call_kind kind, const char *path,
    struct bk_bytes data, int32_t version, bk_meta_cb *cb, void *arg)
{
	struct bk_call *call;

	call = bk_call_new(kind, path, data, cb, arg);
	if (call != NULL)
		call->version = version;
	enqueue(m, call, cb, arg);
}

void
bk_meta_queue_create(struct bk_meta *m, const char *path, struct bk_bytes data,
    enum bk_node_kind kind, enum bk_node_acl acl, bk_meta_cb *cb, void *arg)
{
	struct bk_call *call;

	call = bk_call_new(BK_CALL_CREATE, path, data, cb, arg);
	if (call != NULL) {
		call->node = kind;
		call->acl = acl;
	}
	enqueue(m, call, cb, arg);
}

void
bk_meta_queue_get(struct bk_meta *m, const char *path, struct bk_watch w,
    bk_meta_cb *cb, void *arg)
{
	enqueue_read(m, BK_CALL_GET, path, w, cb, arg);
}

void
bk_meta_queue_exists(struct bk_meta *m, const char *path, struct bk_watch w,
    bk_meta_cb *cb, void *arg)
{
	enqueue_read(m, BK_CALL_EXISTS, path, w, cb, arg);
}

void
bk_meta_queue_set(struct bk_meta *m, const char *path, struct bk_bytes data,
    int32_t version, bk_meta_cb *cb, void *arg)
{
	enqueue_change(m, BK_CALL_SET, path, data, version, cb, arg);
}

void
bk_meta_queue_remove(struct bk_meta *m, const char *path, int32_t version,
    bk_meta_cb *cb, void *arg)
{
	enqueue_change(m, BK_CALL_REMOVE, path, no_data, version, cb, arg);
}

void
bk_meta_queue_children(struct bk_meta *m, const char *path, struct bk_watch w,
    bk_meta_cb *cb, void *arg)
{
	enqueue_read(m, BK_CALL_CHILDREN, path, w, cb, arg);
}

void
bk_meta_queue_multi(struct bk_meta *m, const struct bk_meta_op *ops,
    size_t nops, bk_meta_cb *cb, void *arg)
{
	enqueue(m, bk_call_new_multi(ops, nops, cb, arg), cb, arg);
}

void
bk_meta_queue_sync(struct bk_meta *m, const char *path, bk_meta_cb *cb,
    void *arg)
{
	enqueue_read(m, BK_CALL_SYNC, path, BK_NO_WATCH, cb, arg);
}

void
bk_meta_queue_verify(struct bk_meta *m, bk_meta_cb *cb, void *arg)
{
	enqueue_read(m, BK_CALL_VERIFY, "/", BK_NO_WATCH, cb, arg);
}

void
bk_meta_queue_pause(struct bk_meta *m, int64_t delay, bk_meta_cb *cb, void *arg)
{
	struct bk_meta_queue *q = queue_of(m);

	if (q->closed)
		cb(arg, BK_ECANCELED, &no_reply);
	else if (bk_pauses_add(&q->pauses, q->loop, delay, cb, arg) != 0)
		cb(arg, BK_ENOMEM, &no_reply);
}

int64_t
bk_meta_queue_now(struct bk_meta *m)
{
	(void)m;
	return (bk_clock_now());
}
