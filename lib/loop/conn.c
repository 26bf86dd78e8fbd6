/*
 * conn.c - one connection that carries length-prefixed frames.
 *
 * Input: one readv(2) a turn, first into what is missing of a frame begun
 * earlier, then into a buffer all connections of the thread share. Frames are
 * handed over where they lie; only the last, incomplete one is copied and kept
 * with the connection.
 *
 * Output: gathered over the turn, written at its end; what the system does not
 * take waits until the socket is writable.
 *
 * The end: over() is the only way, whatever the reason. A connection that
 * finishes throws input away from then on, flushes, sends FIN, and waits a
 * moment for the peer's FIN, because closing with unread input would reset the
 * connection and destroy answers on their way. After a failed write the peer's
 * last frames are still handed over.
 */
#include "loop/conn.h"

#include "loop/outq.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#define FRAME_HEAD 4
#define SHARED_SIZE ((size_t)128 * 1024)
#define GROW_MIN ((size_t)64 * 1024)   /* a frame's first piece of memory */
#define FLUSH_TIMEOUT (10 * BK_SECOND) /* when finishing, without a config */
#define LINGER (1 * BK_SECOND)
#define WHAT_MAX 128

/* The first bytes of a TLS record. */
enum { TLS_ALERT = 0x15, TLS_HANDSHAKE = 0x16, TLS_MAJOR = 3 };

enum state { CONNECTING, OPEN, LINGERING, OVER };

/* Something that must make progress while it lasts. */
struct guard {
	struct bk_timer *timer;
	int64_t timeout;
	uint64_t mark; /* progress when the timer was set */
	bool running;
};

struct bk_conn {
	struct bk_loop *loop;
	const struct bk_conn_config *config;
	const struct bk_conn_events *events;
	void *arg;
	struct bk_fd *watch;
	int fd;
	enum state state;
	bool paused;
	bool finishing; /* input is thrown away, ends when flushed */
	bool eof;
	bool stuck; /* the system takes no more output now */
	bool was_full;
	bool turn_asked;
	enum bk_conn_end why; /* of a finishing connection */
	const char *what;
	struct bk_buf in; /* kept input; begins with a frame */
	struct bk_outq out;
	uint64_t frames;  /* handed over, ever */
	uint64_t written; /* bytes, ever */
	struct guard frame_guard;
	struct guard write_guard;
};

enum taken { TOOK, NOTHING, AT_EOF, FAILED, UNFIT };

static _Thread_local uint8_t shared[SHARED_SIZE];

static void end_of_turn(void *arg);

/* The end. */

static void
let_go(struct bk_conn *c)
{
	if (c->turn_asked)
		bk_loop_later_cancel(c->loop, end_of_turn, c);
	c->turn_asked = false;
	bk_fd_free(c->watch);
	c->watch = NULL;
	bk_timer_free(c->frame_guard.timer);
	bk_timer_free(c->write_guard.timer);
	c->frame_guard.timer = c->write_guard.timer = NULL;
	bk_outq_fini(&c->out);
	bk_buf_fini(&c->in);
	if (c->fd != -1)
		(void)close(c->fd);
	c->fd = -1;
	c->state = OVER;
}

/* The owner may free the connection in here: nothing may follow. */
static void
over(struct bk_conn *c, enum bk_conn_end why, const char *what)
{
	int saved = errno;

	let_go(c);
	errno = saved;
	if (c->events->end != NULL)
		c->events->end(c->arg, why, what);
}

static void
over_errno(struct bk_conn *c, int error)
{
	errno = error;
	over(c, BK_CONN_ERROR, strerror(error));
}

/* Guards. */

static void
guard_start(struct guard *g, uint64_t progress)
{
	if (g->running || g->timeout == 0)
		return;
	g->running = true;
	g->mark = progress;
	bk_timer_set(g->timer, g->timeout);
}

static void
frame_guard_due(void *arg)
{
	struct bk_conn *c = arg;

	c->frame_guard.running = false;
	if (bk_buf_len(&c->in) == 0 || c->paused)
		return;
	if (c->frame_guard.mark == c->frames)
		over(c, BK_CONN_STALLED, "no end of a frame");
	else
		guard_start(&c->frame_guard, c->frames);
}

