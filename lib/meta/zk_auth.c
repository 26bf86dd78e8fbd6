/* zk_auth.c - reading credentials. */
#include "meta/zk_auth.h"

#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define LINE_MAX_BYTES 1024

static _Thread_local char why_text[512];

static const char *
fault(const struct stat *st, const char *line)
{
	const char *colon = strchr(line, ':');

	if (!S_ISREG(st->st_mode) && !S_ISFIFO(st->st_mode))
		return ("not a file");
	if (S_ISREG(st->st_mode) && (st->st_mode & S_IRWXO) != 0)
		return ("open to everybody; chmod o-rwx it");
	if (colon == NULL || colon == line || colon[1] == '\0')
		return ("\"user:password\" expected on its first line");
	return (NULL);
}

static ssize_t
read_line(int fd, char *line)
{
	size_t len = 0;
	ssize_t n;

	do {
		n = read(fd, line + len, LINE_MAX_BYTES - len);
		if (n > 0)
			len += (size_t)n;
	} while (n > 0 || (n == -1 && errno == EINTR));
	line[len] = '\0';
	line[strcspn(line, "\r\n")] = '\0';
	return (n);
}

char *
bk_zk_auth_read(const char *path, enum bk_status *status, const char **why)
{
	char line[LINE_MAX_BYTES + 1] = "", *auth = NULL;
	const char *wrong = NULL;
	struct stat st;
	int fd;

	*status = BK_ECONFIG;
	*why = why_text;
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd == -1 || fstat(fd, &st) == -1 || read_line(fd, line) == -1)
		wrong = strerror(errno);
	else
		wrong = fault(&st, line);
	if (fd != -1)
		(void)close(fd);
	if (wrong == NULL) {
		auth = strdup(line);
		if (auth == NULL)
			wrong = "out of memory";
	}
	sodium_memzero(line, sizeof(line));
	if (auth == NULL)
		(void)snprintf(why_text, sizeof(why_text), "%s: %s", path,
		    wrong);
	return (auth);
}

void
bk_zk_auth_free(char *auth)
{
	if (auth == NULL)
		return;
	sodium_memzero(auth, strlen(auth));
	free(auth);
}
