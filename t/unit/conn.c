/* conn.c - frames over a socket: whole, in pieces, too long, never ending. */
#include "loop/conn.h"
#include "tap.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#define LIMIT (20 * BK_SECOND)
#define MAX_FRAME ((size_t)1 << 20)
#define BIG ((size_t)700000)

/* A connection, what it told, and the other end, which is ours by hand. */
struct side {
	struct bk_loop *loop;
	struct bk_conn *conn;
	int peer;
	struct bk_buf got; /* payloads, one after the other */
	unsigned frames;
	unsigned batches;
	unsigned stop_at; /* the frame that ends the connection */
	unsigned pause_at;
	bool keeps; /* the connection when input is over */
	unsigned overs;
	bool echo;
	bool drained;
	bool ended;
	unsigned ends;
	enum bk_conn_end why;
	int error;
	char what[128];
	struct bk_conn_config config;
};

static bool
on_frame(void *arg, uint8_t *payload, size_t len)
{
	struct side *s = arg;
	struct bk_buf *out = bk_conn_out(s->conn);

	(void)bk_buf_put(&s->got, payload, len);
	s->frames++;
	if (s->echo) {
		(void)bk_buf_put_u32(out, (uint32_t)len);
		(void)bk_buf_put(out, payload, len);
		bk_conn_flush(s->conn);
	}
	if (s->frames == s->pause_at)
		bk_conn_pause(s->conn, true);
	return (s->frames != s->stop_at);
}

static void
on_batch_end(void *arg)
{
	((struct side *)arg)->batches++;
}

static bool
on_input_over(void *arg, enum bk_conn_end why, const char *what)
{
	struct side *s = arg;

	(void)what;
	s->overs++;
	s->why = why;
	return (s->keeps);
}

static void
on_drained(void *arg)
{
	((struct side *)arg)->drained = true;
}

static void
on_end(void *arg, enum bk_conn_end why, const char *what)
{
	struct side *s = arg;

	s->error = errno;
	s->why = why;
	s->ends++;
	s->ended = true;
	(void)snprintf(s->what, sizeof(s->what), "%s", what);
}

static const struct bk_conn_events events = {
    .frame = on_frame,
    .input_over = on_input_over,
    .batch_end = on_batch_end,
    .drained = on_drained,
    .end = on_end,
};

static void
side_init(struct side *s, struct bk_loop *loop)
{
	memset(s, 0, sizeof(*s));
	s->loop = loop;
	s->peer = -1;
	s->config =
	    (struct bk_conn_config){.max_frame = MAX_FRAME, .out_high = 100000};
}

/* Over a pair of Unix sockets. */
static void
side_open(struct side *s, struct bk_loop *loop, int64_t timeout)
{
	int fds[2];

	side_init(s, loop);
	s->config.frame_timeout = s->config.write_timeout = timeout;
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fds) == -1)
		abort();
	s->peer = fds[1];
	s->conn = bk_conn_new(loop, fds[0], false, &s->config, &events, s);
}

/* Over TCP, still connecting. */
static void
side_connect(struct side *s, struct bk_loop *loop)
{
	struct sockaddr_in sin = {.sin_family = AF_INET,
	    .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t len = sizeof(sin);
	int listener = socket(AF_INET, SOCK_STREAM, 0);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);

	side_init(s, loop);
	if (bind(listener, (struct sockaddr *)&sin, len) == -1 ||
	    getsockname(listener, (struct sockaddr *)&sin, &len) == -1 ||
	    listen(listener, 1) == -1 ||
	    (connect(fd, (struct sockaddr *)&sin, len) == -1 &&
		errno != EINPROGRESS))
		abort();
	s->conn = bk_conn_new(loop, fd, true, &s->config, &events, s);
	s->peer = accept(listener, NULL, NULL);
	(void)close(listener);
}

static void
side_fini(struct side *s)
{
	bk_conn_free(s->conn);
	bk_buf_fini(&s->got);
	if (s->peer != -1)
		(void)close(s->peer);
}

