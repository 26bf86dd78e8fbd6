/* journal_fixture.c - a journal for tests, and what it said. */
#include "t/lib/journal_fixture.h"
#include "bk-bookied/disk.h"

#include <dirent.h>
#include <err.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SHOWN 40 /* bytes of a record that are kept */
#define LIMIT (10 * BK_SECOND)

static void
make_dirs(struct journal_fixture *f)
{
	const char *tmp = getenv("TMPDIR");
	int i;

	for (i = 0; i < FIXTURE_DIRS; i++) {
		(void)snprintf(f->dirs[i], PATH_MAX, "%s/journal.XXXXXX",
		    tmp != NULL ? tmp : "/tmp");
		if (mkdtemp(f->dirs[i]) == NULL)
			err(1, "%s", f->dirs[i]);
		f->dir_list[i] = f->dirs[i];
	}
}

static void
empty_dir(const char *dir)
{
	char path[PATH_MAX];
	struct dirent *entry;
	DIR *d = opendir(dir);

	if (d == NULL)
		err(1, "%s", dir);
	while ((entry = readdir(d)) != NULL) {
		if (entry->d_name[0] == '.')
			continue;
		if (disk_path(path, dir, entry->d_name) == 0)
			(void)unlink(path);
	}
	(void)closedir(d);
}

void
journal_fixture_init(struct journal_fixture *f)
{
	memset(f, 0, sizeof(*f));
	f->loop = bk_loop_new();
	if (f->loop == NULL)
		err(1, "loop");
	make_dirs(f);
	f->config.dirs = f->dir_list;
	f->config.ndirs = 1;
	f->config.segment_min = 64 * 1024;
	f->config.segment_max = 64 * 1024;
}

void
journal_fixture_clear(struct journal_fixture *f)
{
	int i;

	for (i = 0; i < FIXTURE_DIRS; i++)
		empty_dir(f->dirs[i]);
}

static void
forget(struct journal_fixture *f)
{
	size_t i;

	for (i = 0; i < f->nreplayed; i++)
		free(f->replayed[i]);
	free(f->replayed);
	f->replayed = NULL;
	f->nreplayed = 0;
}

void
journal_fixture_fini(struct journal_fixture *f)
{
	int i;

	(void)journal_fixture_close(f);
	forget(f);
	journal_fixture_clear(f);
	for (i = 0; i < FIXTURE_DIRS; i++)
		(void)rmdir(f->dirs[i]);
	bk_loop_free(f->loop);
}

static void
keep(struct journal_fixture *f, char *text)
{
	f->replayed =
	    realloc(f->replayed, (f->nreplayed + 1) * sizeof(*f->replayed));
	if (f->replayed == NULL)
		err(1, "replay");
	f->replayed[f->nreplayed++] = text;
}

static bool
on_record(void *arg, const struct journal_record *record)
{
	size_t len = record->bytes.len < SHOWN ? record->bytes.len : SHOWN;
	char *text;

	if (asprintf(&text, "%d:%.*s", (int)record->kind, (int)len,
		(const char *)record->bytes.data) == -1)
		err(1, "replay");
	keep(arg, text);
	return (true);
}

static void
on_synced(void *arg, uint64_t position)
{
	struct journal_fixture *f = arg;

	f->synced = position;
	f->event = true;
}

static void
on_failed(void *arg, const char *what)
{
	struct journal_fixture *f = arg;

	f->why = what;
	f->failures++;
	f->event = true;
}

static void
on_room(void *arg)
{
	struct journal_fixture *f = arg;

	f->rooms++;
	f->event = true;
}

enum bk_status
journal_fixture_open(struct journal_fixture *f)
{
	static const struct journal_events events = {on_synced, on_failed,
	    on_room};

	forget(f);
	f->synced = 0;
	f->failures = f->rooms = 0;
	f->status = journal_open(f->loop, &f->config, &events, f, on_record,
	    &f->journal, &f->found, &f->why);
	return (f->status);
}

int
journal_fixture_close(struct journal_fixture *f)
{
	int rc = journal_close(f->journal);

	f->journal = NULL;
	return (rc);
}

uint64_t
journal_fixture_put(struct journal_fixture *f, const char *text, size_t len)
{
	size_t n = strlen(text);
	uint8_t *pad = malloc(len + 1);
	struct bk_bytes pieces[2] = {{(const uint8_t *)text, n}, {pad, 0}};
	uint64_t position;
	int error;

	if (pad == NULL)
		err(1, "append");
	if (len > n) {
		memset(pad, text[n - 1], len);
		pieces[1].len = len - n;
	}
	position = journal_append(f->journal, JOURNAL_ENTRY, pieces, 2, false);
	error = errno;
	free(pad);
	errno = error;
	return (position);
}

void
journal_fixture_run(struct journal_fixture *f)
{
	f->event = false;
	(void)bk_loop_run_until(f->loop, &f->event, bk_clock_now() + LIMIT);
}

bool
journal_fixture_wait(struct journal_fixture *f, uint64_t position)
{
	int64_t end = bk_clock_now() + LIMIT;

	journal_turn_end(f->journal);
	while (f->synced < position && f->failures == 0 && bk_clock_now() < end)
		journal_fixture_run(f);
	return (f->synced >= position && f->failures == 0);
}

uint64_t
journal_fixture_add(struct journal_fixture *f, const char *text, size_t len)
{
	uint64_t position = journal_fixture_put(f, text, len);

	while (position == 0 && errno == EAGAIN) {
		journal_turn_end(f->journal);
		journal_fixture_run(f);
		position = journal_fixture_put(f, text, len);
	}
	if (position != 0)
		(void)journal_fixture_wait(f, position);
	return (position);
}

void
journal_fixture_segments(struct journal_fixture *f, size_t dir,
    struct segment_list *list)
{
	char why[SEGMENT_WHY];

	TAILQ_INIT(list);
	if (segment_scan(f->dirs[dir], list, why) != BK_OK)
		errx(1, "%s", why);
}

static bool
find_in(const struct segment *s, uint64_t number, uint64_t *offset, size_t *len)
{
	static uint8_t bytes[BATCH_MAX];
	struct batch_found found;

	for (*offset = SEGMENT_BEGIN; *offset < s->size;
	     *offset += BATCH_BLOCK) {
		struct batch_place place = {.epoch = s->epoch,
		    .offset = *offset,
		    .key = s->key};
		ssize_t n = disk_read(s->fd, bytes, sizeof(bytes), *offset);

		if (n < BATCH_BLOCK ||
		    batch_check(bytes, (size_t)n, &place, &found) !=
			BATCH_VALID ||
		    found.number != number)
			continue;
		*len = batch_padded(found.len);
		return (true);
	}
	return (false);
}

bool
journal_fixture_find(struct journal_fixture *f, uint64_t number,
    char path[PATH_MAX], uint64_t *offset, size_t *len)
{
	struct segment_list list;
	struct segment *s;
	char name[SEGMENT_NAME];
	bool found = false;
	size_t i;

	for (i = 0; i < f->config.ndirs && !found; i++) {
		journal_fixture_segments(f, i, &list);
		TAILQ_FOREACH(s, &list, link) {
			found = s->state == SEGMENT_USED &&
			    find_in(s, number, offset, len);
			if (!found)
				continue;
			segment_name(s->epoch, name);
			(void)disk_path(path, s->dir, name);
			break;
		}
		segment_list_free(&list);
	}
	return (found);
}
