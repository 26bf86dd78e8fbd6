/*
 * index_write.c - writing an index file: pages of records and of states as
 * they fill, then what the reader keeps in memory.
 */
#include "bk-bookied/disk.h"
#include "bk-bookied/disk_hint.h"
#include "bk-bookied/filter.h"
#include "bk-bookied/index.h"
#include "bk-bookied/index_format.h"
#include "bk-bookied/names.h"

#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#define BUFFER_PAGES 64

/* A page being filled. */
struct page {
	uint8_t bytes[INDEX_PAGE];
	size_t used;
	unsigned count;
	int64_t ledger_id; /* of the first in it */
	int64_t first;
	int64_t reach; /* greatest last entry of the last ledger in it */
};

struct index_writer {
	const char *dir;
	char name[NAME_SIZE];
	uint32_t low, high, tier, seed;
	uint64_t position;
	int fd;
	uint64_t written;
	uint8_t *buffer;
	size_t used;
	uint32_t npages;
	struct bk_buf table;
	uint8_t *filter;
	size_t filter_size;
	uint64_t nrecords, nledgers;
	struct page records, states;
	/* For the ledger in hand: how far its pages reach, from first_page
	 * on, and which is the first that may still matter. */
	int64_t ledger_id;
	struct bk_buf reaches; /* page 4, reach 8 */
	size_t reach_at;
};

static void
page_empty(struct page *p)
{
	memset(p->bytes, 0, sizeof(p->bytes));
	p->used = PAGE_HEAD;
	p->count = 0;
	p->reach = -1;
}

struct index_writer *
index_writer_new(const char *dir, uint32_t low, uint32_t high, uint32_t tier,
    uint64_t position, size_t nledgers)
{
	char path[PATH_MAX], temporary[NAME_SIZE];
	struct index_writer *w = calloc(1, sizeof(*w));

	if (w == NULL)
		return (NULL);
	w->dir = dir;
	w->low = low;
	w->high = high;
	w->tier = tier;
	w->position = position;
	w->seed = randombytes_random();
	w->fd = -1;
	w->ledger_id = -1;
	bk_buf_init(&w->table);
	bk_buf_init(&w->reaches);
	page_empty(&w->records);
	page_empty(&w->states);
	w->filter_size = filter_size(nledgers);
	w->filter = calloc(1, w->filter_size);
	w->buffer = malloc((size_t)BUFFER_PAGES * INDEX_PAGE);
	name_index(w->name, low, high);
	name_temporary(temporary, w->name);
	if (w->filter == NULL || w->buffer == NULL ||
	    disk_path(path, dir, temporary) == -1)
		goto fail;
	w->fd = disk_open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	if (w->fd != -1)
		return (w);
fail:
	index_writer_abort(w);
	return (NULL);
}

static void
writer_free(struct index_writer *w)
{
	disk_close(w->fd);
	bk_buf_fini(&w->table);
	bk_buf_fini(&w->reaches);
	free(w->filter);
	free(w->buffer);
	free(w);
}

void
index_writer_abort(struct index_writer *w)
{
	char temporary[NAME_SIZE];
	int saved = errno;

	if (w == NULL)
		return;
	name_temporary(temporary, w->name);
	/* If it stays, the next start removes it. */
	if (w->fd != -1)
		(void)disk_remove(w->dir, temporary);
	writer_free(w);
	errno = saved;
}

static int
write_out(struct index_writer *w, const void *data, size_t len)
{
	if (disk_write(w->fd, data, len, w->written) == -1 ||
	    disk_push(w->fd, w->written, len) == -1)
		return (-1);
	w->written += len;
	return (0);
}

static int
write_buffer(struct index_writer *w)
{
	if (w->used > 0 && write_out(w, w->buffer, w->used) == -1)
		return (-1);
	w->used = 0;
	return (0);
}

/* The first page with a record of its ledger that reaches up to first; this
 * page itself if there is none. Pages are asked for in order, so that what
 * does not reach this far never matters again. */
static uint32_t
reached_from(struct index_writer *w, int64_t ledger_id, int64_t first)
{
	const uint8_t *slot;

	if (ledger_id != w->ledger_id)
		return (w->npages);
	for (; w->reach_at < bk_buf_len(&w->reaches); w->reach_at += 12) {
		slot = bk_buf_head(&w->reaches) + w->reach_at;
		if ((int64_t)bk_be64_get(slot + 4) >= first)
			return (bk_be32_get(slot));
	}
	return (w->npages);
}

/* Note how far the records of the last ledger in a page reach. */
static int
note_reach(struct index_writer *w, int64_t ledger_id, int64_t reach)
{
	if (ledger_id != w->ledger_id) {
		bk_buf_consume(&w->reaches, bk_buf_len(&w->reaches));
		w->reach_at = 0;
		w->ledger_id = ledger_id;
	}
	if (bk_buf_put_u32(&w->reaches, w->npages) == -1 ||
	    bk_buf_put_u64(&w->reaches, (uint64_t)reach) == -1)
		return (-1);
	return (0);
}

