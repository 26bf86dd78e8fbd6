/*
 * rpc.c - the env of real life: the loop's clock and timers, libsodium's
 * random bytes, and requests to bookies over TCP or Unix sockets.
 *
 * Requests go out in v3, matched by transaction id, unless v2 is asked for.
 * Then adds, reads and batch reads take a second connection that speaks v2,
 * except fencing reads: a v2 answer does not tell which of two reads of one
 * entry it belongs to, and an answer to an earlier plain read must not pass
 * for the fence.
 */
#include "loop/rpc.h"

#include "loop/rpc_internal.h"

#include <errno.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define ID_MAX 255

static struct bk_rpc *
rpc_of(struct bk_env *env)
{
	return ((struct bk_rpc *)env);
}

/* Enough for time-outs, and cheap for each request. */
static int64_t
coarse_now(void)
{
	struct timespec ts;

	(void)clock_gettime(CLOCK_MONOTONIC_COARSE, &ts); /* cannot fail */
	return (ts.tv_sec * BK_SECOND + ts.tv_nsec);
}

/* Clock, random bytes, timers. */

static int64_t
env_now(struct bk_env *env)
{
	(void)env;
	return (bk_clock_now());
}

static void
env_random(struct bk_env *env, void *out, size_t len)
{
	(void)env;
	randombytes_buf(out, len);
}

static struct bk_timer *
env_timer_new(struct bk_env *env, bk_timer_cb *cb, void *arg)
{
	return (bk_timer_new(rpc_of(env)->loop, cb, arg));
}

/* The end of calls. */

void
bk_rpc_forget(struct bk_rpc *rpc, struct bk_call *call)
{
	bk_index_remove(call);
	bk_calls_give(&rpc->calls, call);
}

void
bk_rpc_answer(struct bk_rpc *rpc, struct bk_call *call,
    const struct bk_response *resp)
{
	bk_reply_cb *cb = call->cb;
	void *arg = call->arg;

	bk_rpc_forget(rpc, call);
	cb(arg, resp);
}

static void
answer_failed(struct bk_rpc *rpc, struct bk_call *call, enum bk_status status)
{
	const struct bk_response resp = {
	    .op = call->op,
	    .version = call->is_v2 ? 2 : 3,
	    .status = status,
	    .ledger_id = call->ledger_id,
	    .entry_id = call->entry_id,
	};

	bk_rpc_answer(rpc, call, &resp);
}

/* Calls that fail while these are told wait for the next turn. */
static void
tell_failed(void *arg)
{
	struct bk_rpc *rpc = arg;
	unsigned round = rpc->round++;
	struct bk_call *call;

	rpc->told_later = false;
	while (
	    (call = TAILQ_FIRST(&rpc->failed)) != NULL && call->round == round)
		answer_failed(rpc, call, call->status);
}

void
bk_rpc_fail(struct bk_rpc *rpc, struct bk_call *call, enum bk_status status)
{
	bk_index_remove(call);
	bk_call_dequeue(call);
	bk_call_enqueue(call, &rpc->failed);
	call->status = status;
	call->round = rpc->round;
	/* Out of memory: its time-out tells it. */
	if (!rpc->told_later && bk_loop_later(rpc->loop, tell_failed, rpc) == 0)
		rpc->told_later = true;
}

/* Time-outs. */

static void
set_timer(struct bk_rpc *rpc, int64_t due, int64_t now)
{
	rpc->timer_due = due;
	if (due != BK_FOREVER)
		bk_timer_set(rpc->timer, due - now);
}

static void
on_timer(void *arg)
{
	struct bk_rpc *rpc = arg;
	int64_t now = coarse_now();
	struct bk_call *call;

	while ((call = bk_calls_due(&rpc->calls, now)) != NULL)
		answer_failed(rpc, call, BK_ETIMEOUT);
	set_timer(rpc, bk_calls_next_due(&rpc->calls), now);
}

static int
start_time(struct bk_rpc *rpc, struct bk_call *call, int64_t timeout)
{
	int64_t now = coarse_now();

	if (bk_calls_time(&rpc->calls, call, timeout, now) == -1)
		return (-1);
	if (call->due < rpc->timer_due)
		set_timer(rpc, call->due, now);
	return (0);
}

/* Peers and requests. */

static bool
is_bookie_id(const char *id)
{
	size_t len = strlen(id);

	if (len == 0 || len > ID_MAX)
		return (false);
	for (; *id != '\0'; id++) {
		if (*id <= ' ' || *id > '~' || *id == '/' || *id == ',')
			return (false);
	}
	return (true);
}

static struct bk_peer *
env_peer(struct bk_env *env, const char *bookie_id)
{
	struct bk_rpc *rpc = rpc_of(env);
	struct bk_peer *peer;
	size_t len = strlen(bookie_id);

	HASH_FIND_STR(rpc->peers, bookie_id, peer);
	if (peer != NULL || !is_bookie_id(bookie_id))
		return (peer);
	peer = calloc(1, sizeof(*peer) + len + 1);
	if (peer == NULL)
		return (NULL);
	memcpy(peer->id, bookie_id, len + 1);
	peer->rpc = rpc;
	for (int i = 0; i < BK_NLINKS; i++)
		bk_link_init(&peer->links[i], peer);
	HASH_ADD_STR(rpc->peers, id, peer);
	return (peer);
}

