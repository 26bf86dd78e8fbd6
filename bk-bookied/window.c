/* window.c - read a file through one buffer, around blocks that are bad. */
#include "window.h"
#include "disk.h"

#include <stdlib.h>
#include <string.h>

#define BLOCK 4096

int
window_init(struct window *w, size_t cap)
{
	memset(w, 0, sizeof(*w));
	w->fd = -1;
	w->cap = cap;
	w->bytes = malloc(cap);
	return (w->bytes != NULL ? 0 : -1);
}

void
window_fini(struct window *w)
{
	free(w->bytes);
	w->bytes = NULL;
}

void
window_open(struct window *w, int fd, uint64_t size)
{
	w->fd = fd;
	w->size = size;
	w->start = 0;
	w->len = 0;
	w->unreadable = false;
	w->bad_offset = 0;
}

static void
note_bad(struct window *w, uint64_t offset)
{
	if (!w->unreadable)
		w->bad_offset = offset;
	w->unreadable = true;
}

/* Block by block, zeros for what is not given. */
static void
read_around(struct window *w, uint64_t offset, size_t len)
{
	size_t at;

	for (at = 0; at < len; at += BLOCK) {
		size_t n = len - at < BLOCK ? len - at : BLOCK;

		if (disk_read(w->fd, w->bytes + at, n, offset + at) ==
		    (ssize_t)n)
			continue;
		memset(w->bytes + at, 0, n);
		note_bad(w, offset + at);
	}
}

static void
refill(struct window *w, uint64_t offset)
{
	uint64_t left = w->size - offset;
	size_t len = left < w->cap ? (size_t)left : w->cap;

	if (disk_read(w->fd, w->bytes, len, offset) != (ssize_t)len)
		read_around(w, offset, len);
	w->start = offset;
	w->len = len;
}

const uint8_t *
window_at(struct window *w, uint64_t offset, size_t want, size_t *len)
{
	uint64_t end;

	if (offset >= w->size) {
		*len = 0;
		return (w->bytes);
	}
	if (want > w->size - offset)
		want = (size_t)(w->size - offset);
	end = w->start + w->len;
	if (offset < w->start || offset > end || want > end - offset)
		refill(w, offset);
	*len = (size_t)(w->start + w->len - offset);
	return (w->bytes + (offset - w->start));
}
