/* v3_request.c - requests of protocol v3, one function per message. */
#include "wire/bookie_codec.h"
#include "wire/v3.h"

#include <string.h>

/* Which required fields were seen, as bits by field number. */
#define SEEN(number) (1u << (number))

static enum bk_status
finish(const struct bk_cursor *c, unsigned seen, unsigned required)
{
	return (bk_cursor_done(c) && (seen & required) == required ? BK_OK :
								     BK_EPROTO);
}

static void
take_key(struct bk_request *req, struct bk_bytes key)
{
	req->master_key = key;
	req->flags |= BK_REQ_KEY;
}

static void
read_field(struct bk_request *req, const struct bk_pb_field *f)
{
	if (bk_pb_is(f, 3, BK_PB_BYTES)) {
		take_key(req, f->bytes);
	} else if (bk_pb_is(f, 4, BK_PB_VARINT)) {
		req->previous_lac = (int64_t)f->varint;
		req->flags |= BK_REQ_PREVIOUS_LAC;
	} else if (bk_pb_is(f, 5, BK_PB_VARINT)) {
		req->timeout_ms = (int64_t)f->varint;
		req->flags |= BK_REQ_TIMEOUT;
	} else if (bk_pb_is(f, 100, BK_PB_VARINT)) {
		if (f->varint == BK_V3_FLAG_FENCE)
			req->flags |= BK_REQ_FENCE;
		else if (f->varint == BK_V3_FLAG_PIGGYBACK)
			req->flags |= BK_REQ_PIGGYBACK;
	}
}

static enum bk_status
decode_read(struct bk_bytes bytes, struct bk_request *req)
{
	struct bk_cursor c;
	struct bk_pb_field f;
	unsigned seen = 0;

	bk_cursor_init(&c, bytes.data, bytes.len);
	while (bk_pb_next(&c, &f)) {
		if (bk_pb_is(&f, 1, BK_PB_VARINT)) {
			req->ledger_id = (int64_t)f.varint;
			seen |= SEEN(1);
		} else if (bk_pb_is(&f, 2, BK_PB_VARINT)) {
			req->entry_id = (int64_t)f.varint;
			seen |= SEEN(2);
		} else {
			read_field(req, &f);
		}
	}
	return (finish(&c, seen, SEEN(1) | SEEN(2)));
}

static enum bk_status
decode_add(struct bk_bytes bytes, struct bk_request *req)
{
	struct bk_cursor c;
	struct bk_pb_field f;
	unsigned seen = 0;

	bk_cursor_init(&c, bytes.data, bytes.len);
	while (bk_pb_next(&c, &f)) {
		if (f.number < 8)
			seen |= SEEN(f.number);
		if (bk_pb_is(&f, 1, BK_PB_VARINT)) {
			req->ledger_id = (int64_t)f.varint;
		} else if (bk_pb_is(&f, 2, BK_PB_VARINT)) {
			req->entry_id = (int64_t)f.varint;
		} else if (bk_pb_is(&f, 3, BK_PB_BYTES)) {
			take_key(req, f.bytes);
		} else if (bk_pb_is(&f, 4, BK_PB_BYTES)) {
			req->body = f.bytes;
		} else if (bk_pb_is(&f, 5, BK_PB_VARINT)) {
			if ((f.varint & BK_V3_WRITE_DEFERRED_SYNC) != 0)
				req->flags |= BK_REQ_DEFERRED_SYNC;
		} else if (bk_pb_is(&f, 100, BK_PB_VARINT)) {
			if (f.varint == BK_V3_FLAG_RECOVERY)
				req->flags |= BK_REQ_RECOVERY;
		} else if (f.number < 8) {
			seen &= ~SEEN(f.number); /* another wire type */
		}
	}
	return (finish(&c, seen, SEEN(1) | SEEN(2) | SEEN(3) | SEEN(4)));
}

static enum bk_status
decode_write_lac(struct bk_bytes bytes, struct bk_request *req)
{
	struct bk_cursor c;
	struct bk_pb_field f;
	unsigned seen = 0;

	bk_cursor_init(&c, bytes.data, bytes.len);
	while (bk_pb_next(&c, &f)) {
		if (bk_pb_is(&f, 1, BK_PB_VARINT)) {
			req->ledger_id = (int64_t)f.varint;
			seen |= SEEN(1);
		} else if (bk_pb_is(&f, 2, BK_PB_VARINT)) {
			req->lac = (int64_t)f.varint;
			seen |= SEEN(2);
		} else if (bk_pb_is(&f, 3, BK_PB_BYTES)) {
			take_key(req, f.bytes);
			seen |= SEEN(3);
		} else if (bk_pb_is(&f, 4, BK_PB_BYTES)) {
			req->body = f.bytes;
			seen |= SEEN(4);
		}
	}
	return (finish(&c, seen, SEEN(1) | SEEN(2) | SEEN(3) | SEEN(4)));
}

/* FORCE, READ_LAC, LIST: a ledger id; BOOKIE_INFO: an optional bit set. */
static enum bk_status
decode_number(struct bk_bytes bytes, bool required, int64_t *number)
{
	struct bk_cursor c;
	struct bk_pb_field f;
	unsigned seen = 0;

	bk_cursor_init(&c, bytes.data, bytes.len);
	while (bk_pb_next(&c, &f)) {
		if (bk_pb_is(&f, 1, BK_PB_VARINT)) {
			*number = (int64_t)f.varint;
			seen |= SEEN(1);
		}
	}
	return (finish(&c, seen, required ? SEEN(1) : 0));
}

