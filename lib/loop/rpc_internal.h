/*
 * rpc_internal.h - what rpc.c (the env) and link.c (one connection to one
 * bookie) share. Not for others.
 */
#ifndef BK_RPC_INTERNAL_H
#define BK_RPC_INTERNAL_H

#include "loop/calls.h"
#include "loop/rpc.h"

#include "base/buf.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <uthash.h>

LIST_HEAD(bk_call_list, bk_call);

/* Answers of v2 name no request but a ledger, an entry and an operation: the
 * calls to a link by those three. */
struct bk_call_index {
	struct bk_call_list *buckets;
	size_t nbuckets; /* a power of two */
	size_t n;
};

/*
 * One connection to a bookie, for one version. Down until somebody sends;
 * requests are gathered while it dials. When it fails all its calls fail, and
 * it stays down for a pause that grows with each failure in a row, in which
 * calls fail at once, for the same reason.
 */
struct bk_link {
	struct bk_peer *peer;
	enum { BK_LINK_DOWN, BK_LINK_DIALING, BK_LINK_UP } state;
	struct bk_dial *dial;
	struct bk_conn *conn;
	struct bk_buf waiting;      /* output until there is a conn */
	struct bk_call_queue calls; /* sent, in order */
	struct bk_call_index index; /* those that went as v2 */
	enum bk_status why;         /* of the last failure */
	int64_t paused_until;
	unsigned failures; /* in a row */
	bool answered;     /* on this connection */
	bool broken;       /* to be dropped at the end of turn */
};

enum { BK_LINK_V3, BK_LINK_V2, BK_NLINKS };

struct bk_peer {
	struct bk_rpc *rpc;
	struct bk_link links[BK_NLINKS];
	UT_hash_handle hh;
	char id[];
};

struct bk_rpc {
	struct bk_env env; /* first */
	struct bk_loop *loop;
	struct bk_rpc_config config;
	bk_resolve_fn *resolve;
	void *resolve_arg;
	struct bk_peer *peers;
	struct bk_calls calls;
	struct bk_call_queue failed; /* to be told at the end of the turn */
	unsigned round;
	bool told_later;
	struct bk_timer *timer;
	int64_t timer_due; /* BK_FOREVER: not running */
};

/* End a call with an answer: its slot is free when the callback runs. */
void bk_rpc_answer(struct bk_rpc *rpc, struct bk_call *call,
    const struct bk_response *resp);
/* End a call without an answer, at the end of the turn. */
void bk_rpc_fail(struct bk_rpc *rpc, struct bk_call *call,
    enum bk_status status);
/* Take a call out of everything it is in, and free its slot. */
void bk_rpc_forget(struct bk_rpc *rpc, struct bk_call *call);

void bk_link_init(struct bk_link *link, struct bk_peer *peer);
/* Close and free, and forget its calls. */
void bk_link_fini(struct bk_link *link);
/* Queue a request (version and txn_id set) and file its call. 0, or -1 with
 * errno as for bk_request_encode() and the call untouched. A link that is down
 * and may not dial fails the call instead. */
int bk_link_send(struct bk_link *link, struct bk_call *call,
    const struct bk_request *req);
size_t bk_link_queued(const struct bk_link *link);
/* Forget pauses. */
void bk_link_hint(struct bk_link *link);

/* The index. */
int bk_index_add(struct bk_link *link, struct bk_call *call);
void bk_index_remove(struct bk_call *call);
struct bk_call *bk_index_find(const struct bk_link *link, int64_t ledger_id,
    int64_t entry_id, enum bk_op op);
void bk_index_fini(struct bk_call_index *index);

#endif
