/*
 * inherit.c - sockets handed in by inetd or systemd, and telling systemd how
 * we are.
 */
#include "loop/listen.h"

#include <bsd/stdlib.h>
#include <bsd/string.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define FIRST_FD 3 /* of LISTEN_FDS */

static bool
is_stream(int fd)
{
	int type;
	socklen_t len = sizeof(type);

	return (getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &len) == 0 &&
	    type == SOCK_STREAM);
}

static bool
is_listening(int fd)
{
	int on;
	socklen_t len = sizeof(on);

	return (is_stream(fd) &&
	    getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &on, &len) == 0 && on);
}

/* Whether this is one connection accepted by somebody. A nameless Unix socket
 * is one end of a pair: what ssh and others give as standard input. */
static bool
is_accepted(int fd)
{
	struct sockaddr_storage ss = {0};
	socklen_t len = sizeof(ss);

	if (!is_stream(fd) || getpeername(fd, (struct sockaddr *)&ss, &len))
		return (false);
	len = sizeof(ss);
	if (getsockname(fd, (struct sockaddr *)&ss, &len) == -1)
		return (false);
	return (ss.ss_family != AF_UNIX ||
	    len > offsetof(struct sockaddr_un, sun_path));
}

static int
close_on_exec(int fd)
{
	int flags = fcntl(fd, F_GETFD);

	if (flags == -1)
		return (-1);
	return (fcntl(fd, F_SETFD, flags | FD_CLOEXEC));
}

/* The n names of LISTEN_FDNAMES, separated by colons; missing ones are "". */
static void
take_names(struct bk_inherited *in, const char *names)
{
	size_t len;

	for (size_t i = 0; i < in->n && names != NULL; i++) {
		len = strcspn(names, ":");
		if (len < sizeof(in->names[i]))
			(void)strlcpy(in->names[i], names, len + 1);
		names = names[len] == ':' ? names + len + 1 : NULL;
	}
}

static int
take_systemd(struct bk_inherited *in, const char *count, const char *names,
    const char **why)
{
	const char *wrong;
	size_t n;

	n = (size_t)strtonum(count, 1, BK_LISTEN_MAX, &wrong);
	if (wrong != NULL) {
		*why = "LISTEN_FDS makes no sense or names too many sockets";
		return (-1);
	}
	in->how = BK_START_SYSTEMD;
	in->n = n;
	take_names(in, names);
	for (size_t i = 0; i < n; i++) {
		in->fds[i] = FIRST_FD + (int)i;
		if (close_on_exec(in->fds[i]) == -1) {
			*why = "LISTEN_FDS names descriptors that are not open";
			return (-1);
		}
		if (is_listening(in->fds[i]))
			continue;
		if (n != 1 || !is_accepted(in->fds[i])) {
			*why = "LISTEN_FDS names what is no listening socket";
			return (-1);
		}
		in->how = BK_START_INETD_NOWAIT;
	}
	return (0);
}

static bool
is_for_us(const char *pid)
{
	const char *wrong;

	return (pid != NULL &&
	    strtonum(pid, 1, INT32_MAX, &wrong) == getpid() && wrong == NULL);
}

int
bk_inherited_find(struct bk_inherited *in, const char **why)
{
	const char *count = getenv("LISTEN_FDS");
	int r = 0;

	memset(in, 0, sizeof(*in));
	in->how = BK_START_PLAIN;
	if (count != NULL && is_for_us(getenv("LISTEN_PID")))
		r = take_systemd(in, count, getenv("LISTEN_FDNAMES"), why);
	(void)unsetenv("LISTEN_PID");
	(void)unsetenv("LISTEN_FDS");
	(void)unsetenv("LISTEN_FDNAMES");
	if (r == -1 || in->how != BK_START_PLAIN)
		return (r);

	if (is_listening(STDIN_FILENO))
		in->how = BK_START_INETD_WAIT;
	else if (is_accepted(STDIN_FILENO))
		in->how = BK_START_INETD_NOWAIT;
	if (in->how == BK_START_PLAIN)
		return (0);
	in->n = 1;
	in->fds[0] = STDIN_FILENO;
	if (in->how == BK_START_INETD_WAIT)
		(void)close_on_exec(STDIN_FILENO);
	return (0);
}

void
bk_notify(const char *state)
{
	struct sockaddr_un sun = {.sun_family = AF_UNIX};
	const char *path = getenv("NOTIFY_SOCKET");
	size_t len;
	int fd;

	if (path == NULL || (path[0] != '/' && path[0] != '@'))
		return;
	len = strlen(path);
	if (len >= sizeof(sun.sun_path))
		return;
	memcpy(sun.sun_path, path, len);
	if (path[0] == '@')
		sun.sun_path[0] = '\0'; /* abstract */
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd == -1)
		return;
	/* It is a courtesy: nothing depends on its success. */
	(void)sendto(fd, state, strlen(state), MSG_NOSIGNAL,
	    (struct sockaddr *)&sun,
	    (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len));
	(void)close(fd);
}

void
bk_ready_tell(int ready_fd)
{
	static bool told;

	if (told)
		return;
	told = true;
	if (ready_fd != -1) {
		/* Whoever asked may have left; we serve all the same. */
		if (write(ready_fd, "\n", 1) == -1)
			(void)ready_fd;
		(void)close(ready_fd);
	}
	bk_notify("READY=1");
}
