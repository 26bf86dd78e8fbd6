/* v3_response.c - answers of protocol v3, one function per direction. */
#include "wire/bookie_codec.h"
#include "wire/v3.h"

#include <string.h>

/* Optional fields by operation; the rest are the same everywhere: 1 status,
 * 2 ledger id, 3 entry id. */
static void
decode_optional(struct bk_response *resp, const struct bk_pb_field *f)
{
	bool bytes = f->wire == BK_PB_BYTES;
	bool number = f->wire == BK_PB_VARINT;

	if (resp->op == BK_OP_READ && f->number == 4 && bytes) {
		resp->body = f->bytes;
		resp->present |= BK_RESP_BODY;
	} else if (resp->op == BK_OP_READ && f->number == 5 && number) {
		resp->max_lac = (int64_t)f->varint;
		resp->present |= BK_RESP_MAX_LAC;
	} else if (resp->op == BK_OP_READ && f->number == 6 && number) {
		resp->lac_time_ms = (int64_t)f->varint;
		resp->present |= BK_RESP_LAC_TIME;
	} else if (resp->op == BK_OP_READ_LAC && f->number == 3 && bytes) {
		resp->lac_body = f->bytes;
		resp->present |= BK_RESP_LAC_BODY;
	} else if ((resp->op == BK_OP_READ_LAC && f->number == 4 && bytes) ||
	    (resp->op == BK_OP_LIST && f->number == 3 && bytes)) {
		resp->body = f->bytes;
		resp->present |= BK_RESP_BODY;
	}
}

static void
decode_info(struct bk_response *resp, const struct bk_pb_field *f)
{
	if (f->number == 2) {
		resp->total_space = (int64_t)f->varint;
		resp->present |= BK_RESP_TOTAL;
	} else if (f->number == 3) {
		resp->free_space = (int64_t)f->varint;
		resp->present |= BK_RESP_FREE;
	}
}

/* The inner message; *status is its own status if it has one. */
static enum bk_status
decode_message(struct bk_bytes bytes, struct bk_response *resp,
    enum bk_status *status)
{
	struct bk_cursor c;
	struct bk_pb_field f;
	bool has_status = false;

	if (resp->op == BK_OP_AUTH)
		return (bk_auth_message_decode(bytes, &resp->auth_plugin,
		    &resp->auth_payload));
	bk_cursor_init(&c, bytes.data, bytes.len);
	while (bk_pb_next(&c, &f)) {
		if (bk_pb_is(&f, 1, BK_PB_VARINT)) {
			if (bk_v3_status_of(f.varint, status) != 0)
				return (BK_EPROTO);
			has_status = true;
		} else if (resp->op == BK_OP_BOOKIE_INFO) {
			decode_info(resp, &f);
		} else if (bk_pb_is(&f, 2, BK_PB_VARINT)) {
			resp->ledger_id = (int64_t)f.varint;
		} else if (bk_pb_is(&f, 3, BK_PB_VARINT)) {
			resp->entry_id = (int64_t)f.varint;
		} else {
			decode_optional(resp, &f);
		}
	}
	if (!bk_cursor_done(&c) || (!has_status && resp->op != BK_OP_START_TLS))
		return (BK_EPROTO);
	return (BK_OK);
}

enum bk_status
bk_v3_response_decode(const uint8_t *p, size_t len, struct bk_response *resp)
{
	struct bk_v3_envelope e;
	struct bk_v3_header h;
	struct bk_bytes message;
	enum bk_status inner = BK_OK;

	if (bk_v3_envelope_decode(p, len, &e) != BK_OK ||
	    bk_v3_header_decode(e.header, &h) != BK_OK || !e.has_status ||
	    bk_v3_status_of(e.status, &resp->status) != 0)
		return (BK_EPROTO);
	resp->version = 3;
	resp->op = bk_v3_op_of(h.operation);
	resp->raw_op = h.operation;
	resp->raw_header = e.header;
	resp->txn_id = h.txn_id;
	if (!bk_v3_envelope_message(&e, resp->op, &message))
		return (BK_OK);
	/* An error without its message is fine; success without one is an
	 * empty answer that fails the digest check (3.4). */
	if (message.data == NULL)
		return (BK_OK);
	if (decode_message(message, resp, &inner) != BK_OK)
		return (BK_EPROTO);
	if (resp->status == BK_OK)
		resp->status = inner;
	return (BK_OK);
}

