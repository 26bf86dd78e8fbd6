/*
 * conn.c - one connection that carries length-prefixed frames.
 *
 * Input is read once a turn (inq.c). Output is gathered over the turn and
 * written at its end (outq.c); what the system does not take waits until the
 * socket is writable.
 *
 * The end: over() is the only way, whatever the reason. A connection that
 * finishes throws input away from then on, flushes, sends FIN, and waits a
 * moment for the peer's FIN, because closing with unread input would reset the
 * connection and destroy answers on their way. After a failed write the peer's
 * last frames are still handed over.
 */
#include "loop/conn.h"

#include "loop/inq.h"
#include "loop/outq.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

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
	struct bk_inq in;
	struct bk_outq out;
	uint64_t written; /* bytes, ever */
	struct guard frame_guard;
	struct guard write_guard;
};

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
	bk_inq_fini(&c->in);
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
	if (bk_buf_len(&c->in.kept) == 0 || c->paused)
		return;
	if (c->frame_guard.mark == c->in.frames)
		over(c, BK_CONN_STALLED, "no end of a frame");
	else
		guard_start(&c->frame_guard, c->in.frames);
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

static enum bk_inq_result take(struct bk_conn *c, bool again);

/* Nothing can be written any more. What the peer sent before still counts. */
static void
broken(struct bk_conn *c, int error)
{
	enum bk_inq_result t = BK_INQ_TOOK;

	if (c->finishing && c->why == BK_CONN_EOF) {
		over(c, c->why, c->what);
		return;
	}
	while (t == BK_INQ_TOOK && !c->paused && !c->finishing)
		t = take(c, false);
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
on_frame(void *arg, uint8_t *payload, size_t len)
{
	struct bk_conn *c = arg;

	if (!c->events->frame(c->arg, payload, len))
		begin_finish(c, BK_CONN_CLOSED, "closed");
	return (!c->paused && !c->finishing);
}

/* Read once, or hand over again what is kept. */
static enum bk_inq_result
take(struct bk_conn *c, bool again)
{
	uint64_t before = c->in.frames;
	enum bk_inq_result r;

	if (c->finishing)
		return (bk_inq_discard(c->fd));
	r = again ? bk_inq_again(&c->in, on_frame, c) :
		    bk_inq_read(&c->in, c->fd, on_frame, c);
	if (c->in.frames > before && c->events->batch_end != NULL)
		c->events->batch_end(c->arg);
	if (c->finishing)
		bk_inq_fini(&c->in);
	if (bk_buf_len(&c->in.kept) > 0)
		guard_start(&c->frame_guard, c->in.frames);
	return (c->finishing ? BK_INQ_TOOK : r);
}

/* Whether the owner wants to say more before the end. */
static bool
is_kept(struct bk_conn *c, enum bk_conn_end why, const char *what)
{
	if (c->events->input_over == NULL ||
	    !c->events->input_over(c->arg, why, what))
		return (false);
	bk_inq_fini(&c->in);
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
	const uint8_t *head = bk_buf_head(&c->in.kept);
	char what[WHAT_MAX];

	if ((head[0] == TLS_ALERT || head[0] == TLS_HANDSHAKE) &&
	    head[1] == TLS_MAJOR) {
		over_unfit(c, BK_CONN_TLS, "speaks TLS");
		return;
	}
	if (memcmp(head, "HTTP", 4) == 0 || memcmp(head, "GET ", 4) == 0 ||
	    memcmp(head, "POST", 4) == 0 || memcmp(head, "HEAD", 4) == 0)
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
	const char *what = bk_buf_len(&c->in.kept) > 0 ?
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
goes_on(struct bk_conn *c, enum bk_inq_result r)
{
	switch (r) {
	case BK_INQ_TOOK:
	case BK_INQ_NOTHING:
		return (true);
	case BK_INQ_EOF:
		at_eof(c);
		return (false);
	case BK_INQ_UNFIT:
		at_unfit(c);
		return (false);
	case BK_INQ_FAILED:
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

	if (bk_buf_len(&c->in.kept) > 0 && !c->paused && !c->finishing &&
	    !goes_on(c, take(c, true)))
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
		(void)goes_on(c, take(c, false));
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
	bk_inq_init(&c->in, config->max_frame);
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
	if (!pause && bk_buf_len(&c->in.kept) > 0)
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
