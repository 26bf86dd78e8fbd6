/* config.c - config files: which count, their lines, includes. */
#include "tool/config.h"

#include "base/buf.h"
#include "base/log.h"
#include "tool/common.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>
#include <unistd.h>

#define FILE_MAX_BYTES (1 << 20)

/* One file being read, and what all of them share. */
struct source {
	const char *name;
	unsigned depth; /* files that include each other */
	bk_config_fn *set;
	void *arg;
	char *why;
	size_t whylen;
};

static int read_file(const struct source *s);

static int __attribute__((format(printf, 2, 3)))
refuse(const struct source *s, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(s->why, s->whylen, fmt, ap);
	va_end(ap);
	errno = EINVAL;
	return (-1);
}

static int
include(const struct source *s, const char *file, const char *where)
{
	struct source inner = *s;
	const char *slash = strrchr(s->name, '/');
	char path[PATH_MAX];
	int dir = 0;

	if (*file == '\0')
		return (refuse(s, "%s: include needs a file", where));
	if (s->depth >= BK_CONFIG_DEPTH)
		return (refuse(s, "%s: more than %d files include each other",
		    where, BK_CONFIG_DEPTH));
	if (*file != '/' && slash != NULL)
		dir = (int)(slash - s->name) + 1;
	if ((size_t)snprintf(path, sizeof(path), "%.*s%s", dir, s->name,
		file) >= sizeof(path))
		return (refuse(s, "%s: include: name too long", where));
	inner.name = path;
	inner.depth++;
	if (read_file(&inner) == -1) {
		errno = EINVAL;
		return (-1);
	}
	return (0);
}

static bool
is_blank(char c)
{
	return (c == ' ' || c == '\t' || c == '\r');
}

/* Cut off the comment and the blanks at both ends. */
static char *
strip(char *line)
{
	size_t end;

	for (char *c = line; *c != '\0'; c++)
		if (*c == '#' && (c == line || is_blank(c[-1]))) {
			*c = '\0';
			break;
		}
	while (is_blank(*line))
		line++;
	for (end = strlen(line); end > 0 && is_blank(line[end - 1]); end--)
		line[end - 1] = '\0';
	return (line);
}

static int
take_line(const struct source *s, char *line, unsigned number)
{
	char where[PATH_MAX + 16], *name = strip(line), *value;
	const char *why = "is refused";

	if (*name == '\0')
		return (0);
	(void)snprintf(where, sizeof(where), "%s:%u", s->name, number);
	value = name + strcspn(name, " \t");
	if (*value != '\0')
		*value++ = '\0';
	value += strspn(value, " \t");
	if (strcmp(name, "include") == 0)
		return (include(s, value, where));
	if (s->set(s->arg, name, value, where, &why) == -1)
		return (refuse(s, "%s: %s: %s", where, name, why));
	return (0);
}

static int
take_text(const struct source *s, const char *text, size_t len)
{
	char line[BK_CONFIG_LINE + 1];
	const char *end = text + len, *stop;
	size_t n;

	for (unsigned number = 1; text < end; text = stop + 1, number++) {
		stop = memchr(text, '\n', (size_t)(end - text));
		if (stop == NULL)
			stop = end;
		n = (size_t)(stop - text);
		if (n > BK_CONFIG_LINE)
			return (refuse(s, "%s:%u: line over %d bytes", s->name,
			    number, BK_CONFIG_LINE));
		if (memchr(text, '\0', n) != NULL)
			return (refuse(s, "%s:%u: not text", s->name, number));
		memcpy(line, text, n);
		line[n] = '\0';
		if (take_line(s, line, number) == -1)
			return (-1);
	}
	return (0);
}

/* All of a file, at most FILE_MAX_BYTES; -1 with errno. */
static int
slurp(const char *path, struct bk_buf *out)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	int error = 0;
	ssize_t n = 1;

	if (fd == -1)
		return (-1);
	while (n > 0) {
		uint8_t *room = bk_buf_reserve(out, 4096);

		n = room != NULL ? read(fd, room, 4096) : -1;
		if (n > 0)
			bk_buf_commit(out, (size_t)n);
		if (bk_buf_len(out) > FILE_MAX_BYTES) {
			n = -1;
			errno = EFBIG;
		}
	}
	if (n == -1)
		error = errno;
	(void)close(fd); /* only read from */
	errno = error;
	return (error == 0 ? 0 : -1);
}

static int
read_file(const struct source *s)
{
	struct bk_buf text;
	int error, r;

	bk_buf_init(&text);
	if (slurp(s->name, &text) == -1) {
		error = errno;
		(void)refuse(s, "%s: %s", s->name, strerror(error));
		r = -1;
	} else {
		r = take_text(s, (char *)bk_buf_head(&text), bk_buf_len(&text));
		error = errno;
	}
	bk_buf_fini(&text);
	errno = error;
	return (r);
}

int
bk_config_read(const char *path, bk_config_fn *set, void *arg, char *why,
    size_t whylen)
{
	struct source s = {path, 1, set, arg, why, whylen};

	return (read_file(&s));
}

int
bk_config_text(const char *text, size_t len, const char *name,
    bk_config_fn *set, void *arg, char *why, size_t whylen)
{
	struct source s = {name, 1, set, arg, why, whylen};

	return (take_text(&s, text, len));
}
