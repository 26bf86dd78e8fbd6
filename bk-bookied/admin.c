/* admin.c - datagrams with a byte, and a descriptor, in them. */
#include "bk-bookied/admin.h"
#include "base/log.h"
#include "loop/addr.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

enum { CONNECTION = 'c', LEAVE = 'l' };

/* How long a sender waits for room in the bookie's queue. */
#define SEND_SECONDS 5

struct admin {
	struct bk_fd *watch;
	int fd;
	char path[PATH_MAX];
	const struct admin_events *events;
	void *arg;
};

/* Room for one descriptor and the sender's identity. */
union control {
	struct cmsghdr align;
	char room[CMSG_SPACE(sizeof(int)) + CMSG_SPACE(sizeof(struct ucred))];
};

static int
path_of(const char *dir, char path[PATH_MAX])
{
	int n = snprintf(path, PATH_MAX, "%s/admin", dir);

	if (n >= 0 && n < PATH_MAX)
		return (0);
	errno = ENAMETOOLONG;
	return (-1);
}

/* The descriptor that came with a message, or -1, and who sent it. */
static int
take_control(struct msghdr *msg, struct ucred *sender)
{
	struct cmsghdr *c;
	int fd = -1;

	for (c = CMSG_FIRSTHDR(msg); c != NULL; c = CMSG_NXTHDR(msg, c)) {
		if (c->cmsg_level != SOL_SOCKET)
			continue;
		if (c->cmsg_type == SCM_RIGHTS)
			memcpy(&fd, CMSG_DATA(c), sizeof(fd));
		else if (c->cmsg_type == SCM_CREDENTIALS)
			memcpy(sender, CMSG_DATA(c), sizeof(*sender));
	}
	return (fd);
}

static void
obey(struct admin *a, char order, int fd)
{
	if (order == CONNECTION && fd != -1) {
		a->events->connection(a->arg, fd);
		return;
	}
	if (fd != -1)
		(void)close(fd);
	if (order == LEAVE)
		a->events->leave(a->arg);
}

static void
on_message(void *arg, int fd, int what)
{
	struct admin *a = arg;
	union control control;
	struct ucred sender = {.uid = (uid_t)-1};
	char order = '\0';
	struct iovec iov = {&order, sizeof(order)};
	struct msghdr msg = {
	    .msg_iov = &iov,
	    .msg_iovlen = 1,
	    .msg_control = control.room,
	    .msg_controllen = sizeof(control.room),
	};
	int passed;

	(void)what;
	if (recvmsg(fd, &msg, MSG_CMSG_CLOEXEC) == -1)
		return;
	passed = take_control(&msg, &sender);
	if (sender.uid == 0 || sender.uid == geteuid()) {
		obey(a, order, passed);
		return;
	}
	bk_log(BK_LOG_WARNING, "admin socket: uid %u is not permitted",
	    (unsigned)sender.uid);
	if (passed != -1)
		(void)close(passed);
}

static int
bind_to(const char *path)
{
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	int on = 1;
	int saved;

	if (fd == -1)
		return (-1);
	/* What lies there is a dead bookie's: the directory is locked. */
	if (unlink(path) == -1 && errno != ENOENT)
		goto fail;
	if (setsockopt(fd, SOL_SOCKET, SO_PASSCRED, &on, sizeof(on)) == -1 ||
	    bk_unix_bind(fd, path) == -1 || chmod(path, 0600) == -1)
		goto fail;
	return (fd);
fail:
	saved = errno;
	(void)close(fd);
	errno = saved;
	return (-1);
}

struct admin *
admin_new(struct bk_loop *loop, const char *dir,
    const struct admin_events *events, void *arg)
{
	struct admin *a = calloc(1, sizeof(*a));

	if (a == NULL)
		return (NULL);
	a->events = events;
	a->arg = arg;
	if (path_of(dir, a->path) == -1 || (a->fd = bind_to(a->path)) == -1) {
		free(a);
		return (NULL);
	}
	a->watch = bk_fd_new(loop, a->fd, BK_READABLE, on_message, a);
	if (a->watch == NULL) {
		admin_free(a);
		return (NULL);
	}
	return (a);
}

void
admin_free(struct admin *a)
{
	if (a == NULL)
		return;
	bk_fd_free(a->watch);
	(void)close(a->fd);
	(void)unlink(a->path);
	free(a);
}

static void
attach(struct msghdr *msg, union control *control, int fd)
{
	struct cmsghdr *c;

	msg->msg_control = control->room;
	msg->msg_controllen = CMSG_SPACE(sizeof(fd));
	c = CMSG_FIRSTHDR(msg);
	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(sizeof(fd));
	memcpy(CMSG_DATA(c), &fd, sizeof(fd));
}

static int
send_to(const char *path, char order, int passed)
{
	struct timeval limit = {.tv_sec = SEND_SECONDS};
	struct iovec iov = {&order, sizeof(order)};
	struct msghdr msg = {.msg_iov = &iov, .msg_iovlen = 1};
	union control control;
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	int saved, r;

	if (fd == -1)
		return (-1);
	memset(&control, 0, sizeof(control));
	if (passed != -1)
		attach(&msg, &control, passed);
	r = setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
	if (r == 0)
		r = bk_unix_connect(fd, path);
	if (r == 0 && sendmsg(fd, &msg, MSG_NOSIGNAL) == -1)
		r = -1;
	saved = errno;
	(void)close(fd);
	errno = saved;
	return (r);
}

static int
send_to_dir(const char *dir, char order, int passed)
{
	char path[PATH_MAX];

	if (path_of(dir, path) == -1)
		return (-1);
	return (send_to(path, order, passed));
}

int
admin_send_connection(const char *dir, int fd)
{
	return (send_to_dir(dir, CONNECTION, fd));
}

int
admin_send_leave(const char *dir)
{
	return (send_to_dir(dir, LEAVE, -1));
}
