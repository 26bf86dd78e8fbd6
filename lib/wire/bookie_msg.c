/* bookie_msg.c - frames: which version, and on to its codec. */
#include "wire/bookie_msg.h"

#include "sums/digest.h"
#include "wire/bookie_codec.h"
#include "wire/pb.h"

#include <errno.h>
#include <string.h>

/* A protobuf Request or Response begins with field 1, wire type 2. */
#define V3_FIRST_BYTE 0x0a

int
bk_frame_version(const uint8_t *payload, size_t len)
{
	if (len == 0)
		return (-1);
	return (payload[0] == V3_FIRST_BYTE ? 3 : 2);
}

enum bk_status
bk_request_decode(const uint8_t *payload, size_t len, struct bk_request *req)
{
	memset(req, 0, sizeof(*req));
	switch (bk_frame_version(payload, len)) {
	case 3:
		return (bk_v3_request_decode(payload, len, req));
	case 2:
		return (bk_v2_request_decode(payload, len, req));
	default:
		return (BK_EPROTO);
	}
}

enum bk_status
bk_response_decode(const uint8_t *payload, size_t len, struct bk_response *resp)
{
	memset(resp, 0, sizeof(*resp));
	switch (bk_frame_version(payload, len)) {
	case 3:
		return (bk_v3_response_decode(payload, len, resp));
	case 2:
		return (bk_v2_response_decode(payload, len, resp));
	default:
		return (BK_EPROTO);
	}
}

int
bk_request_encode(const struct bk_request *req, struct bk_buf *out)
{
	return (req->version == 3 ? bk_v3_request_encode(req, false, out) :
				    bk_v2_request_encode(req, false, out));
}

int
bk_response_encode(const struct bk_response *resp, struct bk_buf *out)
{
	return (resp->version == 3 && !resp->v2 ?
		bk_v3_response_encode(resp, false, out) :
		bk_v2_response_encode(resp, false, out));
}

int
bk_add_request_head(const struct bk_request *req, struct bk_buf *out)
{
	return (req->version == 3 ? bk_v3_request_encode(req, true, out) :
				    bk_v2_request_encode(req, true, out));
}

int
bk_read_response_head(const struct bk_response *resp, struct bk_buf *out)
{
	return (resp->version == 3 ? bk_v3_response_encode(resp, true, out) :
				     bk_v2_response_encode(resp, true, out));
}

void
bk_response_to(const struct bk_request *req, enum bk_status status,
    struct bk_response *resp)
{
	memset(resp, 0, sizeof(*resp));
	resp->op = req->op;
	resp->version = req->version;
	resp->v2 = req->v2;
	resp->txn_id = req->txn_id;
	resp->status = status;
	resp->ledger_id = req->ledger_id;
	resp->entry_id = req->entry_id;
	resp->raw_header = req->raw_header;
	resp->raw_op = req->raw_op;
}

enum bk_status
bk_auth_message_decode(struct bk_bytes bytes, struct bk_bytes *plugin,
    struct bk_bytes *payload)
{
	struct bk_cursor c;
	struct bk_pb_field f;

	bk_cursor_init(&c, bytes.data, bytes.len);
	while (bk_pb_next(&c, &f)) {
		if (bk_pb_is(&f, 1, BK_PB_BYTES))
			*plugin = f.bytes;
		else if (bk_pb_is(&f, 2, BK_PB_BYTES))
			*payload = f.bytes;
	}
	if (!bk_cursor_done(&c) || plugin->data == NULL ||
	    payload->data == NULL)
		return (BK_EPROTO);
	return (BK_OK);
}

uint8_t *
bk_frame_begin(struct bk_buf *out, size_t inline_len, size_t extra)
{
	uint8_t *p;

	if (extra > BK_FRAME_MAX || inline_len > BK_FRAME_MAX ||
	    4 + inline_len + extra > BK_FRAME_MAX) {
		errno = EMSGSIZE;
		return (NULL);
	}
	if ((p = bk_buf_reserve(out, 4 + inline_len)) == NULL)
		return (NULL);
	bk_be32_put(p, (uint32_t)(inline_len + extra));
	return (p + 4);
}
