/*
 * index.c - an index file as readers see it: the first key of each page of
 * records and the filter in memory, pages read and checked when wanted.
 */
#include "bk-bookied/index.h"

#include "bk-bookied/disk.h"
#include "bk-bookied/disk_hint.h"
#include "bk-bookied/filter.h"
#include "bk-bookied/index_format.h"
#include "bk-bookied/names.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* What is kept of a page of records. */
struct fence {
	int64_t ledger_id; /* of its first record */
	int64_t first;
	uint32_t from; /* first page that reaches into this one */
	uint32_t page;
};

struct index {
	atomic_uint users;
	const char *dir;
	uint32_t low, high, tier, seed;
	int fd;
	uint32_t npages;
	uint64_t nledgers;
	uint64_t position;
	struct fence *fences;
	size_t nfences;
	uint8_t *filter;
	size_t filter_size;
};

static int
damaged(void)
{
	errno = EBADMSG;
	return (-1);
}

/* Take table and filter, just read, into memory. */
static int
take_table(struct index *ix, const uint8_t *table)
{
	const uint8_t *slot = table;
	struct fence *f;

	ix->fences = malloc((ix->npages + (size_t)1) * sizeof(*ix->fences));
	ix->filter = malloc(ix->filter_size);
	if (ix->fences == NULL || ix->filter == NULL)
		return (-1);
	for (uint32_t i = 0; i < ix->npages; i++, slot += TABLE_SLOT) {
		if (bk_be32_get(slot + 20) != INDEX_RECORDS)
			continue;
		f = &ix->fences[ix->nfences++];
		f->ledger_id = (int64_t)bk_be64_get(slot);
		f->first = (int64_t)bk_be64_get(slot + 8);
		f->from = bk_be32_get(slot + 16);
		f->page = i;
	}
	memcpy(ix->filter, table + (size_t)ix->npages * TABLE_SLOT,
	    ix->filter_size);
	return (0);
}

static int
read_table(struct index *ix, uint64_t size, uint32_t sum)
{
	size_t table_size = (size_t)ix->npages * TABLE_SLOT;
	size_t len = table_size + ix->filter_size;
	uint64_t at = (uint64_t)ix->npages * INDEX_PAGE;
	uint8_t *table;
	ssize_t n;
	int r = -1;

	if (at + len + FOOT_SIZE != size || ix->filter_size == 0 ||
	    ix->filter_size % FILTER_BLOCK != 0 || len > INT32_MAX)
		return (damaged());
	table = malloc(len);
	if (table == NULL)
		return (-1);
	n = disk_read(ix->fd, table, len, at);
	if (n >= 0 &&
	    ((size_t)n != len ||
		mix_sum(mix_sum(ix->seed, table, table_size),
		    table + table_size, ix->filter_size) != sum))
		r = damaged();
	else if (n >= 0)
		r = take_table(ix, table);
	free(table);
	return (r);
}

static int
read_foot(struct index *ix)
{
	uint8_t foot[FOOT_SIZE];
	struct stat st;
	ssize_t n;

	if (fstat(ix->fd, &st) == -1)
		return (-1);
	if (st.st_size < FOOT_SIZE)
		return (damaged());
	n = disk_read(ix->fd, foot, sizeof(foot),
	    (uint64_t)st.st_size - FOOT_SIZE);
	if (n == -1)
		return (-1);
	if (n != FOOT_SIZE || memcmp(foot, FOOT_MAGIC, 8) != 0 ||
	    bk_be32_get(foot + FOOT_SUM_AT) != mix_sum(0, foot, FOOT_SUM_AT))
		return (damaged());
	if (bk_be32_get(foot + 8) != INDEX_VERSION) {
		errno = ENOTSUP;
		return (-1);
	}
	if (bk_be32_get(foot + 12) != ix->low ||
	    bk_be32_get(foot + 16) != ix->high)
		return (damaged());
	ix->tier = bk_be32_get(foot + 20);
	ix->seed = bk_be32_get(foot + 24);
	ix->npages = bk_be32_get(foot + 28);
	ix->nledgers = bk_be64_get(foot + 40);
	ix->position = bk_be64_get(foot + 48);
	ix->filter_size = bk_be32_get(foot + 56);
	return (read_table(ix, (uint64_t)st.st_size, bk_be32_get(foot + 60)));
}

