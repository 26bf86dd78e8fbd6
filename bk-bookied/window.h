/*
 * window.h - a stretch of a file in memory, moved along as it is read.
 */
#ifndef BOOKIE_WINDOW_H
#define BOOKIE_WINDOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct window {
	int fd;
	uint64_t size; /* of the file */
	uint8_t *bytes;
	size_t cap;
	uint64_t start;
	size_t len;
	bool unreadable;     /* a block could not be read: zeros instead, */
	uint64_t bad_offset; /* the first of them here */
};

/* Room for cap bytes (a multiple of 4096). -1 when out of memory. */
int window_init(struct window *w, size_t cap);
void window_fini(struct window *w);
/* Begin with another file. */
void window_open(struct window *w, int fd, uint64_t size);
/* At least want bytes (up to cap) from offset, fewer only at the end of the
 * file; *len says how many. The bytes stay until the next call. A block that
 * the disk does not give counts as zeros and sets unreadable. */
const uint8_t *window_at(struct window *w, uint64_t offset, size_t want,
    size_t *len);

#endif
