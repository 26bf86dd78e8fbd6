/*
 * buf.h - bytes in and out: big-endian integers, a checked cursor, a growing
 * buffer. Everything that goes to or comes from wire and disk passes here.
 */
#ifndef BK_BUF_H
#define BK_BUF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bytes owned by someone else. */
struct bk_bytes {
	const uint8_t *data;
	size_t len;
};

/* Big-endian integers at p; the caller has checked the room. */
static inline uint16_t
bk_be16_get(const uint8_t *p)
{
	return ((uint16_t)((p[0] << 8) | p[1]));
}

static inline uint32_t
bk_be32_get(const uint8_t *p)
{
	return ((uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 |
	    (uint32_t)p[2] << 8 | (uint32_t)p[3]);
}

static inline uint64_t
bk_be64_get(const uint8_t *p)
{
	return ((uint64_t)bk_be32_get(p) << 32 | bk_be32_get(p + 4));
}

static inline void
bk_be16_put(uint8_t *p, uint16_t v)
{
	p[0] = (uint8_t)(v >> 8);
	p[1] = (uint8_t)v;
}

static inline void
bk_be32_put(uint8_t *p, uint32_t v)
{
	p[0] = (uint8_t)(v >> 24);
	p[1] = (uint8_t)(v >> 16);
	p[2] = (uint8_t)(v >> 8);
	p[3] = (uint8_t)v;
}

static inline void
bk_be64_put(uint8_t *p, uint64_t v)
{
	bk_be32_put(p, (uint32_t)(v >> 32));
	bk_be32_put(p + 4, (uint32_t)v);
}

/* A base-128 varint at p (protobuf), which has room for 10 bytes; its size. */
static inline size_t
bk_varint_put(uint8_t *p, uint64_t v)
{
	size_t n = 0;

	while (v >= 0x80) {
		p[n++] = (uint8_t)(v | 0x80);
		v >>= 7;
	}
	p[n++] = (uint8_t)v;
	return (n);
}

/*
 * A cursor over bytes it does not own. A get that does not fit returns 0 (or
 * an empty slice) and sets failed, which stays set: check once at the end with
 * bk_cursor_done().
 */
struct bk_cursor {
	const uint8_t *p;
	const uint8_t *end;
	bool failed;
};

void bk_cursor_init(struct bk_cursor *c, const void *data, size_t len);
size_t bk_cursor_left(const struct bk_cursor *c);
uint8_t bk_cursor_u8(struct bk_cursor *c);
uint16_t bk_cursor_u16(struct bk_cursor *c);
uint32_t bk_cursor_u32(struct bk_cursor *c);
uint64_t bk_cursor_u64(struct bk_cursor *c);
/* A slice of the next len bytes, not copied. */
struct bk_bytes bk_cursor_bytes(struct bk_cursor *c, size_t len);
/* Base-128 varint of up to ten bytes (protobuf). */
uint64_t bk_cursor_varint(struct bk_cursor *c);
/* True if nothing failed and nothing is left over. */
bool bk_cursor_done(const struct bk_cursor *c);

/*
 * A growing buffer with a read position: bytes are appended at the end and
 * taken from the front. The content is data[start..end).
 */
struct bk_buf {
	uint8_t *data;
	size_t start;
	size_t end;
	size_t cap;
};

void bk_buf_init(struct bk_buf *b);
/* Free the memory; the buffer is empty and usable again. */
void bk_buf_fini(struct bk_buf *b);
/* Room for at least need more bytes at the returned place, or NULL with errno
 * ENOMEM. The bytes count only after bk_buf_commit(). Moves what is there. */
uint8_t *bk_buf_reserve(struct bk_buf *b, size_t need);
void bk_buf_commit(struct bk_buf *b, size_t len);
/* Append; 0, or -1 with errno ENOMEM and nothing appended. */
int bk_buf_put(struct bk_buf *b, const void *data, size_t len);
int bk_buf_put_u8(struct bk_buf *b, uint8_t v);
int bk_buf_put_u16(struct bk_buf *b, uint16_t v);
int bk_buf_put_u32(struct bk_buf *b, uint32_t v);
int bk_buf_put_u64(struct bk_buf *b, uint64_t v);
int bk_buf_put_varint(struct bk_buf *b, uint64_t v);
int bk_buf_printf(struct bk_buf *b, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
/* Take len bytes (at most what is there) off the front. An emptied buffer
 * gives back memory beyond 256 KiB. */
void bk_buf_consume(struct bk_buf *b, size_t len);

static inline size_t
bk_buf_len(const struct bk_buf *b)
{
	return (b->end - b->start);
}

static inline uint8_t *
bk_buf_head(const struct bk_buf *b)
{
	return (b->data + b->start);
}

#endif
