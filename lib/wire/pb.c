/* pb.c - protobuf fields in place. */
#include "wire/pb.h"

bool
bk_pb_next(struct bk_cursor *c, struct bk_pb_field *f)
{
	uint64_t tag, len = 0;

	if (c->failed || bk_cursor_left(c) == 0)
		return (false);
	tag = bk_cursor_varint(c);
	f->number = (uint32_t)(tag >> 3);
	f->wire = (int)(tag & 7);
	f->varint = 0;
	f->bytes = (struct bk_bytes){NULL, 0};
	if (tag >> 3 == 0 || tag > UINT32_MAX)
		c->failed = true;
	switch (f->wire) {
	case BK_PB_VARINT:
		f->varint = bk_cursor_varint(c);
		return (!c->failed);
	case BK_PB_FIXED64:
		len = 8;
		break;
	case BK_PB_BYTES:
		len = bk_cursor_varint(c);
		break;
	case BK_PB_FIXED32:
		len = 4;
		break;
	default:
		c->failed = true;
		break;
	}
	if (len > bk_cursor_left(c))
		c->failed = true;
	else
		f->bytes = bk_cursor_bytes(c, (size_t)len);
	return (!c->failed);
}

size_t
bk_pb_put_varint(uint8_t *p, uint32_t number, uint64_t v)
{
	size_t n = bk_varint_put(p, (uint64_t)number << 3 | BK_PB_VARINT);

	return (n + bk_varint_put(p + n, v));
}

size_t
bk_pb_put_head(uint8_t *p, uint32_t number, size_t len)
{
	size_t n = bk_varint_put(p, (uint64_t)number << 3 | BK_PB_BYTES);

	return (n + bk_varint_put(p + n, len));
}
