/*
 * store_load.c - the start: which files there are, the table of ledgers out of
 * index files, and index files out of logs where they are missing or damaged.
 *
 * Names alone tell what there is. A file under a temporary name was never
 * finished and goes. An index file whose numbers another one covers was merged
 * into that and goes. A log that no good index file covers is read whole and
 * gets one of its own; what cannot be read puts all ledgers in doubt.
 */
#include "bk-bookied/store_internal.h"

#include "base/log.h"
#include "bk-bookied/disk.h"
#include "bk-bookied/entrylog.h"
#include "bk-bookied/names.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

struct log_file {
	const char *dir;
	uint32_t number;
	uint64_t bytes;
};

struct index_file {
	const char *dir;
	uint32_t low, high;
	struct index *index; /* NULL: damaged */
};

struct load {
	struct store *store;
	struct log_file *logs;
	size_t nlogs, logs_cap;
	struct index_file *files;
	size_t nfiles, files_cap;
	bool doubt; /* something could not be read */
	char *why;
	size_t whylen;
};

static enum bk_status
say(struct load *l, enum bk_status status, const char *dir, const char *name,
    const char *what)
{
	(void)snprintf(l->why, l->whylen, "%s/%s: %s", dir, name, what);
	return (status);
}

/* Which files there are. */

static int
add_log(struct load *l, const char *dir, const char *name, uint32_t number)
{
	struct log_file *grown;
	char path[PATH_MAX];
	struct stat st;

	if (disk_path(path, dir, name) == -1 || stat(path, &st) == -1)
		return (-1);
	if (l->nlogs == l->logs_cap) {
		l->logs_cap = l->logs_cap == 0 ? 64 : l->logs_cap * 2;
		grown = reallocarray(l->logs, l->logs_cap, sizeof(*grown));
		if (grown == NULL)
			return (-1);
		l->logs = grown;
	}
	l->logs[l->nlogs++] =
	    (struct log_file){dir, number, (uint64_t)st.st_size};
	return (0);
}

static int
add_file(struct load *l, const char *dir, uint32_t low, uint32_t high)
{
	struct index_file *grown;

	if (l->nfiles == l->files_cap) {
		l->files_cap = l->files_cap == 0 ? 64 : l->files_cap * 2;
		grown = reallocarray(l->files, l->files_cap, sizeof(*grown));
		if (grown == NULL)
			return (-1);
		l->files = grown;
	}
	l->files[l->nfiles++] = (struct index_file){dir, low, high, NULL};
	return (0);
}

static int
take_name(struct load *l, const char *dir, const char *name)
{
	uint32_t low, high;

	if (name_is_temporary(name))
		return (disk_remove(dir, name));
	if (name_is_log(name, &low))
		return (add_log(l, dir, name, low));
	if (name_is_index(name, &low, &high))
		return (add_file(l, dir, low, high));
	return (0);
}

static enum bk_status
scan_dir(struct load *l, const char *dir)
{
	DIR *d = opendir(dir);
	struct dirent *e;
	int r = 0;

	if (d == NULL)
		return (say(l, BK_ESYS, dir, "", strerror(errno)));
	while (r == 0 && (e = readdir(d)) != NULL)
		r = take_name(l, dir, e->d_name);
	(void)closedir(d);
	return (r == 0 ? BK_OK : say(l, BK_ESYS, dir, "", strerror(errno)));
}

static int
by_number(const void *a, const void *b)
{
	const struct log_file *x = a, *y = b;

	return (x->number < y->number ? -1 : x->number > y->number);
}

/* Oldest first; of those that begin together the widest first. */
static int
by_range(const void *a, const void *b)
{
	const struct index_file *x = a, *y = b;

	if (x->low != y->low)
		return (x->low < y->low ? -1 : 1);
	return (x->high > y->high ? -1 : x->high < y->high);
}

