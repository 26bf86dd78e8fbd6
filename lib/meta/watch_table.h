/*
 * watch_table.h - the watches a store keeps for its user, by path, and their
 * way to be called: an event first moves what it concerns to a queue, from
 * which each is then delivered. One-shot (ZooKeeper's rules: a watch on a node
 * sees it created, changed or deleted; one on its children sees those change,
 * or the node deleted).
 */
#ifndef BK_WATCH_TABLE_H
#define BK_WATCH_TABLE_H

#include "meta/meta.h"

#include <bsd/sys/queue.h>

enum bk_watch_kind { BK_WATCH_NODE, BK_WATCH_LIST };

/* What its owner saw when a watch was set; all zero: no such node. */
struct bk_watch_seen {
	uint64_t created;
	uint64_t changed;
	uint64_t children;
};

struct bk_watch_entry {
	TAILQ_ENTRY(bk_watch_entry) next;
	struct bk_watch watch;
	enum bk_watch_kind kind;
	enum bk_watch_event event; /* once it has fired */
	struct bk_watch_seen seen;
	char path[];
};
TAILQ_HEAD(bk_watch_list, bk_watch_entry);

struct bk_watch_path;

struct bk_watches {
	struct bk_watch_path *paths; /* a uthash */
	struct bk_watch_list fired;
	size_t n;     /* set and not fired */
	size_t bytes; /* of their paths */
};

void bk_watches_init(struct bk_watches *t);
void bk_watches_fini(struct bk_watches *t);

/* Set a watch; one that is set already is not set twice. fn NULL sets none. 0,
 * or -1 when out of memory. */
int bk_watches_add(struct bk_watches *t, const char *path,
    enum bk_watch_kind kind, struct bk_watch watch,
    const struct bk_watch_seen *seen);

/* Drop all with this fn and arg, fired ones too. */
void bk_watches_drop(struct bk_watches *t, bk_watch_cb *fn, void *arg);
/* The same, but they stay and count until they fire, calling nobody: for a
 * server that will not forget them. */
void bk_watches_retire(struct bk_watches *t, bk_watch_cb *fn, void *arg);

/* Move those that an event at path concerns, or all of them, to the queue. */
void bk_watches_fire(struct bk_watches *t, const char *path,
    enum bk_watch_event event);
void bk_watches_fire_all(struct bk_watches *t, enum bk_watch_event event);

/* Ask about each: event is what happened to it, or none (-1). */
typedef int bk_watch_judge(void *arg, const struct bk_watch_entry *entry);
void bk_watches_compare(struct bk_watches *t, bk_watch_judge *judge, void *arg);

/* Take the first of the queue and call it; false when the queue is empty. */
bool bk_watches_deliver(struct bk_watches *t);

#endif
