/*
 * addr.h - host and port as text, and connecting to them without blocking the
 * loop (names through evdns, Unix sockets with long paths through
 * /proc/self/fd).
 */
#ifndef BK_ADDR_H
#define BK_ADDR_H

#include "loop/loop.h"

#include <stddef.h>
#include <stdint.h>

/* Split "host:port", "[v6]:port", ":port", "port". 0, or -1. Empty host: "".
 * Port 0 to 65535. */
int bk_addr_split(const char *text, char *host, size_t hostlen, uint16_t *port);

/* Begin to connect. done(arg, fd, error) gets a connected, non-blocking,
 * close-on-exec socket (the callee's to close) and 0, or -1 and an errno value:
 * EHOSTUNREACH also for a name nobody knows. It is called from the loop, and
 * the dial is gone by then; before that bk_dial_cancel() ends it silently.
 * NULL when out of memory. */
struct bk_dial;
typedef void bk_dial_cb(void *arg, int fd, int error);
struct bk_dial *bk_dial(struct bk_loop *loop, const char *host, uint16_t port,
    int64_t timeout_ns, bk_dial_cb *done, void *arg);
struct bk_dial *bk_dial_unix(struct bk_loop *loop, const char *path,
    int64_t timeout_ns, bk_dial_cb *done, void *arg);
void bk_dial_cancel(struct bk_dial *d);

/* bind(2) or connect(2) of a Unix socket whose path may be longer than 107
 * bytes. 0, or -1 with errno. */
int bk_unix_bind(int fd, const char *path);
int bk_unix_connect(int fd, const char *path);

#endif
