/*
 * store_load.c - what is on disk when the store opens.
 *
 * Names tell which files there are. Temporary ones are leftovers of a crash;
 * so is an index file whose logs another one covers too. A log that no index
 * covers, or only a damaged one, which is set aside, gets its own index again.
 * Then all index files are read: first states, newest file first, then
 * records, for the last entry and LAC of each ledger.
 */
#include "bk-bookied/store_internal.h"

#include "base/log.h"
#include "bk-bookied/disk.h"
#include "bk-bookied/names.h"
#include "bk-bookied/rebuild.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define BAD_SUFFIX ".bad"

/* A file found by its name. */
struct found {
	const char *dir;
	uint32_t low, high; /* the same for a log */
	uint64_t bytes;
};

struct founds {
	struct found *items;
	size_t n, cap;
};

struct start {
	struct store *s;
	struct founds logs, indexes;
	struct index **files; /* open, newest first */
	size_t nfiles;
	bool is_damaged; /* something could not be read: doubt all */
	char *why;
};

static enum bk_status
fail(struct start *st, enum bk_status status, const char *what,
    const char *because)
{
	(void)snprintf(st->why, STORE_WHY, "%s: %s", what, because);
	return (status);
}

static enum bk_status
fail_errno(struct start *st, const char *what)
{
	if (errno == ENOTSUP)
		return (
		    fail(st, BK_ECONFIG, what, "written by a newer version"));
	return (fail(st, errno == ENOMEM ? BK_ENOMEM : BK_ESYS, what,
	    strerror(errno)));
}

/* Names. */

static int
founds_add(struct founds *f, const struct found *item)
{
	size_t cap = f->cap == 0 ? 64 : f->cap * 2;
	struct found *grown;

	if (f->n == f->cap) {
		grown = realloc(f->items, cap * sizeof(*grown));
		if (grown == NULL)
			return (-1);
		f->items = grown;
		f->cap = cap;
	}
	f->items[f->n++] = *item;
	return (0);
}

static int
note_log(struct start *st, int dir_fd, const char *name, struct found *f)
{
	struct stat sb;

	if (fstatat(dir_fd, name, &sb, 0) == -1)
		return (-1);
	f->high = f->low;
	f->bytes = (uint64_t)sb.st_size;
	return (founds_add(&st->logs, f));
}

static int
note_name(struct start *st, const char *dir, int dir_fd, const char *name)
{
	struct found f = {.dir = dir};

	if (name_is_log(name, &f.low))
		return (note_log(st, dir_fd, name, &f));
	if (name_is_index(name, &f.low, &f.high))
		return (founds_add(&st->indexes, &f));
	if (name_is_temporary(name))
		return (disk_remove(dir, name));
	return (0);
}

static enum bk_status
read_names(struct start *st, const char *dir)
{
	struct dirent *e;
	int r = 0;
	DIR *d;

	d = opendir(dir);
	if (d == NULL)
		return (fail_errno(st, dir));
	while (r == 0 && (errno = 0, e = readdir(d)) != NULL)
		r = note_name(st, dir, dirfd(d), e->d_name);
	if (r == 0 && errno != 0)
		r = -1;
	(void)closedir(d);
	return (r == 0 ? BK_OK : fail_errno(st, dir));
}

/* Index files. */

/* Newest first; of those that begin alike the one that covers more. */
static int
newest_first(const void *a, const void *b)
{
	const struct found *x = a, *y = b;

	if (x->high != y->high)
		return (x->high < y->high ? 1 : -1);
	return (x->low < y->low ? -1 : x->low > y->low);
}

/* The file is damaged: out of the way with it, its logs tell the same. */
static enum bk_status
set_aside(struct start *st, const struct found *f)
{
	char name[NAME_SIZE], bad[NAME_SIZE + sizeof(BAD_SUFFIX)];

	name_index(name, f->low, f->high);
	(void)snprintf(bad, sizeof(bad), "%s" BAD_SUFFIX, name);
	bk_log(BK_LOG_ERROR, "%s/%s: damaged, set aside as %s", f->dir, name,
	    bad);
	if (disk_rename(f->dir, name, bad) == -1)
		return (fail_errno(st, f->dir));
	return (BK_OK);
}

