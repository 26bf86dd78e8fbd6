/* zookeeper.h - a ZooKeeper server of a test's own, as Debian packages it. */
#ifndef T_ZOOKEEPER_H
#define T_ZOOKEEPER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct zookeeper {
	char dir[200];
	uint16_t port;
	pid_t pid;        /* -1: not running */
	char address[40]; /* "127.0.0.1:PORT" */
};

/* Make one in a new folder, on a free port, and start it, with further lines
 * for its configuration. False, with a line on standard error, when it does
 * not answer within a minute or there is no Java. */
bool zookeeper_start(struct zookeeper *z, const char *lines);
/* The same server again, with its data. */
bool zookeeper_restart(struct zookeeper *z);
/* It is killed and its folder stays; a stopped one (SIGSTOP) dies too. */
void zookeeper_kill(struct zookeeper *z);
/* Kill it, remove the folder. */
void zookeeper_end(struct zookeeper *z);

#endif
