/* pending.c - a ring of entries, and a queue of their bytes. */
#include "bk-add/pending.h"

#include <stdlib.h>
#include <string.h>

struct pending {
	bool keep;
	struct pending_entry *ring;
	size_t cap; /* a power of two, or 0 */
	size_t first, count;
	struct bk_buf payloads;
};

struct pending *
pending_new(bool keep)
{
	struct pending *p = calloc(1, sizeof(*p));

	if (p == NULL)
		return (NULL);
	p->keep = keep;
	bk_buf_init(&p->payloads);
	return (p);
}

void
pending_free(struct pending *p)
{
	if (p == NULL)
		return;
	bk_buf_fini(&p->payloads);
	free(p->ring);
	free(p);
}

static int
grow(struct pending *p)
{
	size_t cap = p->cap == 0 ? 64 : 2 * p->cap;
	struct pending_entry *ring = calloc(cap, sizeof(*ring));

	if (ring == NULL)
		return (-1);
	for (size_t i = 0; i < p->count; i++)
		ring[i] = p->ring[(p->first + i) & (p->cap - 1)];
	free(p->ring);
	p->ring = ring;
	p->cap = cap;
	p->first = 0;
	return (0);
}

int
pending_push(struct pending *p, const struct input_entry *e, int64_t ledger_id,
    int64_t entry_id)
{
	const struct bk_bytes *payload = &e->cut.payload;

	if (p->count == p->cap && grow(p) == -1)
		return (-1);
	if (p->keep &&
	    bk_buf_put(&p->payloads, payload->data, payload->len) == -1)
		return (-1);
	p->ring[(p->first + p->count++) & (p->cap - 1)] =
	    (struct pending_entry){ledger_id, entry_id, e->source,
		e->cut.number, payload->len, e->cut.ended};
	return (0);
}

const struct pending_entry *
pending_first(const struct pending *p)
{
	return (p->count == 0 ? NULL : &p->ring[p->first]);
}

struct bk_bytes
pending_payload(const struct pending *p)
{
	struct bk_bytes none = {NULL, 0};

	if (!p->keep || p->count == 0 || p->ring[p->first].len == 0)
		return (none);
	return ((
	    struct bk_bytes){bk_buf_head(&p->payloads), p->ring[p->first].len});
}

void
pending_pop(struct pending *p)
{
	if (p->keep)
		bk_buf_consume(&p->payloads, p->ring[p->first].len);
	p->first = (p->first + 1) & (p->cap - 1);
	p->count--;
}
