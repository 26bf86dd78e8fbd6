/*
 * cursor.c - the place of the last run, in a file: a line "SOURCE LEDGER
 * ENTRY" for each source, replaced by rename so that a crash leaves either the
 * old or the new one.
 */
#include "bk-read/read.h"

#include "base/log.h"
#include "tool/opt.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>
#include <unistd.h>

#define LINE_BYTES (BK_NAME_MAX + 64)

static int
fail(const char *path)
{
	bk_log(BK_LOG_ERROR, "cursor %s: %s", path, strerror(errno));
	return (EX_IOERR);
}

/* Whether the line is this source's. */
static bool
is_of(const char *line, const char *source)
{
	size_t len = strlen(source);

	return (strncmp(line, source, len) == 0 && line[len] == ' ');
}

int
cursor_read(const char *path, const char *source, struct cursor *c)
{
	char line[LINE_BYTES];
	long long ledger, entry;
	FILE *f = fopen(path, "re");
	int status = EX_OK;

	c->ledger_id = c->entry_id = -1;
	if (f == NULL)
		return (errno == ENOENT ? EX_OK : fail(path));
	while (status == EX_OK && fgets(line, sizeof(line), f) != NULL) {
		if (!is_of(line, source))
			continue;
		if (sscanf(line + strlen(source), " %lld %lld", &ledger,
			&entry) != 2 ||
		    ledger < 0 || entry < 0) {
			bk_log(BK_LOG_ERROR, "cursor %s: not a cursor", path);
			status = EX_DATAERR;
			break;
		}
		c->ledger_id = ledger;
		c->entry_id = entry;
	}
	(void)fclose(f);
	return (status);
}

/* The lines of other sources stay. */
static void
copy_others(FILE *out, const char *path, const char *source)
{
	char line[LINE_BYTES];
	FILE *in = fopen(path, "re");

	if (in == NULL)
		return;
	while (fgets(line, sizeof(line), in) != NULL)
		if (!is_of(line, source))
			(void)fputs(line, out);
	(void)fclose(in);
}

int
cursor_write(const char *path, const char *source, const struct cursor *c)
{
	char temporary[PATH_MAX];
	FILE *out;

	if (c->ledger_id < 0)
		return (EX_OK);
	if (snprintf(temporary, sizeof(temporary), "%s.new", path) >=
	    (int)sizeof(temporary)) {
		errno = ENAMETOOLONG;
		return (fail(path));
	}
	if ((out = fopen(temporary, "we")) == NULL)
		return (fail(temporary));
	copy_others(out, path, source);
	(void)fprintf(out, "%s %lld %lld\n", source, (long long)c->ledger_id,
	    (long long)c->entry_id);
	if (fflush(out) != 0 || fsync(fileno(out)) != 0) {
		(void)fclose(out);
		return (fail(temporary));
	}
	(void)fclose(out);
	return (rename(temporary, path) == 0 ? EX_OK : fail(path));
}
