/*
 * v2.c - protocol v2: fixed big-endian fields (bookie-protocol.md 2).
 *
 * The first four bytes are version, opcode and flags; version 0 means that the
 * whole word is the opcode. Answers repeat version and opcode, flags 0.
 */
#include "wire/bookie_codec.h"
#include "wire/pb.h"

#include "sums/digest.h"

#include <errno.h>
#include <string.h>

enum { OP_ADD = 1, OP_READ = 2, OP_AUTH = 3, OP_BATCH_READ = 7 };
enum { FLAG_FENCE = 1, FLAG_RECOVERY = 2, FLAG_HIGH_PRIORITY = 4 };

#define VERSION_MAX 2
#define ADD_BODY_MIN 16  /* ledger and entry id; less ends the connection */
#define RESPONSE_HEAD 24 /* word, code, ledger id, entry id */

static const struct {
	int32_t code;
	enum bk_status status;
} codes[] = {
    {0, BK_OK},
    {1, BK_ENOLEDGER},
    {2, BK_ENOENTRY},
    {100, BK_EBADREQ},
    {101, BK_EIO},
    {102, BK_EUA},
    {103, BK_EBADVERSION},
    {104, BK_EFENCED},
    {105, BK_EREADONLY},
    {106, BK_ETOOMANY},
    /* Received only: v2 clients drop the connection on it (trap 5). */
    {107, BK_EUNKNOWNSTATE},
};

#define NCODES (sizeof(codes) / sizeof(codes[0]))

static int32_t
code_of(enum bk_status status)
{
	size_t i;

	if (status == BK_EUNKNOWNSTATE)
		status = BK_EIO;
	for (i = 0; i < NCODES; i++)
		if (codes[i].status == status)
			return (codes[i].code);
	return (101);
}

static int
status_of(int32_t code, enum bk_status *status)
{
	size_t i;

	for (i = 0; i < NCODES; i++) {
		if (codes[i].code == code) {
			*status = codes[i].status;
			return (0);
		}
	}
	return (-1);
}

static int
op_of(int32_t opcode, enum bk_op *op)
{
	switch (opcode) {
	case OP_ADD:
		*op = BK_OP_ADD;
		return (0);
	case OP_READ:
		*op = BK_OP_READ;
		return (0);
	case OP_AUTH:
		*op = BK_OP_AUTH;
		return (0);
	case OP_BATCH_READ:
		*op = BK_OP_BATCH_READ;
		return (0);
	default:
		return (-1);
	}
}

static int
opcode_of(enum bk_op op)
{
	switch (op) {
	case BK_OP_ADD:
		return (OP_ADD);
	case BK_OP_READ:
		return (OP_READ);
	case BK_OP_AUTH:
		return (OP_AUTH);
	case BK_OP_BATCH_READ:
		return (OP_BATCH_READ);
	default:
		return (-1);
	}
}

/* Version, opcode and flags; -1 for an opcode without a v2 message. */
static int
decode_word(uint32_t word, uint8_t *version, enum bk_op *op, int32_t *raw_op,
    unsigned *flags)
{
	*version = (uint8_t)(word >> 24);
	*raw_op = *version == 0 ? (int32_t)word : (int32_t)(word >> 16 & 0xff);
	*flags = *version == 0 ? 0 : word & 0xffff;
	return (op_of(*raw_op, op));
}

static uint32_t
encode_word(uint8_t version, int opcode, unsigned flags)
{
	if (version == 0)
		return ((uint32_t)opcode);
	return ((uint32_t)version << 24 | (uint32_t)opcode << 16 | flags);
}

static unsigned
flags_of(unsigned wire)
{
	unsigned flags = 0;

	if ((wire & FLAG_FENCE) != 0)
		flags |= BK_REQ_FENCE;
	if ((wire & FLAG_RECOVERY) != 0)
		flags |= BK_REQ_RECOVERY;
	if ((wire & FLAG_HIGH_PRIORITY) != 0)
		flags |= BK_REQ_HIGH_PRIORITY;
	return (flags);
}

static unsigned
wire_flags(unsigned flags)
{
	unsigned wire = 0;

	if ((flags & BK_REQ_FENCE) != 0)
		wire |= FLAG_FENCE;
	if ((flags & BK_REQ_RECOVERY) != 0)
		wire |= FLAG_RECOVERY;
	if ((flags & BK_REQ_HIGH_PRIORITY) != 0)
		wire |= FLAG_HIGH_PRIORITY;
	return (wire);
}

