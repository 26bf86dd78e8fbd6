/*
 * listen.c - binding listening sockets, all or nothing, and their names.
 *
 * No host: one socket for both families where there is IPv6. A name: every
 * address it has; one of a family this machine does not have is left out as
 * long as another was bound. Port 0 with several addresses: the port that the
 * first one got, and another try when that is taken elsewhere.
 */
#include "loop/listen.h"

#include "loop/addr.h"
#include "loop/owner.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define BACKLOG 1024
#define HOST_MAX 256
#define PORT_TRIES 16
#define UNIX_PREFIX "unix:"

/* What is to be bound, and how it went. */
struct binding {
	const char *text;
	int *fds;
	size_t *n;
	char *why;
	size_t whylen;
};

static void complain(const struct binding *b, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* "ADDRESS: ..."; errno survives. */
static void
complain(const struct binding *b, const char *fmt, ...)
{
	char text[256];
	int saved = errno;
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	(void)snprintf(b->why, b->whylen, "%s: %s", b->text, text);
	errno = saved;
}

static void
complain_in_use(const struct binding *b, pid_t owner)
{
	if (owner > 0)
		complain(b, "in use by process %ld", (long)owner);
	else
		complain(b, "in use");
}

static int
close_all(const struct binding *b)
{
	int saved = errno;

	while (*b->n > 0)
		(void)close(b->fds[--*b->n]);
	errno = saved;
	return (-1);
}

/* Unix sockets. */

/* Whether somebody listens at path; *owner is who, 0 if unknown. */
static bool
is_alive(const char *path, pid_t *owner)
{
	struct ucred peer;
	socklen_t len = sizeof(peer);
	bool alive;
	int fd;

	*owner = 0;
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd == -1)
		return (true);
	alive = bk_unix_connect(fd, path) == 0;
	if (alive) {
		if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) == 0)
			*owner = peer.pid;
	} else {
		alive = errno != ECONNREFUSED && errno != ENOENT;
	}
	(void)close(fd);
	return (alive);
}

/* Bind; a socket file that nobody listens on any more is replaced. */
static int
bind_path(const struct binding *b, int fd, const char *path)
{
	struct stat st;
	pid_t owner;

	if (bk_unix_bind(fd, path) == 0)
		return (0);
	if (errno == EADDRINUSE && lstat(path, &st) == 0 &&
	    S_ISSOCK(st.st_mode)) {
		if (is_alive(path, &owner)) {
			errno = EADDRINUSE;
			complain_in_use(b, owner);
			return (-1);
		}
		if (unlink(path) == 0 && bk_unix_bind(fd, path) == 0)
			return (0);
	}
	complain(b, "%s", strerror(errno));
	return (-1);
}

static int
listen_path(const struct binding *b, const char *path)
{
	int fd;

	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd == -1) {
		complain(b, "%s", strerror(errno));
		return (-1);
	}
	b->fds[(*b->n)++] = fd;
	if (bind_path(b, fd, path) == -1)
		return (close_all(b));
	if (listen(fd, BACKLOG) == -1) {
		complain(b, "%s", strerror(errno));
		return (close_all(b));
	}
	return (0);
}

/* TCP. */

union address {
	struct sockaddr sa;
	struct sockaddr_in sin;
	struct sockaddr_in6 sin6;
};

static in_port_t *
port_of(union address *a)
{
	if (a->sa.sa_family == AF_INET6)
		return (&a->sin6.sin6_port);
	return (&a->sin.sin_port);
}

/* A socket for one address; only6 keeps IPv4 off an IPv6 wildcard. */
static int
bind_address(const struct sockaddr *sa, socklen_t len, bool only6)
{
	int v6only = only6;
	int on = 1;
	int fd;
	int saved;

	fd = socket(sa->sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK,
	    0);
	if (fd == -1)
		return (-1);
	(void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (sa->sa_family == AF_INET6)
		(void)setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &v6only,
		    sizeof(v6only));
	if (bind(fd, sa, len) == 0 && listen(fd, BACKLOG) == 0)
		return (fd);
	saved = errno;
	(void)close(fd);
	errno = saved;
	return (-1);
}

static bool
is_absent_family(int error)
{
	return (error == EAFNOSUPPORT || error == EADDRNOTAVAIL);
}

static int
bind_any(const struct binding *b, uint16_t port)
{
	const struct sockaddr_in6 any6 = {.sin6_family = AF_INET6,
	    .sin6_port = htons(port),
	    .sin6_addr = IN6ADDR_ANY_INIT};
	const struct sockaddr_in any = {.sin_family = AF_INET,
	    .sin_port = htons(port)};
	int fd;

	fd = bind_address((const struct sockaddr *)&any6, sizeof(any6), false);
	if (fd == -1 && is_absent_family(errno))
		fd = bind_address((const struct sockaddr *)&any, sizeof(any),
		    true);
	if (fd == -1)
		return (-1);
	b->fds[(*b->n)++] = fd;
	return (0);
}