static const char *
env_peer_id(struct bk_peer *peer)
{
	return (peer->id);
}

static size_t
env_queued(struct bk_env *env, struct bk_peer *peer)
{
	size_t n = 0;

	(void)env;
	for (int i = 0; i < BK_NLINKS; i++)
		n += bk_link_queued(&peer->links[i]);
	return (n);
}

static uint8_t
version_for(const struct bk_rpc *rpc, const struct bk_request *req)
{
	bool fences = (req->flags & BK_REQ_FENCE) != 0;
	unsigned wish = req->version;

	if (wish == 0)
		wish = rpc->config.version;
	if (req->op == BK_OP_BATCH_READ)
		return (2);
	if (wish == 2 &&
	    (req->op == BK_OP_ADD || (req->op == BK_OP_READ && !fences)))
		return (2);
	return (3);
}

static uint64_t
env_send(struct bk_env *env, struct bk_peer *peer,
    const struct bk_request *request, int64_t timeout_ns, bk_reply_cb *cb,
    void *arg)
{
	struct bk_rpc *rpc = rpc_of(env);
	struct bk_request req = *request;
	struct bk_call *call;
	int saved;

	if (rpc->config.out_max > 0 &&
	    env_queued(env, peer) >= rpc->config.out_max) {
		errno = EAGAIN;
		return (0);
	}
	call = bk_calls_take(&rpc->calls);
	if (call == NULL)
		return (0);
	req.version = version_for(rpc, request);
	req.txn_id = call->ticket;
	call->cb = cb;
	call->arg = arg;
	call->op = req.op;
	call->is_v2 = req.version != 3;
	call->has_key = req.master_key.len > 0;
	call->ledger_id = req.ledger_id;
	call->entry_id = req.entry_id;
	if (start_time(rpc, call, timeout_ns) == 0 &&
	    bk_link_send(&peer->links[call->is_v2 ? BK_LINK_V2 : BK_LINK_V3],
		call, &req) == 0)
		return (call->ticket);
	saved = errno;
	bk_rpc_forget(rpc, call);
	errno = saved;
	return (0);
}

static void
env_cancel(struct bk_env *env, uint64_t ticket)
{
	struct bk_rpc *rpc = rpc_of(env);
	struct bk_call *call = bk_calls_find(&rpc->calls, ticket);

	if (call != NULL)
		bk_rpc_forget(rpc, call);
}

static const struct bk_env_ops ops = {
    .now = env_now,
    .random = env_random,
    .timer_new = env_timer_new,
    .timer_set = bk_timer_set,
    .timer_stop = bk_timer_stop,
    .timer_free = bk_timer_free,
    .peer = env_peer,
    .send = env_send,
    .cancel = env_cancel,
    .queued = env_queued,
    .peer_id = env_peer_id,
};

struct bk_env *
bk_rpc_new(struct bk_loop *loop, const struct bk_rpc_config *config,
    bk_resolve_fn *resolve, void *arg)
{
	struct bk_rpc *rpc;

	if (sodium_init() == -1) {
		errno = ENOSYS;
		return (NULL);
	}
	rpc = calloc(1, sizeof(*rpc));
	if (rpc == NULL)
		return (NULL);
	rpc->env.ops = &ops;
	rpc->loop = loop;
	rpc->config = *config;
	rpc->resolve = resolve;
	rpc->resolve_arg = arg;
	bk_calls_init(&rpc->calls);
	TAILQ_INIT(&rpc->failed);
	rpc->timer_due = BK_FOREVER;
	rpc->timer = bk_timer_new(loop, on_timer, rpc);
	if (rpc->timer == NULL) {
		free(rpc);
		errno = ENOMEM;
		return (NULL);
	}
	return (&rpc->env);
}

void
bk_rpc_free(struct bk_env *env)
{
	struct bk_rpc *rpc = rpc_of(env);
	struct bk_peer *peer;
	struct bk_peer *next;

	if (rpc == NULL)
		return;
	peer = rpc->peers;
	HASH_CLEAR(hh, rpc->peers); /* the table alone */
	for (; peer != NULL; peer = next) {
		next = peer->hh.next;
		for (int i = 0; i < BK_NLINKS; i++)
			bk_link_fini(&peer->links[i]);
		free(peer);
	}
	bk_loop_later_cancel(rpc->loop, tell_failed, rpc);
	bk_timer_free(rpc->timer);
	bk_calls_fini(&rpc->calls);
	free(rpc);
}

void
bk_rpc_hint(struct bk_env *env, const char *bookie_id)
{
	struct bk_peer *peer;

	HASH_FIND_STR(rpc_of(env)->peers, bookie_id, peer);
	if (peer == NULL)
		return;
	for (int i = 0; i < BK_NLINKS; i++)
		bk_link_hint(&peer->links[i]);
}
