/*
 * entrylog.c - writing an entry log, in steps of a megabyte, and reading one
 * from end to end.
 *
 * head    magic 8, version 4, number 4, seed 4, sum of these 4
 * extents see extent.c
 * block   magic 4, sum of the rest 4, log 4, offset 4, length 4, count 4, then
 *         states, see state.c
 * end     a block without states, but with the position 8
 *
 * All sums but the head's start from the seed, a random number, so that no
 * entry's bytes can pass for an extent. What was written is sent to the disk
 * step by step: little is ever waiting there when the journal syncs.
 */
#include "bk-bookied/entrylog.h"

#include "bk-bookied/disk.h"
#include "bk-bookied/disk_hint.h"
#include "bk-bookied/mix.h"
#include "bk-bookied/names.h"

#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#define HEAD_MAGIC "BKlog\n\x1a\n"
#define HEAD_SUM_AT 20
#define BLOCK_MAGIC 0x424b7331U /* "BKs1" */
#define BLOCK_HEAD 24
#define BLOCK_MAX 65536
#define POSITION_SIZE 8
#define END_SIZE (BLOCK_HEAD + POSITION_SIZE)
#define STEP (1024 * 1024)
#define STEPS_BEHIND 4 /* steps that may be on their way to disk */

struct entrylog {
	const char *dir;
	uint32_t number;
	uint32_t seed;
	int fd;
	uint64_t written; /* bytes in the file */
	uint64_t awaited; /* of these, bytes known to be on the disk */
	uint8_t *buffer;  /* bytes to follow */
	size_t used, cap;
	size_t block;          /* where in the buffer a block began */
	uint32_t block_states; /* 0: none is being filled */
};

static int
temporary_path(const struct entrylog *w, char path[PATH_MAX])
{
	char name[NAME_SIZE], temporary[NAME_SIZE];

	name_log(name, w->number);
	name_temporary(temporary, name);
	return (disk_path(path, w->dir, temporary));
}

static void
put_head(struct entrylog *w)
{
	uint8_t *p = w->buffer;

	memcpy(p, HEAD_MAGIC, 8);
	bk_be32_put(p + 8, ENTRYLOG_VERSION);
	bk_be32_put(p + 12, w->number);
	bk_be32_put(p + 16, w->seed);
	bk_be32_put(p + HEAD_SUM_AT, mix_sum(0, p, HEAD_SUM_AT));
	w->used = ENTRYLOG_HEAD;
}

struct entrylog *
entrylog_new(const char *dir, uint32_t number)
{
	struct entrylog *w = calloc(1, sizeof(*w));
	char path[PATH_MAX];

	if (w == NULL)
		return (NULL);
	*w = (struct entrylog){.dir = dir, .number = number, .fd = -1};
	w->seed = randombytes_random();
	w->cap = STEP;
	w->buffer = malloc(w->cap);
	if (w->buffer == NULL || temporary_path(w, path) == -1)
		goto fail;
	w->fd = disk_open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	if (w->fd == -1)
		goto fail;
	put_head(w);
	return (w);
fail:
	free(w->buffer);
	free(w);
	return (NULL);
}

static void
entrylog_free(struct entrylog *w)
{
	disk_close(w->fd);
	free(w->buffer);
	free(w);
}

void
entrylog_abort(struct entrylog *w)
{
	char name[NAME_SIZE], temporary[NAME_SIZE];
	int saved = errno;

	if (w == NULL)
		return;
	name_log(name, w->number);
	name_temporary(temporary, name);
	/* If it stays, the next start removes it. */
	(void)disk_remove(w->dir, temporary);
	entrylog_free(w);
	errno = saved;
}

/* Write the buffer out, and see that the disk has nearly followed. */
static int
step(struct entrylog *w)
{
	uint64_t behind = (uint64_t)STEPS_BEHIND * STEP;
	uint64_t end;

	if (disk_write(w->fd, w->buffer, w->used, w->written) == -1)
		return (-1);
	if (disk_push(w->fd, w->written, w->used) == -1)
		return (-1);
	w->written += w->used;
	w->used = 0;
	if (w->written <= w->awaited + behind)
		return (0);
	end = w->written - behind;
	if (disk_await(w->fd, w->awaited, end) == -1)
		return (-1);
	w->awaited = end;
	return (0);
}

