/* local_start.c - one start of the bookies that are missing: take the lock, look
 * again, start them, wait for them. */
#include "base/log.h"
#include "tool/local.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <sysexits.h>
#include <unistd.h>

#define PATIENCE (10 * BK_SECOND)
#define LOCK_PAUSE (5 * BK_MS)
#define RETRY_PAUSE (100 * BK_MS)
#define TRIES 10 /* a predecessor may still hold the directory */

struct birth {
	struct bk_starter *starter;
	int number;
	pid_t pid;
	int report; /* -1: none under way */
	struct bk_fd *watch;
	int tries;
	int status; /* exit status it ended with, or 0 */
};

struct bk_starter {
	struct bk_loop *loop;
	struct bk_local *local;
	struct bk_timer *timer;
	int64_t deadline;
	bool locked;
	struct birth births[BK_LOCAL_BOOKIES];
	bk_done_cb *done;
	void *arg;
};

static void
end_birth(struct birth *b)
{
	if (b->report == -1)
		return;
	bk_fd_free(b->watch);
	(void)close(b->report);
	b->report = -1;
	b->watch = NULL;
}

void
bk_starter_free(struct bk_starter *st)
{
	if (st == NULL)
		return;
	for (int i = 0; i < BK_LOCAL_BOOKIES; i++)
		end_birth(&st->births[i]);
	if (st->locked)
		(void)flock(st->local->lock, LOCK_UN); /* or close does it */
	bk_timer_free(st->timer);
	free(st);
}

static void
report(const struct bk_starter *st, int up)
{
	char what[64];

	for (int i = 0; i < BK_LOCAL_BOOKIES; i++) {
		if ((up & 1 << i) != 0)
			continue;
		(void)snprintf(what, sizeof(what),
		    "did not start: exit status %d", st->births[i].status);
		bk_log(up == 0 ? BK_LOG_ERROR : BK_LOG_WARNING,
		    "bookie b%d %s; see %s/bookie.log", i + 1,
		    st->births[i].status == 0 ? "ended at once" : what,
		    st->local->dir);
	}
}

static void
finish(struct bk_starter *st)
{
	bk_done_cb *done = st->done;
	void *arg = st->arg;
	int up = 0;

	for (int i = 0; i < BK_LOCAL_BOOKIES; i++)
		if (bk_local_is_up(st->local, i + 1))
			up |= 1 << i;
	report(st, up);
	bk_starter_free(st);
	done(arg, up != 0 ? BK_OK : BK_EUNREACHABLE);
}

/* When all are up, or have been tried often enough: the end. Else once more,
 * after a pause. */
static void
settle(struct bk_starter *st)
{
	bool again = false;

	for (int i = 0; i < BK_LOCAL_BOOKIES; i++) {
		if (st->births[i].report != -1)
			return;
		again |=
		    st->births[i].status != 0 && st->births[i].tries < TRIES;
	}
	if (again && bk_clock_now() < st->deadline)
		bk_timer_set(st->timer, RETRY_PAUSE);
	else
		finish(st);
}

static void
on_report(void *arg, int fd, int what)
{
	struct birth *b = arg;
	uint8_t status = EX_OSERR;
	ssize_t n = read(fd, &status, 1);

	(void)what;
	if (n == -1 && (errno == EAGAIN || errno == EINTR))
		return;
	while (waitpid(b->pid, NULL, 0) == -1 && errno == EINTR)
		continue;
	b->status = n == 1 ? status : EX_OSERR;
	end_birth(b);
	settle(b->starter);
}

static void
give_birth(struct birth *b)
{
	struct bk_starter *st = b->starter;

	b->tries++;
	b->status = EX_OSERR;
	b->pid = bk_local_spawn(st->local->dir, b->number, &b->report);
	if (b->pid == -1) {
		bk_log(BK_LOG_WARNING, "cannot start bookie b%d: %s", b->number,
		    strerror(errno));
		b->report = -1;
		return;
	}
	b->watch = bk_fd_new(st->loop, b->report, BK_READABLE, on_report, b);
	if (b->watch == NULL) {
		(void)close(b->report);
		b->report = -1;
	}
}

static bool
take_lock(struct bk_starter *st)
{
	if (!st->locked && flock(st->local->lock, LOCK_EX | LOCK_NB) == 0)
		st->locked = true;
	return (st->locked);
}

static void
step(void *arg)
{
	struct bk_starter *st = arg;

	if (!take_lock(st)) {
		if (bk_clock_now() < st->deadline)
			bk_timer_set(st->timer, LOCK_PAUSE);
		else
			finish(st);
		return;
	}
	for (int i = 0; i < BK_LOCAL_BOOKIES; i++) {
		struct birth *b = &st->births[i];

		b->status = 0;
		if (!bk_local_is_up(st->local, b->number))
			give_birth(b);
	}
	settle(st);
}

struct bk_starter *
bk_starter_new(struct bk_loop *loop, struct bk_local *l, bk_done_cb *done,
    void *arg)
{
	struct bk_starter *st = calloc(1, sizeof(*st));

	if (st == NULL)
		return (NULL);
	st->loop = loop;
	st->local = l;
	st->done = done;
	st->arg = arg;
	st->deadline = bk_clock_now() + PATIENCE;
	for (int i = 0; i < BK_LOCAL_BOOKIES; i++) {
		st->births[i].starter = st;
		st->births[i].number = i + 1;
		st->births[i].report = -1;
	}
	if ((st->timer = bk_timer_new(loop, step, st)) == NULL) {
		free(st);
		return (NULL);
	}
	bk_timer_set(st->timer, 0);
	return (st);
}
