/*
 * zk_limits.h - the ephemeral nodes a ZooKeeper session has, counted: when
 * their paths together exceed what a server can log, the end of the session
 * destroys the ensemble (zookeeper-and-lmdb.md 8.4).
 */
#ifndef BK_ZK_LIMITS_H
#define BK_ZK_LIMITS_H

#include <stdbool.h>
#include <stddef.h>

/* Bytes of paths in all, a quarter of the default jute.maxbuffer. */
#define BK_ZK_EPHEMERAL_BYTES (256U << 10)
/* Watched paths go to the server in one packet at each reconnect (6.6). */
#define BK_ZK_WATCH_BYTES (500U << 10)

struct bk_zk_ephemeral;

struct bk_zk_ephemerals {
	struct bk_zk_ephemeral *paths; /* a uthash */
	size_t bytes;                  /* of them, and of those being created */
};

/* Room for a node to be created, then the node, or nothing. */
bool bk_zk_ephemerals_reserve(struct bk_zk_ephemerals *e, size_t pathlen);
void bk_zk_ephemerals_release(struct bk_zk_ephemerals *e, size_t pathlen);

void bk_zk_ephemerals_add(struct bk_zk_ephemerals *e, const char *path);
void bk_zk_ephemerals_remove(struct bk_zk_ephemerals *e, const char *path);
void bk_zk_ephemerals_clear(struct bk_zk_ephemerals *e);

#endif
