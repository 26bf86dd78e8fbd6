/* addr.c - addresses as text, and Unix sockets with long paths. */
#include "loop/addr.h"

#include <bsd/stdlib.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static int
parse_port(const char *text, uint16_t *port)
{
	const char *wrong;

	if (*text == '\0' || text[strspn(text, "0123456789")] != '\0')
		return (-1);
	*port = (uint16_t)strtonum(text, 0, UINT16_MAX, &wrong);
	return (wrong == NULL ? 0 : -1);
}

int
bk_addr_split(const char *text, char *host, size_t hostlen, uint16_t *port)
{
	const char *begin = text;
	const char *end = text;
	const char *colon = strrchr(text, ':');
	size_t len;

	if (*text == '[') {
		begin = text + 1;
		end = strchr(begin, ']');
		if (end == NULL || end + 1 != colon)
			return (-1);
	} else if (colon != NULL) {
		end = colon;
		if (strchr(text, ':') != colon)
			return (-1); /* an IPv6 address needs brackets */
	}
	len = (size_t)(end - begin);
	if (len >= hostlen)
		return (-1);
	if (parse_port(colon != NULL ? colon + 1 : text, port) == -1)
		return (-1);
	memcpy(host, begin, len);
	host[len] = '\0';
	return (0);
}

/* A path too long for a socket's address is named through its folder. */

typedef int on_address(int fd, const struct sockaddr *sa, socklen_t len);

static int
with_text(int fd, const char *path, on_address *call)
{
	struct sockaddr_un sun = {.sun_family = AF_UNIX};
	size_t len = strlen(path);

	if (len == 0 || len >= sizeof(sun.sun_path)) {
		errno = len == 0 ? ENOENT : ENAMETOOLONG;
		return (-1);
	}
	memcpy(sun.sun_path, path, len + 1);
	return (call(fd, (struct sockaddr *)&sun, sizeof(sun)));
}

static int
open_folder(const char *path, const char *slash)
{
	char *folder;
	int dir;

	folder = strndup(path, (size_t)(slash - path) + 1);
	if (folder == NULL)
		return (-1);
	dir = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
	free(folder);
	return (dir);
}

static int
with_path(int fd, const char *path, on_address *call)
{
	struct sockaddr_un sun;
	char text[sizeof(sun.sun_path)];
	const char *slash = strrchr(path, '/');
	int dir;
	int n;
	int r = -1;
	int saved;

	if (strlen(path) < sizeof(sun.sun_path) || slash == NULL)
		return (with_text(fd, path, call));
	dir = open_folder(path, slash);
	if (dir == -1)
		return (-1);
	n = snprintf(text, sizeof(text), "/proc/self/fd/%d/%s", dir, slash + 1);
	if (n > 0 && (size_t)n < sizeof(text))
		r = with_text(fd, text, call);
	else
		errno = ENAMETOOLONG;
	saved = errno;
	(void)close(dir);
	errno = saved;
	return (r);
}

int
bk_unix_bind(int fd, const char *path)
{
	return (with_path(fd, path, bind));
}

int
bk_unix_connect(int fd, const char *path)
{
	return (with_path(fd, path, connect));
}
