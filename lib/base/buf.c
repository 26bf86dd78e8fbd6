/* buf.c - checked bytes in and out, and a growing buffer. */
#include "base/buf.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CAP_MIN 256
#define CAP_KEEP (256 * 1024)
#define VARINT_MAX 10

void
bk_cursor_init(struct bk_cursor *c, const void *data, size_t len)
{
	c->p = data;
	c->end = c->p + len;
	c->failed = false;
}

size_t
bk_cursor_left(const struct bk_cursor *c)
{
	return ((size_t)(c->end - c->p));
}

struct bk_bytes
bk_cursor_bytes(struct bk_cursor *c, size_t len)
{
	struct bk_bytes b = {c->p, len};

	if (c->failed || len > bk_cursor_left(c)) {
		c->failed = true;
		c->p = c->end;
		return ((struct bk_bytes){c->end, 0});
	}
	c->p += len;
	return (b);
}

uint8_t
bk_cursor_u8(struct bk_cursor *c)
{
	struct bk_bytes b = bk_cursor_bytes(c, 1);

	return (b.len == 1 ? b.data[0] : 0);
}

uint16_t
bk_cursor_u16(struct bk_cursor *c)
{
	struct bk_bytes b = bk_cursor_bytes(c, 2);

	return (b.len == 2 ? bk_be16_get(b.data) : 0);
}

uint32_t
bk_cursor_u32(struct bk_cursor *c)
{
	struct bk_bytes b = bk_cursor_bytes(c, 4);

	return (b.len == 4 ? bk_be32_get(b.data) : 0);
}

uint64_t
bk_cursor_u64(struct bk_cursor *c)
{
	struct bk_bytes b = bk_cursor_bytes(c, 8);

	return (b.len == 8 ? bk_be64_get(b.data) : 0);
}

uint64_t
bk_cursor_varint(struct bk_cursor *c)
{
	uint64_t v = 0;
	int i;

	for (i = 0; i < VARINT_MAX; i++) {
		uint8_t byte = bk_cursor_u8(c);

		v |= (uint64_t)(byte & 0x7f) << (7 * i);
		if ((byte & 0x80) == 0)
			return (c->failed ? 0 : v);
	}
	c->failed = true;
	return (0);
}

bool
bk_cursor_done(const struct bk_cursor *c)
{
	return (!c->failed && c->p == c->end);
}

void
bk_buf_init(struct bk_buf *b)
{
	memset(b, 0, sizeof(*b));
}

void
bk_buf_fini(struct bk_buf *b)
{
	free(b->data);
	bk_buf_init(b);
}

/* Move the content to the front, so that the room behind it is in one piece. */
static void
compact(struct bk_buf *b)
{
	if (b->start == 0)
		return;
	memmove(b->data, b->data + b->start, bk_buf_len(b));
	b->end -= b->start;
	b->start = 0;
}

uint8_t *
bk_buf_reserve(struct bk_buf *b, size_t need)
{
	size_t len = bk_buf_len(b);
	size_t cap;
	uint8_t *data;

	if (b->data != NULL && need <= b->cap - b->end)
		return (b->data + b->end);
	if (need > SIZE_MAX / 2 - len) {
		errno = ENOMEM;
		return (NULL);
	}
	/* Moving pays only if it frees at least half of the buffer. */
	if (len + need <= b->cap && b->start >= b->cap / 2) {
		compact(b);
		return (b->data + b->end);
	}
	cap = b->cap < CAP_MIN ? CAP_MIN : b->cap;
	while (cap < len + need)
		cap *= 2;
	if ((data = malloc(cap)) == NULL)
		return (NULL);
	if (len > 0)
		memcpy(data, b->data + b->start, len);
	free(b->data);
	b->data = data;
	b->cap = cap;
	b->start = 0;
	b->end = len;
	return (b->data + b->end);
}

void
bk_buf_commit(struct bk_buf *b, size_t len)
{
	b->end += len;
}

int
bk_buf_put(struct bk_buf *b, const void *data, size_t len)
{
	uint8_t *p;

	if (len == 0)
		return (0);
	if ((p = bk_buf_reserve(b, len)) == NULL)
		return (-1);
	memcpy(p, data, len);
	b->end += len;
	return (0);
}

int
bk_buf_put_u8(struct bk_buf *b, uint8_t v)
{
	return (bk_buf_put(b, &v, 1));
}

int
bk_buf_put_u16(struct bk_buf *b, uint16_t v)
{
	uint8_t bytes[2];

	bk_be16_put(bytes, v);
	return (bk_buf_put(b, bytes, sizeof(bytes)));
}

int
bk_buf_put_u32(struct bk_buf *b, uint32_t v)
{
	uint8_t bytes[4];

	bk_be32_put(bytes, v);
	return (bk_buf_put(b, bytes, sizeof(bytes)));
}

int
bk_buf_put_u64(struct bk_buf *b, uint64_t v)
{
	uint8_t bytes[8];

	bk_be64_put(bytes, v);
	return (bk_buf_put(b, bytes, sizeof(bytes)));
}

int
bk_buf_put_varint(struct bk_buf *b, uint64_t v)
{
	uint8_t bytes[VARINT_MAX];

	return (bk_buf_put(b, bytes, bk_varint_put(bytes, v)));
}

int
bk_buf_printf(struct bk_buf *b, const char *fmt, ...)
{
	va_list ap;
	uint8_t *p;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(NULL, 0, fmt, ap);
	va_end(ap);
	if (n < 0 || (p = bk_buf_reserve(b, (size_t)n + 1)) == NULL)
		return (-1);
	va_start(ap, fmt);
	(void)vsnprintf((char *)p, (size_t)n + 1, fmt, ap);
	va_end(ap);
	b->end += (size_t)n;
	return (0);
}

void
bk_buf_consume(struct bk_buf *b, size_t len)
{
	b->start += len < bk_buf_len(b) ? len : bk_buf_len(b);
	if (b->start < b->end)
		return;
	b->start = b->end = 0;
	if (b->cap > CAP_KEEP)
		bk_buf_fini(b);
}