static int
page_end(struct index_writer *w, struct page *p, enum index_kind kind,
    uint32_t from)
{
	bk_be16_put(p->bytes + 4, (uint16_t)kind);
	bk_be16_put(p->bytes + 6, (uint16_t)p->count);
	bk_be32_put(p->bytes, page_sum(w->seed, w->npages, p->bytes));
	if (bk_buf_put_u64(&w->table, (uint64_t)p->ledger_id) == -1 ||
	    bk_buf_put_u64(&w->table, (uint64_t)p->first) == -1 ||
	    bk_buf_put_u32(&w->table, from) == -1 ||
	    bk_buf_put_u32(&w->table, kind) == -1)
		return (-1);
	memcpy(w->buffer + w->used, p->bytes, INDEX_PAGE);
	w->used += INDEX_PAGE;
	w->npages++;
	page_empty(p);
	if (w->used == (size_t)BUFFER_PAGES * INDEX_PAGE)
		return (write_buffer(w));
	return (0);
}

static int
records_end(struct index_writer *w, int64_t last_ledger)
{
	struct page *p = &w->records;
	uint32_t from = reached_from(w, p->ledger_id, p->first);

	if (note_reach(w, last_ledger, p->reach) == -1)
		return (-1);
	return (page_end(w, p, INDEX_RECORDS, from));
}

int
index_writer_record(struct index_writer *w, const struct record *record)
{
	struct page *p = &w->records;
	int64_t before = -1;

	if (p->count > 0)
		before = (int64_t)bk_be64_get(p->bytes + p->used - RECORD_SIZE);
	if (p->count == PAGE_RECORDS && records_end(w, before) == -1)
		return (-1);
	if (p->count == 0) {
		p->ledger_id = record->ledger_id;
		p->first = record->first;
	}
	if (record->ledger_id != before) {
		filter_add(w->filter, w->filter_size, record->ledger_id);
		w->nledgers++;
		p->reach = -1;
	}
	if (record->last > p->reach)
		p->reach = record->last;
	record_encode(record, p->bytes + p->used);
	p->used += RECORD_SIZE;
	p->count++;
	w->nrecords++;
	return (0);
}

int
index_writer_state(struct index_writer *w, struct bk_bytes state)
{
	struct page *p = &w->states;

	if (p->used + state.len > INDEX_PAGE &&
	    page_end(w, p, INDEX_STATES, w->npages) == -1)
		return (-1);
	if (p->count == 0) {
		p->ledger_id = (int64_t)bk_be64_get(state.data);
		p->first = 0;
	}
	memcpy(p->bytes + p->used, state.data, state.len);
	p->used += state.len;
	p->count++;
	return (0);
}

static int
write_foot(struct index_writer *w)
{
	uint8_t foot[FOOT_SIZE];
	uint32_t sum;

	sum = mix_sum(w->seed, bk_buf_head(&w->table), bk_buf_len(&w->table));
	sum = mix_sum(sum, w->filter, w->filter_size);
	memcpy(foot, FOOT_MAGIC, 8);
	bk_be32_put(foot + 8, INDEX_VERSION);
	bk_be32_put(foot + 12, w->low);
	bk_be32_put(foot + 16, w->high);
	bk_be32_put(foot + 20, w->tier);
	bk_be32_put(foot + 24, w->seed);
	bk_be32_put(foot + 28, w->npages);
	bk_be64_put(foot + 32, w->nrecords);
	bk_be64_put(foot + 40, w->nledgers);
	bk_be64_put(foot + 48, w->position);
	bk_be32_put(foot + 56, (uint32_t)w->filter_size);
	bk_be32_put(foot + 60, sum);
	bk_be32_put(foot + FOOT_SUM_AT, mix_sum(0, foot, FOOT_SUM_AT));
	return (write_out(w, foot, sizeof(foot)));
}

static int
write_rest(struct index_writer *w)
{
	struct page *p = &w->records;

	if (p->count > 0 &&
	    page_end(w, p, INDEX_RECORDS,
		reached_from(w, p->ledger_id, p->first)) == -1)
		return (-1);
	if (w->states.count > 0 &&
	    page_end(w, &w->states, INDEX_STATES, w->npages) == -1)
		return (-1);
	if (write_buffer(w) == -1 ||
	    write_out(w, bk_buf_head(&w->table), bk_buf_len(&w->table)) == -1)
		return (-1);
	return (
	    write_out(w, w->filter, w->filter_size) == -1 ? -1 : write_foot(w));
}

struct index *
index_writer_finish(struct index_writer *w)
{
	char temporary[NAME_SIZE];
	struct index *ix;

	if (write_rest(w) == -1) {
		index_writer_abort(w);
		return (NULL);
	}
	name_temporary(temporary, w->name);
	if (disk_sync(w->fd) == -1 ||
	    disk_rename(w->dir, temporary, w->name) == -1) {
		/* A failed sync is never "disk full": see entrylog.c. */
		if (errno == ENOSPC || errno == EDQUOT)
			errno = EIO;
		index_writer_abort(w);
		return (NULL);
	}
	ix = index_open(w->dir, w->low, w->high);
	writer_free(w);
	return (ix);
}
