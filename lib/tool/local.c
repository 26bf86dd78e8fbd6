/* local.c - the state directory and its lock. */
#include "tool/local.h"

#include "base/log.h"
#include "loop/addr.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define LOCK_PATIENCE (10 * BK_SECOND)
#define LOCK_PAUSE (5 * BK_MS)

char *
bk_local_dir(void)
{
	const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
	char *dir = NULL;
	int n;

	/* The specification of these variables has relative ones ignored. */
	if (state != NULL && *state == '/')
		n = asprintf(&dir, "%s/bk", state);
	else if (geteuid() == 0)
		n = asprintf(&dir, "/var/lib/bk");
	else if (home != NULL && *home == '/')
		n = asprintf(&dir, "%s/.local/state/bk", home);
	else {
		errno = 0;
		return (NULL);
	}
	return (n == -1 ? NULL : dir);
}

static enum bk_status
no_dir(const char *dir, const char *why)
{
	bk_log(BK_LOG_ERROR,
	    "state directory%s%s: %s; set XDG_STATE_HOME, or name a cluster "
	    "in BK_CLUSTER",
	    *dir != '\0' ? " " : "", dir, why);
	return (BK_ECONFIG);
}

/* Make the directory, and those above it with the usual modes. */
static int
make_dir(struct bk_local *l)
{
	for (char *p = l->dir + 1; *p != '\0'; p++) {
		if (*p != '/')
			continue;
		*p = '\0';
		if (mkdir(l->dir, 0755) == -1 && errno != EEXIST) {
			*p = '/';
			return (-1);
		}
		*p = '/';
	}
	l->is_new = mkdir(l->dir, 0700) == 0;
	return (l->is_new || errno == EEXIST ? 0 : -1);
}

static enum bk_status
check_dir(struct bk_local *l, bool make)
{
	struct stat st;

	if (stat(l->dir, &st) == -1 && errno == ENOENT) {
		if (!make)
			return (BK_ENONODE);
		if (make_dir(l) == -1)
			return (no_dir(l->dir, strerror(errno)));
	}
	if (stat(l->dir, &st) == -1)
		return (no_dir(l->dir, strerror(errno)));
	if (st.st_uid == geteuid())
		return (BK_OK);
	bk_log(BK_LOG_ERROR, "state directory %s: belongs to user %lu", l->dir,
	    (unsigned long)st.st_uid);
	return (BK_EACCESS);
}

/* Wait for the shared lock: whoever starts or ends bookies does that within
 * seconds. */
static enum bk_status
take_lock(struct bk_local *l)
{
	const struct timespec pause = {0, LOCK_PAUSE};
	int64_t end = bk_clock_now() + LOCK_PATIENCE;
	char path[PATH_MAX];

	(void)snprintf(path, sizeof(path), "%s/start.lock", l->dir);
	l->lock = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (l->lock == -1)
		return (no_dir(l->dir, strerror(errno)));
	while (flock(l->lock, LOCK_SH | LOCK_NB) == -1) {
		if (errno != EWOULDBLOCK && errno != EINTR)
			return (no_dir(l->dir, strerror(errno)));
		if (bk_clock_now() > end) {
			bk_log(BK_LOG_ERROR, "%s: held by another process",
			    path);
			return (BK_EHELD);
		}
		(void)nanosleep(&pause, NULL);
	}
	return (BK_OK);
}

enum bk_status
bk_local_open(struct bk_local *l, bool make)
{
	enum bk_status status;

	l->lock = -1;
	l->is_new = false;
	if ((l->dir = bk_local_dir()) == NULL)
		return (no_dir("",
		    errno == 0 ? "no home directory" : strerror(errno)));
	/* Room for the names below it. */
	if (strlen(l->dir) > PATH_MAX - 64)
		return (no_dir(l->dir, strerror(ENAMETOOLONG)));
	status = check_dir(l, make);
	return (status == BK_OK ? take_lock(l) : status);
}

void
bk_local_entered(struct bk_local *l)
{
	if (l->lock != -1)
		(void)flock(l->lock, LOCK_UN); /* close(2) does it at last */
}

void
bk_local_close(struct bk_local *l)
{
	if (l->dir == NULL)
		return;
	if (l->lock != -1)
		(void)close(l->lock);
	free(l->dir);
	l->dir = NULL;
}

/* A listener that is busy says EAGAIN. */
bool
bk_local_is_up(const struct bk_local *l, int number)
{
	char path[PATH_MAX];
	bool up;
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd == -1)
		return (false);
	(void)snprintf(path, sizeof(path), "%s/b%d/socket", l->dir, number);
	up = bk_unix_connect(fd, path) == 0 || errno == EAGAIN;
	(void)close(fd);
	return (up);
}
