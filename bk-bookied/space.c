/* space.c - locks, marks, ballast. */
#include "bk-bookied/space.h"

#include "bk-bookied/disk.h"
#include "bk-bookied/names.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

#define LOOK_EVERY (2 * BK_SECOND)
#define DIRS_MAX 64
#define LOCK_TRIES 100
#define LOCK_PAUSE (20 * BK_MS)
/* Urgent entries are taken while this much is usable somewhere. */
#define URGENT_BYTES ((uint64_t)1024 * 1024)

struct place {
	const char *dir;
	int lock;
	dev_t device;
	bool has_ballast;
	bool is_full; /* above the high mark, not yet below the low one */
	uint64_t usable;
};

struct space {
	struct space_config config;
	struct place place[DIRS_MAX];
	size_t n;
	bool full;
	char why[256];
	struct bk_timer *look;
	void (*changed)(void *arg);
	void *arg;
};

static void
say_holder(int fd, const char *dir, char *why, size_t len)
{
	char pid[24] = "";
	ssize_t n = pread(fd, pid, sizeof(pid) - 1, 0);

	if (n > 0)
		pid[strcspn(pid, "\n")] = '\0';
	(void)snprintf(why, len, "%s: in use by pid %s", dir,
	    pid[0] != '\0' ? pid : "?");
}

/* An OFD lock: it goes with the process, whatever else opens the file. One that
 * was killed just now may still hold it while its memory is given back. */
static int
lock_patiently(int fd)
{
	struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
	struct timespec pause = {.tv_nsec = LOCK_PAUSE};
	int tries = LOCK_TRIES;

	while (fcntl(fd, F_OFD_SETLK, &lock) == -1) {
		if (--tries == 0)
			return (-1);
		(void)nanosleep(&pause, NULL);
	}
	return (0);
}

static enum bk_status
lock_dir(struct place *p, char *why, size_t len)
{
	char path[PATH_MAX], pid[24];
	struct stat st;
	int n;

	if (disk_path(path, p->dir, NAME_LOCK) == -1 ||
	    (p->lock = disk_open(path, O_RDWR | O_CREAT, 0600)) == -1 ||
	    fstat(p->lock, &st) == -1) {
		(void)snprintf(why, len, "%s: %s", p->dir, strerror(errno));
		return (BK_ESYS);
	}
	if (lock_patiently(p->lock) == -1) {
		say_holder(p->lock, p->dir, why, len);
		return (BK_ECONFIG);
	}
	p->device = st.st_dev;
	/* Who it is, for people; the lock is what counts. */
	n = snprintf(pid, sizeof(pid), "%ld\n", (long)getpid());
	if (ftruncate(p->lock, 0) == -1 ||
	    disk_write(p->lock, pid, (size_t)n, 0) == -1)
		return (BK_OK);
	return (BK_OK);
}

static void
ballast_path(const struct place *p, char path[PATH_MAX])
{
	if (disk_path(path, p->dir, NAME_BALLAST) == -1)
		path[0] = '\0';
}

/* Take ballast where there is room for it twice over. */
static void
take_ballast(const struct space *s, struct place *p)
{
	char path[PATH_MAX];
	int fd;

	ballast_path(p, path);
	if (s->config.ballast_bytes == 0 || p->is_full ||
	    p->usable < 2 * (uint64_t)s->config.ballast_bytes)
		return;
	if ((fd = disk_open(path, O_RDWR | O_CREAT, 0600)) == -1)
		return;
	p->has_ballast =
	    posix_fallocate(fd, 0, (off_t)s->config.ballast_bytes) == 0;
	disk_close(fd);
	if (!p->has_ballast)
		(void)unlink(path);
}

static void
look_at(struct space *s, struct place *p)
{
	struct statvfs v;
	double used;

	if (statvfs(p->dir, &v) == -1)
		return;
	p->usable = (uint64_t)v.f_bavail * v.f_frsize;
	used =
	    v.f_blocks == 0 ? 0 : 1 - (double)v.f_bavail / (double)v.f_blocks;
	if (used >= s->config.high_mark)
		p->is_full = true;
	else if (used < s->config.low_mark)
		p->is_full = false;
	if (!p->has_ballast)
		take_ballast(s, p);
}

/* Full when every directory is: a flush goes to one that is not. */
static void
look(void *arg)
{
	struct space *s = arg;
	bool full = true;
	size_t i;

	for (i = 0; i < s->n; i++) {
		look_at(s, &s->place[i]);
		full = full && s->place[i].is_full;
	}
	bk_timer_set(s->look, LOOK_EVERY);
	if (full == s->full)
		return;
	s->full = full;
	if (full)
		(void)snprintf(s->why, sizeof(s->why),
		    "%s: over %.0f %% of the disk is used", s->place[0].dir,
		    s->config.high_mark * 100);
	s->changed(s->arg);
}

enum bk_status
space_open(struct bk_loop *loop, const struct space_config *config,
    void (*changed)(void *arg), void *arg, struct space **space,
    const char **why)
{
	static _Thread_local char text[PATH_MAX + 128];
	struct space *s = calloc(1, sizeof(*s));
	enum bk_status status = BK_OK;

	*why = text;
	(void)snprintf(text, sizeof(text), "out of memory");
	if (s == NULL)
		return (BK_ENOMEM);
	s->config = *config;
	s->changed = changed;
	s->arg = arg;
	s->look = bk_timer_new(loop, look, s);
	if (s->look == NULL || config->ndirs > DIRS_MAX)
		status = BK_ENOMEM;
	for (; status == BK_OK && s->n < config->ndirs; s->n++) {
		s->place[s->n].dir = config->dirs[s->n];
		s->place[s->n].lock = -1;
		status = lock_dir(&s->place[s->n], text, sizeof(text));
	}
	if (status != BK_OK) {
		space_close(s);
		return (status);
	}
	bk_timer_set(s->look, 0);
	*space = s;
	return (BK_OK);
}

void
space_close(struct space *s)
{
	size_t i;

	if (s == NULL)
		return;
	for (i = 0; i < s->n; i++)
		disk_close(s->place[i].lock);
	bk_timer_free(s->look);
	free(s);
}

bool
space_full(const struct space *s, const char **why)
{
	if (s->full && why != NULL)
		*why = s->why;
	return (s->full);
}

bool
space_urgent(const struct space *s)
{
	size_t i;

	for (i = 0; i < s->n; i++)
		if (s->place[i].usable >= URGENT_BYTES ||
		    s->place[i].has_ballast)
			return (true);
	return (false);
}

void
space_exhausted(struct space *s, const char *dir)
{
	char path[PATH_MAX];
	size_t i;

	for (i = 0; i < s->n; i++) {
		struct place *p = &s->place[i];

		if (strcmp(p->dir, dir) != 0)
			continue;
		p->is_full = true;
		ballast_path(p, path);
		if (p->has_ballast)
			(void)unlink(path);
		p->has_ballast = false;
	}
	bk_timer_set(s->look, 0);
}

int
space_sum(const struct space *s, int64_t *total, int64_t *usable)
{
	struct statvfs v;
	size_t i, k;

	*total = *usable = 0;
	for (i = 0; i < s->n; i++) {
		for (k = 0; k < i; k++)
			if (s->place[k].device == s->place[i].device)
				break;
		if (k < i)
			continue;
		if (statvfs(s->place[i].dir, &v) == -1)
			return (-1);
		*total += (int64_t)(v.f_blocks * v.f_frsize);
		*usable += (int64_t)(v.f_bavail * v.f_frsize);
	}
	return (0);
}