/* Room for len more bytes in the buffer. */
static int
make_room(struct entrylog *w, size_t len)
{
	uint8_t *grown;

	if (w->written + w->used + len > ENTRYLOG_MAX - END_SIZE) {
		errno = EFBIG;
		return (-1);
	}
	if (w->used + len > w->cap && w->used > 0 && step(w) == -1)
		return (-1);
	if (len <= w->cap)
		return (0);
	grown = realloc(w->buffer, len);
	if (grown == NULL)
		return (-1);
	w->buffer = grown;
	w->cap = len;
	return (0);
}

int
entrylog_extent(struct entrylog *w, const struct extent_item *items, size_t n,
    size_t size, struct record *record)
{
	if (make_room(w, size) == -1)
		return (-1);
	record->log = w->number;
	record->offset = (uint32_t)(w->written + w->used);
	extent_encode(items, n, w->seed, w->buffer + w->used, size, record);
	w->used += size;
	return (0);
}

static void
begin_block(struct entrylog *w)
{
	w->block = w->used;
	w->used += BLOCK_HEAD;
	w->block_states = 0;
}

static void
end_block(struct entrylog *w)
{
	uint8_t *p = w->buffer + w->block;
	size_t len = w->used - w->block;

	bk_be32_put(p, BLOCK_MAGIC);
	bk_be32_put(p + 8, w->number);
	bk_be32_put(p + 12, (uint32_t)(w->written + w->block));
	bk_be32_put(p + 16, (uint32_t)len);
	bk_be32_put(p + 20, w->block_states);
	bk_be32_put(p + 4, mix_sum(w->seed, p + 8, len - 8));
	w->block_states = 0;
}

int
entrylog_state(struct entrylog *w, struct bk_bytes state)
{
	if (w->block_states > 0 && w->used - w->block + state.len > BLOCK_MAX)
		end_block(w);
	if (w->block_states == 0) {
		if (make_room(w, BLOCK_MAX) == -1)
			return (-1);
		begin_block(w);
	}
	memcpy(w->buffer + w->used, state.data, state.len);
	w->used += state.len;
	w->block_states++;
	return (0);
}

/* A failed sync is never "disk full": nothing of it may be tried again. */
static int
failed_sync(void)
{
	if (errno == ENOSPC || errno == EDQUOT)
		errno = EIO;
	return (-1);
}

static int
make_durable(struct entrylog *w)
{
	char name[NAME_SIZE], temporary[NAME_SIZE];

	name_log(name, w->number);
	name_temporary(temporary, name);
	if (disk_sync(w->fd) == -1 ||
	    disk_rename(w->dir, temporary, name) == -1)
		return (failed_sync());
	return (0);
}

int
entrylog_finish(struct entrylog *w, uint64_t position, uint64_t *bytes)
{
	if (w->block_states > 0)
		end_block(w);
	if (make_room(w, END_SIZE) == -1) {
		entrylog_abort(w);
		return (-1);
	}
	begin_block(w);
	bk_be64_put(w->buffer + w->used, position);
	w->used += POSITION_SIZE;
	end_block(w);
	if (step(w) == -1 || make_durable(w) == -1) {
		entrylog_abort(w);
		return (-1);
	}
	*bytes = w->written;
	entrylog_free(w);
	return (0);
}

/* Reading. */

int
entrylog_head(int fd, uint32_t number, uint32_t *seed)
{
	uint8_t head[ENTRYLOG_HEAD];
	ssize_t n;

	n = disk_read(fd, head, sizeof(head), 0);
	if (n == -1)
		return (-1);
	if (n != ENTRYLOG_HEAD || memcmp(head, HEAD_MAGIC, 8) != 0 ||
	    bk_be32_get(head + HEAD_SUM_AT) != mix_sum(0, head, HEAD_SUM_AT) ||
	    bk_be32_get(head + 12) != number) {
		errno = EBADMSG;
		return (-1);
	}
	if (bk_be32_get(head + 8) != ENTRYLOG_VERSION) {
		errno = ENOTSUP;
		return (-1);
	}
	*seed = bk_be32_get(head + 16);
	return (0);
}

/* A window of the log that moves forward. */
struct window {
	int fd;
	uint32_t number, seed;
	uint8_t *data;
	uint64_t offset; /* of data in the log */
	size_t len;
};

#define WINDOW (8 * 1024 * 1024)

