/*
 * verify.c - each entry from each bookie that should have it: the digest must
 * be right, and all must say the same. Copies may differ in their LAC (repair
 * writes it anew), so payload and length count.
 */
#include "bk-read/read.h"

#include "base/log.h"
#include "quorum/quorum.h"

#include <stdlib.h>
#include <string.h>
#include <sysexits.h>

#define DIFFERENCE 1

struct copy {
	struct reading *r;
	enum bk_status status;
	uint8_t *payload;
	size_t len;
	int64_t length;
};

static void
got_copy(void *arg, enum bk_status status, const struct bk_read_entry *e)
{
	struct copy *c = arg;

	c->status = status;
	if (status == BK_OK) {
		c->len = e->payload.len;
		c->length = e->header.length;
		if ((c->payload = malloc(c->len + 1)) == NULL)
			c->status = BK_ENOMEM;
		else if (c->len > 0)
			memcpy(c->payload, e->payload.data, c->len);
	}
	reading_done(c->r, BK_OK);
}

static bool
same(const struct copy *a, const struct copy *b)
{
	return (a->len == b->len && a->length == b->length &&
	    memcmp(a->payload, b->payload, a->len) == 0);
}

static int
verify_one(struct reading *r, int64_t entry)
{
	const struct bk_ledger_meta *m = bk_reader_meta(r->reader);
	const struct bk_segment *s =
	    &m->segments[bk_ledger_meta_segment(m, entry)];
	const struct bk_quorum q = {m->ensemble_size, m->write_quorum,
	    m->ack_quorum};
	struct copy first = {.status = BK_ENOENTRY}, c;
	int i, status = EX_OK;

	for (i = 0; i < q.write_quorum; i++) {
		const char *bookie =
		    s->bookies[bk_quorum_position(&q, entry, i)];

		c = (struct copy){.r = r};
		r->waiting = true;
		bk_reader_read_from(r->reader, bookie, entry, got_copy, &c);
		(void)reading_wait(r);
		if (c.status != BK_OK ||
		    (first.status == BK_OK && !same(&first, &c))) {
			bk_log(BK_LOG_ERROR,
			    "ledger %lld entry %lld: bookie "
			    "%s: %s",
			    (long long)r->ledger_id, (long long)entry, bookie,
			    c.status == BK_OK ? "differs from the copy before" :
						bk_status_text(c.status));
			status = DIFFERENCE;
		}
		if (first.status != BK_OK && c.status == BK_OK)
			first = c;
		else
			free(c.payload);
	}
	free(first.payload);
	return (status);
}

int
verify_entries(struct reading *r, int64_t first, int64_t last)
{
	int status = EX_OK;
	int64_t e;

	for (e = first; e <= last; e++)
		if (verify_one(r, e) != EX_OK)
			status = DIFFERENCE;
	return (status);
}
