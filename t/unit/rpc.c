/* rpc.c - requests to a bookie that answers, answers wrongly, or leaves. */
#include "loop/rpc.h"
#include "loop/conn.h"
#include "loop/listen.h"
#include "sums/digest.h"
#include "tap.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#define LIMIT (20 * BK_SECOND)
#define CONNS 16
#define LEDGER 7

/* What the bookie does with a request. */
enum manner {
	ANSWER,    /* OK, with a body that names version and entry */
	HOLD,      /* keep it, until told to answer */
	BACKWARDS, /* keep them, and answer all in reverse at the fourth */
	REFUSE,    /* answer with status */
	BARE,      /* v3: an error without its message */
	LEAVE,     /* close */
	RAW,       /* send raw bytes */
	OTHER,     /* answer OK for another entry */
};

struct bookie;

struct guest {
	struct bookie *bookie;
	struct bk_conn *conn;
};

struct held {
	struct guest *guest;
	struct bk_request req;
};

/* A bookie in the same loop. */
struct bookie {
	struct bk_loop *loop;
	struct bk_listener *listener;
	int fd;
	uint16_t port;
	enum manner manner;
	enum bk_status status;
	struct bk_bytes raw;
	struct guest guests[CONNS];
	size_t nguests; /* connections so far */
	unsigned requests;
	unsigned by_version[4];
	struct held held[8];
	size_t nheld;
};

static void
answer(struct guest *g, const struct bk_request *req, enum bk_status status)
{
	struct bk_response resp;
	char body[64];

	(void)snprintf(body, sizeof(body), "v%u e%" PRId64, req->version,
	    req->entry_id);
	bk_response_to(req, status, &resp);
	if (status == BK_OK && req->op != BK_OP_ADD) {
		resp.body = (struct bk_bytes){(uint8_t *)body, strlen(body)};
		resp.present = BK_RESP_BODY;
	}
	(void)bk_response_encode(&resp, bk_conn_out(g->conn));
	bk_conn_flush(g->conn);
}

/* Response {header {3, operation, txnId}, status EUA} (6.3). */
static void
answer_bare(struct guest *g, const struct bk_request *req)
{
	struct bk_buf *out = bk_conn_out(g->conn);
	struct bk_buf header;

	bk_buf_init(&header);
	(void)bk_buf_put(&header, "\x08\x03\x10", 3);
	(void)bk_buf_put_varint(&header, (uint64_t)req->raw_op);
	(void)bk_buf_put_u8(&header, 0x18);
	(void)bk_buf_put_varint(&header, req->txn_id);
	(void)bk_buf_put_u32(out, (uint32_t)(2 + bk_buf_len(&header) + 3));
	(void)bk_buf_put_u8(out, 0x0a);
	(void)bk_buf_put_varint(out, bk_buf_len(&header));
	(void)bk_buf_put(out, bk_buf_head(&header), bk_buf_len(&header));
	(void)bk_buf_put(out, "\x10\xf6\x03", 3);
	bk_buf_fini(&header);
	bk_conn_flush(g->conn);
}

static void
hold(struct guest *g, const struct bk_request *req)
{
	struct bookie *b = g->bookie;

	b->held[b->nheld++] = (struct held){g, *req};
	if (b->manner != BACKWARDS || b->nheld < 4)
		return;
	while (b->nheld > 0) {
		b->nheld--;
		answer(b->held[b->nheld].guest, &b->held[b->nheld].req, BK_OK);
	}
}

static bool
on_request(void *arg, uint8_t *payload, size_t len)
{
	struct guest *g = arg;
	struct bookie *b = g->bookie;
	struct bk_request req;

	if (bk_request_decode(payload, len, &req) != BK_OK)
		return (false);
	b->requests++;
	b->by_version[req.version]++;
	switch (b->manner) {
	case ANSWER:
		answer(g, &req, BK_OK);
		break;
	case HOLD:
	case BACKWARDS:
		hold(g, &req);
		break;
	case REFUSE:
		answer(g, &req, b->status);
		break;
	case BARE:
		answer_bare(g, &req);
		break;
	case LEAVE:
		return (false);
	case RAW:
		(void)bk_buf_put(bk_conn_out(g->conn), b->raw.data, b->raw.len);
		bk_conn_flush(g->conn);
		break;
	case OTHER:
		req.entry_id++;
		answer(g, &req, BK_OK);
		break;
	}
	return (true);
}