/* The bytes from at on, at least len of them if the log has them. */
static int
window_at(struct window *v, uint64_t at, size_t len, struct bk_bytes *bytes)
{
	ssize_t n;

	if (at + len > v->offset + v->len || at < v->offset) {
		n = disk_read(v->fd, v->data, WINDOW, at);
		if (n == -1)
			return (-1);
		v->offset = at;
		v->len = (size_t)n;
	}
	bytes->data = v->data + (at - v->offset);
	bytes->len = v->offset + v->len - at;
	if (bytes->len >= len)
		return (0);
	errno = EBADMSG;
	return (-1);
}

static int
damaged(void)
{
	errno = EBADMSG;
	return (-1);
}

static int
scan_extent(struct window *v, struct bk_bytes bytes, struct entrylog_scan *scan)
{
	struct record record = {.log = v->number,
	    .offset = (uint32_t)scan->offset};

	if (bytes.len < EXTENT_HEAD || !extent_peek(bytes.data, &record))
		return (damaged());
	if (window_at(v, scan->offset, record.length, &bytes) == -1)
		return (-1);
	bytes.len = record.length;
	if (!extent_check(bytes, v->seed, &record))
		return (damaged());
	scan->offset += record.length;
	errno = ECANCELED;
	return (scan->extent(scan->arg, &record) ? 0 : -1);
}

/* The content of a block, and how many states there are. */
static int
check_block(struct window *v, uint64_t offset, struct bk_bytes bytes,
    struct bk_bytes *content, uint32_t *n)
{
	uint32_t len = bk_be32_get(bytes.data + 16);

	if (bk_be32_get(bytes.data + 8) != v->number ||
	    bk_be32_get(bytes.data + 12) != offset || len < BLOCK_HEAD ||
	    len > BLOCK_MAX)
		return (damaged());
	if (window_at(v, offset, len, &bytes) == -1)
		return (-1);
	if (bk_be32_get(bytes.data + 4) !=
	    mix_sum(v->seed, bytes.data + 8, len - 8))
		return (damaged());
	*n = bk_be32_get(bytes.data + 20);
	content->data = bytes.data + BLOCK_HEAD;
	content->len = len - BLOCK_HEAD;
	return (0);
}

static int
scan_states(struct bk_cursor *r, uint32_t n, const struct entrylog_scan *scan)
{
	struct ledger_state state;
	struct bk_bytes encoded;

	for (; n > 0; n--) {
		encoded.data = r->p;
		if (!state_decode(r, &state))
			return (damaged());
		encoded.len = (size_t)(r->p - encoded.data);
		errno = ECANCELED;
		if (!scan->state(scan->arg, encoded))
			return (-1);
	}
	return (0);
}

static int
scan_block(struct window *v, struct bk_bytes bytes, struct entrylog_scan *scan,
    bool *end)
{
	struct bk_bytes content;
	struct bk_cursor r;
	uint32_t n;

	if (check_block(v, scan->offset, bytes, &content, &n) == -1)
		return (-1);
	bk_cursor_init(&r, content.data, content.len);
	if (scan_states(&r, n, scan) == -1)
		return (-1);
	*end = n == 0;
	if (*end)
		scan->position = bk_cursor_u64(&r);
	if (!bk_cursor_done(&r))
		return (damaged());
	scan->offset += BLOCK_HEAD + content.len;
	return (0);
}

static int
scan_all(struct window *v, struct entrylog_scan *scan)
{
	struct bk_bytes bytes;
	bool end = false;
	int r = 0;

	while (r == 0 && !end) {
		r = window_at(v, scan->offset, BLOCK_HEAD, &bytes);
		if (r == -1)
			break;
		if (bk_be32_get(bytes.data) == BLOCK_MAGIC)
			r = scan_block(v, bytes, scan, &end);
		else
			r = scan_extent(v, bytes, scan);
	}
	return (r);
}

int
entrylog_scan(int fd, uint32_t number, struct entrylog_scan *scan)
{
	struct window v = {.fd = fd, .number = number};
	int r = -1;

	scan->offset = 0;
	scan->position = 0;
	if (entrylog_head(fd, number, &v.seed) == -1)
		return (-1);
	scan->offset = ENTRYLOG_HEAD;
	v.data = malloc(WINDOW);
	if (v.data != NULL)
		r = scan_all(&v, scan);
	free(v.data);
	return (r);
}
