/*
 * pb.h - the protobuf encoding, as little of it as hot frames need: walking
 * over the fields of a message in place, without allocation, and putting
 * fields. Decoders built on it are strict where generated code is lenient
 * (unknown values of required enums, wrong sizes) and never copy a body.
 */
#ifndef BK_PB_H
#define BK_PB_H

#include "base/buf.h"

#include <stdbool.h>
#include <stdint.h>

enum {
	BK_PB_VARINT = 0,
	BK_PB_FIXED64 = 1,
	BK_PB_BYTES = 2,
	BK_PB_FIXED32 = 5
};

struct bk_pb_field {
	uint32_t number;
	int wire;
	uint64_t varint;       /* wire type 0 */
	struct bk_bytes bytes; /* wire types 1, 2, 5 */
};

/* The next field; false at the end or at malformed bytes (groups and field
 * number 0 included): then bk_cursor_done() tells which. */
bool bk_pb_next(struct bk_cursor *c, struct bk_pb_field *f);

/* Whether f is the field with this number and wire type. */
static inline bool
bk_pb_is(const struct bk_pb_field *f, uint32_t number, int wire)
{
	return (f->number == number && f->wire == wire);
}

/* Put a field at p, which has room for 20 bytes; its size. */
size_t bk_pb_put_varint(uint8_t *p, uint32_t number, uint64_t v);
/* Put tag and length of a bytes field, not the bytes; its size. */
size_t bk_pb_put_head(uint8_t *p, uint32_t number, size_t len);

#endif