static void
on_guest_end(void *arg, enum bk_conn_end why, const char *what)
{
	struct guest *g = arg;

	(void)why;
	(void)what;
	bk_conn_free(g->conn);
	g->conn = NULL;
}

static const struct bk_conn_config guest_config = {
    .max_frame = BK_FRAME_MAX,
    .out_high = SIZE_MAX,
};

static const struct bk_conn_events guest_events = {
    .frame = on_request,
    .end = on_guest_end,
};

static void
on_accepted(void *arg, int fd)
{
	struct bookie *b = arg;
	struct guest *g = &b->guests[b->nguests++ % CONNS];

	bk_conn_free(g->conn);
	g->bookie = b;
	g->conn =
	    bk_conn_new(b->loop, fd, false, &guest_config, &guest_events, g);
}

static void
bookie_open(struct bookie *b, struct bk_loop *loop, const char *text)
{
	int fds[BK_LISTEN_MAX];
	char why[256];
	char name[256];
	size_t n;

	memset(b, 0, sizeof(*b));
	b->loop = loop;
	if (bk_listen_bind(text, fds, &n, why, sizeof(why)) == -1 ||
	    bk_listen_name(fds[0], name, sizeof(name)) == -1)
		abort();
	b->fd = fds[0];
	b->port = (uint16_t)atoi(strrchr(name, ':') + 1);
	b->listener = bk_listener_new(loop, fds[0], on_accepted, b);
}

static void
bookie_drop_guests(struct bookie *b)
{
	for (size_t i = 0; i < CONNS; i++) {
		bk_conn_free(b->guests[i].conn);
		b->guests[i].conn = NULL;
	}
	b->nheld = 0;
}

static void
bookie_close(struct bookie *b)
{
	bookie_drop_guests(b);
	bk_listener_free(b->listener);
	if (b->fd != -1)
		(void)close(b->fd);
	b->listener = NULL;
	b->fd = -1;
}

/* The client. */

struct asker {
	struct bk_loop *loop;
	struct bk_env *env;
	struct bk_peer *peer;
	struct bookie bookie;
	struct bk_target target;
	unsigned answers;
	unsigned enough;
	bool done;
	enum bk_status status; /* of the last answer */
	int64_t entry_id;
	char body[64];
	int64_t order[8];
};

static int
resolve(void *arg, const char *bookie_id, struct bk_target *target)
{
	struct asker *a = arg;

	if (strcmp(bookie_id, "one") != 0)
		return (-1);
	*target = a->target;
	return (0);
}

static void
on_reply(void *arg, const struct bk_response *resp)
{
	struct asker *a = arg;

	if (a->answers < 8)
		a->order[a->answers] = resp->entry_id;
	a->answers++;
	a->status = resp->status;
	a->entry_id = resp->entry_id;
	(void)snprintf(a->body, sizeof(a->body), "%.*s", (int)resp->body.len,
	    resp->body.len > 0 ? (const char *)resp->body.data : "");
	a->done = a->answers >= a->enough;
}

static void
asker_open(struct asker *a, unsigned version, const char *listen_on)
{
	const struct bk_rpc_config config = {
	    .version = version,
	    .connect_timeout = 5 * BK_SECOND,
	    .out_max = 1000000,
	};

	memset(a, 0, sizeof(*a));
	a->loop = bk_loop_new();
	bookie_open(&a->bookie, a->loop, listen_on);
	a->target =
	    (struct bk_target){BK_TARGET_TCP, "127.0.0.1", a->bookie.port};
	a->env = bk_rpc_new(a->loop, &config, resolve, a);
	a->peer = a->env->ops->peer(a->env, "one");
}