/* Whether all of a file can be read: 0, or -1 with errno set. */
static int
read_through(const struct index *ix)
{
	struct index_cursor *c = index_cursor_new(ix, INDEX_STATES);
	struct ledger_state state;
	struct bk_bytes encoded;
	int r;

	if (c == NULL)
		return (-1);
	while ((r = index_cursor_state(c, &state, &encoded)) == 1)
		continue;
	index_cursor_free(c);
	return (r);
}

static enum bk_status
open_index(struct start *st, const struct found *f)
{
	struct index *ix = index_open(f->dir, f->low, f->high);

	if (ix != NULL && read_through(ix) == 0) {
		st->files[st->nfiles++] = ix;
		return (BK_OK);
	}
	index_unref(ix);
	if (errno == EBADMSG || errno == EIO)
		return (set_aside(st, f));
	return (fail_errno(st, f->dir));
}

static bool
is_covered(const struct start *st, const struct found *f)
{
	for (size_t i = 0; i < st->nfiles; i++)
		if (f->low >= index_low(st->files[i]) &&
		    f->high <= index_high(st->files[i]))
			return (true);
	return (false);
}

static enum bk_status
remove_index(struct start *st, const struct found *f)
{
	char name[NAME_SIZE];

	name_index(name, f->low, f->high);
	if (disk_remove(f->dir, name) == -1)
		return (fail_errno(st, f->dir));
	return (BK_OK);
}

/* Those that cover more come first, so that what they cover can go. */
static enum bk_status
open_indexes(struct start *st)
{
	enum bk_status status = BK_OK;
	const struct found *f;

	st->files =
	    calloc(st->indexes.n + st->logs.n + 1, sizeof(struct index *));
	if (st->files == NULL)
		return (fail_errno(st, "index files"));
	if (st->indexes.n > 0)
		qsort(st->indexes.items, st->indexes.n, sizeof(*f),
		    newest_first);
	for (size_t i = 0; status == BK_OK && i < st->indexes.n; i++) {
		f = &st->indexes.items[i];
		status =
		    is_covered(st, f) ? remove_index(st, f) : open_index(st, f);
	}
	return (status);
}

/* Logs. */

static enum bk_status
rebuild(struct start *st, const struct found *log)
{
	struct index *ix;
	bool is_damaged;

	ix = rebuild_index(log->dir, log->low, &is_damaged);
	if (ix == NULL && errno == ENOSPC) {
		space_full(st->s->space, log->dir);
		ix = rebuild_index(log->dir, log->low, &is_damaged);
	}
	if (ix == NULL)
		return (fail_errno(st, log->dir));
	st->is_damaged = st->is_damaged || is_damaged;
	st->files[st->nfiles++] = ix;
	return (BK_OK);
}

static int
index_newest_first(const void *a, const void *b)
{
	const struct index *const *x = a, *const *y = b;

	return (index_high(*x) < index_high(*y) ? 1 :
		index_high(*x) > index_high(*y) ? -1 :
						  0);
}

static enum bk_status
cover_logs(struct start *st)
{
	enum bk_status status = BK_OK;
	const struct found *log;

	for (size_t i = 0; status == BK_OK && i < st->logs.n; i++) {
		log = &st->logs.items[i];
		if (logs_add(st->s->logs, log->dir, log->low, log->bytes) == -1)
			return (fail_errno(st, log->dir));
		if (!is_covered(st, log))
			status = rebuild(st, log);
	}
	if (st->nfiles > 0)
		qsort(st->files, st->nfiles, sizeof(struct index *),
		    index_newest_first);
	return (status);
}

/* Ledgers. */