/* Turns of the loop until something holds. */
#define run_until(s, cond) \
	do { \
		int64_t begun_ = bk_clock_now(); \
		while (!(cond) && bk_clock_now() - begun_ < LIMIT) \
			one_turn(s); \
	} while (0)

static void
one_turn(struct side *s)
{
	bool never = false;

	(void)bk_loop_run_until(s->loop, &never, bk_clock_now() + BK_MS);
}

static void
turn_at_once(struct side *s)
{
	bk_loop_stop(s->loop);
	(void)bk_loop_run(s->loop);
}

static void
feed(struct side *s, const void *data, size_t len)
{
	const uint8_t *p = data;
	ssize_t n;

	while (len > 0) {
		n = send(s->peer, p, len, MSG_NOSIGNAL | MSG_DONTWAIT);
		if (n == -1 && errno != EAGAIN)
			return;
		if (n > 0) {
			p += n;
			len -= (size_t)n;
		}
		turn_at_once(s);
	}
}

/* n frames of growing length, the bytes of which count up. */
static struct bk_buf
some_frames(unsigned n, size_t step)
{
	struct bk_buf b;

	bk_buf_init(&b);
	for (unsigned i = 0; i < n; i++) {
		(void)bk_buf_put_u32(&b, (uint32_t)(i * step));
		for (size_t k = 0; k < i * step; k++)
			(void)bk_buf_put_u8(&b, (uint8_t)(i + k));
	}
	return (b);
}

/* The payloads of frames alone. */
static struct bk_buf
payloads(const struct bk_buf *frames)
{
	struct bk_buf b;
	const uint8_t *p = bk_buf_head(frames);
	const uint8_t *end = p + bk_buf_len(frames);

	bk_buf_init(&b);
	while (p < end) {
		(void)bk_buf_put(&b, p + 4, bk_be32_get(p));
		p += 4 + bk_be32_get(p);
	}
	return (b);
}

static bool
same(const struct bk_buf *a, const struct bk_buf *b)
{
	return (bk_buf_len(a) == bk_buf_len(b) &&
	    memcmp(bk_buf_head(a), bk_buf_head(b), bk_buf_len(a)) == 0);
}

static void
in_pieces(struct bk_loop *loop)
{
	static const size_t sizes[] = {1, 2, 3, 5, 1000, 1 << 20};
	struct bk_buf frames = some_frames(40, 7);
	struct bk_buf want = payloads(&frames);
	struct side s;
	size_t n;

	for (size_t k = 0; k < sizeof(sizes) / sizeof(sizes[0]); k++) {
		side_open(&s, loop, 0);
		for (size_t at = 0; at < bk_buf_len(&frames); at += n) {
			n = bk_buf_len(&frames) - at;
			if (n > sizes[k])
				n = sizes[k];
			feed(&s, bk_buf_head(&frames) + at, n);
		}
		run_until(&s, s.frames == 40);
		ok(s.frames == 40 && same(&s.got, &want),
		    "frames come whole from pieces of %zu bytes", sizes[k]);
		side_fini(&s);
	}
	bk_buf_fini(&frames);
	bk_buf_fini(&want);
}

static void
big_frames(struct bk_loop *loop)
{
	struct bk_buf frames = some_frames(4, 233333);
	struct bk_buf want = payloads(&frames);
	struct side s;

	side_open(&s, loop, 0);
	feed(&s, bk_buf_head(&frames), bk_buf_len(&frames));
	run_until(&s, s.frames == 4);
	ok(s.frames == 4 && same(&s.got, &want),
	    "frames longer than one read come whole");
	ok(s.batches <= s.frames, "batches end");
	side_fini(&s);
	bk_buf_fini(&frames);
	bk_buf_fini(&want);
}

