/*
 * wire.c - what both protocols refuse, what they let pass, and messages the
 * captures do not have.
 */
#include "t/lib/golden.h"
#include "tap.h"
#include "wire/bookie_msg.h"

#include "sums/digest.h"

#include <errno.h>
#include <stdlib.h>

/* Payloads without their length, and what the decoder makes of them. */
static const struct {
	const char *what;
	const char *hex;
	enum bk_status want;
} requests[] = {
    {"nothing", "", BK_EPROTO},
    {"random bytes", "9f3c00ff1122334455667788", BK_EPROTO},
    {"0a, then garbage", "0aff00112233445566", BK_EPROTO},
    {"one byte of v2", "02", BK_EPROTO},
    {"three bytes of v2", "020100", BK_EPROTO},
    {"v2 opcode 4 (READ_LAC has no v2 form)",
	"020400000000000000094ed20000000000000000", BK_EPROTO},
    {"v2 opcode 8", "020800000000000000094ed20000000000000000", BK_EPROTO},
    {"v2 read of version 3", "030200000000000000094ed20000000000000000",
	BK_EBADVERSION},
    {"v2 read of version 255", "ff0200000000000000094ed20000000000000000",
	BK_EBADVERSION},
    {"v2 read of version 1", "010200000000000000094ed20000000000000000", BK_OK},
    {"v2 read of version 0", "000000020000000000094ed20000000000000000", BK_OK},
    {"v2 read with a byte left over",
	"020200000000000000094ed2000000000000000000", BK_EPROTO},
    {"v2 fencing read without its key",
	"020200010000000000094ed20000000000000000", BK_EPROTO},
    {"v2 add of 15 bytes",
	"02010000e793cbc379107648537183605cd361d3bb789a39"
	"000000000000000100000000000000",
	BK_EPROTO},
    {"v2 add of 16 bytes",
	"02010000e793cbc379107648537183605cd361d3bb789a39"
	"00000000000000010000000000000000",
	BK_OK},
    {"v3 read", "0a06080310011802a2060408011000", BK_OK},
    {"v3 read, header last", "a20604080110000a06080310011802", BK_EPROTO},
    {"v3 read of version 2", "0a06080210011802a2060408011000", BK_EBADVERSION},
    {"v3 read of version 4", "0a06080410011802a2060408011000", BK_EPROTO},
    {"v3 operation 13", "0a060803100d1802a2060408011000", BK_EPROTO},
    {"v3 operation 12, without a message of its own", "0a060803100c1802",
	BK_OK},
    {"v3 without txnId", "0a0408031001a2060408011000", BK_EPROTO},
    {"v3 read without its message", "0a06080310011802", BK_EBADREQ},
    {"v3 read without entry id", "0a06080310011802a206020801", BK_EPROTO},
    {"v3 read with a byte left over", "0a06080310011802a206040801100000",
	BK_EPROTO},
    {"v3 read with an unknown field", "0a06080310011802a2060408011000b00901",
	BK_OK},
    {"v3 read with an unknown flag", "0a06080310011802a2060708011000a00609",
	BK_OK},
    {"v3 add without a key", "0a06080310021801aa0606080110002200", BK_EPROTO},
};

static void
test_requests(void)
{
	struct bk_request req;
	uint8_t *payload;
	size_t i, len;

	for (i = 0; i < sizeof(requests) / sizeof(requests[0]); i++) {
		payload =
		    golden_bytes(requests[i].hex[0] == '\0' ? "-" :
							      requests[i].hex,
			&len);
		is_str(bk_status_name(bk_request_decode(payload, len, &req)),
		    bk_status_name(requests[i].want), "%s: %s",
		    requests[i].what, bk_status_name(requests[i].want));
		free(payload);
	}
}

static void
test_field_order(void)
{
	struct bk_request a, b;
	size_t na, nb;
	/* Worked example 14: ascending numbers, and the order of 4.18. */
	uint8_t *pa = golden_bytes(
	    "0a06080310011805a20626080110ffffffffffffff"
	    "ffff011a14e793cbc379107648537183605cd361d3bb789a39a00601",
	    &na);
	uint8_t *pb = golden_bytes(
	    "0a06080310011805a20626a00601080110ffffffff"
	    "ffffffffff011a14e793cbc379107648537183605cd361d3bb789a39",
	    &nb);

	ok(bk_request_decode(pa, na, &a) == BK_OK &&
		bk_request_decode(pb, nb, &b) == BK_OK && a.flags == b.flags &&
		a.entry_id == -1 && b.entry_id == -1 &&
		a.master_key.len == BK_KEY_SIZE &&
		(a.flags & BK_REQ_FENCE) != 0,
	    "fields of a v3 request may come in any order");
	free(pa);
	free(pb);
}

