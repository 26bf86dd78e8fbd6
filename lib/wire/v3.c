/*
 * v3.c - the frame of protocol v3: header, status, the one inner message.
 *
 * Written out by hand rather than with generated code: messages are taken
 * apart in place, no body is copied, nothing is allocated, and values outside
 * a required enum are refused as the Java peers do. bookie.proto and its
 * generated code check it in the tests.
 */
#include "wire/v3.h"

#include "wire/bookie_codec.h"

#include <errno.h>
#include <string.h>

static const struct {
	enum bk_op op;
	int32_t operation;
	int field;
} operations[] = {
    {BK_OP_READ, BK_V3_READ_ENTRY, 100},
    {BK_OP_ADD, BK_V3_ADD_ENTRY, 101},
    {BK_OP_AUTH, BK_V3_AUTH, 102},
    {BK_OP_WRITE_LAC, BK_V3_WRITE_LAC, 103},
    {BK_OP_READ_LAC, BK_V3_READ_LAC, 104},
    {BK_OP_BOOKIE_INFO, BK_V3_BOOKIE_INFO, 105},
    {BK_OP_START_TLS, BK_V3_START_TLS, 106},
    {BK_OP_FORCE, BK_V3_FORCE, 107},
    {BK_OP_LIST, BK_V3_LIST, 108},
};

static const struct {
	enum bk_status status;
	uint32_t code;
} codes[] = {
    {BK_OK, 0},
    {BK_ENOLEDGER, 402},
    {BK_ENOENTRY, 403},
    {BK_EBADREQ, 404},
    {BK_EIO, 501},
    {BK_EUA, 502},
    {BK_EBADVERSION, 503},
    {BK_EFENCED, 504},
    {BK_EREADONLY, 505},
    {BK_ETOOMANY, 506},
    {BK_EUNKNOWNSTATE, 507},
};

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

int
bk_v3_op_field(enum bk_op op)
{
	size_t i;

	for (i = 0; i < COUNT(operations); i++)
		if (operations[i].op == op)
			return (operations[i].field);
	return (-1);
}

enum bk_op
bk_v3_op_of(int32_t operation)
{
	size_t i;

	for (i = 0; i < COUNT(operations); i++)
		if (operations[i].operation == operation)
			return (operations[i].op);
	return (BK_OP_UNSUPPORTED);
}

int32_t
bk_v3_operation(enum bk_op op)
{
	size_t i;

	for (i = 0; i < COUNT(operations); i++)
		if (operations[i].op == op)
			return (operations[i].operation);
	return (-1);
}

int
bk_v3_status_of(uint64_t code, enum bk_status *status)
{
	size_t i;

	for (i = 0; i < COUNT(codes); i++) {
		if (codes[i].code == code) {
			*status = codes[i].status;
			return (0);
		}
	}
	return (-1);
}

uint32_t
bk_v3_code_of(enum bk_status status)
{
	size_t i;

	for (i = 0; i < COUNT(codes); i++)
		if (codes[i].status == status)
			return (codes[i].code);
	return (501);
}

enum bk_status
bk_v3_header_decode(struct bk_bytes bytes, struct bk_v3_header *h)
{
	struct bk_cursor c;
	struct bk_pb_field f;
	uint64_t version = 0, operation = 0;
	bool has_txn = false;

	memset(h, 0, sizeof(*h));
	bk_cursor_init(&c, bytes.data, bytes.len);
	while (bk_pb_next(&c, &f)) {
		if (f.wire != BK_PB_VARINT)
			continue;
		if (f.number == 1) {
			version = f.varint;
		} else if (f.number == 2) {
			operation = f.varint;
		} else if (f.number == 3) {
			h->txn_id = f.varint;
			has_txn = true;
		} else if (f.number == 4) {
			h->priority = (uint32_t)f.varint;
		}
	}
	if (!bk_cursor_done(&c) || !has_txn || version < BK_V3_VERSION_ONE ||
	    version > BK_V3_VERSION_THREE || operation < 1 ||
	    operation > BK_V3_OPERATION_MAX)
		return (BK_EPROTO);
	h->version = (int32_t)version;
	h->operation = (int32_t)operation;
	return (BK_OK);
}

enum bk_status
bk_v3_envelope_decode(const uint8_t *p, size_t len, struct bk_v3_envelope *e)
{
	struct bk_cursor c;
	struct bk_pb_field f;

	memset(e, 0, sizeof(*e));
	bk_cursor_init(&c, p, len);
	while (bk_pb_next(&c, &f)) {
		if (bk_pb_is(&f, BK_V3_F_HEADER, BK_PB_BYTES)) {
			e->header = f.bytes;
		} else if (bk_pb_is(&f, BK_V3_F_STATUS, BK_PB_VARINT)) {
			e->has_status = true;
			e->status = f.varint;
		} else if (f.wire == BK_PB_BYTES &&
		    f.number >= BK_V3_F_FIRST_MESSAGE &&
		    f.number <= BK_V3_F_LAST_MESSAGE) {
			e->message[f.number - BK_V3_F_FIRST_MESSAGE] = f.bytes;
		}
	}
	if (!bk_cursor_done(&c) || e->header.data == NULL)
		return (BK_EPROTO);
	return (BK_OK);
}

