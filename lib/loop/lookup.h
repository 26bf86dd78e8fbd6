/* lookup.h - the addresses of a host name, found without blocking the loop. */
#ifndef BK_LOOKUP_H
#define BK_LOOKUP_H

#include "loop/loop.h"

#include <stdint.h>

struct addrinfo;
struct bk_lookup;

/* The addresses, to be freed with evutil_freeaddrinfo(), or NULL and an errno
 * value. The lookup is gone when this is called. */
typedef void bk_lookup_cb(void *arg, struct addrinfo *found, int error);

/* Ask, with the system's resolver configuration and hosts file as they are
 * now. The answer comes from the loop. NULL when out of memory. */
struct bk_lookup *bk_lookup_new(struct bk_loop *loop, const char *host,
    uint16_t port, bk_lookup_cb *cb, void *arg);
/* Forget it, before the callback. NULL is fine. */
void bk_lookup_cancel(struct bk_lookup *l);

#endif
