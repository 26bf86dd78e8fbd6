/* rebuild.c - gather what a log has, sort it, write it as an index. */
#include "bk-bookied/rebuild.h"

#include "base/log.h"
#include "bk-bookied/disk.h"
#include "bk-bookied/entrylog.h"
#include "bk-bookied/index.h"
#include "bk-bookied/names.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Where a state lies in the buffer. */
struct kept {
	int64_t ledger_id;
	size_t at, len;
};

struct rebuild {
	struct records records;
	struct bk_buf states; /* encoded, one after the other */
	struct bk_buf kept;   /* struct kept of each */
};

static bool
take_extent(void *arg, const struct record *record)
{
	struct rebuild *r = arg;

	return (records_add(&r->records, record) == 0);
}

static bool
take_state(void *arg, struct bk_bytes encoded)
{
	struct rebuild *r = arg;
	struct kept kept = {(int64_t)bk_be64_get(encoded.data),
	    bk_buf_len(&r->states), encoded.len};

	return (bk_buf_put(&r->states, encoded.data, encoded.len) == 0 &&
	    bk_buf_put(&r->kept, &kept, sizeof(kept)) == 0);
}

static int
by_record(const void *a, const void *b)
{
	return (record_compare(a, b));
}

/* What could not be read may have been of any ledger. */
static bool
doubt_all(struct rebuild *r, uint32_t number)
{
	struct ledger_state all = {.ledger_id = STATE_ALL,
	    .log = number,
	    .doubt = true};
	uint8_t encoded[STATE_HEAD];

	state_encode(&all, encoded);
	return (take_state(r, (struct bk_bytes){encoded, sizeof(encoded)}));
}

/* In the order of a flush: by ledger as an unsigned number. */
static int
by_ledger(const void *a, const void *b)
{
	const struct kept *x = a, *y = b;

	if (x->ledger_id == y->ledger_id)
		return (x->at < y->at ? -1 : x->at > y->at);
	return ((uint64_t)x->ledger_id < (uint64_t)y->ledger_id ? -1 : 1);
}

static int
put_all(struct rebuild *r, struct index_writer *w)
{
	struct kept *kept = (struct kept *)(void *)bk_buf_head(&r->kept);
	size_t n = bk_buf_len(&r->kept) / sizeof(*kept);
	struct bk_bytes state;

	if (r->records.n > 0)
		qsort(r->records.items, r->records.n, sizeof(struct record),
		    by_record);
	for (size_t i = 0; i < r->records.n; i++)
		if (index_writer_record(w, &r->records.items[i]) == -1)
			return (-1);
	if (n > 0)
		qsort(kept, n, sizeof(*kept), by_ledger);
	for (size_t i = 0; i < n; i++) {
		state.data = bk_buf_head(&r->states) + kept[i].at;
		state.len = kept[i].len;
		if (index_writer_state(w, state) == -1)
			return (-1);
	}
	return (0);
}

static struct index *
write_index(struct rebuild *r, const char *dir, uint32_t number,
    uint64_t position)
{
	struct index_writer *w;

	w = index_writer_new(dir, number, number, 0, position, r->records.n);
	if (w == NULL)
		return (NULL);
	if (put_all(r, w) == 0)
		return (index_writer_finish(w));
	index_writer_abort(w);
	return (NULL);
}

static int
scan(const char *dir, uint32_t number, struct entrylog_scan *what)
{
	char path[PATH_MAX], name[NAME_SIZE];
	int fd, r, saved;

	name_log(name, number);
	if (disk_path(path, dir, name) == -1 ||
	    (fd = disk_open(path, O_RDONLY, 0)) == -1)
		return (-1);
	r = entrylog_scan(fd, number, what);
	saved = errno;
	disk_close(fd);
	errno = saved;
	return (r);
}

struct index *
rebuild_index(const char *dir, uint32_t number, bool *is_damaged)
{
	struct rebuild r = {0};
	struct entrylog_scan what = {.extent = take_extent,
	    .state = take_state,
	    .arg = &r};
	struct index *ix = NULL;

	*is_damaged = false;
	if (scan(dir, number, &what) == -1) {
		*is_damaged = errno == EBADMSG || errno == EIO;
		if (!*is_damaged)
			goto out;
		bk_log(BK_LOG_ERROR,
		    "%s: log %08" PRIx32 ": damaged at %" PRIu64
		    ", the rest of it is lost",
		    dir, number, what.offset);
		if (!doubt_all(&r, number))
			goto out;
	}
	ix = write_index(&r, dir, number, what.position);
	if (ix != NULL)
		bk_log(BK_LOG_WARNING,
		    "%s: log %08" PRIx32 ": its index was "
		    "missing, and is made anew: %zu extents",
		    dir, number, r.records.n);
out:
	records_fini(&r.records);
	bk_buf_fini(&r.states);
	bk_buf_fini(&r.kept);
	return (ix);
}