bool
bk_v3_envelope_message(const struct bk_v3_envelope *e, enum bk_op op,
    struct bk_bytes *message)
{
	int field = bk_v3_op_field(op);

	if (field < BK_V3_F_FIRST_MESSAGE || field > BK_V3_F_LAST_MESSAGE)
		return (false);
	*message = e->message[field - BK_V3_F_FIRST_MESSAGE];
	return (true);
}

void
bk_v3_put_int(struct bk_v3_parts *m, uint32_t number, int64_t v)
{
	uint8_t *part = m->body_field == 0 ? m->pre : m->post;
	size_t *n = m->body_field == 0 ? &m->npre : &m->npost;
	size_t cap = m->body_field == 0 ? sizeof(m->pre) : sizeof(m->post);

	if (cap - *n < 20)
		m->failed = true;
	else
		*n += bk_pb_put_varint(part + *n, number, (uint64_t)v);
}

void
bk_v3_put_bytes(struct bk_v3_parts *m, uint32_t number, struct bk_bytes v)
{
	if (v.len > sizeof(m->pre) - 20 - m->npre) {
		m->failed = true;
		return;
	}
	m->npre += bk_pb_put_head(m->pre + m->npre, number, v.len);
	if (v.len > 0)
		memcpy(m->pre + m->npre, v.data, v.len);
	m->npre += v.len;
}

void
bk_v3_put_body(struct bk_v3_parts *m, uint32_t number, struct bk_bytes v)
{
	m->body = v;
	m->body_field = number;
}

/* The outer header and status as bytes; their size. */
static size_t
put_envelope(const struct bk_v3_frame *f, uint8_t *p)
{
	uint8_t header[80];
	struct bk_bytes h = f->raw_header;
	size_t n = 0;

	if (h.data == NULL) {
		n += bk_pb_put_varint(header, 1, BK_V3_VERSION_THREE);
		n += bk_pb_put_varint(header + n, 2, (uint64_t)f->operation);
		n += bk_pb_put_varint(header + n, 3, f->txn_id);
		if (f->priority > 0)
			n += bk_pb_put_varint(header + n, 4, f->priority);
		h = (struct bk_bytes){header, n};
	}
	n = bk_pb_put_head(p, BK_V3_F_HEADER, h.len);
	memcpy(p + n, h.data, h.len);
	n += h.len;
	if (f->status_code >= 0)
		n += bk_pb_put_varint(p + n, BK_V3_F_STATUS,
		    (uint64_t)f->status_code);
	return (n);
}

static uint8_t *
append(uint8_t *p, const void *data, size_t len)
{
	if (len > 0)
		memcpy(p, data, len);
	return (p + len);
}

int
bk_v3_frame_put(const struct bk_v3_frame *f, struct bk_v3_parts *m,
    bool body_last, struct bk_buf *out)
{
	uint8_t envelope[BK_V3_SMALL + 64], tag[20], body_head[20], *p;
	size_t nenvelope, ntag = 0, nbody_head = 0, nbody = 0, inner, len;

	if (m->failed || f->raw_header.len > BK_V3_SMALL) {
		errno = EINVAL;
		return (-1);
	}
	nenvelope = put_envelope(f, envelope);
	if (m->body_field != 0) {
		nbody_head =
		    bk_pb_put_head(body_head, m->body_field, m->body.len);
		nbody = m->body.len;
	}
	if (f->field != 0) {
		inner = m->npre + nbody_head + nbody + m->npost;
		ntag = bk_pb_put_head(tag, f->field, inner);
	}
	len = nenvelope + ntag + m->npre + nbody_head + m->npost;
	if (!body_last)
		len += nbody;
	p = bk_frame_begin(out, len, body_last ? nbody : 0);
	if (p == NULL)
		return (-1);
	p = append(p, envelope, nenvelope);
	p = append(p, tag, ntag);
	p = append(p, m->pre, m->npre);
	if (body_last)
		p = append(p, m->post, m->npost);
	p = append(p, body_head, nbody_head);
	if (!body_last) {
		p = append(p, m->body.data, nbody);
		(void)append(p, m->post, m->npost);
	}
	bk_buf_commit(out, 4 + len);
	return (0);
}
