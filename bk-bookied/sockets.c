/* sockets.c - binding, taking over, naming. */
#include "bk-bookied/sockets.h"
#include "base/log.h"
#include "bk-bookied/options.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>
#include <unistd.h>

#define UNIX_PREFIX "unix:"
#define NAME_MAX_LEN 300

static bool
is_unix(const char *name)
{
	return (strncmp(name, UNIX_PREFIX, strlen(UNIX_PREFIX)) == 0);
}

static int
out_of_memory(void)
{
	bk_log(BK_LOG_ERROR, "out of memory");
	return (EX_OSERR);
}

/* One socket more; asked is the text it was bound by, or NULL. */
static int
add(struct sockets *s, int fd, const char *asked)
{
	char name[NAME_MAX_LEN];

	if (asked == NULL || !is_unix(asked)) {
		if (bk_listen_name(fd, name, sizeof(name)) == -1) {
			bk_log(BK_LOG_ERROR, "socket %d: %s", fd,
			    strerror(errno));
			return (EX_OSERR);
		}
		asked = name;
	}
	s->fds[s->n] = fd;
	if ((s->names[s->n] = strdup(asked)) == NULL)
		return (out_of_memory());
	s->n++;
	return (0);
}

static int
bind_one(struct sockets *s, const char *text)
{
	int fds[BK_LISTEN_MAX];
	char why[200] = "";
	size_t n, i;
	int status = 0;

	if (bk_listen_bind(text, fds, &n, why, sizeof(why)) == -1) {
		bk_log(BK_LOG_ERROR, "%s", why);
		return (errno == EINVAL ? EX_CONFIG : EX_OSERR);
	}
	for (i = 0; i < n && status == 0; i++) {
		if (s->n == BK_LISTEN_MAX) {
			bk_log(BK_LOG_ERROR, "%s: more than %d sockets", text,
			    BK_LISTEN_MAX);
			status = EX_CONFIG;
		} else
			status = add(s, fds[i], text);
	}
	for (; i < n; i++)
		(void)close(fds[i]);
	return (status);
}

static int
bind_all(struct sockets *s, const struct options *o, const char *fallback)
{
	size_t i;
	int status = 0;

	if (o->listen.n == 0)
		return (bind_one(s, fallback));
	for (i = 0; i < o->listen.n && status == 0; i++)
		status = bind_one(s, o->listen.values[i]);
	return (status);
}

static int
take_all(struct sockets *s, const struct options *o,
    const struct bk_inherited *in)
{
	size_t i;
	int status = 0;

	if (o->listen.n > 0)
		bk_log(BK_LOG_WARNING,
		    "--listen is overridden by the sockets handed in");
	for (i = 0; i < in->n && status == 0; i++)
		if (strcmp(in->names[i], "metrics") != 0 &&
		    strcmp(in->names[i], "admin") != 0)
			status = add(s, in->fds[i], NULL);
	return (status);
}

int
sockets_open(struct sockets *s, const struct options *o,
    const struct bk_inherited *in, const char *fallback)
{
	int status;

	s->n = 0;
	s->is_bound = in->how == BK_START_PLAIN;
	if (s->is_bound)
		status = bind_all(s, o, fallback);
	else
		status = take_all(s, o, in);
	if (status == 0 && s->n == 0) {
		bk_log(BK_LOG_ERROR, "no socket to serve was handed in");
		status = EX_CONFIG;
	}
	if (status != 0)
		sockets_close(s);
	return (status);
}

void
sockets_close(struct sockets *s)
{
	size_t i;

	for (i = 0; i < s->n; i++) {
		if (s->is_bound && is_unix(s->names[i]))
			(void)unlink(s->names[i] + strlen(UNIX_PREFIX));
		(void)close(s->fds[i]);
		free(s->names[i]);
	}
	s->n = 0;
}

int
sockets_tell(const struct sockets *s, const char *path)
{
	char draft[PATH_MAX];
	FILE *f;
	size_t i;
	bool written = true;

	if (snprintf(draft, sizeof(draft), "%s.new", path) >=
	    (int)sizeof(draft))
		return (EX_CONFIG);
	if ((f = fopen(draft, "we")) == NULL) {
		bk_log(BK_LOG_ERROR, "%s: %s", draft, strerror(errno));
		return (EX_CANTCREAT);
	}
	for (i = 0; i < s->n; i++)
		written = fprintf(f, "%s\n", s->names[i]) > 0 && written;
	written = fclose(f) == 0 && written;
	if (written && rename(draft, path) == 0)
		return (0);
	bk_log(BK_LOG_ERROR, "%s: %s", path, strerror(errno));
	(void)unlink(draft);
	return (EX_IOERR);
}
