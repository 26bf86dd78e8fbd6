/*
 * client.h - what every client object shares: the env, the tree, the bookies
 * that may be chosen, and limits. A struct bk_client is made once per program
 * (lib/tool/session.h does it) or by the simulator.
 */
#ifndef BK_CLIENT_H
#define BK_CLIENT_H

#include "env/env.h"
#include "meta/ledger_tree.h"
#include "sums/digest.h"

/* The bookies to choose from, now. */
struct bk_candidates {
	void *arg;
	/* Fill ids (up to max, pointers valid until the loop turns) with the
	 * writable bookies; returns how many there are. */
	size_t (*writable)(void *arg, const char **ids, size_t max);
	/* Whether the bookie is registered at all. */
	bool (*known)(void *arg, const char *id);
	/* A writer misses a bookie: start local ones again if that is possible
	 * (design/overview.md 4); may be NULL. */
	void (*need)(void *arg);
};

struct bk_client {
	struct bk_env *env;
	struct bk_tree *tree;
	struct bk_candidates candidates;
	int64_t request_timeout;  /* ns: 1 s local, 5 s network */
	int64_t replace_timeout;  /* ns a writer waits for a spare; 10 s */
	size_t window_entries;    /* adds in flight per writer */
	size_t window_bytes;
	size_t peer_bytes;        /* bytes queued for one slow bookie at most */
	unsigned wire_version;    /* 2 or 3; 0 = default (3) */
};

struct bk_password {
	const uint8_t *data;
	size_t len;
};

#endif