static void
decode_add(struct bk_cursor *c, struct bk_request *req)
{
	req->master_key = bk_cursor_bytes(c, BK_KEY_SIZE);
	req->flags |= BK_REQ_KEY;
	req->body = bk_cursor_bytes(c, bk_cursor_left(c));
	if (req->body.len < ADD_BODY_MIN) {
		c->failed = true;
		return;
	}
	req->ledger_id = (int64_t)bk_be64_get(req->body.data);
	req->entry_id = (int64_t)bk_be64_get(req->body.data + 8);
}

/* READ and BATCH_READ: a fencing one of version 2 ends with the key. */
static void
decode_read(struct bk_cursor *c, struct bk_request *req)
{
	req->ledger_id = (int64_t)bk_cursor_u64(c);
	req->entry_id = (int64_t)bk_cursor_u64(c);
	if (req->op == BK_OP_BATCH_READ) {
		req->txn_id = bk_cursor_u64(c);
		req->max_count = (int32_t)bk_cursor_u32(c);
		req->max_size = (int64_t)bk_cursor_u64(c);
	}
	if ((req->flags & BK_REQ_FENCE) != 0 && req->version >= 2) {
		req->master_key = bk_cursor_bytes(c, BK_KEY_SIZE);
		req->flags |= BK_REQ_KEY;
	}
}

enum bk_status
bk_v2_request_decode(const uint8_t *p, size_t len, struct bk_request *req)
{
	struct bk_cursor c;
	unsigned flags;

	bk_cursor_init(&c, p, len);
	if (decode_word(bk_cursor_u32(&c), &req->version, &req->op,
		&req->raw_op, &flags) != 0)
		return (BK_EPROTO);
	req->v2 = true;
	req->flags = flags_of(flags);
	switch (req->op) {
	case BK_OP_ADD:
		decode_add(&c, req);
		break;
	case BK_OP_AUTH:
		if (bk_auth_message_decode(bk_cursor_bytes(&c,
					       bk_cursor_left(&c)),
			&req->auth_plugin, &req->auth_payload) != BK_OK)
			return (BK_EPROTO);
		break;
	default:
		decode_read(&c, req);
		break;
	}
	if (!bk_cursor_done(&c))
		return (BK_EPROTO);
	return (req->version > VERSION_MAX ? BK_EBADVERSION : BK_OK);
}

enum bk_status
bk_v2_response_decode(const uint8_t *p, size_t len, struct bk_response *resp)
{
	struct bk_cursor c;
	unsigned flags;

	bk_cursor_init(&c, p, len);
	if (decode_word(bk_cursor_u32(&c), &resp->version, &resp->op,
		&resp->raw_op, &flags) != 0)
		return (BK_EPROTO);
	if (resp->op == BK_OP_AUTH)
		return (bk_auth_message_decode(bk_cursor_bytes(&c,
						   bk_cursor_left(&c)),
		    &resp->auth_plugin, &resp->auth_payload));
	if (status_of((int32_t)bk_cursor_u32(&c), &resp->status) != 0)
		return (BK_EPROTO);
	resp->ledger_id = (int64_t)bk_cursor_u64(&c);
	resp->entry_id = (int64_t)bk_cursor_u64(&c);
	if (resp->op == BK_OP_BATCH_READ)
		resp->txn_id = bk_cursor_u64(&c);
	/* What stands behind an error is ignored, as Java does. */
	if (resp->status != BK_OK) {
		(void)bk_cursor_bytes(&c, bk_cursor_left(&c));
	} else if (resp->op != BK_OP_ADD) {
		resp->body = bk_cursor_bytes(&c, bk_cursor_left(&c));
		resp->present |= BK_RESP_BODY;
	}
	return (bk_cursor_done(&c) ? BK_OK : BK_EPROTO);
}

static int
encode_auth(uint32_t word, struct bk_bytes plugin, struct bk_bytes payload,
    struct bk_buf *out)
{
	uint8_t head[20], tail[20], *p;
	size_t nhead = bk_pb_put_head(head, 1, plugin.len);
	size_t ntail = bk_pb_put_head(tail, 2, payload.len);
	size_t len = 4 + nhead + plugin.len + ntail + payload.len;

