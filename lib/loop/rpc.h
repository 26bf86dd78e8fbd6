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

struct bk_rpc_config {
	unsigned version;        /* 2 or 3 for ADD, READ, BATCH_READ; 3 */
	int64_t connect_timeout; /* ns */
	size_t out_max;          /* bytes queued per bookie: EAGAIN above */
};

/* NULL with errno. The env lives until bk_rpc_free(), which cancels everything
 * without callbacks. */
struct bk_env *bk_rpc_new(struct bk_loop *loop,
    const struct bk_rpc_config *config, bk_resolve_fn *resolve, void *arg);
void bk_rpc_free(struct bk_env *env);
/* An address changed or a bookie came back: forget pauses for this peer. */
void bk_rpc_hint(struct bk_env *env, const char *bookie_id);

#endif
