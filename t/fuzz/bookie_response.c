/* bookie_response.c - any frame from a bookie, and any list of entries. */
#include "wire/bookie_msg.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
count_run(void *arg, int64_t first, int64_t count)
{
	int64_t *runs = arg;

	if (first < 0 || count <= 0)
		abort();
	/* A hostile list may name very many runs; its reader stops caring. */
	(*runs)++;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct bk_response resp;
	struct bk_buf out;
	int64_t runs = 0;

	if (bk_response_decode(data, size, &resp) == BK_OK) {
		bk_buf_init(&out);
		(void)bk_response_encode(&resp, &out);
		bk_buf_fini(&out);
	}
	(void)bk_availability_read((struct bk_bytes){data, size}, count_run,
	    &runs);
	return (0);
}