static void
pausing(struct bk_loop *loop)
{
	struct bk_buf frames = some_frames(10, 3);
	struct bk_buf want = payloads(&frames);
	struct side s;

	side_open(&s, loop, 0);
	s.pause_at = 4;
	feed(&s, bk_buf_head(&frames), bk_buf_len(&frames));
	run_until(&s, s.frames == 4);
	one_turn(&s);
	is_int(s.frames, 4, "a pause keeps what was read");
	s.pause_at = 7;
	bk_conn_pause(s.conn, false);
	is_int(s.frames, 4, "no frame comes inside the call that goes on");
	run_until(&s, s.frames == 7);
	one_turn(&s);
	is_int(s.frames, 7, "pausing again while the rest is handed over");
	bk_conn_pause(s.conn, false);
	run_until(&s, s.frames == 10);
	ok(same(&s.got, &want), "nothing is lost");
	feed(&s, bk_buf_head(&frames), bk_buf_len(&frames));
	run_until(&s, s.frames == 20);
	is_int(s.frames, 20, "and reading goes on");
	side_fini(&s);
	bk_buf_fini(&frames);
	bk_buf_fini(&want);
}

/* Read what the connection has sent, and let it go on. False at its end, the
 * error of which is kept. */
static bool
read_some(struct side *s, struct bk_buf *into)
{
	uint8_t bytes[65536];
	ssize_t n;

	n = recv(s->peer, bytes, sizeof(bytes), MSG_DONTWAIT);
	if (n > 0)
		(void)bk_buf_put(into, bytes, (size_t)n);
	s->error = n == -1 && errno != EAGAIN ? errno : 0;
	if (n == 0 || s->error != 0)
		return (false);
	one_turn(s);
	return (true);
}

static void
read_all(struct side *s, struct bk_buf *into)
{
	int64_t begun = bk_clock_now();

	while (read_some(s, into) && bk_clock_now() - begun < LIMIT)
		continue;
}

static void
finishing(struct bk_loop *loop)
{
	static uint8_t body[BIG];
	struct bk_buf got;
	struct side s;

	side_open(&s, loop, 0);
	bk_buf_init(&got);
	(void)bk_buf_put(bk_conn_out(s.conn), body, BIG);
	is_int(bk_conn_queued(s.conn), BIG, "output is counted");
	bk_conn_finish(s.conn);
	feed(&s, "unread input", 12);
	ok(!s.ended, "finishing waits for its output");
	read_all(&s, &got);
	is_int(s.error, 0, "the peer sees an end, no reset");
	is_int(bk_buf_len(&got), BIG, "and all of the output");
	(void)shutdown(s.peer, SHUT_WR);
	run_until(&s, s.ended);
	is_int(s.why, BK_CONN_CLOSED, "then it is closed");
	is_int(s.ends, 1, "told once");
	is_int(bk_conn_fd(s.conn), -1, "the descriptor is gone");
	is_int(s.frames, 0, "input after finish is thrown away");
	bk_conn_finish(s.conn);
	bk_conn_flush(s.conn);
	bk_conn_pause(s.conn, true);
	one_turn(&s);
	is_int(s.ends, 1, "later calls do nothing");
	bk_buf_fini(&got);
	side_fini(&s);
}

static void
lingering(struct bk_loop *loop)
{
	struct side s;

	side_open(&s, loop, 0);
	bk_conn_finish(s.conn);
	run_until(&s, s.ended);
	is_int(s.why, BK_CONN_CLOSED, "a peer that stays is not waited for");
	side_fini(&s);
}

static void
refusing(struct bk_loop *loop)
{
	struct bk_buf frames = some_frames(5, 3);
	struct bk_buf got;
	struct side s;

	side_open(&s, loop, 0);
	bk_buf_init(&got);
	s.echo = true;
	s.stop_at = 3;
	feed(&s, bk_buf_head(&frames), bk_buf_len(&frames));
	read_all(&s, &got);
	is_int(s.frames, 3, "a frame refused is the last one");
	is_int(bk_buf_len(&got), 4 + 7 + 10, "what was answered arrives");
	side_fini(&s);
	bk_buf_fini(&got);
	bk_buf_fini(&frames);
}

