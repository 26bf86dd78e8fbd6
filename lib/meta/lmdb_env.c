/*
 * lmdb_env.c - LMDB's files in the embedded store's directory: opening them,
 * making them, their format, and what LMDB's errors mean.
 *
 * Making a store: under the writer's lock LMDB's files and the first commit
 * (format, root node); then the directory is synced, and only then does
 * changed appear. A crash in between leaves a directory without changed, and
 * the next to come makes it anew.
 */
#include "meta/lmdb_env.h"

#include "base/log.h"
#include "loop/loop.h"
#include "meta/lmdb_tree.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

/* Reserved, not used: nothing ever has to grow the map. */
#define MAP_SIZE ((size_t)1 << 40)
#define MAP_SIZE_MIN ((size_t)1 << 26)
/* Room for LMDB's 126 readers. */
#define LOCK_FILE_SIZE 8192
/* With less than this a failed write is a full disk. */
#define ROOM_MIN (1U << 20)
#define WRITER_PATIENCE (2 * BK_SECOND)

static _Thread_local char why_text[512];

enum bk_status
bk_lmdb_refuse(const char **why, enum bk_status status, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(why_text, sizeof(why_text), fmt, ap);
	va_end(ap);
	*why = why_text;
	return (status);
}

static enum bk_status
errno_status(int error)
{
	switch (error) {
	case ENOENT:
		return (BK_ENONODE);
	case ENOSPC:
	case EDQUOT:
	case EFBIG:
		return (BK_ENOSPACE);
	case EACCES:
	case EPERM:
	case EROFS:
		return (BK_EACCESS);
	case ENOMEM:
		return (BK_ENOMEM);
	case ENOTDIR:
	case ENAMETOOLONG:
	case ELOOP:
		return (BK_ECONFIG);
	default:
		return (BK_ESYS);
	}
}

enum bk_status
bk_lmdb_refuse_errno(const char **why, const char *dir, const char *what)
{
	int error = errno;

	return (bk_lmdb_refuse(why, errno_status(error), "%s%s%s: %s", dir,
	    what[0] == '\0' ? "" : "/", what, strerror(error)));
}

enum bk_status
bk_lmdb_status(int rc)
{
	switch (rc) {
	case 0:
		return (BK_OK);
	case MDB_NOTFOUND:
		return (BK_ENONODE);
	case MDB_MAP_FULL:
		return (BK_ENOSPACE);
	case MDB_PAGE_NOTFOUND:
	case MDB_CORRUPTED:
	case MDB_INVALID:
		return (BK_EBADMETA);
	case MDB_VERSION_MISMATCH:
		return (BK_ECONFIG);
	case MDB_PANIC:
	case EIO:
		return (BK_EIO);
	case MDB_READERS_FULL:
		return (BK_ESTORE);
	default:
		return (rc > 0 ? errno_status(rc) : BK_ESYS);
	}
}

const char *
bk_lmdb_strerror(int rc)
{
	/* The same pid number in another namespace (13.7). */
	if (rc == EAGAIN)
		return ("used from another pid namespace");
	return (mdb_strerror(rc));
}

bool
bk_lmdb_full(struct bk_lmdb *store)
{
	struct statvfs fs;

	return (fstatvfs(store->dir_fd, &fs) == 0 &&
	    fs.f_bavail * fs.f_frsize < ROOM_MIN);
}

enum bk_status
bk_lmdb_open_file(struct bk_lmdb *s, const char *name, int flags, int *fd,
    const char **why)
{
	*fd = openat(s->dir_fd, name, flags | O_CLOEXEC, 0600);
	return (*fd == -1 ? bk_lmdb_refuse_errno(why, s->dir, name) : BK_OK);
}

/* LMDB's environment. */

/* The lock file is written through a map: on a full disk, or on its second
 * page, a hole in it would be a SIGBUS. */
enum bk_status
bk_lmdb_fill_lock_file(struct bk_lmdb *s, const char **why)
{
	enum bk_status status;
	struct stat st;
	int fd, error;

	status = bk_lmdb_open_file(s, "lock.mdb", O_RDWR | O_CREAT, &fd, why);
	if (status != BK_OK)
		return (status);
	error = fstat(fd, &st) == -1 ? errno : 0;
	if (error == 0 && st.st_size < LOCK_FILE_SIZE)
		error = posix_fallocate(fd, 0, LOCK_FILE_SIZE);
	(void)close(fd);
	if (error != 0) {
		errno = error;
		return (bk_lmdb_refuse_errno(why, s->dir, "lock.mdb"));
	}
	return (BK_OK);
}

