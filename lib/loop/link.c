/*
 * link.c - one connection to one bookie: dial, send, match answers, fail.
 *
 *	DOWN --send--> DIALING --connected--> UP --lost--> DOWN
 *	                  `------failed------------------> DOWN
 */
#include "loop/rpc_internal.h"

#include "base/log.h"
#include "loop/addr.h"
#include "loop/conn.h"
#include "sums/digest.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sodium.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define PAUSE_MIN (20 * BK_MS)
#define PAUSE_DOUBLINGS 8   /* to about 5 s */
#define LOST_AFTER_MS 10000 /* of sent data without a TCP acknowledgement */

/* Java does not check what it sends: an entry that was added by v2 at the
 * limit is answered a little above it by v3 (bookie-protocol.md 1.1). */
#define FRAME_SLACK 1024

static const struct bk_conn_config conn_config = {
    .max_frame = BK_FRAME_MAX + FRAME_SLACK,
    .out_high = SIZE_MAX,
    .frame_timeout = 30 * BK_SECOND,
    .write_timeout = 30 * BK_SECOND,
};

static void drop_broken(void *arg);

static struct bk_rpc *
rpc_of(const struct bk_link *link)
{
	return (link->peer->rpc);
}

/* Failing. */

static void
close_link(struct bk_link *link)
{
	if (link->broken)
		bk_loop_later_cancel(rpc_of(link)->loop, drop_broken, link);
	link->broken = false;
	bk_dial_cancel(link->dial);
	link->dial = NULL;
	bk_conn_free(link->conn);
	link->conn = NULL;
	bk_buf_fini(&link->waiting);
	link->state = BK_LINK_DOWN;
}

static void
fail_calls(struct bk_link *link, enum bk_status status)
{
	struct bk_call *call;

	while ((call = TAILQ_FIRST(&link->calls)) != NULL)
		bk_rpc_fail(rpc_of(link), call, status);
}

/* Half to one and a half times a pause that doubles, so that clients do not
 * come back all at once. */
static int64_t
pause_after(unsigned failures)
{
	unsigned doublings = failures - 1;
	int64_t pause;

	if (doublings > PAUSE_DOUBLINGS)
		doublings = PAUSE_DOUBLINGS;
	pause = PAUSE_MIN << doublings;
	return (
	    pause / 2 + randombytes_uniform((uint32_t)(pause / BK_MS)) * BK_MS);
}

/* The connection is gone or never came. One that had carried an answer may be
 * made again at once. */
static void
link_failed(struct bk_link *link, enum bk_status status, const char *what)
{
	if (link->answered && status == BK_EUNREACHABLE) {
		link->failures = 0;
	} else {
		link->failures++;
		link->paused_until =
		    bk_clock_now() + pause_after(link->failures);
	}
	if (!TAILQ_EMPTY(&link->calls) || status != BK_EUNREACHABLE)
		bk_log(link->failures > 1 ? BK_LOG_DEBUG : BK_LOG_INFO,
		    "bookie %s: %s", link->peer->id, what);
	link->why = status;
	link->answered = false;
	close_link(link);
	fail_calls(link, status);
}

/* Answers. */

static struct bk_call *
call_of(const struct bk_link *link, const struct bk_response *resp)
{
	struct bk_call *call;

	if (resp->version != 3 && resp->op != BK_OP_BATCH_READ)
		return (bk_index_find(link, resp->ledger_id, resp->entry_id,
		    resp->op));
	call = bk_calls_find(&rpc_of(link)->calls, resp->txn_id);
	if (call == NULL || call->queue != &link->calls ||
	    call->op != resp->op || (resp->version == 3) == call->is_v2)
		return (NULL);
	return (call);
}

/*
 * A bookie that wants a login first answers EUA to everything (6.3): also to
 * what needs no password, and in v3 without the message that repeats the ids.
 */
static bool
wants_login(const struct bk_call *call, const struct bk_response *resp)
{
	if (resp->status != BK_EUA)
		return (false);
	return (!call->has_key ||
	    (resp->version == 3 && resp->ledger_id != call->ledger_id));
}

static bool
break_link(struct bk_link *link)
{
	if (bk_loop_later(rpc_of(link)->loop, drop_broken, link) == 0)
		link->broken = true;
	return (false); /* the connection ends in any case */
}

static bool
on_frame(void *arg, uint8_t *payload, size_t len)
{
	struct bk_link *link = arg;
	struct bk_response resp;
	struct bk_call *call;

	if (bk_response_decode(payload, len, &resp) != BK_OK)
		return (break_link(link));
	link->answered = true;
	call = call_of(link, &resp);
	if (call == NULL)
		return (true); /* came too late: nobody waits for it now */
	if (wants_login(call, &resp))
		resp.status = BK_ESASL;
	if (resp.status == BK_OK && resp.op == BK_OP_ADD &&
	    (resp.ledger_id != call->ledger_id ||
		resp.entry_id != call->entry_id))
		return (break_link(link));
	if (resp.status != BK_OK) {
		resp.ledger_id = call->ledger_id;
		resp.entry_id = call->entry_id;
	}
	bk_rpc_answer(rpc_of(link), call, &resp);
	return (true);
}