static void
asker_close(struct asker *a)
{
	bk_rpc_free(a->env);
	bookie_close(&a->bookie);
	bk_loop_free(a->loop);
}

static struct bk_request
request(enum bk_op op, int64_t entry_id)
{
	static const uint8_t key[BK_KEY_SIZE];
	static uint8_t entry[64];
	struct bk_request req = {
	    .op = op,
	    .ledger_id = LEDGER,
	    .entry_id = entry_id,
	};

	if (op == BK_OP_ADD) {
		req.master_key = (struct bk_bytes){key, sizeof(key)};
		bk_be64_put(entry, LEDGER);
		bk_be64_put(entry + 8, (uint64_t)entry_id);
		req.body = (struct bk_bytes){entry, sizeof(entry)};
	}
	return (req);
}

static uint64_t
ask_for(struct asker *a, const struct bk_request *req, int64_t timeout)
{
	return (a->env->ops->send(a->env, a->peer, req, timeout, on_reply, a));
}

static uint64_t
ask(struct asker *a, enum bk_op op, int64_t entry_id)
{
	struct bk_request req = request(op, entry_id);

	return (ask_for(a, &req, LIMIT));
}

/* Wait for n answers more; whether they came. */
static bool
wait_answers(struct asker *a, unsigned n)
{
	a->answers = 0;
	a->enough = n;
	a->done = false;
	return (bk_loop_run_until(a->loop, &a->done, bk_clock_now() + LIMIT));
}

/* Ask one thing and wait; the status of the answer. */
static enum bk_status
asked(struct asker *a, enum bk_op op, int64_t entry_id)
{
	if (ask(a, op, entry_id) == 0 || !wait_answers(a, 1))
		return (BK_NSTATUS);
	return (a->status);
}

static void
some_turns(struct asker *a)
{
	bool never = false;

	(void)bk_loop_run_until(a->loop, &never, bk_clock_now() + 10 * BK_MS);
}

static void
matches(unsigned version)
{
	struct asker a;
	struct bookie *b = &a.bookie;
	bool right = true;

	asker_open(&a, version, "127.0.0.1:0");
	is_int(asked(&a, BK_OP_ADD, 0), BK_OK, "v%u: an add", version);
	is_int(asked(&a, BK_OP_READ, 3), BK_OK, "a read");
	is_str(a.body, version == 2 ? "v2 e3" : "v3 e3", "and its entry");
	is_int(b->nguests, 1, "on one connection");
	is_int(b->by_version[version], 2, "in this version");

	b->manner = BACKWARDS;
	for (int i = 0; i < 4; i++)
		(void)ask(&a, BK_OP_READ, i);
	ok(wait_answers(&a, 4), "answers in any order");
	for (int i = 0; i < 4; i++)
		right = right && a.order[i] == 3 - i;
	ok(right, "find their requests");

	b->manner = ANSWER;
	for (int i = 0; i < 2000; i++)
		(void)ask(&a, BK_OP_ADD, i);
	ok(wait_answers(&a, 2000), "many at once");
	is_int(a.env->ops->queued(a.env, a.peer), 0, "nothing stays queued");
	is_int(b->nguests, 1, "still on one connection");
	asker_close(&a);
}

static void
mixes_versions(void)
{
	struct bk_request req = request(BK_OP_READ, -1);
	struct asker a;
	struct bookie *b = &a.bookie;

	asker_open(&a, 2, "127.0.0.1:0");
	is_int(asked(&a, BK_OP_READ, 1), BK_OK, "v2: a read");
	is_int(asked(&a, BK_OP_READ_LAC, 0), BK_OK, "what only v3 has");
	is_int(asked(&a, BK_OP_BATCH_READ, 1), BK_OK, "what only v2 has");
	req.flags = BK_REQ_FENCE | BK_REQ_KEY;
	req.master_key = request(BK_OP_ADD, 0).master_key;
	ok(ask_for(&a, &req, LIMIT) != 0 && wait_answers(&a, 1) &&
		a.status == BK_OK,
	    "a fencing read");
	is_str(a.body, "v3 e-1", "goes as v3");
	is_int(b->nguests, 2, "on two connections");
	asker_close(&a);

	asker_open(&a, 3, "127.0.0.1:0");
	is_int(asked(&a, BK_OP_BATCH_READ, 1), BK_OK, "v3: a batch read");
	req = request(BK_OP_READ, 5);
	req.version = 2;
	(void)ask_for(&a, &req, LIMIT);
	ok(wait_answers(&a, 1), "a request may ask for v2");
	is_str(a.body, "v2 e5", "and gets it");
	asker_close(&a);
}