static void
write_guard_due(void *arg)
{
	struct bk_conn *c = arg;

	c->write_guard.running = false;
	if (c->state == LINGERING)
		over(c, c->why, c->what);
	else if (bk_outq_len(&c->out) == 0)
		return;
	else if (c->write_guard.mark == c->written)
		over(c, BK_CONN_STALLED, "takes no more output");
	else
		guard_start(&c->write_guard, c->written);
}

static int
guard_init(struct bk_conn *c, struct guard *g, int64_t timeout,
    bk_timer_cb *due)
{
	g->timeout = timeout;
	g->timer = bk_timer_new(c->loop, due, c);
	return (g->timer != NULL ? 0 : -1);
}

/* Output. */

/* Wait for what can be done next. */
static void
watch(struct bk_conn *c)
{
	int want = 0;

	if (c->state == CONNECTING || c->stuck)
		want |= BK_WRITABLE;
	if (c->state != CONNECTING && !c->paused && !c->eof)
		want |= BK_READABLE;
	bk_fd_want(c->watch, want);
}

static void
ask_turn(struct bk_conn *c)
{
	if (c->turn_asked || c->state == CONNECTING || c->state == OVER)
		return;
	if (bk_loop_later(c->loop, end_of_turn, c) == 0)
		c->turn_asked = true;
	else {
		c->stuck = true; /* soon, then */
		watch(c);
	}
}

/* All is written: the end of a finishing connection. */
static void
flushed(struct bk_conn *c)
{
	if (c->eof) {
		over(c, c->why, c->what);
		return;
	}
	if (shutdown(c->fd, SHUT_WR) == -1) {
		over(c, c->why, c->what);
		return;
	}
	c->state = LINGERING;
	watch(c);
	c->write_guard.running = true;
	bk_timer_set(c->write_guard.timer, LINGER);
}

static enum taken take(struct bk_conn *c);

/* Nothing can be written any more. What the peer sent before still counts. */
static void
broken(struct bk_conn *c, int error)
{
	enum taken t = TOOK;

	if (c->finishing && c->why == BK_CONN_EOF) {
		over(c, c->why, c->what);
		return;
	}
	while (t == TOOK && !c->paused && !c->finishing)
		t = take(c);
	over_errno(c, error);
}

static void
write_out(struct bk_conn *c)
{
	ssize_t n = 0;
	size_t left;

	if (c->state != OPEN)
		return;
	if (bk_outq_len(&c->out) > c->config->out_high)
		c->was_full = true;
	while (n != -1 && bk_outq_len(&c->out) > 0) {
		n = bk_outq_write(&c->out, c->fd);
		if (n > 0)
			c->written += (size_t)n;
	}
	if (n == -1 && errno != EAGAIN) {
		broken(c, errno);
		return;
	}
	left = bk_outq_len(&c->out);
	c->stuck = left > 0;
	if (left == 0 && c->finishing && c->state == OPEN) {
		flushed(c);
		return;
	}
	watch(c);
	if (left > 0)
		guard_start(&c->write_guard, c->written);
	if (c->was_full && left < c->config->out_high / 2) {
		c->was_full = false;
		if (c->events->drained != NULL)
			c->events->drained(c->arg);
	}
}

static void
begin_finish(struct bk_conn *c, enum bk_conn_end why, const char *what)
{
	if (c->finishing || c->state == OVER)
		return;
	c->finishing = true;
	c->why = why;
	c->what = what;
	c->paused = false;
	if (c->write_guard.timeout == 0)
		c->write_guard.timeout = FLUSH_TIMEOUT;
	watch(c);
	ask_turn(c);
}

/* Input. */

static bool
is_fit(const struct bk_conn *c, const uint8_t *head)
{
	return (bk_be32_get(head) <= c->config->max_frame - FRAME_HEAD);
}

/* Hand over the whole frames of data. Returns the bytes they took. */
static size_t
hand_over(struct bk_conn *c, uint8_t *data, size_t len)
{
	uint64_t before = c->frames;
	size_t used = 0;
	size_t n;

	while (!c->paused && !c->finishing && len - used >= FRAME_HEAD &&
	    is_fit(c, data + used)) {
		n = bk_be32_get(data + used);
		if (len - used - FRAME_HEAD < n)
			break;
		c->frames++;
		if (!c->events->frame(c->arg, data + used + FRAME_HEAD, n))
			begin_finish(c, BK_CONN_CLOSED, "closed");
		used += FRAME_HEAD + n;
	}
	if (c->frames > before && c->events->batch_end != NULL)
		c->events->batch_end(c->arg);
	return (used);
}

