/*
 * loop.c - the event loop over libevent.
 *
 * A turn is: wait for events, call their callbacks, then call what asked for
 * the end of the turn. What is asked for while that runs belongs to the next
 * turn, which then does not wait.
 */
#include "loop/loop.h"

#include "base/log.h"

#include <errno.h>
#include <event2/event.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#define NS_PER_US 1000

struct later {
	bk_timer_cb *cb; /* NULL: cancelled */
	void *arg;
};

/* What was asked for in one turn. */
struct later_queue {
	struct later *items;
	size_t n;
	size_t cap;
};

struct bk_loop {
	struct event_base *base;
	struct later_queue asked;
	struct later_queue running;
	bool stop;
};

struct bk_fd {
	struct event *readable;
	struct event *writable;
	int want;
	bk_fd_cb *cb;
	void *arg;
};

struct bk_timer {
	struct event *event;
	int64_t due;
	bk_timer_cb *cb;
	void *arg;
};

struct bk_wake {
	struct bk_fd *watch;
	int fd;
	atomic_bool pending;
	bk_timer_cb *cb;
	void *arg;
};

struct bk_signal {
	struct event *event;
	bk_signal_cb *cb;
	void *arg;
};

/* What libevent would print; its results tell what matters. */
static void
on_log(int severity, const char *text)
{
	(void)severity;
	bk_log(BK_LOG_DEBUG, "libevent: %s", text);
}

struct bk_loop *
bk_loop_new(void)
{
	struct bk_loop *loop;

	loop = calloc(1, sizeof(*loop));
	if (loop == NULL)
		return (NULL);
	event_set_log_callback(on_log);
	loop->base = event_base_new();
	if (loop->base == NULL) {
		free(loop);
		errno = ENOMEM;
		return (NULL);
	}
	return (loop);
}

struct event_base *
bk_loop_base(struct bk_loop *loop)
{
	return (loop->base);
}

int64_t
bk_clock_now(void)
{
	struct timespec ts;

	(void)clock_gettime(CLOCK_MONOTONIC, &ts); /* cannot fail */
	return (ts.tv_sec * BK_SECOND + ts.tv_nsec);
}

/* Running. */

static void
run_later(struct bk_loop *loop)
{
	struct later_queue q = loop->asked;
	struct later item;

	loop->asked = loop->running;
	loop->running = q;
	for (size_t i = 0; i < loop->running.n; i++) {
		item = loop->running.items[i];
		if (item.cb != NULL)
			item.cb(item.arg);
	}
	loop->running.n = 0;
}

static int
turn(struct bk_loop *loop)
{
	int flags = EVLOOP_ONCE | EVLOOP_NO_EXIT_ON_EMPTY;

	if (loop->stop || loop->asked.n > 0)
		flags |= EVLOOP_NONBLOCK;
	if (event_base_loop(loop->base, flags) == -1)
		return (-1);
	run_later(loop);
	return (0);
}

void
bk_loop_free(struct bk_loop *loop)
{
	if (loop == NULL)
		return;
	/* What libevent still owes for something cancelled. */
	loop->stop = true;
	(void)turn(loop);
	event_base_free(loop->base);
	free(loop->asked.items);
	free(loop->running.items);
	free(loop);
}

int
bk_loop_run(struct bk_loop *loop)
{
	int r;

	do
		r = turn(loop);
	while (r == 0 && !loop->stop);
	loop->stop = false;
	return (r);
}

static void
deadline_passed(void *arg)
{
	*(bool *)arg = true;
}

bool
bk_loop_run_until(struct bk_loop *loop, const bool *done, int64_t deadline)
{
	struct bk_timer *timer = NULL;
	bool late = false;

	if (deadline != BK_FOREVER) {
		timer = bk_timer_new(loop, deadline_passed, &late);
		if (timer == NULL)
			return (*done);
		bk_timer_set(timer, deadline - bk_clock_now());
	}
	while (!*done && !late && turn(loop) == 0 && !loop->stop)
		continue;
	loop->stop = false;
	bk_timer_free(timer);
	return (*done);
}

void
bk_loop_stop(struct bk_loop *loop)
{
	loop->stop = true;
}

/* The end of the turn. */

int
bk_loop_later(struct bk_loop *loop, bk_timer_cb *cb, void *arg)
{
	struct later_queue *q = &loop->asked;
	struct later *items;
	size_t cap;

	if (q->n == q->cap) {
		cap = q->cap == 0 ? 64 : q->cap * 2;
		items = reallocarray(q->items, cap, sizeof(*items));
		if (items == NULL)
			return (-1);
		q->items = items;
		q->cap = cap;
	}
	q->items[q->n++] = (struct later){cb, arg};
	return (0);
}

static void
cancel_in(struct later_queue *q, bk_timer_cb *cb, const void *arg)
{
	for (size_t i = 0; i < q->n; i++) {
		if (q->items[i].cb == cb && q->items[i].arg == arg)
			q->items[i].cb = NULL;
	}
}

void
bk_loop_later_cancel(struct bk_loop *loop, bk_timer_cb *cb, const void *arg)
{
	cancel_in(&loop->asked, cb, arg);
	cancel_in(&loop->running, cb, arg);
}

/* Descriptors. */

static void
fd_event(evutil_socket_t fd, short what, void *arg)
{
	struct bk_fd *w = arg;

	w->cb(w->arg, fd, what & EV_READ ? BK_READABLE : BK_WRITABLE);
}

static int
want_event(struct event *event, bool is, bool want)
{
	if (want == is)
		return (0);
	return (want ? event_add(event, NULL) : event_del(event));
}

