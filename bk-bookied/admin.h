/*
 * admin.h - a running bookie's own small socket, DIR/admin in its first data
 * directory: datagrams of one byte, from its own user or root. A connection is
 * handed over (inetd nowait), or the bookie is asked to leave with the others
 * of an unused local cluster.
 */
#ifndef BOOKIE_ADMIN_H
#define BOOKIE_ADMIN_H

#include "loop/loop.h"

#include <stddef.h>

struct admin;

struct admin_events {
	/* Serve this connection, which is the callee's from now on. */
	void (*connection)(void *arg, int fd);
	/* The local cluster leaves. */
	void (*leave)(void *arg);
};

/* Bind DIR/admin; the directory is known to be ours alone. NULL with errno. */
struct admin *admin_new(struct bk_loop *loop, const char *dir,
    const struct admin_events *events, void *arg);
/* Close and remove the socket. NULL is fine. */
void admin_free(struct admin *a);

/* What others send to the bookie of DIR. 0, or -1 with errno: ECONNREFUSED or
 * ENOENT when there is none. */
int admin_send_connection(const char *dir, int fd);
int admin_send_leave(const char *dir);

#endif
