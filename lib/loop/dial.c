/*
 * dial.c - connecting without blocking the loop.
 *
 * The addresses of a name are tried one after the other, each until it fails
 * or its share of the time is used up. A Unix socket whose backlog is full is
 * tried again until the time is up.
 */
#include "loop/addr.h"
#include "loop/lookup.h"

#include <errno.h>
#include <event2/util.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define BACKLOG_RETRY (5 * BK_MS)

struct bk_dial {
	struct bk_loop *loop;
	bk_dial_cb *done;
	void *arg;
	int64_t due;            /* when the time is up */
	struct bk_timer *timer; /* until the next thing to do */
	struct bk_lookup *lookup;
	char *path; /* of a Unix socket, or NULL */
	struct addrinfo *found;
	struct addrinfo *next; /* to try after the present one */
	struct bk_fd *watch;
	int fd;
	int error; /* of the last try */
};

static void try_next(void *arg);

static void
close_socket(struct bk_dial *d)
{
	bk_fd_free(d->watch);
	d->watch = NULL;
	if (d->fd != -1)
		(void)close(d->fd);
	d->fd = -1;
}

void
bk_dial_cancel(struct bk_dial *d)
{
	if (d == NULL)
		return;
	bk_loop_later_cancel(d->loop, try_next, d);
	bk_lookup_cancel(d->lookup);
	bk_timer_free(d->timer);
	close_socket(d);
	if (d->found != NULL)
		evutil_freeaddrinfo(d->found);
	free(d->path);
	free(d);
}

static void
finish(struct bk_dial *d, int error)
{
	bk_dial_cb *done = d->done;
	void *arg = d->arg;
	int fd = -1;

	if (error == 0) {
		fd = d->fd;
		d->fd = -1;
	}
	bk_dial_cancel(d);
	done(arg, fd, error);
}

static void
on_writable(void *arg, int fd, int what)
{
	struct bk_dial *d = arg;
	int error = 0;
	socklen_t len = sizeof(error);

	(void)what;
	if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &len) == -1)
		error = errno;
	if (error == 0) {
		bk_fd_free(d->watch);
		d->watch = NULL;
		finish(d, 0);
		return;
	}
	d->error = error;
	try_next(d);
}

/* 0: connected; EINPROGRESS: it will show; else why not. */
static int
try_address(struct bk_dial *d, const struct addrinfo *ai)
{
	int on = 1;

	d->fd = socket(ai->ai_family,
	    SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (d->fd == -1)
		return (errno);
	(void)setsockopt(d->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	if (connect(d->fd, ai->ai_addr, ai->ai_addrlen) == 0)
		return (0);
	if (errno != EINPROGRESS)
		return (errno);
	d->watch = bk_fd_new(d->loop, d->fd, BK_WRITABLE, on_writable, d);
	return (d->watch != NULL ? EINPROGRESS : errno);
}

/* Time for one address: what is left, shared with those not yet tried. */
static int64_t
share(const struct bk_dial *d)
{
	int64_t n = 1;

	for (const struct addrinfo *ai = d->next; ai != NULL; ai = ai->ai_next)
		n++;
	return ((d->due - bk_clock_now()) / n);
}

static void
try_addresses(struct bk_dial *d)
{
	const struct addrinfo *ai;

	while ((ai = d->next) != NULL) {
		d->next = ai->ai_next;
		d->error = try_address(d, ai);
		if (d->error == 0)
			break;
		if (d->error == EINPROGRESS) {
			bk_timer_set(d->timer, share(d));
			return;
		}
		close_socket(d);
	}
	finish(d, d->error);
}

static void
try_path(struct bk_dial *d)
{
	int error = 0;

	d->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (d->fd == -1 || bk_unix_connect(d->fd, d->path) == -1)
		error = errno;
	if (error == EAGAIN && bk_clock_now() < d->due) {
		close_socket(d);
		bk_timer_set(d->timer, BACKLOG_RETRY);
		return;
	}
	finish(d, error == EAGAIN ? ETIMEDOUT : error);
}

static void
try_next(void *arg)
{
	struct bk_dial *d = arg;

	close_socket(d);
	if (d->path != NULL)
		try_path(d);
	else
		try_addresses(d);
}

static void
on_timer(void *arg)
{
	struct bk_dial *d = arg;

	if (d->path == NULL)
		d->error = ETIMEDOUT;
	if (d->lookup != NULL)
		finish(d, ETIMEDOUT);
	else
		try_next(d);
}

static void
on_lookup(void *arg, struct addrinfo *found, int error)
{
	struct bk_dial *d = arg;

	d->lookup = NULL;
	d->found = d->next = found;
	if (error != 0)
		finish(d, error);
	else
		try_next(d);
}

static struct bk_dial *
dial_new(struct bk_loop *loop, int64_t timeout_ns, bk_dial_cb *done, void *arg)
{
	int64_t now = bk_clock_now();
	struct bk_dial *d;

	d = calloc(1, sizeof(*d));
	if (d == NULL)
		return (NULL);
	d->loop = loop;
	d->done = done;
	d->arg = arg;
	d->fd = -1;
	d->error = EHOSTUNREACH;
	d->due = timeout_ns < BK_FOREVER - now ? now + timeout_ns : BK_FOREVER;
	d->timer = bk_timer_new(loop, on_timer, d);
	if (d->timer == NULL) {
		bk_dial_cancel(d);
		return (NULL);
	}
	bk_timer_set(d->timer, timeout_ns);
	return (d);
}

/* The address, if host is a numeric one. */
static struct addrinfo *
numeric(const char *host, uint16_t port)
{
	const struct evutil_addrinfo hints = {
	    .ai_family = AF_UNSPEC,
	    .ai_socktype = SOCK_STREAM,
	    .ai_flags = EVUTIL_AI_NUMERICHOST | EVUTIL_AI_NUMERICSERV,
	};
	struct evutil_addrinfo *found = NULL;
	char service[8];

	(void)snprintf(service, sizeof(service), "%u", port);
	if (evutil_getaddrinfo(host, service, &hints, &found) != 0)
		return (NULL);
	return (found);
}

struct bk_dial *
bk_dial(struct bk_loop *loop, const char *host, uint16_t port,
    int64_t timeout_ns, bk_dial_cb *done, void *arg)
{
	struct bk_dial *d;

	d = dial_new(loop, timeout_ns, done, arg);
	if (d == NULL)
		return (NULL);
	d->found = d->next = numeric(host, port);
	if (d->found != NULL) {
		if (bk_loop_later(loop, try_next, d) == 0)
			return (d);
	} else {
		d->lookup = bk_lookup_new(loop, host, port, on_lookup, d);
		if (d->lookup != NULL)
			return (d);
	}
	bk_dial_cancel(d);
	return (NULL);
}

struct bk_dial *
bk_dial_unix(struct bk_loop *loop, const char *path, int64_t timeout_ns,
    bk_dial_cb *done, void *arg)
{
	struct bk_dial *d;

	d = dial_new(loop, timeout_ns, done, arg);
	if (d == NULL)
		return (NULL);
	d->path = strdup(path);
	if (d->path != NULL && bk_loop_later(loop, try_next, d) == 0)
		return (d);
	bk_dial_cancel(d);
	return (NULL);
}
