/* chain.c - any bytes as a chain's record, as a page, and as a name: what is
 * read is written and read to the same again. */
#include "meta/chain.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct bk_bytes
bytes_of(const struct bk_buf *b)
{
	return ((struct bk_bytes){bk_buf_head(b), bk_buf_len(b)});
}

static void
check_record(struct bk_bytes data)
{
	struct bk_chain c, again;
	struct bk_buf out;

	if (bk_chain_decode(data, &c) != BK_OK)
		return;
	bk_buf_init(&out);
	if (bk_chain_encode(&c, &out) != 0 ||
	    bk_chain_decode(bytes_of(&out), &again) != BK_OK ||
	    again.id != c.id || again.count != c.count ||
	    again.state != c.state || strcmp(again.holder, c.holder) != 0)
		abort();
	bk_buf_fini(&out);
}

static void
check_page(struct bk_bytes data)
{
	struct bk_chain_page p, again;
	struct bk_buf out;

	if (bk_chain_page_decode(data, &p) != BK_OK)
		return;
	bk_buf_init(&out);
	if (bk_chain_page_encode(&p, &out) != 0 ||
	    bk_chain_page_decode(bytes_of(&out), &again) != BK_OK ||
	    again.n != p.n ||
	    memcmp(again.ledgers, p.ledgers, p.n * sizeof(*p.ledgers)) != 0)
		abort();
	bk_buf_fini(&out);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *name = malloc(size + 1);

	if (name == NULL)
		abort();
	if (size > 0)
		memcpy(name, data, size);
	name[size] = '\0';
	(void)bk_name_valid(name);
	free(name);
	check_record((struct bk_bytes){data, size});
	check_page((struct bk_bytes){data, size});
	return (0);
}
