/*
 * client.h - what every client object shares: the env, the tree, the bookies
 * that may be chosen, and limits. A struct bk_client is made once per program
 * (lib/tool/session.h does it) or by the simulator, zeroed before it is filled.
 */
#ifndef BK_CLIENT_H
#define BK_CLIENT_H

#include "env/env.h"
#include "meta/ledger_tree.h"
#include "sums/digest.h"

#include <bsd/sys/queue.h>

/* The bookies to choose from, now. */
struct bk_candidates {
	void *arg;
	/* Fill ids (up to max, pointers valid until the loop turns) with the
	 * writable bookies; returns how many there are. */
	size_t (*writable)(void *arg, const char **ids, size_t max);
	/* Whether the bookie is registered at all. */
	bool (*known)(void *arg, const char *id);
	/* A writer misses a bookie: start local ones again if that is possible
	 * (design/overview.md 4); called again every second while it lasts;
	 * may be NULL. */
	void (*need)(void *arg);
};

struct bk_writer;
LIST_HEAD(bk_writer_list, bk_writer);

/* A bookie that failed lately: chosen last, for a while (6.2). */
#define BK_SHUNNED_MAX 16
struct bk_shunned {
	char id[128];
	int64_t since;
};

/* Limits of 0 stand for the defaults. */
struct bk_client {
	struct bk_env *env;
	struct bk_tree *tree;
	struct bk_candidates candidates;
	int64_t request_timeout; /* ns: 1 s local, 5 s network (default) */
	int64_t replace_timeout; /* ns a writer waits for a spare; 10 s */
	int64_t add_timeout;     /* ns for one add in all; 120 s */
	size_t window_entries;   /* adds in flight per writer; 16384 */
	size_t window_bytes;     /* 16 MiB */
	size_t peer_bytes;     /* sent to one bookie and not answered; 32 MiB */
	unsigned wire_version; /* 2 or 3; 0: the env's */
	/* Of ledgers of a name, where neither it nor the command says: 3/3/2. */
	int ensemble_size, write_quorum, ack_quorum;

	/* Kept by the client itself. */
	struct bk_writer_list writers;
	struct bk_shunned shunned[BK_SHUNNED_MAX];
	size_t nshunned;
};

struct bk_password {
	const uint8_t *data;
	size_t len;
};

/* Put the defaults where there is 0. Every object that takes a client does. */
void bk_client_defaults(struct bk_client *c);

/* The list of bookies has changed: writers that go on without a member try
 * again to replace it, or to reach it. To be called at every change. */
void bk_client_bookies_changed(struct bk_client *c);

#endif