static void
half_closing(struct bk_loop *loop)
{
	struct bk_buf frames = some_frames(5, 3);
	struct bk_buf got;
	struct side s;

	side_open(&s, loop, 0);
	bk_buf_init(&got);
	s.echo = true;
	feed(&s, bk_buf_head(&frames), bk_buf_len(&frames));
	(void)shutdown(s.peer, SHUT_WR);
	read_all(&s, &got);
	ok(same(&got, &frames), "answers reach a peer that closed one half");
	run_until(&s, s.ended);
	is_int(s.why, BK_CONN_EOF, "which is an end of input");
	is_str(s.what, "closed by the peer", "said in words");
	side_fini(&s);
	bk_buf_fini(&got);
	bk_buf_fini(&frames);
}

/* The owner has something to say when input is over. */
static void
kept(struct bk_loop *loop, const char *input, size_t len, bool close_half,
    enum bk_conn_end why)
{
	struct bk_buf got;
	struct side s;

	side_open(&s, loop, 0);
	bk_buf_init(&got);
	s.keeps = true;
	feed(&s, input, len);
	if (close_half)
		(void)shutdown(s.peer, SHUT_WR);
	run_until(&s, s.overs > 0);
	one_turn(&s);
	ok(s.overs == 1 && s.why == why && !s.ended, "input is over: %d", why);
	(void)bk_buf_put(bk_conn_out(s.conn), "late", 4);
	bk_conn_finish(s.conn);
	read_all(&s, &got);
	ok(bk_buf_len(&got) == 4 && s.error == 0, "a late answer arrives");
	(void)shutdown(s.peer, SHUT_WR);
	run_until(&s, s.ended);
	is_int(s.why, BK_CONN_CLOSED, "then it is closed");
	bk_buf_fini(&got);
	side_fini(&s);
}

static void
peer_leaves(struct bk_loop *loop)
{
	struct bk_buf frames = some_frames(5, 3);
	struct side s;

	side_open(&s, loop, 0);
	feed(&s, "\0\0\0\11half", 8);
	(void)close(s.peer);
	s.peer = -1;
	run_until(&s, s.ended);
	is_int(s.why, BK_CONN_EOF, "an end within a frame");
	is_str(s.what, "closed in the middle of a frame", "is named");
	side_fini(&s);

	/* The write fails while input is still there. */
	side_open(&s, loop, 0);
	(void)bk_buf_put(bk_conn_out(s.conn), "x", 1);
	bk_conn_flush(s.conn);
	(void)send(s.peer, bk_buf_head(&frames), bk_buf_len(&frames), 0);
	(void)close(s.peer);
	s.peer = -1;
	run_until(&s, s.ended);
	is_int(s.frames, 5, "the last words of a peer that left are heard");
	side_fini(&s);
	bk_buf_fini(&frames);
}

static void
bad_starts(struct bk_loop *loop)
{
	static const struct {
		const char *bytes;
		size_t len;
		enum bk_conn_end why;
		const char *what;
	} bad[] = {
	    {"\0\x0f\xff\xfd", 4, BK_CONN_OVERSIZE,
		"announces a frame of 1048573 bytes"},
	    {"\xff\xff\xff\xff", 4, BK_CONN_OVERSIZE,
		"announces a frame of 4294967295 bytes"},
	    {"GET / HTTP/1.1\r\n", 16, BK_CONN_OVERSIZE, "speaks HTTP"},
	    {"HTTP/1.1 400 \r\n", 15, BK_CONN_OVERSIZE, "speaks HTTP"},
	    {"\x16\x03\x01\x02\x00\x01", 6, BK_CONN_TLS, "speaks TLS"},
	    {"\x15\x03\x03\x00\x02\x02\x28", 7, BK_CONN_TLS, "speaks TLS"},
	};
	struct side s;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		side_open(&s, loop, 0);
		feed(&s, "\0\0\0\1a", 5);
		feed(&s, bad[i].bytes, 2);
		feed(&s, bad[i].bytes + 2, bad[i].len - 2);
		run_until(&s, s.ended);
		ok(s.why == bad[i].why && s.frames == 1, "it ends: %s",
		    bad[i].what);
		is_str(s.what, bad[i].what, "and says why");
		side_fini(&s);
	}

	side_open(&s, loop, 0);
	feed(&s, "\0\x0f\xff\xfc", 4);
	one_turn(&s);
	ok(!s.ended, "the longest frame is allowed");
	side_fini(&s);
}