	if ((p = bk_frame_begin(out, len, 0)) == NULL)
		return (-1);
	bk_be32_put(p, word);
	memcpy(p + 4, head, nhead);
	memcpy(p + 4 + nhead, plugin.data, plugin.len);
	p += 4 + nhead + plugin.len;
	memcpy(p, tail, ntail);
	if (payload.len > 0)
		memcpy(p + ntail, payload.data, payload.len);
	bk_buf_commit(out, 4 + len);
	return (0);
}

static int
encode_add(const struct bk_request *req, uint32_t word, bool body_last,
    struct bk_buf *out)
{
	size_t copied = body_last ? 0 : req->body.len;
	size_t len = 4 + BK_KEY_SIZE + copied;
	uint8_t *p;

	if (req->master_key.len != BK_KEY_SIZE) {
		errno = EINVAL;
		return (-1);
	}
	if ((p = bk_frame_begin(out, len, req->body.len - copied)) == NULL)
		return (-1);
	bk_be32_put(p, word);
	memcpy(p + 4, req->master_key.data, BK_KEY_SIZE);
	if (copied > 0)
		memcpy(p + 4 + BK_KEY_SIZE, req->body.data, copied);
	bk_buf_commit(out, 4 + len);
	return (0);
}

static int
encode_read(const struct bk_request *req, uint32_t word, struct bk_buf *out)
{
	bool batch = req->op == BK_OP_BATCH_READ;
	bool key = (req->flags & BK_REQ_FENCE) != 0 && req->version >= 2;
	size_t fixed = batch ? 40 : 20;
	size_t len = fixed + (key ? BK_KEY_SIZE : 0);
	uint8_t *p;

	if (key && req->master_key.len != BK_KEY_SIZE) {
		errno = EINVAL;
		return (-1);
	}
	if ((p = bk_frame_begin(out, len, 0)) == NULL)
		return (-1);
	bk_be32_put(p, word);
	bk_be64_put(p + 4, (uint64_t)req->ledger_id);
	bk_be64_put(p + 12, (uint64_t)req->entry_id);
	if (batch) {
		bk_be64_put(p + 20, req->txn_id);
		bk_be32_put(p + 28, (uint32_t)req->max_count);
		bk_be64_put(p + 32, (uint64_t)req->max_size);
	}
	if (key)
		memcpy(p + fixed, req->master_key.data, BK_KEY_SIZE);
	bk_buf_commit(out, 4 + len);
	return (0);
}

int
bk_v2_request_encode(const struct bk_request *req, bool body_last,
    struct bk_buf *out)
{
	int opcode = opcode_of(req->op);
	uint32_t word;

	if (opcode < 0) {
		errno = EINVAL;
		return (-1);
	}
	word = encode_word(req->version, opcode, wire_flags(req->flags));
	switch (req->op) {
	case BK_OP_ADD:
		return (encode_add(req, word, body_last, out));
	case BK_OP_AUTH:
		return (encode_auth(word, req->auth_plugin, req->auth_payload,
		    out));
	default:
		return (encode_read(req, word, out));
	}
}

int
bk_v2_response_encode(const struct bk_response *resp, bool body_last,
    struct bk_buf *out)
{
	bool batch = resp->op == BK_OP_BATCH_READ;
	size_t body =
	    resp->status == BK_OK && resp->op != BK_OP_ADD ? resp->body.len : 0;
	size_t copied = body_last ? 0 : body;
	size_t len = RESPONSE_HEAD + (batch ? 8U : 0U) + copied;
	int opcode = opcode_of(resp->op);
	uint8_t *p;

	if (opcode < 0) {
		errno = EINVAL;
		return (-1);
	}
	/* The answer of a server without authentication is always version 2
	 * (2.1). */
	if (resp->op == BK_OP_AUTH)
		return (encode_auth(encode_word(2, opcode, 0),
		    resp->auth_plugin, resp->auth_payload, out));
	if ((p = bk_frame_begin(out, len, body - copied)) == NULL)
		return (-1);
	bk_be32_put(p, encode_word(resp->version, opcode, 0));
	bk_be32_put(p + 4, (uint32_t)code_of(resp->status));
	bk_be64_put(p + 8, (uint64_t)resp->ledger_id);
	bk_be64_put(p + 16, (uint64_t)resp->entry_id);
	p += RESPONSE_HEAD;
	if (batch) {
		bk_be64_put(p, resp->txn_id);
		p += 8;
	}
	if (copied > 0)
		memcpy(p, resp->body.data, copied);
	bk_buf_commit(out, 4 + len);
	return (0);
}
