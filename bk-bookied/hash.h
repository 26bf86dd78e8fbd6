/*
 * hash.h - uthash as the store uses it: keyed, since keys come from strangers,
 * and without an end of the program when memory is short. An element has a
 * member "bool lost", which is set if it could not be added.
 */
#ifndef BOOKIE_HASH_H
#define BOOKIE_HASH_H

#include <stdbool.h>
#include <stddef.h>

/* A short hash with a secret key of this process. */
unsigned hash_bytes(const void *data, size_t len);

#define HASH_FUNCTION(data, len, hash) \
	do { \
		(hash) = hash_bytes((data), (len)); \
	} while (0)
#define HASH_NONFATAL_OOM 1
#define uthash_nonfatal_oom(elt) ((elt)->lost = true)
#include <uthash.h>

#endif
