/*
 * gc.h - collection: ledgers whose metadata is gone are removed from this
 * bookie (design/bookie.md 5, metadata.md 2.6).
 */
#ifndef BOOKIE_GC_H
#define BOOKIE_GC_H

#include "meta/ledger_tree.h"

#include <stdint.h>

struct gc;
struct store;

struct gc_config {
	const struct bk_tree *tree;
	struct store *store;
	const char
	    *instance_id; /* the cluster this bookie belongs to, or NULL */
	int64_t interval; /* ns between the passes */
};

/* Start; the first pass comes after one interval. NULL when out of memory.
 * config's pointers stay the caller's. */
struct gc *gc_new(struct bk_loop *loop, const struct gc_config *config);
/* Stop: the store is not used any more, and a pass in progress ends at its next
 * answer. */
void gc_stop(struct gc *g);
/* Only when the metadata store is closed, so that no answer can come. NULL is
 * fine. */
void gc_free(struct gc *g);
void gc_set_interval(struct gc *g, int64_t interval);

#endif