static void
assertion(MDB_env *env, const char *text)
{
	struct bk_lmdb *s = mdb_env_get_userctx(env);

	bk_log(BK_LOG_ERROR, "store %s: damaged: %s", s->dir, text);
}

/* Under a limit of address space a smaller map has to do. */
static int
open_env(struct bk_lmdb *s)
{
	int rc = ENOMEM;

	for (size_t size = MAP_SIZE; rc == ENOMEM && size >= MAP_SIZE_MIN;
	     size /= 4) {
		rc = mdb_env_create(&s->env);
		if (rc != 0)
			return (rc);
		(void)mdb_env_set_userctx(s->env, s);
		(void)mdb_env_set_assert(s->env, assertion);
		rc = mdb_env_set_mapsize(s->env, size);
		if (rc == 0)
			rc = mdb_env_open(s->env, s->dir, MDB_NOTLS, 0600);
		if (rc != 0) {
			mdb_env_close(s->env);
			s->env = NULL;
		}
	}
	return (rc);
}

enum bk_status
bk_lmdb_start(struct bk_lmdb *s, const char **why)
{
	MDB_txn *txn;
	int fd, rc;

	rc = open_env(s);
	if (rc == 0)
		rc = mdb_env_get_fd(s->env, &fd);
	if (rc == 0 && fcntl(fd, F_SETFD, FD_CLOEXEC) == -1)
		rc = errno;
	if (rc == 0)
		rc = mdb_txn_begin(s->env, NULL, MDB_RDONLY, &txn);
	if (rc == 0) {
		rc = mdb_dbi_open(txn, NULL, 0, &s->dbi);
		mdb_txn_abort(txn);
	}
	if (rc == 0)
		return (BK_OK);
	return (
	    bk_lmdb_refuse(why, rc == EAGAIN ? BK_ECONFIG : bk_lmdb_status(rc),
		"%s: %s", s->dir, bk_lmdb_strerror(rc)));
}

/* The format. */

enum bk_status
bk_lmdb_check_format(struct bk_lmdb *s, const char **why)
{
	uint32_t version;
	int rc;

	rc = bk_lmdb_read_format(s, &version);
	if (rc == MDB_NOTFOUND || rc == MDB_CORRUPTED)
		return (bk_lmdb_refuse(why, BK_EDAMAGE,
		    "%s: damaged: the store has lost its mark", s->dir));
	if (rc != 0)
		return (bk_lmdb_refuse(why,
		    rc == EAGAIN ? BK_ECONFIG : bk_lmdb_status(rc), "%s: %s",
		    s->dir, bk_lmdb_strerror(rc)));
	if (version > BK_LMDB_FORMAT)
		return (bk_lmdb_refuse(why, BK_ECONFIG,
		    "%s: has format %u, this program knows up to %d", s->dir,
		    (unsigned)version, BK_LMDB_FORMAT));
	return (BK_OK);
}

static enum bk_status
first_commit(struct bk_lmdb *s, const char **why)
{
	enum bk_status status;
	uint32_t version;
	int rc;

	rc = bk_lmdb_read_format(s, &version);
	if (rc == MDB_NOTFOUND) {
		status = bk_lmdb_format(s);
		if (status != BK_OK)
			return (bk_lmdb_refuse(why, status, "%s: %s", s->dir,
			    bk_status_text(status)));
	}
	if (fsync(s->dir_fd) == -1)
		return (bk_lmdb_refuse_errno(why, s->dir, ""));
	status = bk_lmdb_open_file(s, "changed", O_RDWR | O_CREAT,
	    &s->changed_fd, why);
	if (status == BK_OK && fsync(s->dir_fd) == -1)
		status = bk_lmdb_refuse_errno(why, s->dir, "");
	return (status);
}

enum bk_status
bk_lmdb_make(struct bk_lmdb *s, const char **why)
{
	enum bk_status status;

	if (!bk_lmdb_wait_lock(s, WRITER_PATIENCE))
		return (bk_lmdb_refuse(why, BK_EHELD, "%s: store held by %s",
		    s->dir, bk_lmdb_holder(s)));
	status = bk_lmdb_fill_lock_file(s, why);
	if (status == BK_OK)
		status = bk_lmdb_start(s, why);
	if (status == BK_OK)
		status = first_commit(s, why);
	bk_lmdb_unlock(s);
	return (status);
}