/* Hand over what is kept, then the len bytes behind it, and keep the rest. */
static enum taken
digest_input(struct bk_conn *c, uint8_t *data, size_t len)
{
	size_t used = 0;

	if (bk_buf_len(&c->in) > 0)
		bk_buf_consume(&c->in,
		    hand_over(c, bk_buf_head(&c->in), bk_buf_len(&c->in)));
	if (len > 0 && bk_buf_len(&c->in) == 0)
		used = hand_over(c, data, len);
	if (c->finishing) {
		bk_buf_fini(&c->in);
		return (TOOK);
	}
	if (len > used && bk_buf_put(&c->in, data + used, len - used) == -1)
		return (FAILED);
	if (bk_buf_len(&c->in) >= FRAME_HEAD && !is_fit(c, bk_buf_head(&c->in)))
		return (UNFIT);
	if (bk_buf_len(&c->in) > 0)
		guard_start(&c->frame_guard, c->frames);
	return (TOOK);
}

/* How much to read behind the kept part of a frame. *ends: that is the whole
 * rest of the frame, so that the next one may be read with it. Memory grows
 * with what has arrived, not with what was announced. */
static size_t
room_for_rest(const struct bk_conn *c, bool *ends)
{
	size_t kept = bk_buf_len(&c->in);
	size_t most = kept > GROW_MIN ? kept : GROW_MIN;
	size_t rest = 0;

	*ends = kept == 0 || kept >= FRAME_HEAD;
	if (kept >= FRAME_HEAD)
		rest = FRAME_HEAD + bk_be32_get(bk_buf_head(&c->in)) - kept;
	if (rest > most)
		*ends = false;
	return (*ends ? rest : most);
}

/* Read once, and hand over what is whole. The kept input is not whole. */
static enum taken
take(struct bk_conn *c)
{
	struct iovec iov[2];
	size_t room;
	ssize_t n;
	bool ends;

	room = room_for_rest(c, &ends);
	iov[0].iov_base = room > 0 ? bk_buf_reserve(&c->in, room) : NULL;
	iov[0].iov_len = room;
	iov[1] = (struct iovec){shared, sizeof(shared)};
	if (room > 0 && iov[0].iov_base == NULL)
		return (FAILED);
	n = readv(c->fd, iov, ends ? 2 : 1);
	if (n == -1)
		return (errno == EAGAIN || errno == EINTR ? NOTHING : FAILED);
	if (n == 0)
		return (AT_EOF);
	if (c->finishing)
		return (TOOK);
	if ((size_t)n < room)
		room = (size_t)n;
	bk_buf_commit(&c->in, room);
	return (digest_input(c, shared, (size_t)n - room));
}

/* Whether the owner wants to say more before the end. */
static bool
is_kept(struct bk_conn *c, enum bk_conn_end why, const char *what)
{
	if (c->events->input_over == NULL ||
	    !c->events->input_over(c->arg, why, what))
		return (false);
	bk_buf_fini(&c->in);
	return (true);
}

static void
over_unfit(struct bk_conn *c, enum bk_conn_end why, const char *what)
{
	if (is_kept(c, why, what))
		bk_conn_pause(c, true);
	else
		over(c, why, what);
}

/* A frame was announced that is too long: say what it looks like. */
static void
at_unfit(struct bk_conn *c)
{
	const uint8_t *head = bk_buf_head(&c->in);
	char what[WHAT_MAX];

	if ((head[0] == TLS_ALERT || head[0] == TLS_HANDSHAKE) &&
	    head[1] == TLS_MAJOR) {
		over_unfit(c, BK_CONN_TLS, "speaks TLS");
		return;
	}
	if (memcmp(head, "HTTP", FRAME_HEAD) == 0 ||
	    memcmp(head, "GET ", FRAME_HEAD) == 0 ||
	    memcmp(head, "POST", FRAME_HEAD) == 0 ||
	    memcmp(head, "HEAD", FRAME_HEAD) == 0)
		(void)snprintf(what, sizeof(what), "speaks HTTP");
	else
		(void)snprintf(what, sizeof(what),
		    "announces a frame of %" PRIu32 " bytes",
		    bk_be32_get(head));
	over_unfit(c, BK_CONN_OVERSIZE, what);
}