static void
encode_read(const struct bk_response *resp, struct bk_v3_parts *m)
{
	bk_v3_put_int(m, 3, resp->entry_id);
	if ((resp->present & BK_RESP_BODY) != 0)
		bk_v3_put_body(m, 4, resp->body);
	if ((resp->present & BK_RESP_MAX_LAC) != 0)
		bk_v3_put_int(m, 5, resp->max_lac);
	if ((resp->present & BK_RESP_LAC_TIME) != 0)
		bk_v3_put_int(m, 6, resp->lac_time_ms);
}

static void
encode_info(const struct bk_response *resp, struct bk_v3_parts *m)
{
	if ((resp->present & BK_RESP_TOTAL) != 0)
		bk_v3_put_int(m, 2, resp->total_space);
	if ((resp->present & BK_RESP_FREE) != 0)
		bk_v3_put_int(m, 3, resp->free_space);
}

static void
encode_message(const struct bk_response *resp, struct bk_v3_parts *m)
{
	if (resp->op == BK_OP_AUTH) {
		bk_v3_put_bytes(m, 1, resp->auth_plugin);
		bk_v3_put_bytes(m, 2, resp->auth_payload);
		return;
	}
	if (resp->op == BK_OP_START_TLS)
		return;
	bk_v3_put_int(m, 1, bk_v3_code_of(resp->status));
	if (resp->op == BK_OP_BOOKIE_INFO) {
		encode_info(resp, m);
		return;
	}
	bk_v3_put_int(m, 2, resp->ledger_id);
	if (resp->op == BK_OP_ADD)
		bk_v3_put_int(m, 3, resp->entry_id);
	else if (resp->op == BK_OP_READ)
		encode_read(resp, m);
	if (resp->op == BK_OP_READ_LAC &&
	    (resp->present & BK_RESP_LAC_BODY) != 0)
		bk_v3_put_bytes(m, 3, resp->lac_body);
	if (resp->op == BK_OP_READ_LAC && (resp->present & BK_RESP_BODY) != 0)
		bk_v3_put_body(m, 4, resp->body);
	if (resp->op == BK_OP_LIST && (resp->present & BK_RESP_BODY) != 0)
		bk_v3_put_body(m, 3, resp->body);
}

/* AUTH, START_TLS refused and operations without a message repeat the
 * request's header whole (3.4); the others build theirs. START_TLS refused
 * has no inner message (6.4). */
int
bk_v3_response_encode(const struct bk_response *resp, bool body_last,
    struct bk_buf *out)
{
	int field = bk_v3_op_field(resp->op);
	bool bare =
	    field < 0 || (resp->op == BK_OP_START_TLS && resp->status != BK_OK);
	struct bk_v3_parts m;
	struct bk_v3_frame f = {
	    .operation =
		resp->raw_op != 0 ? resp->raw_op : bk_v3_operation(resp->op),
	    .txn_id = resp->txn_id,
	    .status_code = bk_v3_code_of(resp->status),
	    .field = bare ? 0 : (uint32_t)field,
	};

	if (field < 0 || resp->op == BK_OP_AUTH)
		f.raw_header = resp->raw_header;
	m.npre = m.npost = 0;
	m.body_field = 0;
	m.failed = false;
	if (!bare)
		encode_message(resp, &m);
	return (bk_v3_frame_put(&f, &m, body_last, out));
}