/* Index files that were merged into one that is there. */
static enum bk_status
drop_covered(struct load *l)
{
	char name[NAME_SIZE];
	size_t i, n = 0;

	for (i = 0; i < l->nfiles; i++) {
		struct index_file *f = &l->files[i];

		if (n == 0 || f->high > l->files[n - 1].high) {
			l->files[n++] = *f;
			continue;
		}
		name_index(name, f->low, f->high);
		if (disk_remove(f->dir, name) == -1)
			return (say(l, BK_ESYS, f->dir, name, strerror(errno)));
	}
	l->nfiles = n;
	return (BK_OK);
}

/* Read every page of a file: whether it is good from end to end. */
static bool
is_sound(const struct index *ix)
{
	struct index_cursor *c = index_cursor_new(ix, INDEX_RECORDS);
	struct ledger_state state;
	struct bk_bytes encoded;
	struct record record;
	int r = -1;

	while (c != NULL && (r = index_cursor_record(c, &record)) == 1)
		continue;
	index_cursor_free(c);
	if (r != 0 || (c = index_cursor_new(ix, INDEX_STATES)) == NULL)
		return (false);
	while ((r = index_cursor_state(c, &state, &encoded)) == 1)
		continue;
	index_cursor_free(c);
	return (r == 0);
}

static enum bk_status
open_file(struct load *l, struct index_file *f)
{
	char name[NAME_SIZE];

	name_index(name, f->low, f->high);
	f->index = index_open(f->dir, f->low, f->high);
	if (f->index == NULL && errno == ENOTSUP)
		return (say(l, BK_ECONFIG, f->dir, name, "of a newer version"));
	if (f->index == NULL && !lookup_is_damage(errno))
		return (say(l, BK_ESYS, f->dir, name, strerror(errno)));
	if (f->index != NULL && is_sound(f->index))
		return (BK_OK);
	bk_log(BK_LOG_ERROR, "%s/%s: damaged; made again from the logs", f->dir,
	    name);
	index_unref(f->index);
	f->index = NULL;
	return (BK_OK);
}

static const struct index_file *
file_of(const struct load *l, uint32_t number)
{
	size_t i;

	for (i = 0; i < l->nfiles; i++)
		if (number >= l->files[i].low && number <= l->files[i].high)
			return (&l->files[i]);
	return (NULL);
}

/* Rebuilding: one log into an index file of its own. */

struct rebuild {
	struct records records;
	struct bk_buf states; /* length 4 and bytes of each */
	bool failed;          /* out of memory */
};

static bool
rebuild_extent(void *arg, const struct record *record)
{
	struct rebuild *b = arg;

	b->failed = records_add(&b->records, record) == -1;
	return (!b->failed);
}

static bool
rebuild_state(void *arg, const struct ledger_state *state,
    struct bk_bytes encoded)
{
	struct rebuild *b = arg;

	(void)state;
	b->failed = bk_buf_put_u32(&b->states, (uint32_t)encoded.len) != 0 ||
	    bk_buf_put(&b->states, encoded.data, encoded.len) != 0;
	return (!b->failed);
}

static int
by_record(const void *a, const void *b)
{
	return (record_compare(a, b));
}

static int
write_rebuilt(struct rebuild *b, struct index_writer *w)
{
	struct bk_cursor c;
	size_t i;

	for (i = 0; i < b->records.n; i++)
		if (index_writer_record(w, &b->records.items[i]) == -1)
			return (-1);
	bk_cursor_init(&c, bk_buf_head(&b->states), bk_buf_len(&b->states));
	while (bk_cursor_left(&c) > 0)
		if (index_writer_state(w,
			bk_cursor_bytes(&c, bk_cursor_u32(&c))) == -1)
			return (-1);
	return (0);
}

static struct index *
index_from(struct rebuild *b, const struct log_file *log)
{
	struct index_writer *w;

	qsort(b->records.items, b->records.n, sizeof(*b->records.items),
	    by_record);
	w = index_writer_new(log->dir, log->number, log->number, 0, 0,
	    b->records.n);
	if (w == NULL)
		return (NULL);
	if (write_rebuilt(b, w) == 0)
		return (index_writer_finish(w));
	index_writer_abort(w);
	return (NULL);
}

