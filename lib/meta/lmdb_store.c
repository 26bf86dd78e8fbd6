/*
 * lmdb_store.c - opening and making the embedded store's directory.
 *
 * Making one: directory, sessions/, writer; under the writer's lock LMDB's
 * files and the first commit (format, root node); then the directory is
 * synced, and only then does changed appear. A crash in between leaves a
 * directory without changed, and the next to come makes it anew.
 */
#include "meta/lmdb_store.h"

#include "base/log.h"
#include "loop/loop.h"
#include "meta/lmdb_tree.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/vfs.h>
#include <unistd.h>

/* Reserved, not used: nothing ever has to grow the map. */
#define MAP_SIZE ((size_t)1 << 40)
#define MAP_SIZE_MIN ((size_t)1 << 26)
/* Room for LMDB's 126 readers. */
#define LOCK_FILE_SIZE 8192
/* With less than this a failed write is a full disk. */
#define ROOM_MIN (1U << 20)
#define WRITER_PATIENCE (2 * BK_SECOND)

#ifndef CEPH_SUPER_MAGIC
#define CEPH_SUPER_MAGIC 0x00c36400
#endif
#define LUSTRE_MAGIC 0x0bd00bd0
#define GFS2_MAGIC 0x01161970

static LIST_HEAD(, bk_lmdb) open_stores = LIST_HEAD_INITIALIZER(open_stores);
static pthread_mutex_t open_mutex = PTHREAD_MUTEX_INITIALIZER;
static _Thread_local char why_text[512];

static enum bk_status __attribute__((format(printf, 3, 4)))
refuse(const char **why, enum bk_status status, const char *fmt, ...)
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