static void
on_end(void *arg, enum bk_conn_end why, const char *what)
{
	struct bk_link *link = arg;

	switch (why) {
	case BK_CONN_TLS:
		link_failed(link, BK_ETLS, what);
		break;
	case BK_CONN_OVERSIZE:
		link_failed(link, BK_EPROTO, what);
		break;
	case BK_CONN_CLOSED: /* by ourselves: see on_frame() */
		link_failed(link, BK_EPROTO, "sent what is no answer");
		break;
	case BK_CONN_EOF:
	case BK_CONN_ERROR:
	case BK_CONN_STALLED:
		link_failed(link, BK_EUNREACHABLE, what);
		break;
	}
}

static void
drop_broken(void *arg)
{
	struct bk_link *link = arg;

	link->broken = false;
	on_end(link, BK_CONN_CLOSED, NULL);
}

static const struct bk_conn_events conn_events = {
    .frame = on_frame,
    .end = on_end,
};

/* Connecting. */

/* What was sent to a machine that is gone must not wait for minutes. */
static void
limit_loss(int fd)
{
	unsigned ms = LOST_AFTER_MS;

	/* No TCP socket, no limit: the system knows when a process ends. */
	(void)setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &ms, sizeof(ms));
}

static void
on_dialed(void *arg, int fd, int error)
{
	struct bk_link *link = arg;

	link->dial = NULL;
	if (error == 0) {
		limit_loss(fd);
		link->conn = bk_conn_new(rpc_of(link)->loop, fd, false,
		    &conn_config, &conn_events, link);
		if (link->conn == NULL) {
			error = errno;
			(void)close(fd);
		}
	}
	if (error != 0) {
		link_failed(link, BK_EUNREACHABLE, strerror(error));
		return;
	}
	link->state = BK_LINK_UP;
	*bk_conn_out(link->conn) = link->waiting;
	bk_buf_init(&link->waiting);
	bk_conn_flush(link->conn);
}

/* 0, or -1: not registered, or out of memory. */
static int
dial(struct bk_link *link)
{
	struct bk_rpc *rpc = rpc_of(link);
	struct bk_target target = {.kind = BK_TARGET_NONE};
	int64_t timeout = rpc->config.connect_timeout;

	if (rpc->resolve(rpc->resolve_arg, link->peer->id, &target) == -1)
		return (-1);
	if (target.kind == BK_TARGET_TCP)
		link->dial = bk_dial(rpc->loop, target.host, target.port,
		    timeout, on_dialed, link);
	else if (target.kind == BK_TARGET_UNIX)
		link->dial = bk_dial_unix(rpc->loop, target.host, timeout,
		    on_dialed, link);
	if (link->dial == NULL)
		return (-1);
	link->state = BK_LINK_DIALING;
	return (0);
}

/* Whether there is, or will be, a connection to send on. */
static bool
is_usable(struct bk_link *link)
{
	if (link->state != BK_LINK_DOWN)
		return (!link->broken);
	if (link->failures > 0 && bk_clock_now() < link->paused_until)
		return (false);
	link->why = BK_EUNREACHABLE;
	return (dial(link) == 0);
}

/* Sending. */

int
bk_link_send(struct bk_link *link, struct bk_call *call,
    const struct bk_request *req)
{
	struct bk_buf *out = &link->waiting;

	if (!is_usable(link)) {
		bk_rpc_fail(rpc_of(link), call, link->why);
		return (0);
	}
	if (link->state == BK_LINK_UP)
		out = bk_conn_out(link->conn);
	if (call->is_v2 && bk_index_add(link, call) == -1)
		return (-1);
	if (bk_request_encode(req, out) == -1) {
		bk_index_remove(call);
		return (-1);
	}
	bk_call_enqueue(call, &link->calls);
	if (link->state == BK_LINK_UP)
		bk_conn_flush(link->conn);
	return (0);
}

size_t
bk_link_queued(const struct bk_link *link)
{
	if (link->conn != NULL)
		return (bk_conn_queued(link->conn));
	return (bk_buf_len(&link->waiting));
}

void
bk_link_hint(struct bk_link *link)
{
	link->failures = 0;
}

void
bk_link_init(struct bk_link *link, struct bk_peer *peer)
{
	memset(link, 0, sizeof(*link));
	link->peer = peer;
	link->why = BK_EUNREACHABLE;
	TAILQ_INIT(&link->calls);
	bk_buf_init(&link->waiting);
}

void
bk_link_fini(struct bk_link *link)
{
	struct bk_call *call;

	while ((call = TAILQ_FIRST(&link->calls)) != NULL)
		bk_rpc_forget(rpc_of(link), call);
	close_link(link);
	bk_index_fini(&link->index);
}
