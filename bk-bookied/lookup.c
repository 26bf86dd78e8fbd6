/* lookup.c - from an entry's id to the extent that has it. */
#include "bk-bookied/lookup.h"

#include "base/log.h"
#include "bk-bookied/disk.h"
#include "bk-bookied/disk_hint.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

void
loaded_unref(struct loaded *x)
{
	if (x != NULL && --x->users == 0)
		free(x);
}

bool
lookup_is_damage(int error)
{
	return (error == EBADMSG || error == EIO || error == ENOENT ||
	    error == ENOTSUP);
}

static struct loaded *
loaded_new(const struct record *record, size_t len)
{
	struct loaded *x = malloc(sizeof(*x) + len);

	if (x == NULL)
		return (NULL);
	x->users = 1;
	x->record = *record;
	x->bytes.data = x->data;
	x->bytes.len = len;
	return (x);
}

static int
load_bytes(const struct log_use *use, bool may_wait, struct loaded *x)
{
	ssize_t n;

	n = may_wait ?
	    disk_read(use->fd, x->data, x->bytes.len, x->record.offset) :
	    disk_read_now(use->fd, x->data, x->bytes.len, x->record.offset);
	if (n == -1)
		return (-1);
	if ((size_t)n != x->bytes.len) {
		errno = EBADMSG;
		return (-1);
	}
	return (0);
}

/* Read the first len bytes of an extent and check them. */
static int
load(struct logs *logs, const struct record *record, size_t len, bool may_wait,
    bool (*check)(struct bk_bytes extent, uint32_t seed,
	const struct record *record),
    struct loaded **loaded)
{
	struct log_use use;
	struct loaded *x;
	int r, saved;

	if (record->length > EXTENT_LIMIT || len > record->length) {
		errno = EBADMSG;
		return (-1);
	}
	if (logs_use(logs, record->log, may_wait, &use) == -1)
		return (-1);
	x = loaded_new(record, len);
	r = x == NULL ? -1 : load_bytes(&use, may_wait, x);
	if (r == 0 && !check(x->bytes, use.seed, record)) {
		errno = EBADMSG;
		r = -1;
	}
	saved = errno;
	logs_done(logs, &use);
	if (r == -1) {
		free(x);
		errno = saved;
		return (-1);
	}
	*loaded = x;
	return (0);
}

int
lookup_load(struct logs *logs, const struct record *record, bool may_wait,
    struct loaded **loaded)
{
	return (
	    load(logs, record, record->length, may_wait, extent_check, loaded));
}

int
lookup_load_table(struct logs *logs, const struct record *record,
    struct loaded **loaded)
{
	return (load(logs, record, extent_table_size(record), true,
	    extent_check_table, loaded));
}

static void
note_damage(struct lookup *l, int64_t low, int64_t high)
{
	if (!l->is_damaged)
		l->damage = (struct index_damage){low, high};
	if (low < l->damage.low)
		l->damage.low = low;
	if (high > l->damage.high)
		l->damage.high = high;
	l->is_damaged = true;
}

/* Newest first. */
static int
by_age(const void *a, const void *b)
{
	const struct record *x = a, *y = b;

	if (x->log != y->log)
		return (x->log < y->log ? 1 : -1);
	return (x->offset < y->offset ? 1 : x->offset > y->offset ? -1 : 0);
}

/* Try the extents one file has for the entry. */
static enum lookup_result
try_records(struct lookup *l, struct records *records, struct loaded **found)
{
	const struct record *r;

	if (records->n > 1)
		qsort(records->items, records->n, sizeof(*r), by_age);
	for (size_t i = 0; i < records->n; i++) {
		r = &records->items[i];
		if (lookup_load(l->logs, r, l->may_wait, found) == 0) {
			if (extent_find((*found)->bytes, l->entry_id).data !=
			    NULL)
				return (LOOKUP_FOUND);
			loaded_unref(*found);
		} else if (errno == EAGAIN) {
			return (LOOKUP_WOULD_WAIT);
		} else if (lookup_is_damage(errno)) {
			bk_log(BK_LOG_ERROR,
			    "log %08" PRIx32 " at %" PRIu32
			    ": extent of ledger %" PRId64 ": %s",
			    r->log, r->offset, r->ledger_id,
			    errno == EBADMSG ? "checksum does not match" :
					       strerror(errno));
			note_damage(l, l->ledger_id, l->ledger_id);
		} else
			return (LOOKUP_FAILED);
	}
	return (LOOKUP_ABSENT);
}

static enum lookup_result
try_file(struct lookup *l, const struct index *file, struct records *records,
    struct loaded **found)
{
	struct index_damage damage;

	records->n = 0;
	if (index_find(file, l->ledger_id, l->entry_id, l->entry_id, l->floor,
		l->may_wait, records, &damage) == 0)
		return (try_records(l, records, found));
	if (errno == EAGAIN)
		return (LOOKUP_WOULD_WAIT);
	if (!lookup_is_damage(errno))
		return (LOOKUP_FAILED);
	bk_log(BK_LOG_ERROR,
	    "index %08" PRIx32 "-%08" PRIx32 " in %s: page of ledgers %" PRId64
	    " to %" PRId64 ": %s",
	    index_low(file), index_high(file), index_dir(file), damage.low,
	    damage.high,
	    errno == EBADMSG ? "checksum does not match" : strerror(errno));
	note_damage(l, damage.low, damage.high);
	return (LOOKUP_ABSENT);
}

enum lookup_result
lookup_entry(struct lookup *l, struct loaded **found)
{
	enum lookup_result result = LOOKUP_ABSENT;
	struct records records = {0};

	l->is_damaged = false;
	for (size_t i = 0; i < l->set->n && result == LOOKUP_ABSENT; i++)
		result = try_file(l, l->set->files[i], &records, found);
	records_fini(&records);
	return (result);
}
