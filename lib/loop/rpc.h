/*
 * rpc.h - the env of real life: libevent's clock and timers, and one
 * connection a bookie, opened on demand, with pipelined requests, time-outs
 * and growing pauses before a reconnect.
 */
#ifndef BK_RPC_H
#define BK_RPC_H

#include "env/env.h"
#include "loop/loop.h"

/* Where a bookie is reached. */
struct bk_target {
	enum { BK_TARGET_NONE, BK_TARGET_TCP, BK_TARGET_UNIX } kind;
	const char *host; /* name or numeric address, or socket path */
	uint16_t port;
};

/* Asked at each connect; strings are valid until the loop turns. Returns -1
 * when the bookie is not registered (the request fails with EUNREACHABLE). */
typedef int bk_resolve_fn(void *arg, const char *bookie_id,
    struct bk_target *target);

/*
 * BATCH_READ is always v2; a READ that fences is always v3, since v2 cannot
 * tell its answer from that to an earlier read of the same entry; the rest has
 * no v2 form. v2 and v3 travel on connections of their own. An answer that says
 * EUA where no password is involved is passed on as ESASL; a peer that speaks
 * TLS gives ETLS, one that breaks the protocol EPROTO.
 */
struct bk_rpc_config {
	unsigned version;        /* 2: ADD and READ go as v2, if a request
	                            does not say 3; else 3, or 2 if it does */
	int64_t connect_timeout; /* ns */
	size_t out_max; /* bytes queued per bookie: EAGAIN from there on;
	                            0 = no limit */
};

/* NULL with errno. The env lives until bk_rpc_free(), which cancels everything
 * without callbacks and must not be called from one. Time-outs of requests come
 * up to a sixteenth late. */
struct bk_env *bk_rpc_new(struct bk_loop *loop,
    const struct bk_rpc_config *config, bk_resolve_fn *resolve, void *arg);
void bk_rpc_free(struct bk_env *env);
/* An address changed or a bookie came back: forget pauses for this peer. */
void bk_rpc_hint(struct bk_env *env, const char *bookie_id);

#endif
