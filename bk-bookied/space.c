/*
 * space.c - directories locked, disks watched.
 *
 * A directory is full when its file system is used above the high mark, or was
 * found full by a write; it is so until usage is below the low mark. Reasons
 * to look again: time.
 */
#include "bk-bookied/space.h"

#include "base/log.h"
#include "bk-bookied/disk.h"
#include "bk-bookied/names.h"
#include "env/env.h"

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
#define LOCK_TRIES 100
#define LOCK_PAUSE (20 * BK_MS)

struct place {
	const char *dir;
	int lock; /* -1: shares another's */
	dev_t device;
	bool is_full;
	bool has_ballast;
	uint64_t total, avail;
	double usage; /* 0 to 1, of what is not reserved for root */
};

struct space {
	struct bk_timer *timer;
	struct place *places; /* ledger directories first */
	size_t nplaces, nledgers;
	size_t ballast_bytes, flush_bytes;
	double high_mark, low_mark;
	size_t turn;
	bool is_readonly;
	char why[512];
	void (*looked)(void *arg);
	void *arg;
};

/* Locks. */

static void
say_in_use(int fd, const char *dir, char *why, size_t why_size)
{
	char pid[16];
	ssize_t n;

	n = disk_read(fd, pid, sizeof(pid) - 1, 0);
	pid[n > 0 ? n : 0] = '\0';
	pid[strcspn(pid, "\n")] = '\0';
	(void)snprintf(why, why_size, "%s: in use by pid %s", dir,
	    pid[0] != '\0' ? pid : "unknown");
}

static void
say_errno(const char *what, char *why, size_t why_size)
{
	(void)snprintf(why, why_size, "%s: %s", what, strerror(errno));
}

/* One who was killed just now may hold it until its memory is given back. */
static int
lock_patiently(int fd)
{
	struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
	struct timespec pause = {.tv_nsec = LOCK_PAUSE};
	int tries = LOCK_TRIES;

	while (fcntl(fd, F_OFD_SETLK, &lock) == -1) {
		if ((errno != EAGAIN && errno != EACCES) || --tries == 0)
			return (-1);
		(void)nanosleep(&pause, NULL);
	}
	return (0);
}

/* The lock goes with the open file, so it ends with the process. */
static enum bk_status
take_lock(struct place *p, char *why, size_t why_size)
{
	char path[PATH_MAX], pid[16];
	int n;

	if (disk_path(path, p->dir, NAME_LOCK) == -1 ||
	    (p->lock = disk_open(path, O_RDWR | O_CREAT, 0600)) == -1) {
		say_errno(p->dir, why, why_size);
		return (BK_ESYS);
	}
	if (lock_patiently(p->lock) == -1) {
		if (errno == EAGAIN || errno == EACCES) {
			say_in_use(p->lock, p->dir, why, why_size);
			return (BK_ECONFIG);
		}
		say_errno(path, why, why_size);
		return (BK_ESYS);
	}
	n = snprintf(pid, sizeof(pid), "%ld\n", (long)getpid());
	/* On a full disk the text may be missing; the lock holds. */
	if (ftruncate(p->lock, 0) == 0)
		(void)disk_write(p->lock, pid, (size_t)n, 0);
	return (BK_OK);
}

static bool
is_same_dir(const struct place *a, const struct place *b)
{
	struct stat x, y;

	return (stat(a->dir, &x) == 0 && stat(b->dir, &y) == 0 &&
	    x.st_dev == y.st_dev && x.st_ino == y.st_ino);
}

static enum bk_status
open_place(struct space *sp, struct place *p, char *why, size_t why_size)
{
	struct stat st;

	if ((mkdir(p->dir, 0700) == -1 && errno != EEXIST) ||
	    stat(p->dir, &st) == -1) {
		say_errno(p->dir, why, why_size);
		return (BK_ESYS);
	}
	p->device = st.st_dev;
	for (struct place *q = sp->places; q < p; q++)
		if (is_same_dir(p, q))
			return (BK_OK);
	return (take_lock(p, why, why_size));
}

/* Usage. */

static int
look_at(struct place *p)
{
	struct statvfs v;
	uint64_t used;

	if (statvfs(p->dir, &v) == -1)
		return (-1);
	used = (uint64_t)(v.f_blocks - v.f_bfree) * v.f_frsize;
	p->total = (uint64_t)v.f_blocks * v.f_frsize;
	p->avail = (uint64_t)v.f_bavail * v.f_frsize;
	p->usage =
	    used + p->avail == 0 ? 0 : (double)used / (double)(used + p->avail);
	return (0);
}

static void
drop_ballast(struct place *p)
{
	if (!p->has_ballast)
		return;
	p->has_ballast = false;
	if (disk_remove(p->dir, NAME_BALLAST) == -1)
		bk_log(BK_LOG_WARNING, "%s/%s: not removed: %s", p->dir,
		    NAME_BALLAST, strerror(errno));
	else
		bk_log(BK_LOG_WARNING, "%s: disk full, ballast given up",
		    p->dir);
}

/* Without ballast things still work, but a full disk is met with less. */
static void
make_ballast(const struct space *sp, struct place *p)
{
	char path[PATH_MAX];
	int fd, error;

	if (p->has_ballast || sp->ballast_bytes == 0 ||
	    p->avail < 2 * sp->ballast_bytes ||
	    disk_path(path, p->dir, NAME_BALLAST) == -1)
		return;
	fd = disk_open(path, O_WRONLY | O_CREAT, 0600);
	if (fd == -1)
		return;
	error = posix_fallocate(fd, 0, (off_t)sp->ballast_bytes);
	if (error == 0)
		p->has_ballast = true;
	else
		(void)unlink(path);
	disk_close(fd);
}