static void
stalls(struct bk_loop *loop)
{
	static uint8_t body[4 * BIG];
	struct side s;

	side_open(&s, loop, 5 * BK_MS);
	feed(&s, "\0\0\0\1a\0\0", 7);
	run_until(&s, s.ended);
	is_int(s.why, BK_CONN_STALLED, "half a frame ends the connection");
	side_fini(&s);

	side_open(&s, loop, 5 * BK_MS);
	(void)bk_conn_out_ref(s.conn, (struct bk_bytes){body, sizeof(body)},
	    NULL, NULL);
	bk_conn_flush(s.conn);
	run_until(&s, s.ended);
	is_int(s.why, BK_CONN_STALLED, "so does output nobody takes");
	side_fini(&s);
}

static void
drains(struct bk_loop *loop)
{
	static uint8_t body[4 * BIG];
	struct bk_buf got;
	struct side s;

	side_open(&s, loop, 0);
	bk_buf_init(&got);
	(void)bk_buf_put(bk_conn_out(s.conn), body, 10);
	bk_conn_flush(s.conn);
	one_turn(&s);
	ok(!s.drained, "a little output is nothing to tell");
	(void)bk_conn_out_ref(s.conn, (struct bk_bytes){body, sizeof(body)},
	    NULL, NULL);
	bk_conn_flush(s.conn);
	one_turn(&s);
	ok(!s.drained && bk_conn_queued(s.conn) > s.config.out_high,
	    "much output waits");
	while (!s.drained && read_some(&s, &got))
		continue;
	ok(s.drained, "its going is told");
	bk_conn_finish(s.conn);
	read_all(&s, &got);
	is_int(bk_buf_len(&got), 10 + sizeof(body), "and all of it arrives");
	bk_buf_fini(&got);
	side_fini(&s);
}

static void
over_tcp(struct bk_loop *loop)
{
	static uint8_t body[BIG];
	struct bk_buf got;
	struct side s;

	side_connect(&s, loop);
	bk_buf_init(&got);
	(void)bk_buf_put(bk_conn_out(s.conn), body, BIG);
	bk_conn_flush(s.conn);
	bk_conn_finish(s.conn);
	is_int(s.ended, false, "output may be queued before the connection");
	feed(&s, body, BIG);
	read_all(&s, &got);
	is_int(s.error, 0, "unread input does not reset the connection");
	is_int(bk_buf_len(&got), BIG, "and destroys no output");
	bk_buf_fini(&got);
	side_fini(&s);
}

static void
refused(struct bk_loop *loop)
{
	struct sockaddr_in sin = {.sin_family = AF_INET,
	    .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	    .sin_port = htons(1)};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
	struct side s;

	side_init(&s, loop);
	(void)connect(fd, (struct sockaddr *)&sin, sizeof(sin));
	s.conn = bk_conn_new(loop, fd, true, &s.config, &events, &s);
	run_until(&s, s.ended);
	ok(s.why == BK_CONN_ERROR && s.error == ECONNREFUSED,
	    "a connection refused is told with its errno");
	side_fini(&s);
}

int
main(void)
{
	struct bk_loop *loop = bk_loop_new();

	in_pieces(loop);
	big_frames(loop);
	pausing(loop);
	finishing(loop);
	lingering(loop);
	refusing(loop);
	half_closing(loop);
	kept(loop, "\0\0\0\1a", 5, true, BK_CONN_EOF);
	kept(loop, "\0\0\0\1a\377\377\377\377more", 13, false,
	    BK_CONN_OVERSIZE);
	peer_leaves(loop);
	bad_starts(loop);
	stalls(loop);
	drains(loop);
	over_tcp(loop);
	refused(loop);
	bk_loop_free(loop);
	return (tap_done());
}