static bool
seen_before(const struct addrinfo *list, const struct addrinfo *ai)
{
	for (; list != ai; list = list->ai_next) {
		if (list->ai_addrlen == ai->ai_addrlen &&
		    memcmp(list->ai_addr, ai->ai_addr, ai->ai_addrlen) == 0)
			return (true);
	}
	return (false);
}

/* The port the kernel chose, in network order; 0 if unknown. */
static in_port_t
chosen_port(int fd)
{
	union address a = {.sin6 = {0}};
	socklen_t len = sizeof(a);

	if (getsockname(fd, &a.sa, &len) == -1)
		return (0);
	return (*port_of(&a));
}

/* Bind every address of the list. With port 0 all get the first one's. */
static int
bind_list(const struct binding *b, const struct addrinfo *list)
{
	bool single = list->ai_next == NULL;
	union address a;
	int fd;

	for (const struct addrinfo *ai = list; ai != NULL; ai = ai->ai_next) {
		if (seen_before(list, ai) || *b->n == BK_LISTEN_MAX ||
		    ai->ai_addrlen > sizeof(a))
			continue;
		memcpy(&a, ai->ai_addr, ai->ai_addrlen);
		if (*port_of(&a) == 0 && *b->n > 0)
			*port_of(&a) = chosen_port(b->fds[0]);
		fd = bind_address(&a.sa, ai->ai_addrlen, true);
		if (fd != -1)
			b->fds[(*b->n)++] = fd;
		else if (single || !is_absent_family(errno))
			return (close_all(b));
	}
	return (*b->n > 0 ? 0 : -1);
}

static int
bind_host(const struct binding *b, const char *host, uint16_t port)
{
	const struct addrinfo hints = {.ai_family = AF_UNSPEC,
	    .ai_socktype = SOCK_STREAM,
	    .ai_flags = AI_PASSIVE | AI_NUMERICSERV};
	struct addrinfo *list;
	char service[8];
	int r;

	(void)snprintf(service, sizeof(service), "%u", port);
	r = getaddrinfo(host, service, &hints, &list);
	if (r != 0) {
		complain(b, "%s", gai_strerror(r));
		errno = EADDRNOTAVAIL;
		return (-1);
	}
	r = -1;
	for (int i = 0; r == -1 && i < (port == 0 ? PORT_TRIES : 1); i++) {
		r = bind_list(b, list);
		if (r == -1 && errno != EADDRINUSE)
			break;
	}
	freeaddrinfo(list);
	return (r);
}

int
bk_listen_bind(const char *text, int fds[BK_LISTEN_MAX], size_t *n, char *why,
    size_t whylen)
{
	const struct binding b = {text, fds, n, why, whylen};
	char host[HOST_MAX];
	uint16_t port;
	int r;

	*n = 0;
	*why = '\0';
	if (strncmp(text, UNIX_PREFIX, strlen(UNIX_PREFIX)) == 0)
		return (listen_path(&b, text + strlen(UNIX_PREFIX)));
	if (bk_addr_split(text, host, sizeof(host), &port) == -1) {
		complain(&b, "no address: HOST:PORT or unix:PATH is");
		errno = EINVAL;
		return (-1);
	}
	r = *host == '\0' ? bind_any(&b, port) : bind_host(&b, host, port);
	if (r == -1 && errno == EADDRINUSE) {
		complain_in_use(&b, bk_port_owner(port));
		errno = EADDRINUSE;
	} else if (r == -1 && *why == '\0') {
		complain(&b, "%s", strerror(errno));
	}
	return (r);
}

int
bk_listen_name(int fd, char *out, size_t len)
{
	union {
		struct sockaddr sa;
		struct sockaddr_un sun;
		struct sockaddr_storage ss;
	} u;
	socklen_t ulen = sizeof(u);
	char host[INET6_ADDRSTRLEN + 16];
	char port[8];
	int n;

	memset(&u, 0, sizeof(u));
	if (getsockname(fd, &u.sa, &ulen) == -1)
		return (-1);
	if (u.sa.sa_family == AF_UNIX) {
		n = snprintf(out, len, UNIX_PREFIX "%.*s",
		    (int)sizeof(u.sun.sun_path), u.sun.sun_path);
	} else {
		if (getnameinfo(&u.sa, ulen, host, sizeof(host), port,
			sizeof(port), NI_NUMERICHOST | NI_NUMERICSERV) != 0) {
			errno = EAFNOSUPPORT;
			return (-1);
		}
		n = snprintf(out, len,
		    u.sa.sa_family == AF_INET6 ? "[%s]:%s" : "%s:%s", host,
		    port);
	}
	if (n < 0 || (size_t)n >= len) {
		errno = ENAMETOOLONG;
		return (-1);
	}
	return (0);
}