/* A frame whose body is sent by the caller means the same. */
static void
test_heads(void)
{
	static const uint8_t key[BK_KEY_SIZE] = {1}, body[40] = {0, 0, 7};
	struct bk_request req, got;
	struct bk_response resp, rgot;
	struct bk_buf out;
	int version;

	for (version = 2; version <= 3; version++) {
		memset(&req, 0, sizeof(req));
		req.op = BK_OP_ADD;
		req.version = (uint8_t)version;
		req.flags = BK_REQ_KEY | BK_REQ_RECOVERY | BK_REQ_HIGH_PRIORITY;
		req.txn_id = 77;
		req.master_key = (struct bk_bytes){key, sizeof(key)};
		req.body = (struct bk_bytes){body, sizeof(body)};
		bk_buf_init(&out);
		ok(bk_add_request_head(&req, &out) == 0 &&
			bk_buf_put(&out, body, sizeof(body)) == 0 &&
			bk_be32_get(bk_buf_head(&out)) ==
			    bk_buf_len(&out) - 4 &&
			bk_request_decode(bk_buf_head(&out) + 4,
			    bk_buf_len(&out) - 4, &got) == BK_OK &&
			got.flags == req.flags &&
			got.body.len == sizeof(body) &&
			memcmp(got.body.data, body, sizeof(body)) == 0,
		    "v%d: an add may be sent as head and body", version);
		bk_buf_fini(&out);

		memset(&resp, 0, sizeof(resp));
		resp.op = BK_OP_READ;
		resp.version = (uint8_t)version;
		resp.present =
		    BK_RESP_BODY | (version == 3 ? BK_RESP_MAX_LAC : 0U);
		resp.max_lac = 5;
		resp.entry_id = -1;
		resp.body = req.body;
		ok(bk_read_response_head(&resp, &out) == 0 &&
			bk_buf_put(&out, body, sizeof(body)) == 0 &&
			bk_response_decode(bk_buf_head(&out) + 4,
			    bk_buf_len(&out) - 4, &rgot) == BK_OK &&
			rgot.present == resp.present && rgot.entry_id == -1 &&
			rgot.body.len == sizeof(body),
		    "v%d: so may the answer to a read", version);
		bk_buf_fini(&out);
	}
}

static void
test_limits(void)
{
	struct bk_response resp, got;
	struct bk_request req;
	struct bk_buf out;
	uint8_t *big = calloc(1, BK_FRAME_MAX);

	bk_buf_init(&out);
	memset(&resp, 0, sizeof(resp));
	resp.op = BK_OP_READ;
	resp.version = 3;
	resp.present = BK_RESP_BODY | BK_RESP_MAX_LAC | BK_RESP_LAC_TIME;
	resp.ledger_id = resp.entry_id = INT64_MAX;
	resp.txn_id = UINT64_MAX;
	resp.max_lac = -1;
	resp.lac_time_ms = -1;
	resp.body = (struct bk_bytes){big, BK_ENTRY_MAX};
	ok(bk_response_encode(&resp, &out) == 0,
	    "the largest entry fits into the longest answer of v3");
	bk_buf_fini(&out);
	resp.body.len = BK_FRAME_MAX;
	ok(bk_response_encode(&resp, &out) == -1 && errno == EMSGSIZE,
	    "a frame over the limit is not made");

	memset(&resp, 0, sizeof(resp));
	resp.op = BK_OP_READ;
	resp.version = 2;
	resp.status = BK_EUNKNOWNSTATE;
	ok(bk_response_encode(&resp, &out) == 0 &&
		bk_response_decode(bk_buf_head(&out) + 4, bk_buf_len(&out) - 4,
		    &got) == BK_OK &&
		got.status == BK_EIO,
	    "v2 never carries code 107");
	bk_buf_fini(&out);

	memset(&req, 0, sizeof(req));
	req.op = BK_OP_FORCE;
	req.version = 2;
	ok(bk_request_encode(&req, &out) == -1 && errno == EINVAL,
	    "an operation without a v2 form is not made into one");
	bk_buf_fini(&out);
	free(big);
}

static void
add_run(void *arg, int64_t first, int64_t count)
{
	int64_t *sum = arg;

	sum[0] += count;
	sum[1] += first;
}

static void
test_availability(void)
{
	static const int64_t ids[] = {0, 1, 2, 5};
	struct bk_availability a;
	struct bk_bytes bytes;
	size_t i, len;
	int64_t sum[2] = {0, 0};
	/* Worked example 20. */
	uint8_t *want = golden_bytes(
	    "0000000000000002"
	    "0000000000000000000000000000000000000000000000000000000000000000"
	    "000000000000000000000000000000000000000000000000"
	    "000000000000000000000000000000000000000300000000"
	    "000000000000000500000000000000050000000100000000",
	    &len);

	(void)bk_availability_init(&a);
	for (i = 0; i < 4; i++)
		(void)bk_availability_add(&a, ids[i], ids[i]);
	bytes = bk_availability_finish(&a);
	is_mem(bytes.data, bytes.len, want, len,
	    "entries 0, 1, 2, 5 are two groups");
	ok(bk_availability_read(bytes, add_run, sum) == 0 && sum[0] == 4 &&
		sum[1] == 5,
	    "and are read back");
	want[7] = 3;
	is_int(bk_availability_read((struct bk_bytes){want, len}, add_run, sum),
	    -1, "a list that promises more groups is refused");
	bk_availability_fini(&a);
	free(want);
}

int
main(void)
{
	test_requests();
	test_field_order();
	test_heads();
	test_limits();
	test_availability();
	return (tap_done());
}
