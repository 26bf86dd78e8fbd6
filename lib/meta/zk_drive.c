/*
 * zk_drive.c - ZooKeeper's C client in our loop.
 *
 * A turn: tell the client what happened at its socket until it has taken all,
 * then ask it what it waits for. Both may call us, and whoever we call may
 * close the store; so whatever ends the client waits until it has returned.
 */
#include "meta/meta_zk.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#define MESSAGES_A_TURN 1000
#define INTEREST_TRIES 3
#define RETRY (20 * BK_MS)

static void drive(struct meta_zk *m, int events);

bool
bk_zk_usable(const struct meta_zk *m)
{
	return (
	    !m->q.closed && !m->expired && m->failed == BK_OK && m->zh != NULL);
}

/* The socket. The client closes it when it likes, and a new one often gets the
 * same number; so the loop watches a duplicate, which is ours. */

void
bk_zk_forget_fd(struct meta_zk *m)
{
	if (m->fd == NULL)
		return;
	bk_fd_free(m->fd);
	(void)close(m->dup);
	m->fd = NULL;
}

static void
fd_ready(void *arg, int fd, int what)
{
	struct meta_zk *m = arg;

	(void)fd;
	drive(m, what == BK_READABLE ? ZOOKEEPER_READ : ZOOKEEPER_WRITE);
}

static void
begin_fd(struct meta_zk *m, int fd, ino_t ino, int want)
{
	(void)fcntl(fd, F_SETFD, FD_CLOEXEC);
	m->ino = ino;
	m->dup = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	if (m->dup != -1)
		m->fd = bk_fd_new(m->q.loop, m->dup, want, fd_ready, m);
	if (m->fd != NULL)
		return;
	if (m->dup != -1)
		(void)close(m->dup);
	bk_timer_set(m->timer, RETRY);
}

static void
watch_fd(struct meta_zk *m, int fd, int what)
{
	struct stat st;
	int want = 0;

	want |= (what & ZOOKEEPER_READ) != 0 ? BK_READABLE : 0;
	want |= (what & ZOOKEEPER_WRITE) != 0 ? BK_WRITABLE : 0;
	if (fd == -1 || fstat(fd, &st) == -1) {
		bk_zk_forget_fd(m);
	} else if (m->fd != NULL && m->ino == st.st_ino) {
		bk_fd_want(m->fd, want);
	} else {
		bk_zk_forget_fd(m);
		begin_fd(m, fd, st.st_ino, want);
	}
}

/* A turn. */

static void
process(struct meta_zk *m, int events)
{
	int rc, n = 0;
	bool heard = false;

	do {
		rc = zookeeper_process(m->zh, events);
		heard |= rc == ZOK && (events & ZOOKEEPER_READ) != 0;
	} while (rc == ZOK && bk_zk_usable(m) &&
	    (events & ZOOKEEPER_READ) != 0 && ++n < MESSAGES_A_TURN);
	if (heard)
		m->heard = bk_clock_now();
	if (rc != ZOK && rc != ZNOTHING && bk_zk_usable(m))
		bk_zk_ask_why(m);
}

/* After a slow turn the client would give up a connection whose answer has
 * long been there: let it read first. */
static bool
has_input(const struct meta_zk *m)
{
	struct pollfd p = {m->dup, POLLIN, 0};

	return (m->fd != NULL && m->connected &&
	    bk_clock_now() - m->turned > m->lease / 6 && poll(&p, 1, 0) > 0);
}

/* When it fails, what it stores means nothing. */
static void
interest(struct meta_zk *m)
{
	struct timeval tv = {0, 0};
	int fd, what;

	for (int i = 0; i < INTEREST_TRIES; i++) {
		if (zookeeper_interest(m->zh, &fd, &what, &tv) == ZOK) {
			if (!bk_zk_usable(m))
				return;
			bk_timer_set(m->timer,
			    tv.tv_sec * BK_SECOND + tv.tv_usec * 1000);
			watch_fd(m, fd, what);
			return;
		}
		if (!bk_zk_usable(m))
			return;
		if (is_unrecoverable(m->zh)) {
			m->expired = true;
			return;
		}
		bk_zk_ask_why(m);
	}
	bk_zk_forget_fd(m);
	bk_timer_set(m->timer, RETRY);
}

static void
drive(struct meta_zk *m, int events)
{
	m->scheduled = false;
	if (!bk_zk_usable(m) || m->in_client > 0)
		return;
	bk_meta_enter(&m->q);
	m->in_client++;
	bk_zk_pump(m);
	if (has_input(m))
		events |= ZOOKEEPER_READ;
	if (bk_zk_usable(m) && events != 0)
		process(m, events);
	if (bk_zk_usable(m))
		interest(m);
	m->turned = bk_clock_now();
	m->in_client--;
	if (bk_zk_usable(m))
		bk_zk_follow(m);
	if (m->serving &&
	    (!STAILQ_EMPTY(&m->q.calls) || !STAILQ_EMPTY(&m->again)) &&
	    m->outstanding < BK_ZK_OUTSTANDING)
		bk_zk_schedule(m);
	if (!m->q.closed && m->failed == BK_OK && m->expired)
		bk_zk_renew(m);
	bk_meta_leave(&m->q);
}

void
bk_zk_drive_timer(void *arg)
{
	drive(arg, 0);
}

void
bk_zk_schedule(struct meta_zk *m)
{
	if (m->failed != BK_OK)
		bk_timer_set(m->tick, 0);
	if (m->q.closed || m->scheduled || m->zh == NULL)
		return;
	m->scheduled = bk_loop_later(m->q.loop, bk_zk_drive_timer, m) == 0;
	if (!m->scheduled)
		bk_timer_set(m->timer, 0);
}

void
bk_zk_unschedule(struct meta_zk *m)
{
	bk_loop_later_cancel(m->q.loop, bk_zk_drive_timer, m);
	bk_zk_forget_fd(m);
}
