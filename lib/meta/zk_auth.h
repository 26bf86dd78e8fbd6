/* zk_auth.h - credentials for ZooKeeper's digest scheme, from a file. */
#ifndef BK_ZK_AUTH_H
#define BK_ZK_AUTH_H

#include "base/status.h"

/* The first line of a file, "user:password", on the heap. The file must not be
 * open to everybody. NULL with *status and *why (thread-local). */
char *bk_zk_auth_read(const char *path, enum bk_status *status,
    const char **why);
/* Wipe and free. NULL is fine. */
void bk_zk_auth_free(char *auth);

#endif