static enum bk_status
decode_empty(struct bk_bytes bytes)
{
	struct bk_cursor c;
	struct bk_pb_field f;

	bk_cursor_init(&c, bytes.data, bytes.len);
	while (bk_pb_next(&c, &f))
		;
	return (finish(&c, 0, 0));
}

static enum bk_status
decode_message(struct bk_bytes bytes, struct bk_request *req)
{
	switch (req->op) {
	case BK_OP_READ:
		return (decode_read(bytes, req));
	case BK_OP_ADD:
		return (decode_add(bytes, req));
	case BK_OP_AUTH:
		return (bk_auth_message_decode(bytes, &req->auth_plugin,
		    &req->auth_payload));
	case BK_OP_WRITE_LAC:
		return (decode_write_lac(bytes, req));
	case BK_OP_READ_LAC:
	case BK_OP_FORCE:
	case BK_OP_LIST:
		return (decode_number(bytes, true, &req->ledger_id));
	case BK_OP_BOOKIE_INFO:
		return (decode_number(bytes, false, &req->requested_info));
	default:
		return (decode_empty(bytes));
	}
}

enum bk_status
bk_v3_request_decode(const uint8_t *p, size_t len, struct bk_request *req)
{
	struct bk_v3_envelope e;
	struct bk_v3_header h;
	struct bk_bytes message;

	if (bk_v3_envelope_decode(p, len, &e) != BK_OK ||
	    bk_v3_header_decode(e.header, &h) != BK_OK)
		return (BK_EPROTO);
	req->version = 3;
	req->op = bk_v3_op_of(h.operation);
	req->raw_op = h.operation;
	req->raw_header = e.header;
	req->txn_id = h.txn_id;
	if (h.priority > 0)
		req->flags |= BK_REQ_HIGH_PRIORITY;
	if (!bk_v3_envelope_message(&e, req->op, &message))
		return (BK_OK);
	if (message.data == NULL)
		return (BK_EBADREQ);
	if (decode_message(message, req) != BK_OK)
		return (BK_EPROTO);
	return (h.version == BK_V3_VERSION_THREE ? BK_OK : BK_EBADVERSION);
}

static void
encode_read(const struct bk_request *req, struct bk_v3_parts *m)
{
	bk_v3_put_int(m, 1, req->ledger_id);
	bk_v3_put_int(m, 2, req->entry_id);
	if ((req->flags & BK_REQ_KEY) != 0)
		bk_v3_put_bytes(m, 3, req->master_key);
	if ((req->flags & BK_REQ_PREVIOUS_LAC) != 0)
		bk_v3_put_int(m, 4, req->previous_lac);
	if ((req->flags & BK_REQ_TIMEOUT) != 0)
		bk_v3_put_int(m, 5, req->timeout_ms);
	if ((req->flags & BK_REQ_FENCE) != 0)
		bk_v3_put_int(m, 100, BK_V3_FLAG_FENCE);
	else if ((req->flags & BK_REQ_PIGGYBACK) != 0)
		bk_v3_put_int(m, 100, BK_V3_FLAG_PIGGYBACK);
}

static void
encode_add(const struct bk_request *req, struct bk_v3_parts *m)
{
	bk_v3_put_int(m, 1, req->ledger_id);
	bk_v3_put_int(m, 2, req->entry_id);
	bk_v3_put_bytes(m, 3, req->master_key);
	bk_v3_put_body(m, 4, req->body);
	if ((req->flags & BK_REQ_DEFERRED_SYNC) != 0)
		bk_v3_put_int(m, 5, BK_V3_WRITE_DEFERRED_SYNC);
	if ((req->flags & BK_REQ_RECOVERY) != 0)
		bk_v3_put_int(m, 100, BK_V3_FLAG_RECOVERY);
}

static void
encode_message(const struct bk_request *req, struct bk_v3_parts *m)
{
	switch (req->op) {
	case BK_OP_READ:
		encode_read(req, m);
		break;
	case BK_OP_ADD:
		encode_add(req, m);
		break;
	case BK_OP_AUTH:
		bk_v3_put_bytes(m, 1, req->auth_plugin);
		bk_v3_put_bytes(m, 2, req->auth_payload);
		break;
	case BK_OP_WRITE_LAC:
		bk_v3_put_int(m, 1, req->ledger_id);
		bk_v3_put_int(m, 2, req->lac);
		bk_v3_put_bytes(m, 3, req->master_key);
		bk_v3_put_bytes(m, 4, req->body);
		break;
	case BK_OP_BOOKIE_INFO:
		bk_v3_put_int(m, 1, req->requested_info);
		break;
	case BK_OP_START_TLS:
		break;
	default:
		bk_v3_put_int(m, 1, req->ledger_id);
		break;
	}
}

int
bk_v3_request_encode(const struct bk_request *req, bool body_last,
    struct bk_buf *out)
{
	int field = bk_v3_op_field(req->op);
	struct bk_v3_parts m;
	struct bk_v3_frame f = {
	    .operation = bk_v3_operation(req->op),
	    .txn_id = req->txn_id,
	    /* What Java sends for high priority (2.3). */
	    .priority = (req->flags & BK_REQ_HIGH_PRIORITY) != 0 ? 100 : 0,
	    .status_code = -1,
	    .field = field > 0 ? (uint32_t)field : 0,
	};

	m.npre = m.npost = 0;
	m.body_field = 0;
	m.failed = field < 0;
	if (!m.failed)
		encode_message(req, &m);
	return (bk_v3_frame_put(&f, &m, body_last, out));
}