struct index *
index_open(const char *dir, uint32_t low, uint32_t high)
{
	char path[PATH_MAX], name[NAME_SIZE];
	struct index *ix = calloc(1, sizeof(*ix));
	int saved;

	if (ix == NULL)
		return (NULL);
	ix->users = 1;
	ix->dir = dir;
	ix->low = low;
	ix->high = high;
	ix->fd = -1;
	name_index(name, low, high);
	if (disk_path(path, dir, name) == 0)
		ix->fd = disk_open(path, O_RDONLY, 0);
	if (ix->fd != -1 && read_foot(ix) == 0)
		return (ix);
	saved = errno;
	index_unref(ix);
	errno = saved;
	return (NULL);
}

struct index *
index_ref(struct index *ix)
{
	atomic_fetch_add(&ix->users, 1);
	return (ix);
}

void
index_unref(struct index *ix)
{
	if (ix == NULL || atomic_fetch_sub(&ix->users, 1) > 1)
		return;
	disk_close(ix->fd);
	free(ix->fences);
	free(ix->filter);
	free(ix);
}

const char *
index_dir(const struct index *ix)
{
	return (ix->dir);
}

uint32_t
index_low(const struct index *ix)
{
	return (ix->low);
}

uint32_t
index_high(const struct index *ix)
{
	return (ix->high);
}

uint32_t
index_tier(const struct index *ix)
{
	return (ix->tier);
}

uint64_t
index_position(const struct index *ix)
{
	return (ix->position);
}

uint64_t
index_ledgers(const struct index *ix)
{
	return (ix->nledgers);
}

int
records_add(struct records *r, const struct record *record)
{
	size_t cap = r->cap == 0 ? 16 : r->cap * 2;
	struct record *grown;

	if (r->n == r->cap) {
		grown = realloc(r->items, cap * sizeof(*grown));
		if (grown == NULL)
			return (-1);
		r->items = grown;
		r->cap = cap;
	}
	r->items[r->n++] = *record;
	return (0);
}

void
records_fini(struct records *r)
{
	free(r->items);
	*r = (struct records){0};
}

/* Finding. */

/* The last page whose first record is not above (ledger, entry); -1 if
 * none. */
static ssize_t
page_for(const struct index *ix, int64_t ledger_id, int64_t entry_id)
{
	size_t low = 0, high = ix->nfences;
	const struct fence *f;
	size_t middle;

	while (low < high) {
		middle = low + (high - low) / 2;
		f = &ix->fences[middle];
		if (f->ledger_id < ledger_id ||
		    (f->ledger_id == ledger_id && f->first <= entry_id))
			low = middle + 1;
		else
			high = middle;
	}
	return ((ssize_t)low - 1);
}

/* Read a page and check it. */
static int
read_page(const struct index *ix, uint32_t number, enum index_kind kind,
    bool may_wait, uint8_t page[INDEX_PAGE])
{
	uint64_t at = (uint64_t)number * INDEX_PAGE;
	ssize_t n;

	n = may_wait ? disk_read(ix->fd, page, INDEX_PAGE, at) :
		       disk_read_now(ix->fd, page, INDEX_PAGE, at);
	if (n == -1)
		return (-1);
	if (n != INDEX_PAGE ||
	    bk_be32_get(page) != page_sum(ix->seed, number, page) ||
	    bk_be16_get(page + 4) != kind)
		return (damaged());
	return (0);
}

/* Append what matches of one page. */
static int
match_page(const uint8_t *page, int64_t ledger_id, int64_t first, int64_t last,
    uint32_t floor, struct records *found)
{
	unsigned n = bk_be16_get(page + 6);
	const uint8_t *p = page + PAGE_HEAD;
	struct record record;

	if (n > PAGE_RECORDS)
		return (damaged());
	for (; n > 0; n--, p += RECORD_SIZE) {
		if ((int64_t)bk_be64_get(p) != ledger_id)
			continue;
		if (!record_decode(p, &record))
			return (damaged());
		if (record.first <= last && record.last >= first &&
		    record.log >= floor && records_add(found, &record) == -1)
			return (-1);
	}
	return (0);
}

static void
concerns(const struct index *ix, size_t fence, struct index_damage *damage)
{
	damage->low = ix->fences[fence].ledger_id;
	damage->high = fence + 1 < ix->nfences ?
	    ix->fences[fence + 1].ledger_id :
	    INT64_MAX;
}