static enum bk_status
rebuild_log(struct load *l, const struct log_file *log, struct index **out)
{
	struct rebuild b = {.failed = false};
	struct entrylog_scan scan = {rebuild_extent, rebuild_state, &b};
	char name[NAME_SIZE], path[PATH_MAX];
	uint64_t offset = 0;
	int fd, r = -1;

	name_log(name, log->number);
	bk_buf_init(&b.states);
	fd = disk_path(path, log->dir, name) == -1 ?
	    -1 :
	    disk_open(path, O_RDONLY, 0);
	if (fd != -1)
		r = entrylog_scan(fd, log->number, &scan, &offset);
	if (r == -1 && errno == ENOTSUP)
		return (
		    say(l, BK_ECONFIG, log->dir, name, "of a newer version"));
	disk_close(fd);
	if (r == -1 && !b.failed) {
		bk_log(BK_LOG_ERROR, "%s/%s: damaged from offset %llu on",
		    log->dir, name, (unsigned long long)offset);
		l->doubt = true;
	}
	*out = b.failed ? NULL : index_from(&b, log);
	records_fini(&b.records);
	bk_buf_fini(&b.states);
	return (*out == NULL ?
		say(l, BK_ENOMEM, log->dir, name, "its index cannot be made") :
		BK_OK);
}

/* Files of the set, newest first: the good ones, and one for each log that
 * none of them covers. */
static enum bk_status
make_set(struct load *l)
{
	struct index **files =
	    calloc(l->nfiles + l->nlogs + 1, sizeof(struct index *));
	enum bk_status status = files == NULL ? BK_ENOMEM : BK_OK;
	size_t i = l->nfiles, k = l->nlogs, n = 0;

	while (status == BK_OK && (i > 0 || k > 0)) {
		const struct index_file *f = i > 0 ? &l->files[i - 1] : NULL;
		const struct log_file *log = k > 0 ? &l->logs[k - 1] : NULL;

		if (f != NULL && (log == NULL || f->low > log->number)) {
			if (f->index != NULL)
				files[n++] = index_ref(f->index);
			i--;
		} else if (file_of(l, log->number) != NULL &&
		    file_of(l, log->number)->index != NULL) {
			k--;
		} else {
			status = rebuild_log(l, log, &files[n]);
			n += status == BK_OK;
			k--;
		}
	}
	if (status == BK_OK) {
		l->store->files = fileset_new(files, n);
		status = l->store->files == NULL ? BK_ENOMEM : BK_OK;
	}
	while (n > 0)
		index_unref(files[--n]);
	free(files);
	return (status);
}

/* A damaged file may have covered logs that are gone since they had no live
 * extents, and the states of ledgers with them. */
static void
doubt_missing_logs(struct load *l)
{
	uint32_t number;
	size_t i, k = 0;

	for (i = 0; i < l->nfiles; i++) {
		struct index_file *f = &l->files[i];

		if (f->index != NULL)
			continue;
		for (number = f->low; number <= f->high; number++) {
			while (k < l->nlogs && l->logs[k].number < number)
				k++;
			if (k == l->nlogs || l->logs[k].number != number)
				l->doubt = true;
		}
	}
}

/* The table of ledgers. */

static int
take_states(struct store *s, const struct index *ix)
{
	struct index_cursor *c = index_cursor_new(ix, INDEX_STATES);
	struct ledger_state state;
	struct bk_bytes encoded;
	int r = c == NULL ? -1 : 1;

	while (r == 1 && (r = index_cursor_state(c, &state, &encoded)) == 1)
		if (store_take_state(s, &state) == -1)
			r = -1;
	index_cursor_free(c);
	return (r);
}

static int
take_record(struct store *s, const struct record *record)
{
	struct ledger *l = ledgers_find(s->ledgers, record->ledger_id);

	if (l == NULL &&
	    (l = ledgers_add(s->ledgers, record->ledger_id)) == NULL)
		return (-1);
	if (record->log < store_floor(s, l))
		return (0);
	ledgers_raise_last(s->ledgers, l, record->last);
	(void)ledgers_raise_lac(s->ledgers, l, record->lac);
	return (0);
}

