/*
 * meta_queue.h - what stores have in common that keep calls in a queue: the
 * functions of the face that turn a call into a struct bk_call, pauses, and
 * being closed by a callback.
 */
#ifndef BK_META_QUEUE_H
#define BK_META_QUEUE_H

#include "meta/meta_call.h"

/* A store embeds this as its first member. */
struct bk_meta_queue {
	struct bk_meta base;
	struct bk_loop *loop;
	struct bk_calls calls; /* made, not begun */
	struct bk_pauses pauses;
	bool closed;    /* nothing more is called back */
	unsigned depth; /* of callbacks being called */
	/* There is a new call at the end of calls. */
	void (*called)(struct bk_meta_queue *q, struct bk_call *call);
	/* Closed, and no callback runs any more: free it. */
	void (*gone)(struct bk_meta_queue *q);
};

void bk_meta_queue_init(struct bk_meta_queue *q, struct bk_loop *loop);

/* Callbacks may close the store. Whatever runs them enters first and leaves
 * last; the last to leave a closed store ends it. */
void bk_meta_enter(struct bk_meta_queue *q);
void bk_meta_leave(struct bk_meta_queue *q);

/* Tell the user, unless closed. */
void bk_meta_tell(struct bk_meta_queue *q, enum bk_meta_state state,
    enum bk_status status, const char *reason);

/* For the table of ops. */
void bk_meta_queue_create(struct bk_meta *m, const char *path,
    struct bk_bytes data, enum bk_node_kind kind, enum bk_node_acl acl,
    bk_meta_cb *cb, void *arg);
void bk_meta_queue_get(struct bk_meta *m, const char *path, struct bk_watch w,
    bk_meta_cb *cb, void *arg);
void bk_meta_queue_exists(struct bk_meta *m, const char *path,
    struct bk_watch w, bk_meta_cb *cb, void *arg);
void bk_meta_queue_set(struct bk_meta *m, const char *path,
    struct bk_bytes data, int32_t version, bk_meta_cb *cb, void *arg);
void bk_meta_queue_remove(struct bk_meta *m, const char *path, int32_t version,
    bk_meta_cb *cb, void *arg);
void bk_meta_queue_children(struct bk_meta *m, const char *path,
    struct bk_watch w, bk_meta_cb *cb, void *arg);
void bk_meta_queue_multi(struct bk_meta *m, const struct bk_meta_op *ops,
    size_t nops, bk_meta_cb *cb, void *arg);
void bk_meta_queue_sync(struct bk_meta *m, const char *path, bk_meta_cb *cb,
    void *arg);
void bk_meta_queue_verify(struct bk_meta *m, bk_meta_cb *cb, void *arg);
void bk_meta_queue_pause(struct bk_meta *m, int64_t delay, bk_meta_cb *cb,
    void *arg);
int64_t bk_meta_queue_now(struct bk_meta *m);

#endif