int
index_find(const struct index *ix, int64_t ledger_id, int64_t first,
    int64_t last, uint32_t floor, bool may_wait, struct records *found,
    struct index_damage *damage)
{
	_Alignas(8) uint8_t page[INDEX_PAGE];
	ssize_t at, begin;

	if (ix->high < floor || ix->nfences == 0 ||
	    !filter_has(ix->filter, ix->filter_size, ledger_id))
		return (0);
	at = page_for(ix, ledger_id, last);
	begin = page_for(ix, ledger_id, first);
	if (begin < 0)
		begin = 0;
	for (; at >= 0; at--) {
		if (at < begin &&
		    (ix->fences[begin].ledger_id != ledger_id ||
			ix->fences[at].page < ix->fences[begin].from))
			break;
		if (read_page(ix, ix->fences[at].page, INDEX_RECORDS, may_wait,
			page) == -1 ||
		    match_page(page, ledger_id, first, last, floor, found) ==
			-1) {
			concerns(ix, (size_t)at, damage);
			return (-1);
		}
	}
	return (0);
}

/* Reading all. */

#define CURSOR_PAGES 64

struct index_cursor {
	const struct index *ix;
	enum index_kind kind;
	uint32_t next; /* page to read after those here */
	uint8_t *pages;
	unsigned npages, at;   /* here, and which of them is next */
	struct bk_cursor left; /* of the page in hand */
	unsigned nleft;
};

struct index_cursor *
index_cursor_new(const struct index *ix, enum index_kind kind)
{
	struct index_cursor *c = calloc(1, sizeof(*c));

	if (c == NULL)
		return (NULL);
	c->ix = ix;
	c->kind = kind;
	c->pages = malloc((size_t)CURSOR_PAGES * INDEX_PAGE);
	if (c->pages == NULL) {
		free(c);
		errno = ENOMEM;
		return (NULL);
	}
	return (c);
}

void
index_cursor_free(struct index_cursor *c)
{
	if (c == NULL)
		return;
	free(c->pages);
	free(c);
}

static int
cursor_read(struct index_cursor *c)
{
	uint32_t n = c->ix->npages - c->next;
	ssize_t got;

	if (n > CURSOR_PAGES)
		n = CURSOR_PAGES;
	got = disk_read(c->ix->fd, c->pages, (size_t)n * INDEX_PAGE,
	    (uint64_t)c->next * INDEX_PAGE);
	if (got == -1)
		return (-1);
	if ((size_t)got != (size_t)n * INDEX_PAGE)
		return (damaged());
	c->next += n;
	c->npages = n;
	c->at = 0;
	return (0);
}

/* Go to the next page of this kind: 1, 0 at the end, -1. */
static int
cursor_page(struct index_cursor *c)
{
	const uint8_t *page;
	uint32_t number;

	for (;;) {
		if (c->at == c->npages) {
			if (c->next == c->ix->npages)
				return (0);
			if (cursor_read(c) == -1)
				return (-1);
		}
		page = c->pages + (size_t)c->at * INDEX_PAGE;
		number = c->next - c->npages + c->at;
		c->at++;
		if (bk_be32_get(page) != page_sum(c->ix->seed, number, page))
			return (damaged());
		if (bk_be16_get(page + 4) == c->kind)
			break;
	}
	c->nleft = bk_be16_get(page + 6);
	bk_cursor_init(&c->left, page + PAGE_HEAD, INDEX_PAGE - PAGE_HEAD);
	return (1);
}

static int
cursor_item(struct index_cursor *c)
{
	int r;

	while (c->nleft == 0) {
		r = cursor_page(c);
		if (r != 1)
			return (r);
	}
	c->nleft--;
	return (1);
}

int
index_cursor_record(struct index_cursor *c, struct record *record)
{
	int r = cursor_item(c);
	struct bk_bytes bytes;

	if (r != 1)
		return (r);
	bytes = bk_cursor_bytes(&c->left, RECORD_SIZE);
	if (c->left.failed || !record_decode(bytes.data, record))
		return (damaged());
	return (1);
}

int
index_cursor_state(struct index_cursor *c, struct ledger_state *state,
    struct bk_bytes *encoded)
{
	int r = cursor_item(c);

	if (r != 1)
		return (r);
	encoded->data = c->left.p;
	if (!state_decode(&c->left, state))
		return (damaged());
	encoded->len = (size_t)(c->left.p - encoded->data);
	return (1);
}
