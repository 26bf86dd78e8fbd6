/*
 * v3.h - numbers of protocol v3 (bookie-protocol.md 3) and the parts its two
 * codecs share. Not for use outside this folder.
 */
#ifndef BK_WIRE_V3_H
#define BK_WIRE_V3_H

#include "wire/bookie_msg.h"
#include "wire/pb.h"

enum { BK_V3_VERSION_ONE = 1, BK_V3_VERSION_THREE = 3 };

enum {
	BK_V3_READ_ENTRY = 1,
	BK_V3_ADD_ENTRY = 2,
	BK_V3_AUTH = 5,
	BK_V3_WRITE_LAC = 6,
	BK_V3_READ_LAC = 7,
	BK_V3_BOOKIE_INFO = 8,
	BK_V3_START_TLS = 9,
	BK_V3_FORCE = 10,
	BK_V3_LIST = 11,
	BK_V3_OPERATION_MAX = 12,
};

enum {
	BK_V3_FLAG_FENCE = 1,
	BK_V3_FLAG_PIGGYBACK = 2,
	BK_V3_FLAG_RECOVERY = 1
};
enum { BK_V3_WRITE_DEFERRED_SYNC = 1 };

/* Field numbers common to Request and Response. */
enum {
	BK_V3_F_HEADER = 1,
	BK_V3_F_STATUS = 2,
	BK_V3_F_FIRST_MESSAGE = 100,
	BK_V3_F_LAST_MESSAGE = 108
};

/* The operation of a number and the field its message stands in; -1 for an
 * operation that has no message. */
int bk_v3_op_field(enum bk_op op);
enum bk_op bk_v3_op_of(int32_t operation);
int32_t bk_v3_operation(enum bk_op op);

int bk_v3_status_of(uint64_t code, enum bk_status *status);
uint32_t bk_v3_code_of(enum bk_status status);

/* BKPacketHeader. */
struct bk_v3_header {
	int32_t version;
	int32_t operation;
	uint64_t txn_id;
	uint32_t priority;
};
/* BK_OK, or BK_EPROTO: a required field is missing or has a value its enum
 * does not know. */
enum bk_status bk_v3_header_decode(struct bk_bytes bytes,
    struct bk_v3_header *h);

/* The outer message: header, status if any, and the inner message of each
 * field; BK_EPROTO when malformed or without header. */
struct bk_v3_envelope {
	struct bk_bytes header;
	struct bk_bytes
	    message[BK_V3_F_LAST_MESSAGE - BK_V3_F_FIRST_MESSAGE + 1];
	bool has_status;
	uint64_t status;
};
enum bk_status bk_v3_envelope_decode(const uint8_t *p, size_t len,
    struct bk_v3_envelope *e);
/* The inner message of an operation; data NULL if it is not there. False for an
 * operation that has none. */
bool bk_v3_envelope_message(const struct bk_v3_envelope *e, enum bk_op op,
    struct bk_bytes *message);

/*
 * A message while it is put together: what stands before the body, the body
 * where it lies, what stands behind it. Small parts are bounded: keys and
 * packets above BK_V3_SMALL bytes do not fit and fail with EINVAL.
 */
#define BK_V3_SMALL 512
struct bk_v3_parts {
	uint8_t pre[BK_V3_SMALL + 64];
	size_t npre;
	struct bk_bytes body;
	uint32_t body_field; /* 0: no body */
	uint8_t post[64];
	size_t npost;
	bool failed;
};

void bk_v3_put_int(struct bk_v3_parts *m, uint32_t number, int64_t v);
void bk_v3_put_bytes(struct bk_v3_parts *m, uint32_t number, struct bk_bytes v);
void bk_v3_put_body(struct bk_v3_parts *m, uint32_t number, struct bk_bytes v);

/* Append the frame: header (raw if given, else built), status if status_code
 * is not negative, the message in its field (0: none). With body_last what
 * stands behind the body moves before it and the body itself is left out. */
struct bk_v3_frame {
	struct bk_bytes raw_header;
	int32_t operation;
	uint64_t txn_id;
	uint32_t priority;
	int64_t status_code;
	uint32_t field;
};
int bk_v3_frame_put(const struct bk_v3_frame *f, struct bk_v3_parts *m,
    bool body_last, struct bk_buf *out);

#endif
