/*
 * zk_hosts.h - the servers of a ZooKeeper ensemble: names as configured,
 * addresses as its C client wants them.
 *
 * That client would resolve names itself, in the middle of the loop, again and
 * again; and with an even number of addresses it tries only every other one
 * (zookeeper-and-lmdb.md 2, 3.3). So it gets numeric addresses, found off the
 * loop, and always an odd number of them.
 */
#ifndef BK_ZK_HOSTS_H
#define BK_ZK_HOSTS_H

#include "loop/loop.h"

#include <stddef.h>

struct bk_zk_hosts;

/* "h1:2181,[::1]:2182" as in a struct bk_cluster_uri. done is called when a
 * resolution has ended. NULL when out of memory. */
struct bk_zk_hosts *bk_zk_hosts_new(struct bk_loop *loop, const char *text,
    bk_timer_cb *done, void *arg);
void bk_zk_hosts_free(struct bk_zk_hosts *h);

/* Find the addresses of all names. Where every host is an address already that
 * is done at once, and done is called within. */
void bk_zk_hosts_resolve(struct bk_zk_hosts *h);
/* Whether there is any name at all to resolve. */
bool bk_zk_hosts_named(const struct bk_zk_hosts *h);

/* The list for the client; NULL when no host has an address. Lives until the
 * next resolution. */
const char *bk_zk_hosts_list(const struct bk_zk_hosts *h);
/* The first host that has no address, or NULL, and why. */
const char *bk_zk_hosts_unknown(const struct bk_zk_hosts *h, const char **why);

/* Host i of n, for a look of our own: name (or address) and port. */
size_t bk_zk_hosts_count(const struct bk_zk_hosts *h);
const char *bk_zk_hosts_name(const struct bk_zk_hosts *h, size_t i,
    uint16_t *port);
/* Whether it has an address. */
bool bk_zk_hosts_known(const struct bk_zk_hosts *h, size_t i);

#endif
