/* accept.c - accepting connections on a listening socket. */
#include "loop/listen.h"

#include "base/log.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#define PER_TURN 64
#define PAUSE (100 * BK_MS)
#define NAME_MAX_BYTES 160

struct bk_listener {
	int fd;
	struct bk_fd *watch;
	struct bk_timer *timer; /* until the next try without descriptors */
	bool paused;
	bool short_of; /* said so already */
	void (*accepted)(void *arg, int fd);
	void *arg;
};

static bool
is_shortage(int error)
{
	return (error == EMFILE || error == ENFILE || error == ENOBUFS ||
	    error == ENOMEM);
}

static void
wait_for_descriptors(struct bk_listener *l, int error)
{
	char name[NAME_MAX_BYTES];

	if (!l->short_of && bk_listen_name(l->fd, name, sizeof(name)) == 0)
		bk_log(BK_LOG_WARNING, "%s: accepting pauses: %s", name,
		    strerror(error));
	l->short_of = true;
	bk_fd_want(l->watch, 0);
	bk_timer_set(l->timer, PAUSE);
}

/* Accept one. False when there is none, or none can be had now; true also when
 * a peer has gone before it was accepted. */
static bool
accept_one(struct bk_listener *l)
{
	int on = 1;
	int error;
	int fd;

	fd = accept4(l->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
	if (fd == -1) {
		error = errno;
		if (is_shortage(error))
			wait_for_descriptors(l, error);
		return (error == ECONNABORTED || error == EINTR ||
		    error == EPROTO || error == EPERM);
	}
	l->short_of = false;
	/* Not for Unix sockets, which have no such delay. */
	(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	l->accepted(l->arg, fd);
	return (true);
}

static void
on_readable(void *arg, int fd, int what)
{
	struct bk_listener *l = arg;

	(void)fd;
	(void)what;
	for (int i = 0; i < PER_TURN && !l->paused; i++) {
		if (!accept_one(l))
			break;
	}
}

static void
on_timer(void *arg)
{
	struct bk_listener *l = arg;

	bk_fd_want(l->watch, l->paused ? 0 : BK_READABLE);
}

struct bk_listener *
bk_listener_new(struct bk_loop *loop, int fd,
    void (*accepted)(void *arg, int fd), void *arg)
{
	struct bk_listener *l;
	int flags;

	flags = fcntl(fd, F_GETFL);
	if (flags == -1 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) == -1)
		return (NULL);
	l = calloc(1, sizeof(*l));
	if (l == NULL)
		return (NULL);
	l->fd = fd;
	l->accepted = accepted;
	l->arg = arg;
	l->watch = bk_fd_new(loop, fd, BK_READABLE, on_readable, l);
	l->timer = bk_timer_new(loop, on_timer, l);
	if (l->watch == NULL || l->timer == NULL) {
		bk_listener_free(l);
		errno = ENOMEM;
		return (NULL);
	}
	return (l);
}

void
bk_listener_free(struct bk_listener *l)
{
	if (l == NULL)
		return;
	bk_fd_free(l->watch);
	bk_timer_free(l->timer);
	free(l);
}

void
bk_listener_drain(struct bk_listener *l)
{
	while (accept_one(l))
		continue;
}

void
bk_listener_pause(struct bk_listener *l, bool pause)
{
	l->paused = pause;
	bk_timer_stop(l->timer);
	bk_fd_want(l->watch, pause ? 0 : BK_READABLE);
}
