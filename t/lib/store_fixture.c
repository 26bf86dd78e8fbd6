/* store_fixture.c - a store for tests; what cannot be set up ends the test. */
#include "t/lib/store_fixture.h"

#include "base/log.h"

#include <dirent.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define LIMIT (30 * BK_SECOND)
#define ENTRY_LEN 100
#define HEADER 32

static const uint8_t key_bytes[20] = {1, 2, 3};
const struct bk_bytes st_key = {key_bytes, sizeof(key_bytes)};

static void
die(const char *what)
{
	perror(what);
	exit(1);
}

/* Events. */

static void
on_synced(void *arg, uint64_t position)
{
	struct store_fixture *f = arg;

	f->synced = position;
}

static void
on_room(void *arg)
{
	struct store_fixture *f = arg;

	f->has_room = true;
}

static void
on_mode(void *arg, bool readonly, const char *why)
{
	struct store_fixture *f = arg;

	(void)why;
	f->is_readonly = readonly;
	f->nmodes++;
}

static void
on_failed(void *arg, const char *what)
{
	struct store_fixture *f = arg;

	(void)what;
	f->has_failed = true;
}

static void
on_moved(void *arg, int64_t ledger_id, bool fenced, bool gone)
{
	struct store_fixture *f = arg;

	f->moved = ledger_id;
	f->moved_fenced = fenced;
	f->moved_gone = gone;
}

static const struct store_events events = {
    .synced = on_synced,
    .room = on_room,
    .mode = on_mode,
    .failed = on_failed,
    .moved = on_moved,
};

static void
drop_line(void *arg, enum bk_severity severity, const char *line)
{
	(void)arg;
	(void)severity;
	if (getenv("STORE_FIXTURE_LOG") != NULL)
		fprintf(stderr, "# %s\n", line);
}

void
st_init(struct store_fixture *f, size_t nledger_dirs)
{
	const char *tmp = getenv("TMPDIR");

	*f = (struct store_fixture){.loop = bk_loop_new()};
	bk_log_to(drop_line, NULL);
	if (f->loop == NULL)
		die("loop");
	(void)snprintf(f->root, sizeof(f->root), "%s/store.XXXXXX",
	    tmp != NULL ? tmp : "/tmp");
	if (mkdtemp(f->root) == NULL)
		die(f->root);
	for (size_t i = 0; i <= nledger_dirs; i++) {
		(void)snprintf(f->paths[i], ST_PATH, "%.100s/%zu", f->root, i);
		if (mkdir(f->paths[i], 0700) == -1)
			die(f->paths[i]);
		if (i == 0)
			f->journal_dirs[0] = f->paths[0];
		else
			f->ledger_dirs[i - 1] = f->paths[i];
	}
	f->config = (struct store_config){
	    .journal_dirs = f->journal_dirs,
	    .njournal_dirs = 1,
	    .ledger_dirs = f->ledger_dirs,
	    .nledger_dirs = nledger_dirs,
	    .memtable_bytes = 8 << 20,
	    .journal_max = 4 << 20,
	    .ballast_bytes = 1 << 20,
	    .high_mark = 0.999,
	    .low_mark = 0.99,
	};
}

static int
remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	return (remove(path));
}