static enum bk_status
load_states(struct start *st, const struct index *ix, bool *seen_all)
{
	struct index_cursor *c = index_cursor_new(ix, INDEX_STATES);
	struct ledger_state state;
	struct bk_bytes encoded;
	int r = -1;

	while (
	    c != NULL && (r = index_cursor_state(c, &state, &encoded)) == 1) {
		if (state.ledger_id == STATE_ALL ?
			*seen_all :
			ledgers_find(st->s->ledgers, state.ledger_id) != NULL)
			continue;
		*seen_all = *seen_all || state.ledger_id == STATE_ALL;
		if (store_take_state(st->s, &state) == -1) {
			r = -1;
			break;
		}
	}
	index_cursor_free(c);
	return (r == 0 ? BK_OK : fail_errno(st, index_dir(ix)));
}

/* One extent that the ledger has. */
static int
load_record(struct start *st, const struct record *record)
{
	struct store *s = st->s;
	struct ledger *l = ledgers_find(s->ledgers, record->ledger_id);

	if (l == NULL) {
		/* Its state was lost, and its key with it. */
		l = ledgers_add(s->ledgers, record->ledger_id);
		if (l == NULL)
			return (-1);
	}
	if (l->gone || record->log < store_floor(s, l))
		return (0);
	if (!logs_has(s->logs, record->log)) {
		if (!l->doubt)
			bk_log(BK_LOG_ERROR,
			    "ledger %" PRId64 ": log %08" PRIx32
			    " is missing: in doubt",
			    record->ledger_id, record->log);
		l->doubt = 1;
		return (0);
	}
	s->figures.live_bytes += record->length;
	ledgers_raise_last(s->ledgers, l, record->last);
	(void)ledgers_raise_lac(s->ledgers, l, record->lac);
	return (0);
}

static enum bk_status
load_records(struct start *st, const struct index *ix)
{
	struct index_cursor *c = index_cursor_new(ix, INDEX_RECORDS);
	struct record record;
	int r = -1;

	while (c != NULL && (r = index_cursor_record(c, &record)) == 1)
		if (load_record(st, &record) == -1) {
			r = -1;
			break;
		}
	index_cursor_free(c);
	return (r == 0 ? BK_OK : fail_errno(st, index_dir(ix)));
}

static enum bk_status
load_ledgers(struct start *st)
{
	enum bk_status status = BK_OK;
	bool seen_all = false;

	for (size_t i = 0; status == BK_OK && i < st->nfiles; i++)
		status = load_states(st, st->files[i], &seen_all);
	for (size_t i = 0; status == BK_OK && i < st->nfiles; i++)
		status = load_records(st, st->files[i]);
	if (st->is_damaged)
		st->s->doubt_all = true;
	return (status);
}

/* The number of the next log is above all there were. */
static void
set_next_log(struct start *st)
{
	uint32_t last = 0;

	for (size_t i = 0; i < st->logs.n; i++)
		if (st->logs.items[i].high > last)
			last = st->logs.items[i].high;
	for (size_t i = 0; i < st->indexes.n; i++)
		if (st->indexes.items[i].high > last)
			last = st->indexes.items[i].high;
	st->s->next_log = last + 1;
}

static enum bk_status
make_set(struct start *st)
{
	st->s->set = fileset_new(st->files, st->nfiles);
	return (st->s->set != NULL ? BK_OK : fail_errno(st, "index files"));
}

enum bk_status
store_load(struct store *s, char why[STORE_WHY])
{
	struct start st = {.s = s, .why = why};
	enum bk_status status = BK_OK;

	for (size_t i = 0; status == BK_OK && i < space_ndirs(s->space); i++)
		status = read_names(&st, space_dir(s->space, i));
	if (status == BK_OK)
		status = open_indexes(&st);
	if (status == BK_OK)
		status = cover_logs(&st);
	if (status == BK_OK)
		status = load_ledgers(&st);
	if (status == BK_OK)
		status = make_set(&st);
	set_next_log(&st);
	for (size_t i = 0; i < st.nfiles; i++)
		index_unref(st.files[i]);
	free(st.files);
	free(st.logs.items);
	free(st.indexes.items);
	return (status);
}