static void
forgets(unsigned version)
{
	struct bk_request req = request(BK_OP_READ, 1);
	struct asker a;
	uint64_t ticket;

	asker_open(&a, version, "127.0.0.1:0");
	a.bookie.manner = HOLD;
	(void)ask_for(&a, &req, 20 * BK_MS);
	ok(wait_answers(&a, 1), "v%u: a silent bookie", version);
	is_int(a.status, BK_ETIMEOUT, "is a time-out");
	is_int(a.entry_id, 1, "of this entry");
	answer(a.bookie.held[0].guest, &a.bookie.held[0].req, BK_OK);
	ticket = ask(&a, BK_OP_READ, 2);
	a.answers = 0;
	a.env->ops->cancel(a.env, ticket);
	a.env->ops->cancel(a.env, ticket);
	a.env->ops->cancel(a.env, 0);
	some_turns(&a);
	is_int(a.answers, 0, "late answers and cancelled requests are silent");
	a.bookie.manner = ANSWER;
	is_int(asked(&a, BK_OP_READ, 3), BK_OK, "the connection goes on");
	is_int(a.bookie.nguests, 1, "it is the same");
	asker_close(&a);
}

static void
loses(void)
{
	struct asker a;
	struct bookie *b = &a.bookie;

	asker_open(&a, 3, "127.0.0.1:0");
	b->manner = HOLD;
	(void)ask(&a, BK_OP_READ, 1);
	(void)ask(&a, BK_OP_READ, 2);
	some_turns(&a);
	bookie_drop_guests(b);
	ok(wait_answers(&a, 2), "a lost connection fails what waits");
	ok(a.status == BK_EUNREACHABLE && a.order[0] == 1 && a.order[1] == 2,
	    "in order");
	(void)ask(&a, BK_OP_READ, 3);
	is_int(a.bookie.nguests, 1, "a connection without answers");
	ok(wait_answers(&a, 1) && a.status == BK_EUNREACHABLE,
	    "is not made again at once");
	is_int(b->nguests, 1, "but only after a pause");
	b->manner = ANSWER;
	bk_rpc_hint(a.env, "one");
	bk_rpc_hint(a.env, "unknown");
	is_int(asked(&a, BK_OP_READ, 4), BK_OK, "or a hint");
	bookie_drop_guests(b);
	some_turns(&a);
	is_int(asked(&a, BK_OP_READ, 5), BK_OK,
	    "one with answers is made again at once");
	asker_close(&a);
}

static void
cannot_reach(void)
{
	struct asker a;
	struct bk_peer *other;
	struct bk_request req = request(BK_OP_READ, 1);

	asker_open(&a, 3, "127.0.0.1:0");
	bookie_close(&a.bookie);
	is_int(asked(&a, BK_OP_READ, 1), BK_EUNREACHABLE, "nobody listens");
	is_int(asked(&a, BK_OP_READ, 1), BK_EUNREACHABLE, "nor in the pause");
	other = a.env->ops->peer(a.env, "other");
	ok(a.env->ops->send(a.env, other, &req, LIMIT, on_reply, &a) != 0 &&
		wait_answers(&a, 1) && a.status == BK_EUNREACHABLE,
	    "a bookie that is not registered");
	ok(other == a.env->ops->peer(a.env, "other"), "a peer is made once");
	is_str(a.env->ops->peer_id(other), "other", "and keeps its id");
	ok(a.env->ops->peer(a.env, "") == NULL &&
		a.env->ops->peer(a.env, "a/b") == NULL &&
		a.env->ops->peer(a.env, "a b") == NULL,
	    "a malformed id is no peer");
	asker_close(&a);
}

