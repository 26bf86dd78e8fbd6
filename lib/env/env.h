/*
 * env.h - what protocol logic needs from the world: a clock, random bytes,
 * timers, and a way to ask bookies. In real life lib/loop provides it over
 * libevent and TCP; in the simulator a seeded schedule does, so that clients,
 * bookies and hubs run whole in one test process.
 *
 * One env belongs to one thread. No callback runs inside the call that asked
 * for it: send(), timers and the metadata store always answer from the loop.
 */
#ifndef BK_ENV_H
#define BK_ENV_H

#include "base/status.h"
#include "wire/bookie_msg.h"

#include <stddef.h>
#include <stdint.h>

struct bk_env;
struct bk_peer; /* a bookie as a destination, by id; lives as long as env */
struct bk_timer;

#define BK_MS INT64_C(1000000)
#define BK_SECOND INT64_C(1000000000)
#define BK_FOREVER INT64_MAX

typedef void bk_timer_cb(void *arg);

/* An answer to a request. resp->status is the bookie's answer, or
 * EUNREACHABLE, ETIMEOUT, EPROTO, ETLS, ESASL when there is none, in which
 * case only status, op, ledger_id and entry_id are set. resp and its slices
 * die when the callback returns. */
typedef void bk_reply_cb(void *arg, const struct bk_response *resp);

struct bk_env_ops {
	/* Monotonic nanoseconds. */
	int64_t (*now)(struct bk_env *env);
	void (*random)(struct bk_env *env, void *out, size_t len);

	/* A timer, not running; NULL when out of memory. set() arms it once,
	 * delay_ns from now, replacing what was armed; stop() disarms it. A
	 * stopped or freed timer never calls back. */
	struct bk_timer *(
	    *timer_new)(struct bk_env *env, bk_timer_cb *cb, void *arg);
	void (*timer_set)(struct bk_timer *timer, int64_t delay_ns);
	void (*timer_stop)(struct bk_timer *timer);
	void (*timer_free)(struct bk_timer *timer);

	/* The peer with this bookie id, made at the first call; NULL when out
	 * of memory or the id is malformed. */
	struct bk_peer *(*peer)(struct bk_env *env, const char *bookie_id);
	/* Send one request. The request is encoded, or its body copied, before
	 * this returns. The callback comes exactly once, unless cancelled.
	 * Returns a ticket, never 0; 0 with errno ENOMEM, EMSGSIZE or EAGAIN
	 * (the peer's queue is full) and no callback. version 0 in req means
	 * the env's choice (v3 unless configured). txn_id is the env's. */
	uint64_t (*send)(struct bk_env *env, struct bk_peer *peer,
	    const struct bk_request *req, int64_t timeout_ns, bk_reply_cb *cb,
	    void *arg);
	/* Forget a request: its callback will not be called. A stale ticket is
	 * ignored. */
	void (*cancel)(struct bk_env *env, uint64_t ticket);
	/* Bytes queued for this peer and not yet handed to the system, for
	 * bounds on a slow bookie. */
	size_t (*queued)(struct bk_env *env, struct bk_peer *peer);
	/* The id a peer was made with; static as long as env. */
	const char *(*peer_id)(struct bk_peer *peer);
};

struct bk_env {
	const struct bk_env_ops *ops;
};

static inline int64_t
bk_now(struct bk_env *env)
{
	return (env->ops->now(env));
}

/* A random number below bound, unbiased enough for choices among few. */
uint64_t bk_random_below(struct bk_env *env, uint64_t bound);

#endif
