/*
 * availability.c - the list of a ledger's entries as LIST carries it
 * (bookie-protocol.md 3.5): a 64-byte header, then one group a run. Groups
 * with a period are read, never written.
 */
#include "wire/bookie_msg.h"

#include <string.h>

#define HEADER_SIZE 64
#define GROUP_SIZE 24
#define VERSION 0
#define RUNS_MAX (1 << 24) /* a list with more is an attack on its reader */

int
bk_availability_init(struct bk_availability *a)
{
	uint8_t *p;

	bk_buf_init(&a->buf);
	a->first = a->last = -1;
	a->groups = 0;
	if ((p = bk_buf_reserve(&a->buf, HEADER_SIZE)) == NULL)
		return (-1);
	memset(p, 0, HEADER_SIZE);
	bk_buf_commit(&a->buf, HEADER_SIZE);
	return (0);
}

static int
put_group(struct bk_availability *a, int64_t first, int64_t count)
{
	uint8_t *p;

	if ((p = bk_buf_reserve(&a->buf, GROUP_SIZE)) == NULL)
		return (-1);
	bk_be64_put(p, (uint64_t)first);
	bk_be64_put(p + 8, (uint64_t)first);
	bk_be32_put(p + 16, (uint32_t)count);
	bk_be32_put(p + 20, 0);
	bk_buf_commit(&a->buf, GROUP_SIZE);
	a->groups++;
	return (0);
}

/* Write the run first to last, in as many groups as its length takes. */
static int
close_run(struct bk_availability *a)
{
	if (a->first < 0)
		return (0);
	while (a->last - a->first >= INT32_MAX) {
		if (put_group(a, a->first, INT32_MAX) != 0)
			return (-1);
		a->first += INT32_MAX;
	}
	if (put_group(a, a->first, a->last - a->first + 1) != 0)
		return (-1);
	a->first = -1;
	return (0);
}

int
bk_availability_add(struct bk_availability *a, int64_t first, int64_t last)
{
	if (a->first < 0 || first - 1 != a->last) {
		if (close_run(a) != 0)
			return (-1);
		a->first = first;
	}
	a->last = last;
	return (0);
}

struct bk_bytes
bk_availability_finish(struct bk_availability *a)
{
	if (close_run(a) != 0)
		return ((struct bk_bytes){NULL, 0});
	bk_be32_put(bk_buf_head(&a->buf), VERSION);
	bk_be32_put(bk_buf_head(&a->buf) + 4, a->groups);
	return ((struct bk_bytes){bk_buf_head(&a->buf), bk_buf_len(&a->buf)});
}

void
bk_availability_fini(struct bk_availability *a)
{
	bk_buf_fini(&a->buf);
}

/* One group: runs of size entries, period apart, first..last their starts. */
static int
read_group(struct bk_cursor *c, int64_t *runs,
    void (*fn)(void *arg, int64_t first, int64_t count), void *arg)
{
	int64_t first = (int64_t)bk_cursor_u64(c);
	int64_t last = (int64_t)bk_cursor_u64(c);
	int32_t size = (int32_t)bk_cursor_u32(c);
	int32_t period = (int32_t)bk_cursor_u32(c);
	int64_t start;

	if (c->failed || first < 0 || last < first || size <= 0 || period < 0 ||
	    (period == 0 && last != first))
		return (-1);
	for (start = first; start <= last; start += period) {
		if (--*runs < 0)
			return (-1);
		fn(arg, start, size);
		if (period == 0 || start > INT64_MAX - period)
			break;
	}
	return (0);
}

int
bk_availability_read(struct bk_bytes bytes,
    void (*fn)(void *arg, int64_t first, int64_t count), void *arg)
{
	struct bk_cursor c;
	int64_t runs = RUNS_MAX;
	uint32_t groups, i;

	bk_cursor_init(&c, bytes.data, bytes.len);
	if (bk_cursor_u32(&c) != VERSION)
		return (-1);
	groups = bk_cursor_u32(&c);
	(void)bk_cursor_bytes(&c, HEADER_SIZE - 8);
	for (i = 0; i < groups && !c.failed; i++)
		if (read_group(&c, &runs, fn, arg) != 0)
			return (-1);
	return (bk_cursor_done(&c) ? 0 : -1);
}
