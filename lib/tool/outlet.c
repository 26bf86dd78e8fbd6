/* outlet.c - buffered standard output in a loop. */
#include "tool/outlet.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

struct bk_outlet {
	struct bk_loop *loop;
	int fd;
	int own;  /* the pipe opened anew, or -1 */
	int gone; /* an epoll descriptor that is readable when the
	                         reader has left, or -1 */
	struct bk_fd *gone_watch;
	struct bk_fd *room; /* waits for room in the pipe; of own */
	struct bk_timer *turn;
	struct bk_buf buf;
	size_t high;
	bool touched; /* turn is set */
	bool was_full;
	int error;
	struct bk_outlet_events events;
	void *arg;
};

static void
fail(struct bk_outlet *o, int error)
{
	if (o->error != 0)
		return;
	o->error = error;
	bk_fd_want(o->room, 0);
	bk_timer_stop(o->turn);
	if (o->events.failed != NULL)
		o->events.failed(o->arg, error);
}

static void
reader_gone(void *arg, int fd, int what)
{
	struct bk_outlet *o = arg;

	(void)fd;
	(void)what;
	bk_fd_want(o->gone_watch, 0);
	fail(o, EPIPE);
}

static void
on_room(void *arg, int fd, int what)
{
	(void)fd;
	(void)what;
	bk_outlet_flush(arg);
}

static void
end_of_turn(void *arg)
{
	struct bk_outlet *o = arg;

	o->touched = false;
	bk_outlet_flush(o);
}

/* An epoll descriptor tells errors and hang-ups of a descriptor in it, asked
 * or not, and nothing else if nothing else is asked for. A file has none. */
static void
watch_reader(struct bk_outlet *o)
{
	struct epoll_event none = {0, {0}};

	o->gone = epoll_create1(EPOLL_CLOEXEC);
	if (o->gone == -1)
		return;
	if (epoll_ctl(o->gone, EPOLL_CTL_ADD, o->fd, &none) == 0)
		o->gone_watch =
		    bk_fd_new(o->loop, o->gone, BK_READABLE, reader_gone, o);
	if (o->gone_watch == NULL) {
		(void)close(o->gone);
		o->gone = -1;
	}
}

/* Writes that do not block need a description that nobody else has. */
static void
open_anew(struct bk_outlet *o)
{
	char path[32];
	struct stat st;

	if (fstat(o->fd, &st) == -1 || !S_ISFIFO(st.st_mode))
		return;
	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", o->fd);
	o->own = open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC);
	if (o->own != -1)
		o->fd = o->own;
}

struct bk_outlet *
bk_outlet_new(struct bk_loop *loop, int fd, size_t high,
    const struct bk_outlet_events *events, void *arg)
{
	struct bk_outlet *o = calloc(1, sizeof(*o));

	if (o == NULL)
		return (NULL);
	o->loop = loop;
	o->fd = fd;
	o->own = o->gone = -1;
	o->high = high;
	o->events = *events;
	o->arg = arg;
	bk_buf_init(&o->buf);
	open_anew(o);
	o->turn = bk_timer_new(loop, end_of_turn, o);
	o->room = bk_fd_new(loop, o->fd, 0, on_room, o);
	if (o->turn == NULL || o->room == NULL) {
		bk_outlet_free(o);
		return (NULL);
	}
	watch_reader(o);
	return (o);
}

void
bk_outlet_free(struct bk_outlet *o)
{
	if (o == NULL)
		return;
	bk_fd_free(o->room);
	bk_fd_free(o->gone_watch);
	if (o->own != -1)
		(void)close(o->own);
	if (o->gone != -1)
		(void)close(o->gone);
	if (o->turn != NULL)
		bk_timer_free(o->turn);
	bk_buf_fini(&o->buf);
	free(o);
}

struct bk_buf *
bk_outlet_buf(struct bk_outlet *o)
{
	return (&o->buf);
}

void
bk_outlet_touch(struct bk_outlet *o)
{
	o->was_full |= bk_outlet_full(o);
	if (o->touched || o->error != 0)
		return;
	o->touched = true;
	bk_timer_set(o->turn, 0);
}

bool
bk_outlet_full(const struct bk_outlet *o)
{
	return (bk_buf_len(&o->buf) >= o->high);
}

bool
bk_outlet_empty(const struct bk_outlet *o)
{
	return (bk_buf_len(&o->buf) == 0);
}

/* As much as goes, of the buffer and of what comes after it, if anything does;
 * how much of the latter was taken. */
static size_t
write_some(struct bk_outlet *o, struct bk_bytes body)
{
	size_t taken = 0, from_buf;

	while (o->error == 0 && (!bk_outlet_empty(o) || taken < body.len)) {
		struct iovec iov[2] = {{o->buf.data + o->buf.start,
					   bk_buf_len(&o->buf)},
		    {(void *)(uintptr_t)(body.data + taken), body.len - taken}};
		int skip = bk_outlet_empty(o);
		ssize_t n =
		    writev(o->fd, iov + skip, 2 - skip - (taken == body.len));

		if (n == -1 && errno == EINTR)
			continue;
		if (n == -1 && errno == EAGAIN)
			break;
		if (n == -1) {
			fail(o, errno);
			break;
		}
		from_buf = bk_buf_len(&o->buf);
		if (from_buf > (size_t)n)
			from_buf = (size_t)n;
		bk_buf_consume(&o->buf, from_buf);
		taken += (size_t)n - from_buf;
	}
	return (taken);
}

void
bk_outlet_flush(struct bk_outlet *o)
{
	(void)write_some(o, (struct bk_bytes){NULL, 0});
	if (o->error != 0)
		return;
	bk_fd_want(o->room, bk_outlet_empty(o) ? 0 : BK_WRITABLE);
	if (o->was_full && bk_buf_len(&o->buf) < o->high / 2) {
		o->was_full = false;
		if (o->events.drained != NULL)
			o->events.drained(o->arg);
	}
}

int
bk_outlet_write(struct bk_outlet *o, struct bk_bytes body)
{
	size_t taken = write_some(o, body);

	if (o->error != 0 || taken == body.len)
		return (0);
	if (bk_buf_put(&o->buf, body.data + taken, body.len - taken) == -1)
		return (-1);
	o->was_full |= bk_outlet_full(o);
	bk_fd_want(o->room, BK_WRITABLE);
	return (0);
}

int
bk_outlet_finish(struct bk_outlet *o)
{
	struct pollfd p = {o->fd, POLLOUT, 0};

	while (o->error == 0 && !bk_outlet_empty(o)) {
		(void)write_some(o, (struct bk_bytes){NULL, 0});
		if (o->error == 0 && !bk_outlet_empty(o) &&
		    poll(&p, 1, -1) == -1 && errno != EINTR)
			fail(o, errno);
	}
	return (o->error);
}

void
bk_outlet_reader_left(void)
{
	sigset_t set;

	(void)signal(SIGPIPE, SIG_DFL);
	(void)sigemptyset(&set);
	(void)sigaddset(&set, SIGPIPE);
	(void)sigprocmask(SIG_UNBLOCK, &set, NULL);
	(void)raise(SIGPIPE);
	_exit(128 + SIGPIPE);
}
