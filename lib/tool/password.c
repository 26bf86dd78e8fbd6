/* password.c - one small file, read once. */
#include "tool/password.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define CREDENTIAL "bk.password"

/* Up to max bytes of a file; -1 with errno. */
static ssize_t
read_file(const char *path, uint8_t *data, size_t max)
{
	size_t len = 0;
	ssize_t n = 0;
	int fd = open(path, O_RDONLY | O_CLOEXEC), saved;

	if (fd == -1)
		return (-1);
	while (len < max && (n = read(fd, data + len, max - len)) > 0)
		len += (size_t)n;
	saved = errno;
	(void)close(fd);
	errno = saved;
	return (n < 0 ? -1 : (ssize_t)len);
}

enum bk_status
bk_password_read(const char *path, struct bk_password *password, bool *got,
    char failed[512])
{
	static uint8_t data[BK_PASSWORD_MAX + 2];
	const char *credentials = getenv("CREDENTIALS_DIRECTORY");
	bool optional = path == NULL;
	ssize_t n;

	*got = false;
	*password = (struct bk_password){data, 0};
	if (path == NULL && credentials == NULL)
		return (BK_OK);
	if (path == NULL)
		(void)snprintf(failed, 512, "%s/" CREDENTIAL, credentials);
	else
		(void)snprintf(failed, 512, "%s", path);
	if ((n = read_file(failed, data, sizeof(data))) < 0)
		return (optional && errno == ENOENT ? BK_OK : BK_ESYS);
	if (n > 0 && data[n - 1] == '\n')
		n--;
	if (n > BK_PASSWORD_MAX)
		return (BK_ETOOBIG);
	password->len = (size_t)n;
	*got = true;
	return (BK_OK);
}