static void
at_eof(struct bk_conn *c)
{
	const char *what = bk_buf_len(&c->in) > 0 ?
	    "closed in the middle of a frame" :
	    "closed by the peer";

	c->eof = true;
	if (c->state == LINGERING)
		over(c, c->why, c->what);
	else if (c->finishing || is_kept(c, BK_CONN_EOF, what))
		watch(c);
	else
		begin_finish(c, BK_CONN_EOF, what);
}

/* What became of taking input. Returns whether the connection goes on. */
static bool
goes_on(struct bk_conn *c, enum taken t)
{
	switch (t) {
	case TOOK:
	case NOTHING:
		return (true);
	case AT_EOF:
		at_eof(c);
		return (false);
	case UNFIT:
		at_unfit(c);
		return (false);
	case FAILED:
		break;
	}
	if (c->state == LINGERING)
		over(c, c->why, c->what);
	else
		over_errno(c, errno);
	return (false);
}

/* Events. */

/* Input kept while paused, then output. */
static void
end_of_turn(void *arg)
{
	struct bk_conn *c = arg;

	if (bk_buf_len(&c->in) > 0 && !c->paused &&
	    !goes_on(c, digest_input(c, NULL, 0)))
		return;
	c->turn_asked = false;
	write_out(c);
}

static void
connected(struct bk_conn *c)
{
	int error = 0;
	socklen_t len = sizeof(error);

	if (getsockopt(c->fd, SOL_SOCKET, SO_ERROR, &error, &len) == -1)
		error = errno;
	if (error != 0) {
		over_errno(c, error);
		return;
	}
	c->state = OPEN;
	write_out(c);
}

static void
on_event(void *arg, int fd, int what)
{
	struct bk_conn *c = arg;

	(void)fd;
	if (c->state == CONNECTING)
		connected(c);
	else if (what == BK_WRITABLE)
		write_out(c);
	else
		(void)goes_on(c, take(c));
}

/* What owners call. */

struct bk_conn *
bk_conn_new(struct bk_loop *loop, int fd, bool connecting,
    const struct bk_conn_config *config, const struct bk_conn_events *events,
    void *arg)
{
	struct bk_conn *c;
	int saved;

	c = calloc(1, sizeof(*c));
	if (c == NULL)
		return (NULL);
	c->loop = loop;
	c->config = config;
	c->events = events;
	c->arg = arg;
	c->fd = -1; /* still the caller's */
	c->state = connecting ? CONNECTING : OPEN;
	bk_buf_init(&c->in);
	bk_outq_init(&c->out);
	c->watch = bk_fd_new(loop, fd, connecting ? BK_WRITABLE : BK_READABLE,
	    on_event, c);
	if (c->watch == NULL ||
	    guard_init(c, &c->frame_guard, config->frame_timeout,
		frame_guard_due) == -1 ||
	    guard_init(c, &c->write_guard, config->write_timeout,
		write_guard_due) == -1) {
		saved = errno;
		bk_conn_free(c);
		errno = saved;
		return (NULL);
	}
	c->fd = fd;
	return (c);
}

void
bk_conn_free(struct bk_conn *c)
{
	if (c == NULL)
		return;
	let_go(c);
	free(c);
}

struct bk_buf *
bk_conn_out(struct bk_conn *c)
{
	return (&c->out.copied);
}

void
bk_conn_flush(struct bk_conn *c)
{
	ask_turn(c);
}

size_t
bk_conn_queued(const struct bk_conn *c)
{
	return (bk_outq_len(&c->out));
}

int
bk_conn_out_ref(struct bk_conn *c, struct bk_bytes body,
    void (*release)(void *arg), void *arg)
{
	return (bk_outq_ref(&c->out, body, release, arg));
}

void
bk_conn_pause(struct bk_conn *c, bool pause)
{
	if (c->state == OVER || c->finishing || c->paused == pause)
		return;
	c->paused = pause;
	watch(c);
	if (!pause && bk_buf_len(&c->in) > 0)
		ask_turn(c);
}

void
bk_conn_finish(struct bk_conn *c)
{
	begin_finish(c, BK_CONN_CLOSED, "closed");
}

int
bk_conn_fd(const struct bk_conn *c)
{
	return (c->fd);
}
