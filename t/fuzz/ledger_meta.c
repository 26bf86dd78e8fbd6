/* ledger_meta.c - any bytes as a ledger's record: what is read is written, and
 * read again to the same bytes. */
#include "meta/ledger_meta.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
encode(const struct bk_ledger_meta *m, struct bk_buf *out)
{
	bk_buf_init(out);
	if (bk_ledger_meta_encode(m, out) != 0)
		abort();
}

static void
same_again(const struct bk_buf *first)
{
	struct bk_bytes bytes = {bk_buf_head(first), bk_buf_len(first)};
	struct bk_ledger_meta m;
	struct bk_buf second;

	if (bk_ledger_meta_decode(bytes, &m, NULL) != BK_OK)
		abort();
	encode(&m, &second);
	if (bk_buf_len(&second) != bytes.len ||
	    memcmp(bk_buf_head(&second), bytes.data, bytes.len) != 0)
		abort();
	bk_buf_fini(&second);
	bk_ledger_meta_fini(&m);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct bk_ledger_meta m, copy;
	struct bk_buf out;

	if (bk_ledger_meta_decode((struct bk_bytes){data, size}, &m, NULL) ==
	    BK_OK) {
		if (bk_ledger_meta_copy(&copy, &m) != 0)
			abort();
		encode(&copy, &out);
		same_again(&out);
		bk_buf_fini(&out);
		bk_ledger_meta_fini(&copy);
	}
	bk_ledger_meta_fini(&m);
	return (0);
}
