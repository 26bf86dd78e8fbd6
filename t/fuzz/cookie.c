/* cookie.c - any bytes as a cookie: what is read is written, and still
 * matches. */
#include "meta/registry.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct bk_cookie c, again;
	struct bk_buf out;
	const char *why;

	if (bk_cookie_decode((struct bk_bytes){data, size}, &c) != BK_OK)
		return (0);
	bk_buf_init(&out);
	if (bk_cookie_encode(&c, &out) != 0 ||
	    bk_cookie_decode((struct bk_bytes){bk_buf_head(&out),
				 bk_buf_len(&out)},
		&again) != BK_OK ||
	    !bk_cookie_matches(&c, &again, &why))
		abort();
	bk_buf_fini(&out);
	bk_cookie_fini(&c);
	bk_cookie_fini(&again);
	return (0);
}
