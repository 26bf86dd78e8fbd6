/* lmdb_session.c - who lives, and what is left of the dead. */
#include "meta/lmdb_session.h"

#include "base/log.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PREPARE_TRIES 100
#define NEW_PREFIX "new-"

void
bk_lmdb_session_init(struct bk_lmdb_session *s, const char *label)
{
	memset(s, 0, sizeof(*s));
	s->fd = -1;
	(void)snprintf(s->label, sizeof(s->label), "%s",
	    label != NULL ? label : "");
}

static void
file_name(char *name, size_t size, uint64_t id)
{
	(void)snprintf(name, size, "%016" PRIx64, id);
}

/* Locks. The open file description owns them: another descriptor of the same
 * file, in any process, can ask and does no harm. */

static int
lock_file(int fd)
{
	struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};

	return (fcntl(fd, F_OFD_SETLK, &lock));
}

/* Only a file that is missing, or surely not locked, is a dead one. */
static bool
is_dead(struct bk_lmdb *store, const char *name)
{
	struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
	bool dead;
	int fd;

	fd = openat(store->sessions_fd, name, O_RDONLY | O_CLOEXEC);
	if (fd == -1)
		return (errno == ENOENT);
	dead = fcntl(fd, F_OFD_GETLK, &lock) == 0 && lock.l_type == F_UNLCK;
	(void)close(fd);
	return (dead);
}

static bool
session_dead(struct bk_lmdb *store, uint64_t id)
{
	char name[40];

	file_name(name, sizeof(name), id);
	return (is_dead(store, name));
}

/* Beginning. */

static enum bk_status
make_file(struct bk_lmdb *store, struct bk_lmdb_session *s)
{
	static atomic_uint count;
	struct stat st;

	for (int i = 0; i < PREPARE_TRIES; i++) {
		(void)snprintf(s->name, sizeof(s->name), NEW_PREFIX "%ld-%u",
		    (long)getpid(), atomic_fetch_add(&count, 1));
		s->fd = openat(store->sessions_fd, s->name,
		    O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
		if (s->fd == -1 && errno == EEXIST)
			continue; /* left by a process of this number */
		if (s->fd == -1)
			return (bk_lmdb_status(errno));
		/* A sweep may have come before the lock. */
		if (lock_file(s->fd) == 0 && fstat(s->fd, &st) == 0 &&
		    st.st_nlink > 0)
			return (BK_OK);
		(void)close(s->fd);
		s->fd = -1;
	}
	return (BK_ESYS);
}

enum bk_status
bk_lmdb_session_prepare(struct bk_lmdb *store, struct bk_lmdb_session *s)
{
	return (s->fd != -1 ? BK_OK : make_file(store, s));
}

#define ABOUT_FIXED 16

static enum bk_status
put_about(struct bk_lmdb_txn *tx, const struct bk_lmdb_session *s)
{
	uint8_t about[ABOUT_FIXED + sizeof(s->label)];
	size_t len = strlen(s->label);

	bk_be64_put(about, tx->store->pid_namespace);
	bk_be64_put(about + 8, (uint64_t)tx->now_ms);
	memcpy(about + ABOUT_FIXED, s->label, len);
	return (bk_lmdb_session_put(tx, s->id,
	    (struct bk_bytes){about, ABOUT_FIXED + len}));
}

enum bk_status
bk_lmdb_session_begin(struct bk_lmdb_txn *tx, struct bk_lmdb_session *s)
{
	char name[sizeof(s->name)];

	if (bk_lmdb_foreign(tx))
		return (BK_ECONFIG);
	s->id = tx->state.next_session++;
	file_name(name, sizeof(name), s->id);
	if (strcmp(name, s->name) != 0) {
		if (renameat(tx->store->sessions_fd, s->name,
			tx->store->sessions_fd, name) == -1)
			return (bk_lmdb_status(errno));
		memcpy(s->name, name, sizeof(name));
	}
	return (put_about(tx, s));
}

void
bk_lmdb_session_drop(struct bk_lmdb *store, struct bk_lmdb_session *s)
{
	if (s->fd != -1) {
		(void)unlinkat(store->sessions_fd, s->name, 0);
		(void)close(s->fd);
	}
	s->fd = -1;
	s->id = 0;
}

/* Ending others. */

bool
bk_lmdb_any_dead(struct bk_lmdb_txn *tx)
{
	struct bk_bytes about;
	enum bk_status status;
	uint64_t id = 0;

	for (;;) {
		status = bk_lmdb_session_next(tx, &id, &about);
		if (status != BK_OK && status != BK_EBADMETA)
			return (false);
		if (session_dead(tx->store, id))
			return (true);
		id++;
	}
}

enum bk_status
bk_lmdb_reap(struct bk_lmdb_txn *tx)
{
	struct bk_bytes about;
	enum bk_status status;
	uint64_t id = 0;

	for (;; id++) {
		status = bk_lmdb_session_next(tx, &id, &about);
		if (status == BK_ENONODE)
			return (BK_OK);
		if (status != BK_OK && status != BK_EBADMETA)
			return (status);
		if (!session_dead(tx->store, id))
			continue;
		bk_log(BK_LOG_DEBUG, "store %s: session %" PRIu64 " is dead",
		    tx->store->dir, id);
		status = bk_lmdb_session_delete(tx, id);
		if (status != BK_OK)
			return (status);
	}
}

/* A file whose session has a record stays until that is gone. One under a
 * passing name that is not locked yet may go too: its maker tries again. */
static bool
is_litter(struct bk_lmdb_txn *tx, const char *name)
{
	struct bk_bytes about;
	enum bk_status status;
	uint64_t id;
	char *end;

	if (strncmp(name, NEW_PREFIX, strlen(NEW_PREFIX)) == 0)
		return (true);
	errno = 0;
	id = strtoull(name, &end, 16);
	if (*end != '\0' || errno != 0)
		return (false);
	status = bk_lmdb_session_get(tx, id, &about);
	return (status == BK_ENONODE);
}

void
bk_lmdb_sweep_files(struct bk_lmdb *store)
{
	struct bk_lmdb_txn tx;
	struct dirent *entry;
	DIR *dir;
	int fd;

	fd =
	    openat(store->sessions_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd == -1)
		return;
	dir = fdopendir(fd);
	if (dir == NULL) {
		(void)close(fd);
		return;
	}
	if (bk_lmdb_begin(&tx, store, false) == BK_OK) {
		while ((entry = readdir(dir)) != NULL) {
			if (entry->d_name[0] != '.' &&
			    is_litter(&tx, entry->d_name) &&
			    is_dead(store, entry->d_name))
				(void)unlinkat(store->sessions_fd,
				    entry->d_name, 0);
		}
		bk_lmdb_abort(&tx);
	}
	(void)closedir(dir);
}

bool
bk_lmdb_foreign(struct bk_lmdb_txn *tx)
{
	struct bk_bytes about;
	enum bk_status status;
	uint64_t id;

	for (id = 0;; id++) {
		status = bk_lmdb_session_next(tx, &id, &about);
		if (status != BK_OK && status != BK_EBADMETA)
			return (false);
		if (status == BK_OK && about.len >= ABOUT_FIXED &&
		    bk_be64_get(about.data) != tx->store->pid_namespace &&
		    !session_dead(tx->store, id))
			return (true);
	}
}