static void
breaks(const char *what, const void *raw, size_t len, enum bk_status want)
{
	struct asker a;

	asker_open(&a, 3, "127.0.0.1:0");
	a.bookie.manner = RAW;
	a.bookie.raw = (struct bk_bytes){raw, len};
	(void)ask(&a, BK_OP_READ, 1);
	(void)ask(&a, BK_OP_READ, 2);
	ok(wait_answers(&a, 2), "%s end the connection", what);
	is_int(a.status, want, "with the right name");
	is_int(asked(&a, BK_OP_READ, 3), want, "also in the pause");
	asker_close(&a);
}

static void
refuses(void)
{
	struct asker a;
	struct bookie *b = &a.bookie;

	asker_open(&a, 3, "127.0.0.1:0");
	b->manner = REFUSE;
	b->status = BK_EFENCED;
	is_int(asked(&a, BK_OP_ADD, 1), BK_EFENCED, "a refusal is passed on");
	b->status = BK_EUA;
	is_int(asked(&a, BK_OP_ADD, 1), BK_EUA, "so is a wrong password");
	is_int(asked(&a, BK_OP_READ, 1), BK_ESASL,
	    "where none is involved it is a login that is missing");
	b->manner = BARE;
	is_int(asked(&a, BK_OP_ADD, 1), BK_ESASL,
	    "and where the answer has no message");
	b->manner = OTHER;
	is_int(asked(&a, BK_OP_ADD, 1), BK_EPROTO,
	    "an add of another entry is no answer");
	asker_close(&a);

	asker_open(&a, 3, "127.0.0.1:0");
	a.bookie.manner = LEAVE;
	is_int(asked(&a, BK_OP_ADD, 1), BK_EUNREACHABLE, "a bookie that left");
	asker_close(&a);
}

static void
bounds(void)
{
	static uint8_t big[BK_FRAME_MAX];
	struct bk_request req = request(BK_OP_ADD, 1);
	struct asker a;
	int sent = 0;

	asker_open(&a, 3, "127.0.0.1:0");
	req.body = (struct bk_bytes){big, sizeof(big)};
	errno = 0;
	ok(ask_for(&a, &req, LIMIT) == 0 && errno == EMSGSIZE,
	    "an entry over the limit");
	req.body.len = 100000;
	errno = 0;
	while (ask_for(&a, &req, LIMIT) != 0 && sent < 100)
		sent++;
	ok(sent == 10 && errno == EAGAIN, "a full queue");
	is_int(a.env->ops->queued(a.env, a.peer) / 100000, 10, "is counted");
	a.answers = 0;
	asker_close(&a);
	is_int(a.answers, 0, "closing forgets what waits");
}

static void
over_unix(void)
{
	char dir[] = "/tmp/rpc-XXXXXX";
	char text[64];
	struct asker a;

	if (mkdtemp(dir) == NULL)
		return;
	(void)snprintf(text, sizeof(text), "unix:%s/s", dir);
	asker_open(&a, 3, text);
	a.target = (struct bk_target){.kind = BK_TARGET_UNIX,
	    .host = text + strlen("unix:")};
	is_int(asked(&a, BK_OP_READ, 1), BK_OK, "over a Unix socket");
	asker_close(&a);
	(void)unlink(text + strlen("unix:"));
	(void)rmdir(dir);
}

int
main(void)
{
	matches(3);
	matches(2);
	mixes_versions();
	forgets(3);
	forgets(2);
	loses();
	cannot_reach();
	breaks("TLS records", "\x15\x03\x03\x00\x02\x02\x28", 7, BK_ETLS);
	breaks("HTTP answers", "HTTP/1.1 400 Bad Request\r\n", 26, BK_EPROTO);
	breaks("frames that are none", "\0\0\0\4what", 8, BK_EPROTO);
	refuses();
	bounds();
	over_unix();
	return (tap_done());
}
