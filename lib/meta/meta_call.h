/*
 * meta_call.h - a call to a metadata store, kept until its answer: a copy of
 * what was asked, room for what comes back. Both stores queue these.
 */
#ifndef BK_META_CALL_H
#define BK_META_CALL_H

#include "meta/meta.h"

#include <bsd/sys/queue.h>

enum bk_call_kind {
	BK_CALL_GET,
	BK_CALL_EXISTS,
	BK_CALL_CHILDREN,
	BK_CALL_SYNC,
	BK_CALL_VERIFY,
	BK_CALL_CREATE,
	BK_CALL_SET,
	BK_CALL_REMOVE,
	BK_CALL_MULTI,
};

struct bk_call {
	STAILQ_ENTRY(bk_call) next;
	enum bk_call_kind kind;
	const char *path; /* these lie behind the struct */
	struct bk_bytes data;
	struct bk_meta_op *ops; /* MULTI */
	size_t nops;
	int32_t version;
	enum bk_node_kind node;
	enum bk_node_acl acl;
	struct bk_watch watch;
	bk_meta_cb *cb;
	void *arg;

	/* The answer. */
	enum bk_status status;
	struct bk_meta_reply reply;
	void *owned; /* what reply points to, or NULL */

	/* The store's own. */
	void *store;
	int64_t deadline; /* to be sent by, or to be given up */
	int tries;
	bool settled;
	size_t size; /* bytes it holds */
};
STAILQ_HEAD(bk_calls, bk_call);

/* A call on a path, with data copied behind it; NULL when out of memory. */
struct bk_call *bk_call_new(enum bk_call_kind kind, const char *path,
    struct bk_bytes data, bk_meta_cb *cb, void *arg);
struct bk_call *bk_call_new_multi(const struct bk_meta_op *ops, size_t nops,
    bk_meta_cb *cb, void *arg);
void bk_call_free(struct bk_call *call);

/* Whether it changes nothing. */
bool bk_call_reads(const struct bk_call *call);

/* Keep a copy of bytes, a name, or a list of n names (names[i] of lens[i]
 * bytes each, sorted here) as the answer. 0, or -1 when out of memory. */
int bk_call_keep_data(struct bk_call *call, const void *data, size_t len);
int bk_call_keep_path(struct bk_call *call, const char *path);

/* Forget an answer that was kept. */
void bk_call_reset(struct bk_call *call);

/* Call back with call->status and call->reply, and free the call. */
void bk_call_finish(struct bk_call *call);
/* The same for all of a list, in order; it is empty then. */
void bk_calls_answer(struct bk_calls *calls);
/* The same with this status, for all of a list, which is then empty. */
void bk_calls_finish(struct bk_calls *calls, enum bk_status status);

/* Children: names are added one by one, then sorted and kept. */
struct bk_names {
	char *text; /* names, each ended by NUL */
	size_t len;
	size_t cap;
	size_t n;
};
int bk_names_add(struct bk_names *names, const char *name, size_t len);
void bk_names_fini(struct bk_names *names);
int bk_call_keep_names(struct bk_call *call, const struct bk_names *names);

/* Pauses: callbacks after a delay. */
struct bk_pause;
LIST_HEAD(bk_pauses, bk_pause);
/* 0, or -1 when out of memory. */
int bk_pauses_add(struct bk_pauses *pauses, struct bk_loop *loop, int64_t delay,
    bk_meta_cb *cb, void *arg);
/* Call back all of them with ECANCELED. */
void bk_pauses_cancel(struct bk_pauses *pauses);

#endif
