/* service_info.c - any bytes as what a bookie says of itself, and any text as
 * the id of an old one: what is read is written and read to the same again. */
#include "meta/registry.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
check(struct bk_bytes data, const char *id)
{
	struct bk_service_info info, again;
	struct bk_buf out;

	if (bk_service_info_decode(data, id, &info) != BK_OK)
		return;
	(void)bk_service_endpoint(&info);
	bk_buf_init(&out);
	if (bk_service_info_encode(&info, &out) != 0)
		abort();
	if (bk_buf_len(&out) > 0 &&
	    (bk_service_info_decode((struct bk_bytes){bk_buf_head(&out),
					bk_buf_len(&out)},
		 "", &again) != BK_OK ||
		again.nendpoints != info.nendpoints || again.pid != info.pid))
		abort();
	bk_buf_fini(&out);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *id = malloc(size + 1);

	if (id == NULL)
		abort();
	if (size > 0)
		memcpy(id, data, size);
	id[size] = '\0';
	check((struct bk_bytes){data, size}, "h:1");
	check((struct bk_bytes){NULL, 0}, id);
	free(id);
	return (0);
}
