/*
 * idle.h - leaving when unused (--idle-exit; design/meta.md 4, cli.md 3.6).
 *
 * Unused is a bookie that had neither connection nor request for the time
 * given, and, on the embedded store, whose cluster had no session but the
 * bookies' own. The bookies of such a cluster leave as one: the first to
 * notice takes start.lock, which keeps clients from starting and connecting,
 * and asks the others to come along.
 */
#ifndef BOOKIE_IDLE_H
#define BOOKIE_IDLE_H

#include "meta/ledger_tree.h"

#include <stdint.h>

struct idle;
struct server;

struct idle_config {
	int64_t time; /* ns */
	const struct bk_tree *tree;
	const char *store_dir; /* of the embedded store, or NULL */
	struct server *server;
	void (*leave)(void *arg); /* may be called again until it is done */
	void *arg;
};

/* NULL when out of memory. config's pointers stay the caller's. */
struct idle *idle_new(struct bk_loop *loop, const struct idle_config *config);
/* Stop looking. */
void idle_stop(struct idle *i);
/* Only with the metadata store closed. NULL is fine. The lock lasts until the
 * process ends, so that nobody comes in between. */
void idle_free(struct idle *i);

#endif
