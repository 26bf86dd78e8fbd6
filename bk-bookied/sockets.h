/*
 * sockets.h - the sockets a bookie listens on: handed in or bound, all or
 * none, and what they are called.
 */
#ifndef BOOKIE_SOCKETS_H
#define BOOKIE_SOCKETS_H

#include "loop/listen.h"

#include <stdbool.h>

struct options;

struct sockets {
	int fds[BK_LISTEN_MAX];
	char *names[BK_LISTEN_MAX]; /* "127.0.0.1:3181", "unix:/path" */
	size_t n;
	bool is_bound; /* by us, not handed in */
};

/* Take those of in, or else bind those asked for, or else fallback. 0, or the
 * exit status after saying why; nothing is left open then. */
int sockets_open(struct sockets *s, const struct options *o,
    const struct bk_inherited *in, const char *fallback);
/* Close, and remove the files of Unix sockets we bound. */
void sockets_close(struct sockets *s);
/* Write the names to a file, one a line, at once. 0, or the exit status after
 * saying why. */
int sockets_tell(const struct sockets *s, const char *path);

#endif