void
st_fini(struct store_fixture *f)
{
	st_close(f);
	bk_loop_free(f->loop);
	(void)nftw(f->root, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

enum bk_status
st_open(struct store_fixture *f)
{
	f->synced = 0;
	f->has_failed = false;
	return (store_open(f->loop, &f->config, &events, f, &f->store,
	    &f->replay, &f->why));
}

void
st_close(struct store_fixture *f)
{
	store_close(f->store);
	f->store = NULL;
}

void
st_reopen(struct store_fixture *f)
{
	st_close(f);
	if (st_open(f) != BK_OK) {
		fprintf(stderr, "open: %s\n", f->why);
		exit(1);
	}
}

/* Waiting. */

bool
st_until(struct store_fixture *f, const bool *done)
{
	return (bk_loop_run_until(f->loop, done, bk_clock_now() + LIMIT));
}

void
st_turn(struct store_fixture *f, int64_t ns)
{
	bool never = false;

	(void)bk_loop_run_until(f->loop, &never, bk_clock_now() + ns);
}

bool
st_wait(struct store_fixture *f, uint64_t position)
{
	int64_t limit = bk_clock_now() + LIMIT;

	while (f->synced < position && !f->has_failed && bk_clock_now() < limit)
		st_turn(f, BK_MS / 10);
	return (f->synced >= position);
}

/* Entries. */

size_t
st_entry(uint8_t *out, int64_t ledger_id, int64_t entry_id, int64_t lac,
    size_t len, unsigned seed)
{
	uint64_t x = (uint64_t)ledger_id * 31 + (uint64_t)entry_id + seed;

	bk_be64_put(out, (uint64_t)ledger_id);
	bk_be64_put(out + 8, (uint64_t)entry_id);
	bk_be64_put(out + 16, (uint64_t)lac);
	bk_be64_put(out + 24, len);
	for (size_t i = 0; i < len; i++) {
		x = x * UINT64_C(6364136223846793005) + 1442695040888963407;
		out[HEADER + i] = (uint8_t)(x >> 56);
	}
	return (HEADER + len);
}

bool
st_is_entry(struct bk_bytes bytes, int64_t ledger_id, int64_t entry_id,
    size_t len, unsigned seed)
{
	uint8_t *expected = malloc(HEADER + len);
	bool same;

	if (expected == NULL)
		die("entry");
	(void)st_entry(expected, ledger_id, entry_id, -1, len, seed);
	same = bytes.len == HEADER + len &&
	    memcmp(bytes.data, expected, 16) == 0 &&
	    memcmp(bytes.data + 24, expected + 24, bytes.len - 24) == 0;
	free(expected);
	return (same);
}

enum bk_status
st_add_as(struct store_fixture *f, struct store_add *add, int64_t ledger_id,
    int64_t entry_id, size_t len, unsigned seed)
{
	uint8_t *entry = malloc(HEADER + len);
	enum bk_status status;
	uint64_t position;

	if (entry == NULL)
		die("entry");
	add->entry.data = entry;
	add->entry.len =
	    st_entry(entry, ledger_id, entry_id, entry_id - 1, len, seed);
	for (;;) {
		f->has_room = false;
		status = store_add(f->store, add, &position);
		if (status != BK_ECANCELED || !st_until(f, &f->has_room))
			break;
	}
	free(entry);
	if (!st_wait(f, position))
		return (BK_ETIMEOUT);
	return (status);
}

enum bk_status
st_add(struct store_fixture *f, int64_t ledger_id, int64_t entry_id)
{
	struct store_add add = {.master_key = st_key};

	return (st_add_as(f, &add, ledger_id, entry_id, ENTRY_LEN, 0));
}

enum bk_status
st_recovery_add(struct store_fixture *f, int64_t ledger_id, int64_t entry_id)
{
	struct store_add add = {.master_key = st_key, .recovery = true};

	return (st_add_as(f, &add, ledger_id, entry_id, ENTRY_LEN, 0));
}

enum bk_status
st_fence(struct store_fixture *f, int64_t ledger_id)
{
	enum bk_status status;
	uint64_t position;

	status = store_fence(f->store, ledger_id, st_key, &position);
	return (st_wait(f, position) ? status : BK_ETIMEOUT);
}

struct reading {
	bool done;
	struct store_entry entry;
};

static void
on_read(void *arg, struct store_entry *entry)
{
	struct reading *r = arg;

	r->entry = *entry;
	r->done = true;
}

struct store_entry
st_read(struct store_fixture *f, int64_t ledger_id, int64_t entry_id)
{
	struct reading r = {.done = false};

	if (!store_read(f->store, ledger_id, entry_id, false, &r.entry, on_read,
		&r) &&
	    !st_until(f, &r.done))
		die("read does not come back");
	return (r.entry);
}

enum bk_status
st_check(struct store_fixture *f, int64_t ledger_id, int64_t entry_id)
{
	struct store_entry entry = st_read(f, ledger_id, entry_id);
	enum bk_status status = entry.status;

	if (status == BK_OK &&
	    !st_is_entry(entry.bytes, ledger_id, entry_id, ENTRY_LEN, 0))
		status = BK_EDIGEST;
	store_entry_release(&entry);
	return (status);
}

struct listing {
	bool done;
	char text[512];
};

static void
on_list(void *arg, enum bk_status status, const struct store_run *runs,
    size_t n)
{
	struct listing *l = arg;
	size_t used = 0;

	l->done = true;
	if (status != BK_OK)
		(void)snprintf(l->text, sizeof(l->text), "%s",
		    bk_status_name(status));
	for (size_t i = 0; i < n && used < sizeof(l->text) - 48; i++) {
		used += (size_t)snprintf(l->text + used, 48, "%s%lld",
		    i > 0 ? " " : "", (long long)runs[i].first);
		if (runs[i].last != runs[i].first)
			used += (size_t)snprintf(l->text + used, 24, "-%lld",
			    (long long)runs[i].last);
	}
}

const char *
st_list(struct store_fixture *f, int64_t ledger_id)
{
	static struct listing l;

	l = (struct listing){.done = false};
	store_list(f->store, ledger_id, on_list, &l);
	if (!st_until(f, &l.done))
		die("list does not come back");
	return (l.text);
}

/* Files. */

struct names {
	char path[64][2 * ST_PATH];
	size_t n;
};

static int
by_name(const void *a, const void *b)
{
	return (strcmp(strrchr(a, '/'), strrchr(b, '/')));
}

static void
find_files(const struct store_fixture *f, const char *suffix,
    struct names *names)
{
	names->n = 0;
	for (size_t i = 0; i < f->config.nledger_dirs; i++) {
		DIR *d = opendir(f->ledger_dirs[i]);
		struct dirent *e;

		while (d != NULL && (e = readdir(d)) != NULL) {
			size_t len = strlen(e->d_name);
			size_t tail = strlen(suffix);

			if (len < tail || names->n == 64 ||
			    strcmp(e->d_name + len - tail, suffix) != 0)
				continue;
			(void)snprintf(names->path[names->n++],
			    sizeof(names->path[0]), "%s/%.100s",
			    f->ledger_dirs[i], e->d_name);
		}
		if (d != NULL)
			(void)closedir(d);
	}
	qsort(names->path, names->n, sizeof(names->path[0]), by_name);
}

size_t
st_files(const struct store_fixture *f, const char *suffix)
{
	struct names names;

	find_files(f, suffix, &names);
	return (names.n);
}

bool
st_damage(const struct store_fixture *f, const char *suffix, size_t i,
    long offset)
{
	struct names names;
	uint8_t byte;
	int fd;
	bool done;

	find_files(f, suffix, &names);
	if (i >= names.n || (fd = open(names.path[i], O_RDWR)) == -1)
		return (false);
	done = pread(fd, &byte, 1, offset) == 1;
	byte ^= 0x40;
	done = done && pwrite(fd, &byte, 1, offset) == 1;
	(void)close(fd);
	return (done);
}

bool
st_remove(const struct store_fixture *f, const char *suffix, size_t i)
{
	struct names names;

	find_files(f, suffix, &names);
	return (i < names.n && unlink(names.path[i]) == 0);
}
