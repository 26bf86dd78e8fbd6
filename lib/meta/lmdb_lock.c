/*
 * lmdb_lock.c - the lock before LMDB's.
 *
 * A process stopped inside a write transaction would block every other writer
 * in LMDB's mutex, without limit and without a name. So there is a record lock
 * before it that can be tried, and whose holder the kernel names.
 */
#include "base/buf.h"
#include "loop/loop.h"
#include "meta/lmdb_store.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* A commit takes a fraction of a millisecond; so do most waits. */
#define FIRST_NAP (50 * (BK_MS / 1000))
#define LAST_NAP (2 * BK_MS)

/* Bytes of the file writer. Who wants to write takes a place in the line
 * first: without that whoever writes all the time would hardly ever let
 * anybody else come in. */
enum { WRITE_BYTE, LINE_BYTE };

static int
record_lock(int fd, off_t byte, short type)
{
	struct flock lock = {
	    .l_type = type,
	    .l_whence = SEEK_SET,
	    .l_start = byte,
	    .l_len = 1,
	};
	int r;

	do
		r = fcntl(fd, F_SETLK, &lock);
	while (r == -1 && errno == EINTR);
	return (r);
}

static void
hold_signals(sigset_t *mask)
{
	sigset_t held;

	(void)sigemptyset(&held);
	(void)sigaddset(&held, SIGTSTP);
	(void)sigaddset(&held, SIGINT);
	(void)sigaddset(&held, SIGTERM);
	(void)pthread_sigmask(SIG_BLOCK, &held, mask);
}

static bool
try_line(struct bk_lmdb *store)
{
	if (pthread_mutex_trylock(&store->mutex) != 0)
		return (false);
	if (record_lock(store->writer_fd, LINE_BYTE, F_WRLCK) == 0)
		return (true);
	(void)pthread_mutex_unlock(&store->mutex);
	return (false);
}

static bool
try_write(struct bk_lmdb *store)
{
	return (record_lock(store->writer_fd, WRITE_BYTE, F_WRLCK) == 0);
}

static void
leave_line(struct bk_lmdb *store)
{
	(void)record_lock(store->writer_fd, LINE_BYTE, F_UNLCK);
}

/* Until it is had or the deadline has passed. */
static bool
try_until(struct bk_lmdb *store, bool (*try)(struct bk_lmdb *),
    int64_t deadline)
{
	struct timespec ts = {0, 0};
	int64_t nap = FIRST_NAP;

	while (!try(store)) {
		if (bk_clock_now() >= deadline)
			return (false);
		ts.tv_nsec = nap;
		(void)nanosleep(&ts, NULL);
		nap = nap * 2 < LAST_NAP ? nap * 2 : LAST_NAP;
	}
	return (true);
}

bool
bk_lmdb_wait_lock(struct bk_lmdb *store, int64_t limit)
{
	int64_t deadline = bk_clock_now() + limit;
	sigset_t mask;
	bool had;

	hold_signals(&mask);
	if (try_until(store, try_line, deadline)) {
		had = try_until(store, try_write, deadline);
		leave_line(store);
		if (had) {
			store->mask = mask;
			return (true);
		}
		(void)pthread_mutex_unlock(&store->mutex);
	}
	(void)pthread_sigmask(SIG_SETMASK, &mask, NULL);
	return (false);
}

bool
bk_lmdb_try_lock(struct bk_lmdb *store)
{
	return (bk_lmdb_wait_lock(store, 0));
}

void
bk_lmdb_unlock(struct bk_lmdb *store)
{
	sigset_t mask = store->mask;

	(void)record_lock(store->writer_fd, WRITE_BYTE, F_UNLCK);
	(void)pthread_mutex_unlock(&store->mutex);
	(void)pthread_sigmask(SIG_SETMASK, &mask, NULL);
}

/* The letter behind the name in /proc/PID/stat. */
static char
process_state(pid_t pid)
{
	char path[64], text[512], *end;
	ssize_t n;
	int fd;

	(void)snprintf(path, sizeof(path), "/proc/%ld/stat", (long)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd == -1)
		return ('?');
	n = read(fd, text, sizeof(text) - 1);
	(void)close(fd);
	if (n <= 0)
		return ('?');
	text[n] = '\0';
	end = strrchr(text, ')');
	return (end == NULL || strlen(end) < 3 ? '?' : end[2]);
}

const char *
bk_lmdb_holder(struct bk_lmdb *store)
{
	static _Thread_local char text[64];
	/* Either byte. */
	struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
	char state;

	if (fcntl(store->writer_fd, F_GETLK, &lock) == -1 ||
	    lock.l_type == F_UNLCK)
		return ("another writer");
	state = process_state(lock.l_pid);
	(void)snprintf(text, sizeof(text), "pid %ld%s", (long)lock.l_pid,
	    state == 'T' || state == 't' ? " (stopped)" : "");
	return (text);
}

void
bk_lmdb_announce(struct bk_lmdb *store, uint64_t zxid)
{
	uint8_t bytes[8];

	bk_be64_put(bytes, zxid);
	/* A hint: who does not get it sees the change at its next look. */
	if (pwrite(store->changed_fd, bytes, sizeof(bytes), 0) == -1)
		return;
}
