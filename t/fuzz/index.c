/*
 * index.c - any bytes as an index file: opened or refused, and if it opens,
 * walked to its end and asked for a ledger.
 */
#include "bk-bookied/index.h"
#include "bk-bookied/names.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char dir[] = "/tmp/bk-fuzz-index.XXXXXX";
static char path[PATH_MAX];

static void
remove_dir(void)
{
	(void)unlink(path);
	(void)rmdir(dir);
}

static void
begin(void)
{
	char name[NAME_SIZE];

	if (path[0] != '\0')
		return;
	if (mkdtemp(dir) == NULL)
		abort();
	name_index(name, 1, 1);
	(void)snprintf(path, sizeof(path), "%s/%s", dir, name);
	(void)atexit(remove_dir);
}

static void
walk(struct index *ix, enum index_kind kind)
{
	struct index_cursor *c = index_cursor_new(ix, kind);
	struct ledger_state state;
	struct record record;
	struct bk_bytes bytes;

	if (c == NULL)
		return;
	if (kind == INDEX_RECORDS)
		while (index_cursor_record(c, &record) == 1)
			continue;
	else
		while (index_cursor_state(c, &state, &bytes) == 1)
			continue;
	index_cursor_free(c);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct index_damage damage;
	struct records found = {0};
	struct index *ix;
	int fd;

	begin();
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (fd == -1 || write(fd, data, size) != (ssize_t)size)
		abort();
	(void)close(fd);
	if ((ix = index_open(dir, 1, 1)) == NULL)
		return (0);
	walk(ix, INDEX_RECORDS);
	walk(ix, INDEX_STATES);
	(void)index_find(ix, 1, 0, INT64_MAX, 0, true, &found, &damage);
	records_fini(&found);
	index_unref(ix);
	return (0);
}