static int
change_want(struct bk_fd *w, int what)
{
	int is = w->want;

	w->want = what;
	if (want_event(w->readable, is & BK_READABLE, what & BK_READABLE) == -1)
		return (-1);
	return (want_event(w->writable, is & BK_WRITABLE, what & BK_WRITABLE));
}

struct bk_fd *
bk_fd_new(struct bk_loop *loop, int fd, int what, bk_fd_cb *cb, void *arg)
{
	struct bk_fd *w;
	int saved;

	w = calloc(1, sizeof(*w));
	if (w == NULL)
		return (NULL);
	w->cb = cb;
	w->arg = arg;
	w->readable =
	    event_new(loop->base, fd, EV_READ | EV_PERSIST, fd_event, w);
	w->writable =
	    event_new(loop->base, fd, EV_WRITE | EV_PERSIST, fd_event, w);
	if (w->readable == NULL || w->writable == NULL) {
		bk_fd_free(w);
		errno = ENOMEM;
		return (NULL);
	}
	if (change_want(w, what) == -1) {
		saved = errno;
		bk_fd_free(w);
		errno = saved;
		return (NULL);
	}
	return (w);
}

void
bk_fd_want(struct bk_fd *w, int what)
{
	(void)change_want(w, what); /* the kernel has taken it once already */
}

void
bk_fd_free(struct bk_fd *w)
{
	if (w == NULL)
		return;
	if (w->readable != NULL)
		event_free(w->readable);
	if (w->writable != NULL)
		event_free(w->writable);
	free(w);
}

/* Timers. */

static void
timer_arm(struct bk_timer *t, int64_t delay)
{
	struct timeval tv;
	int64_t us;

	us = delay <= 0 ? 0 : (delay + NS_PER_US - 1) / NS_PER_US;
	tv.tv_sec = us / 1000000;
	tv.tv_usec = us % 1000000;
	(void)evtimer_add(t->event, &tv);
}

/* libevent's clock is coarse: it may call a few milliseconds early. */
static void
timer_event(evutil_socket_t fd, short what, void *arg)
{
	struct bk_timer *t = arg;
	int64_t left = t->due - bk_clock_now();

	(void)fd;
	(void)what;
	if (left > 0)
		timer_arm(t, left);
	else
		t->cb(t->arg);
}

struct bk_timer *
bk_timer_new(struct bk_loop *loop, bk_timer_cb *cb, void *arg)
{
	struct bk_timer *t;

	t = calloc(1, sizeof(*t));
	if (t == NULL)
		return (NULL);
	t->event = evtimer_new(loop->base, timer_event, t);
	if (t->event == NULL) {
		free(t);
		errno = ENOMEM;
		return (NULL);
	}
	t->cb = cb;
	t->arg = arg;
	return (t);
}

void
bk_timer_set(struct bk_timer *t, int64_t delay_ns)
{
	int64_t now = bk_clock_now();

	if (delay_ns > BK_FOREVER - now) {
		bk_timer_stop(t);
		return;
	}
	t->due = now + delay_ns;
	timer_arm(t, delay_ns);
}

void
bk_timer_stop(struct bk_timer *t)
{
	(void)evtimer_del(t->event);
}

void
bk_timer_free(struct bk_timer *t)
{
	if (t == NULL)
		return;
	event_free(t->event);
	free(t);
}

/* Wake-ups from other threads. */

static void
wake_event(void *arg, int fd, int what)
{
	struct bk_wake *w = arg;
	uint64_t count;

	(void)what;
	if (read(fd, &count, sizeof(count)) == -1)
		return; /* already taken */
	atomic_exchange(&w->pending, false);
	w->cb(w->arg);
}

struct bk_wake *
bk_wake_new(struct bk_loop *loop, bk_timer_cb *cb, void *arg)
{
	struct bk_wake *w;

	w = calloc(1, sizeof(*w));
	if (w == NULL)
		return (NULL);
	w->cb = cb;
	w->arg = arg;
	w->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (w->fd == -1) {
		free(w);
		return (NULL);
	}
	w->watch = bk_fd_new(loop, w->fd, BK_READABLE, wake_event, w);
	if (w->watch == NULL) {
		bk_wake_free(w);
		errno = ENOMEM;
		return (NULL);
	}
	return (w);
}

void
bk_wake_up(struct bk_wake *w)
{
	uint64_t one = 1;

	if (atomic_exchange(&w->pending, true))
		return;
	/* Fails only when the counter is full: then it is readable. */
	if (write(w->fd, &one, sizeof(one)) == -1)
		return;
}

void
bk_wake_free(struct bk_wake *w)
{
	if (w == NULL)
		return;
	bk_fd_free(w->watch);
	(void)close(w->fd);
	free(w);
}

/* Signals. */

static void
signal_event(evutil_socket_t signo, short what, void *arg)
{
	struct bk_signal *s = arg;

	(void)what;
	s->cb(s->arg, signo);
}

struct bk_signal *
bk_signal_new(struct bk_loop *loop, int signo, bk_signal_cb *cb, void *arg)
{
	struct bk_signal *s;

	s = calloc(1, sizeof(*s));
	if (s == NULL)
		return (NULL);
	s->cb = cb;
	s->arg = arg;
	s->event = evsignal_new(loop->base, signo, signal_event, s);
	if (s->event == NULL || evsignal_add(s->event, NULL) == -1) {
		bk_signal_free(s);
		errno = ENOMEM;
		return (NULL);
	}
	return (s);
}

void
bk_signal_free(struct bk_signal *s)
{
	if (s == NULL)
		return;
	if (s->event != NULL)
		event_free(s->event);
	free(s);
}