static void
update_full(struct space *sp, struct place *p)
{
	if (look_at(p) == -1)
		return;
	if (p->usage >= sp->high_mark)
		p->is_full = true;
	else if (p->usage < sp->low_mark && p->avail > sp->flush_bytes)
		p->is_full = false;
	if (!p->is_full)
		make_ballast(sp, p);
}

/* Read-only when every directory is full. */
static void
update_mode(struct space *sp)
{
	const struct place *last = &sp->places[sp->nledgers - 1];
	bool is_readonly = true;

	for (size_t i = 0; i < sp->nledgers; i++)
		is_readonly = is_readonly && sp->places[i].is_full;
	if (is_readonly == sp->is_readonly)
		return;
	sp->is_readonly = is_readonly;
	if (is_readonly)
		(void)snprintf(sp->why, sizeof(sp->why),
		    "%s: disk %.1f %% used, writable again below %.1f %%",
		    last->dir, last->usage * 100, sp->low_mark * 100);
	else
		(void)snprintf(sp->why, sizeof(sp->why),
		    "%s: room again, disk %.1f %% used", last->dir,
		    last->usage * 100);
}

static void
look(void *arg)
{
	struct space *sp = arg;

	for (size_t i = 0; i < sp->nledgers; i++)
		update_full(sp, &sp->places[i]);
	update_mode(sp);
	bk_timer_set(sp->timer, LOOK_EVERY);
	sp->looked(sp->arg);
}

static enum bk_status
open_places(struct space *sp, const struct space_config *c, char *why,
    size_t why_size)
{
	enum bk_status status = BK_OK;
	struct place *p;

	for (size_t i = 0; status == BK_OK && i < sp->nplaces; i++) {
		p = &sp->places[i];
		p->dir = i < sp->nledgers ? c->ledger_dirs[i] :
					    c->journal_dirs[i - sp->nledgers];
		p->lock = -1;
		status = open_place(sp, p, why, why_size);
	}
	return (status);
}

enum bk_status
space_open(struct bk_loop *loop, const struct space_config *c,
    void (*looked)(void *arg), void *arg, struct space **space, char *why,
    size_t why_size)
{
	struct space *sp = calloc(1, sizeof(*sp));
	enum bk_status status = BK_ENOMEM;

	(void)snprintf(why, why_size, "out of memory");
	if (sp == NULL)
		return (BK_ENOMEM);
	sp->nledgers = c->nledger_dirs;
	sp->nplaces = c->nledger_dirs + c->njournal_dirs;
	sp->places = calloc(sp->nplaces, sizeof(*sp->places));
	sp->timer = bk_timer_new(loop, look, sp);
	sp->ballast_bytes = c->ballast_bytes;
	sp->flush_bytes = c->flush_bytes;
	sp->high_mark = c->high_mark;
	sp->low_mark = c->low_mark;
	sp->looked = looked;
	sp->arg = arg;
	if (sp->places != NULL && sp->timer != NULL)
		status = open_places(sp, c, why, why_size);
	else
		sp->nplaces = 0;
	if (status != BK_OK) {
		space_close(sp);
		return (status);
	}
	look(sp);
	*space = sp;
	return (BK_OK);
}

void
space_close(struct space *sp)
{
	if (sp == NULL)
		return;
	for (size_t i = 0; i < sp->nplaces; i++)
		if (sp->places[i].dir != NULL)
			disk_close(sp->places[i].lock);
	bk_timer_free(sp->timer);
	free(sp->places);
	free(sp);
}

size_t
space_ndirs(const struct space *sp)
{
	return (sp->nledgers);
}

const char *
space_dir(const struct space *sp, size_t i)
{
	return (sp->places[i].dir);
}

const char *
space_choose(struct space *sp)
{
	const struct place *best = &sp->places[0];
	const struct place *p;

	for (size_t i = 0; i < sp->nledgers; i++) {
		p = &sp->places[(sp->turn + i) % sp->nledgers];
		if (!p->is_full) {
			sp->turn += i + 1;
			return (p->dir);
		}
		if (p->avail > best->avail)
			best = p;
	}
	return (best->dir);
}

void
space_full(struct space *sp, const char *dir)
{
	for (size_t i = 0; i < sp->nledgers; i++) {
		if (strcmp(sp->places[i].dir, dir) != 0)
			continue;
		drop_ballast(&sp->places[i]);
		(void)look_at(&sp->places[i]);
		sp->places[i].is_full = true;
	}
	update_mode(sp);
	sp->looked(sp->arg);
}

bool
space_readonly(const struct space *sp)
{
	return (sp->is_readonly);
}

const char *
space_why(const struct space *sp)
{
	return (sp->why);
}

bool
space_for_urgent(const struct space *sp)
{
	for (size_t i = 0; i < sp->nledgers; i++)
		if (sp->places[i].avail > sp->flush_bytes ||
		    sp->places[i].has_ballast)
			return (true);
	return (false);
}

int
space_usage(const struct space *sp, int64_t *total, int64_t *free_bytes)
{
	struct place p;
	bool seen;

	*total = *free_bytes = 0;
	for (size_t i = 0; i < sp->nledgers; i++) {
		seen = false;
		for (size_t j = 0; j < i; j++)
			seen = seen ||
			    sp->places[j].device == sp->places[i].device;
		if (seen)
			continue;
		p = sp->places[i];
		if (look_at(&p) == -1)
			return (-1);
		*total += (int64_t)p.total;
		*free_bytes += (int64_t)p.avail;
	}
	return (0);
}
