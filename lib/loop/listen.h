/*
 * listen.h - listening sockets: bind, take over from inetd or systemd, tell
 * that the program is ready (cli.md 1.5, 3.6).
 */
#ifndef BK_LISTEN_H
#define BK_LISTEN_H

#include "loop/loop.h"

#include <stdbool.h>
#include <stddef.h>

#define BK_LISTEN_MAX 16

/* Sockets handed in by the one who started us. */
struct bk_inherited {
	enum {
		BK_START_PLAIN,        /* nothing: bind ourselves */
		BK_START_INETD_WAIT,   /* fd 0 is a listening socket */
		BK_START_INETD_NOWAIT, /* fd 0 is one connection */
		BK_START_SYSTEMD,      /* LISTEN_FDS */
	} how;
	size_t n;
	int fds[BK_LISTEN_MAX];
	char names[BK_LISTEN_MAX][64]; /* FileDescriptorName, or "" */
};

/* Look at fd 0 (SO_ACCEPTCONN) and LISTEN_FDS/LISTEN_PID/LISTEN_FDNAMES; sets
 * close-on-exec, unsets the variables. 0, or -1 with *why. */
int bk_inherited_find(struct bk_inherited *in, const char **why);

/* One address to listen on, as text: "3181", ":3181", "127.0.0.1:0",
 * "[::1]:3181", "unix:/path". Fills fds (several when a name has several
 * addresses), all or nothing. -1 with errno and *why naming the address and,
 * when the port is in use and /proc tells, the owner's pid. */
int bk_listen_bind(const char *text, int fds[BK_LISTEN_MAX], size_t *n,
    char *why, size_t whylen);
/* The bound address as text: "127.0.0.1:41234", "[::1]:41234",
 * "unix:/path" (one of more than 107 bytes comes as it was bound, through
 * /proc). 0, or -1 with errno. */
int bk_listen_name(int fd, char *out, size_t len);

/* Accept on a listening descriptor; accepted(arg, fd) gets non-blocking,
 * close-on-exec sockets with TCP_NODELAY; it must not free the listener. Out of
 * descriptors: pauses 100 ms and says so once. NULL with errno. */
struct bk_listener;
struct bk_listener *bk_listener_new(struct bk_loop *loop, int fd,
    void (*accepted)(void *arg, int fd), void *arg);
void bk_listener_free(struct bk_listener *l); /* does not close fd */
/* Accept until EAGAIN, now (before an idle exit). */
void bk_listener_drain(struct bk_listener *l);
/* Stop and go on accepting (limit of connections). */
void bk_listener_pause(struct bk_listener *l, bool pause);

/* Readiness: newline to ready_fd and close it (-1: none); NOTIFY_SOCKET
 * "READY=1". Once. */
void bk_ready_tell(int ready_fd);
/* A line to NOTIFY_SOCKET ("STOPPING=1", "STATUS=...", ...); no-op without. */
void bk_notify(const char *state);

#endif