static int
take_records(struct store *s, const struct index *ix)
{
	struct index_cursor *c = index_cursor_new(ix, INDEX_RECORDS);
	struct record record;
	int r = c == NULL ? -1 : 1;

	while (r == 1 && (r = index_cursor_record(c, &record)) == 1)
		if (take_record(s, &record) == -1)
			r = -1;
	index_cursor_free(c);
	return (r);
}

/* States first, oldest to newest, so that floors are known for the records. */
static enum bk_status
fill_table(struct store *s, uint64_t *position)
{
	size_t i;

	for (i = s->files->n; i-- > 0;)
		if (take_states(s, s->files->files[i]) == -1)
			return (BK_ENOMEM);
	*position = 0;
	for (i = s->files->n; i-- > 0;) {
		if (take_records(s, s->files->files[i]) == -1)
			return (BK_ENOMEM);
		if (index_position(s->files->files[i]) > *position)
			*position = index_position(s->files->files[i]);
	}
	return (BK_OK);
}

static enum bk_status
find_files(struct load *l)
{
	struct store *s = l->store;
	enum bk_status status = BK_OK;
	size_t i;

	for (i = 0; status == BK_OK && i < s->config.nledger_dirs; i++)
		status = scan_dir(l, s->config.ledger_dirs[i]);
	if (status != BK_OK)
		return (status);
	if (l->nlogs > 0)
		qsort(l->logs, l->nlogs, sizeof(*l->logs), by_number);
	if (l->nfiles > 0)
		qsort(l->files, l->nfiles, sizeof(*l->files), by_range);
	if ((status = drop_covered(l)) != BK_OK)
		return (status);
	for (i = 0; status == BK_OK && i < l->nfiles; i++)
		status = open_file(l, &l->files[i]);
	for (i = 0; status == BK_OK && i < l->nlogs; i++)
		if (logs_add(s->logs, l->logs[i].dir, l->logs[i].number,
			l->logs[i].bytes) == -1)
			status = BK_ENOMEM;
	return (status);
}

/* Damaged index files are replaced by those of their logs. */
static enum bk_status
remove_damaged(struct load *l)
{
	char name[NAME_SIZE];
	size_t i;

	for (i = 0; i < l->nfiles; i++) {
		struct index_file *f = &l->files[i];

		name_index(name, f->low, f->high);
		/* One of a single log was written over by the new one. */
		if (f->index == NULL && f->low != f->high &&
		    disk_remove(f->dir, name) == -1)
			return (say(l, BK_ESYS, f->dir, name, strerror(errno)));
	}
	return (BK_OK);
}

static uint32_t
next_number(const struct load *l)
{
	uint32_t next = 1;
	size_t i;

	for (i = 0; i < l->nlogs; i++)
		if (l->logs[i].number >= next)
			next = l->logs[i].number + 1;
	for (i = 0; i < l->nfiles; i++)
		if (l->files[i].high >= next)
			next = l->files[i].high + 1;
	return (next);
}

enum bk_status
store_load(struct store *s, uint32_t *number, uint64_t *position,
    const char **why)
{
	static _Thread_local char text[PATH_MAX + 128];
	struct load l = {.store = s, .why = text, .whylen = sizeof(text)};
	enum bk_status status;
	size_t i;

	(void)snprintf(text, sizeof(text), "out of memory");
	*why = text;
	if ((status = find_files(&l)) == BK_OK) {
		doubt_missing_logs(&l);
		status = make_set(&l);
	}
	if (status == BK_OK)
		status = remove_damaged(&l);
	if (status == BK_OK)
		status = fill_table(s, position);
	s->doubt_all = s->doubt_all || l.doubt;
	*number = next_number(&l);
	for (i = 0; i < l.nfiles; i++)
		index_unref(l.files[i].index);
	free(l.files);
	free(l.logs);
	return (status);
}
