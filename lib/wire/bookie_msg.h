/*
 * bookie_msg.h - one request and one answer of the bookie protocol, whatever
 * version carries them; v2.c and v3.c turn them into bytes and back.
 *
 * A frame is a u32 length L and L bytes of payload. The first payload byte
 * tells the version (bookie-protocol.md 1.2). Slices in a decoded message
 * point into the frame and live as long as it.
 */
#ifndef BK_BOOKIE_MSG_H
#define BK_BOOKIE_MSG_H

#include "base/buf.h"
#include "base/status.h"

#include <stdbool.h>
#include <stdint.h>

enum bk_op {
	BK_OP_ADD = 1,
	BK_OP_READ,
	BK_OP_BATCH_READ, /* v2 only */
	BK_OP_AUTH,
	BK_OP_WRITE_LAC, /* from here on v3 only */
	BK_OP_READ_LAC,
	BK_OP_BOOKIE_INFO,
	BK_OP_START_TLS,
	BK_OP_FORCE,
	BK_OP_LIST,
	BK_OP_UNSUPPORTED, /* known to the enum but without a message: 3, 4, 12 */
};

/* Request flags. */
enum {
	BK_REQ_FENCE = 1 << 0,         /* READ, BATCH_READ */
	BK_REQ_RECOVERY = 1 << 1,      /* ADD */
	BK_REQ_HIGH_PRIORITY = 1 << 2, /* any */
	BK_REQ_DEFERRED_SYNC = 1 << 3, /* ADD, v3 */
	BK_REQ_PIGGYBACK = 1 << 4,     /* READ, v3: long poll with entry */
	BK_REQ_KEY = 1 << 5,           /* master_key is present */
	BK_REQ_PREVIOUS_LAC = 1 << 6,  /* previous_lac is present: long poll */
	BK_REQ_TIMEOUT = 1 << 7,       /* timeout_ms is present */
};

/* Bits of requested_info in a BOOKIE_INFO request. */
enum { BK_INFO_TOTAL = 1, BK_INFO_FREE = 2 };

struct bk_request {
	enum bk_op op;
	uint8_t version; /* 0 to 2: v2 frame; 3: v3 frame, unless v2 */
	bool v2;         /* a v2 frame of whatever version: EBADVERSION */
	unsigned flags;
	uint64_t txn_id; /* v3 txnId, or v2 BATCH_READ requestId */
	int64_t ledger_id;
	int64_t entry_id; /* BATCH_READ: the first; -1: the last entry */
	struct bk_bytes master_key;
	struct bk_bytes body; /* ADD: the entry; WRITE_LAC: the packet */
	int64_t lac;          /* WRITE_LAC, informational */
	int64_t previous_lac;
	int64_t timeout_ms;
	int32_t max_count;      /* BATCH_READ */
	int64_t max_size;       /* BATCH_READ, bytes */
	int64_t requested_info; /* BOOKIE_INFO */
	struct bk_bytes auth_plugin;
	struct bk_bytes auth_payload;
	struct bk_bytes raw_header; /* v3: the header message as it came, copied
	                               whole into AUTH and unsupported answers */
	int32_t raw_op;             /* the operation's number on the wire */
};

/* Which optional fields of an answer are there. */
enum {
	BK_RESP_BODY = 1 << 0,
	BK_RESP_MAX_LAC = 1 << 1,
	BK_RESP_LAC_TIME = 1 << 2,
	BK_RESP_LAC_BODY = 1 << 3,
	BK_RESP_TOTAL = 1 << 4,
	BK_RESP_FREE = 1 << 5,
};

struct bk_response {
	enum bk_op op;
	uint8_t version;
	bool v2; /* as in the request */
	unsigned present;
	uint64_t txn_id;
	enum bk_status status; /* OK or one of the bookie's answers */
	int64_t ledger_id;
	int64_t entry_id;     /* v2: exactly as requested, -1 included */
	struct bk_bytes body; /* READ: entry; READ_LAC: last entry; LIST:
	                            availability; BATCH_READ: (i32 size, entry)* */
	int64_t max_lac;
	int64_t lac_time_ms; /* since the epoch */
	struct bk_bytes lac_body;
	int64_t total_space;
	int64_t free_space;
	struct bk_bytes auth_plugin;
	struct bk_bytes auth_payload;
	struct bk_bytes raw_header; /* server: from the request, see above */
	int32_t raw_op;
};

/* The version a frame payload speaks, from its first byte: 3, 2, or -1 when it
 * is neither and the connection must end. */
int bk_frame_version(const uint8_t *payload, size_t len);

/*
 * Decode the payload of one frame (without its length).
 *
 * BK_OK: the message is whole and nothing is left over. BK_EBADVERSION: it is
 * whole but of a version that must be answered EBADVERSION (v2 version above
 * 2, v3 header version 1 or 2); the fields are filled. BK_EPROTO: not a frame
 * of this protocol, the connection must end (malformed, unknown v2 opcode,
 * unknown v3 operation, left-over bytes). BK_EBADREQ: a v3 frame that is whole
 * but lacks the message of its operation.
 */
enum bk_status bk_request_decode(const uint8_t *payload, size_t len,
    struct bk_request *req);
enum bk_status bk_response_decode(const uint8_t *payload, size_t len,
    struct bk_response *resp);

/*
 * Append one whole frame, length included, to out. 0, or -1 with errno ENOMEM,
 * EMSGSIZE (over BK_FRAME_MAX), EINVAL (the version has no such message).
 * Statuses that v2 does not know (EUNKNOWNSTATE) go out as EIO there.
 */
int bk_request_encode(const struct bk_request *req, struct bk_buf *out);
int bk_response_encode(const struct bk_response *resp, struct bk_buf *out);

/*
 * The hot halves, for senders that write the body from where it lies: append
 * the frame up to, but without, the entry body; the caller sends the body
 * right behind it. In v3 the optional fields that follow a body (writeFlags,
 * flag, maxLAC, ...) would come after it; these put them before, which is
 * legal (fields in any order) and accepted by all peers.
 */
int bk_add_request_head(const struct bk_request *req, struct bk_buf *out);
int bk_read_response_head(const struct bk_response *resp, struct bk_buf *out);

/* Fill an answer's fields that repeat the request's. status and the rest are
 * the caller's. */
void bk_response_to(const struct bk_request *req, enum bk_status status,
    struct bk_response *resp);

/*
 * The list of entries of LIST (3.5). The writer takes runs of ids, ascending;
 * the reader calls fn for each run [first, first + count). -1 if malformed, or
 * when out of memory.
 */
struct bk_availability {
	struct bk_buf buf;
	int64_t first; /* of the run that may still grow; -1: none */
	int64_t last;
	uint32_t groups;
};
int bk_availability_init(struct bk_availability *a);
int bk_availability_add(struct bk_availability *a, int64_t first, int64_t last);
/* The finished bytes; they belong to a until bk_availability_fini(). */
struct bk_bytes bk_availability_finish(struct bk_availability *a);
void bk_availability_fini(struct bk_availability *a);
int bk_availability_read(struct bk_bytes bytes,
    void (*fn)(void *arg, int64_t first, int64_t count), void *arg);

#endif