static enum bk_status
refuse_errno(const char **why, const char *dir, const char *what)
{
	int error = errno;

	return (refuse(why, errno_status(error), "%s%s%s: %s", dir,
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

/* The directory. */

static int
make_dirs(const char *dir)
{
	char *path = strdup(dir);
	int r = 0;

	if (path == NULL)
		return (-1);
	for (char *p = path + 1; r == 0 && *p != '\0'; p++) {
		if (*p != '/')
			continue;
		*p = '\0';
		if (mkdir(path, 0777) == -1 && errno != EEXIST)
			r = -1;
		*p = '/';
	}
	if (r == 0 && mkdir(path, 0700) == -1 && errno != EEXIST)
		r = -1;
	free(path);
	return (r);
}

static const char *
network_name(long type)
{
	switch ((unsigned long)type & 0xffffffffUL) {
	case NFS_SUPER_MAGIC:
		return ("NFS");
	case SMB_SUPER_MAGIC:
	case CIFS_SUPER_MAGIC:
	case SMB2_SUPER_MAGIC:
		return ("SMB");
	case V9FS_MAGIC:
		return ("9p");
	case CEPH_SUPER_MAGIC:
		return ("Ceph");
	case AFS_SUPER_MAGIC:
	case AFS_FS_MAGIC:
		return ("AFS");
	case CODA_SUPER_MAGIC:
		return ("Coda");
	case LUSTRE_MAGIC:
		return ("Lustre");
	case OCFS2_SUPER_MAGIC:
	case GFS2_MAGIC:
		return ("a cluster");
	default:
		return (NULL);
	}
}

static enum bk_status
check_dir(struct bk_lmdb *s, const char **why)
{
	const char *network;
	struct statfs fs;
	struct stat st;

	if (fstat(s->dir_fd, &st) == -1 || fstatfs(s->dir_fd, &fs) == -1)
		return (refuse_errno(why, s->dir, ""));
	s->dev = st.st_dev;
	s->ino = st.st_ino;
	network = network_name((long)fs.f_type);
	if (network != NULL)
		return (refuse(why, BK_ECONFIG,
		    "%s: on %s file system; the embedded store needs a local "
		    "one",
		    s->dir, network));
	if (st.st_uid != geteuid())
		return (refuse(why, BK_EACCESS, "%s: belongs to user %lu",
		    s->dir, (unsigned long)st.st_uid));
	return (BK_OK);
}

static enum bk_status
open_file(struct bk_lmdb *s, const char *name, int flags, int *fd,
    const char **why)
{
	*fd = openat(s->dir_fd, name, flags | O_CLOEXEC, 0600);
	return (*fd == -1 ? refuse_errno(why, s->dir, name) : BK_OK);
}

/* LMDB's environment. */

/* The lock file is written through a map: on a full disk, or on its second
 * page, a hole in it would be a SIGBUS. */
static enum bk_status
fill_lock_file(struct bk_lmdb *s, const char **why)
{
	enum bk_status status;
	struct stat st;
	int fd, error;

	status = open_file(s, "lock.mdb", O_RDWR | O_CREAT, &fd, why);
	if (status != BK_OK)
		return (status);
	error = fstat(fd, &st) == -1 ? errno : 0;
	if (error == 0 && st.st_size < LOCK_FILE_SIZE)
		error = posix_fallocate(fd, 0, LOCK_FILE_SIZE);
	(void)close(fd);
	if (error != 0) {
		errno = error;
		return (refuse_errno(why, s->dir, "lock.mdb"));
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

static enum bk_status
start_env(struct bk_lmdb *s, const char **why)
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
	return (refuse(why, rc == EAGAIN ? BK_ECONFIG : bk_lmdb_status(rc),
	    "%s: %s", s->dir, bk_lmdb_strerror(rc)));
}

/* The format. */

static enum bk_status
check_format(struct bk_lmdb *s, const char **why)
{
	uint32_t version;
	int rc;

	rc = bk_lmdb_read_format(s, &version);
	if (rc == MDB_NOTFOUND || rc == MDB_CORRUPTED)
		return (refuse(why, BK_EDAMAGE,
		    "%s: damaged: the store has lost its mark", s->dir));
	if (rc != 0)
		return (
		    refuse(why, rc == EAGAIN ? BK_ECONFIG : bk_lmdb_status(rc),
			"%s: %s", s->dir, bk_lmdb_strerror(rc)));
	if (version > BK_LMDB_FORMAT)
		return (refuse(why, BK_ECONFIG,
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
			return (refuse(why, status, "%s: %s", s->dir,
			    bk_status_text(status)));
	}
	if (fsync(s->dir_fd) == -1)
		return (refuse_errno(why, s->dir, ""));
	status = open_file(s, "changed", O_RDWR | O_CREAT, &s->changed_fd, why);
	if (status == BK_OK && fsync(s->dir_fd) == -1)
		status = refuse_errno(why, s->dir, "");
	return (status);
}

static enum bk_status
make_store(struct bk_lmdb *s, const char **why)
{
	enum bk_status status;

	if (!bk_lmdb_wait_lock(s, WRITER_PATIENCE))
		return (refuse(why, BK_EHELD, "%s: store held by %s", s->dir,
		    bk_lmdb_holder(s)));
	status = fill_lock_file(s, why);
	if (status == BK_OK)
		status = start_env(s, why);
	if (status == BK_OK)
		status = first_commit(s, why);
	bk_lmdb_unlock(s);
	return (status);
}

/* Opening. */

static uint64_t
pid_namespace(void)
{
	struct stat st;

	return (stat("/proc/self/ns/pid", &st) == 0 ? st.st_ino : 0);
}

static enum bk_status
open_files(struct bk_lmdb *s, bool create, const char **why)
{
	int flags = create ? O_RDWR | O_CREAT : O_RDWR;
	enum bk_status status;

	if (create && mkdirat(s->dir_fd, "sessions", 0700) == -1 &&
	    errno != EEXIST)
		return (refuse_errno(why, s->dir, "sessions"));
	status = open_file(s, "sessions", O_RDONLY | O_DIRECTORY,
	    &s->sessions_fd, why);
	if (status == BK_OK)
		status = open_file(s, "writer", flags, &s->writer_fd, why);
	if (status != BK_OK)
		return (status);
	status = open_file(s, "changed", O_RDWR, &s->changed_fd, why);
	if (status == BK_ENONODE && create)
		return (make_store(s, why));
	if (status == BK_OK)
		status = fill_lock_file(s, why);
	if (status == BK_OK)
		status = start_env(s, why);
	return (status);
}

static void
free_store(struct bk_lmdb *s)
{
	const int fds[] = {s->changed_fd, s->writer_fd, s->sessions_fd,
	    s->dir_fd};

	if (s->env != NULL)
		mdb_env_close(s->env);
	for (size_t i = 0; i < sizeof(fds) / sizeof(fds[0]); i++) {
		if (fds[i] != -1)
			(void)close(fds[i]);
	}
	(void)pthread_mutex_destroy(&s->mutex);
	free(s->dir);
	free(s);
}

static struct bk_lmdb *
new_store(const char *dir)
{
	struct bk_lmdb *s;

	s = calloc(1, sizeof(*s));
	if (s == NULL)
		return (NULL);
	s->dir_fd = s->sessions_fd = s->writer_fd = s->changed_fd = -1;
	(void)pthread_mutex_init(&s->mutex, NULL);
	s->pid_namespace = pid_namespace();
	s->dir = strdup(dir);
	if (s->dir == NULL) {
		free_store(s);
		return (NULL);
	}
	return (s);
}

static struct bk_lmdb *
find_open(const struct bk_lmdb *like)
{
	struct bk_lmdb *s;

	LIST_FOREACH(s, &open_stores, next) {
		if (s->dev == like->dev && s->ino == like->ino)
			return (s);
	}
	return (NULL);
}

/* Another user in this process shares what is open. */
static enum bk_status
open_or_share(struct bk_lmdb **store, bool create, const char **why)
{
	struct bk_lmdb *s = *store, *other;
	enum bk_status status;

	s->dir_fd = open(s->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (s->dir_fd == -1)
		return (refuse_errno(why, s->dir, ""));
	status = check_dir(s, why);
	if (status != BK_OK)
		return (status);
	other = find_open(s);
	if (other != NULL) {
		free_store(s);
		other->users++;
		*store = other;
		return (BK_OK);
	}
	status = open_files(s, create, why);
	if (status == BK_OK)
		status = check_format(s, why);
	if (status != BK_OK)
		return (status);
	s->users = 1;
	LIST_INSERT_HEAD(&open_stores, s, next);
	return (BK_OK);
}

enum bk_status
bk_lmdb_open(const char *dir, bool create, struct bk_lmdb **store,
    const char **why)
{
	enum bk_status status;
	struct bk_lmdb *s;

	s = new_store(dir);
	if (s == NULL)
		return (refuse(why, BK_ENOMEM, "out of memory"));
	if (create && make_dirs(dir) == -1) {
		status = refuse_errno(why, dir, "");
		free_store(s);
		return (status);
	}
	(void)pthread_mutex_lock(&open_mutex);
	status = open_or_share(&s, create, why);
	(void)pthread_mutex_unlock(&open_mutex);
	if (status != BK_OK)
		free_store(s);
	else
		*store = s;
	return (status);
}

void
bk_lmdb_close(struct bk_lmdb *store)
{
	(void)pthread_mutex_lock(&open_mutex);
	if (--store->users == 0) {
		LIST_REMOVE(store, next);
		free_store(store);
	}
	(void)pthread_mutex_unlock(&open_mutex);
}
