/* bookie_request.c - any frame to a bookie: decoded, and if it is a message,
 * encoded and decoded to the same again. */
#include "wire/bookie_msg.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct bk_request req, again;
	struct bk_buf out;

	if (bk_request_decode(data, size, &req) != BK_OK)
		return (0);
	bk_buf_init(&out);
	if (bk_request_encode(&req, &out) == 0 &&
	    (bk_request_decode(bk_buf_head(&out) + 4, bk_buf_len(&out) - 4,
		 &again) != BK_OK ||
		again.op != req.op || again.ledger_id != req.ledger_id ||
		again.body.len != req.body.len))
		abort();
	bk_buf_fini(&out);
	return (0);
}
