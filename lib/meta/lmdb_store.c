/*
 * lmdb_store.c - opening the embedded store's directory: once a process, only
 * for its owner, only on a local file system.
 */
#include "meta/lmdb_store.h"

#include "meta/lmdb_env.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#ifndef CEPH_SUPER_MAGIC
#define CEPH_SUPER_MAGIC 0x00c36400
#endif
#define LUSTRE_MAGIC 0x0bd00bd0
#define GFS2_MAGIC 0x01161970

LIST_HEAD(bk_lmdb_list, bk_lmdb);
static struct bk_lmdb_list open_stores = LIST_HEAD_INITIALIZER(open_stores);
static pthread_mutex_t open_mutex = PTHREAD_MUTEX_INITIALIZER;

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
		return (bk_lmdb_refuse_errno(why, s->dir, ""));
	s->dev = st.st_dev;
	s->ino = st.st_ino;
	network = network_name((long)fs.f_type);
	if (network != NULL)
		return (bk_lmdb_refuse(why, BK_ECONFIG,
		    "%s: on %s file system; the embedded store needs a local "
		    "one",
		    s->dir, network));
	if (st.st_uid != geteuid())
		return (
		    bk_lmdb_refuse(why, BK_EACCESS, "%s: belongs to user %lu",
			s->dir, (unsigned long)st.st_uid));
	return (BK_OK);
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
		return (bk_lmdb_refuse_errno(why, s->dir, "sessions"));
	status = bk_lmdb_open_file(s, "sessions", O_RDONLY | O_DIRECTORY,
	    &s->sessions_fd, why);
	if (status == BK_OK)
		status =
		    bk_lmdb_open_file(s, "writer", flags, &s->writer_fd, why);
	if (status != BK_OK)
		return (status);
	status = bk_lmdb_open_file(s, "changed", O_RDWR, &s->changed_fd, why);
	if (status == BK_ENONODE && create)
		return (bk_lmdb_make(s, why));
	if (status == BK_OK)
		status = bk_lmdb_fill_lock_file(s, why);
	if (status == BK_OK)
		status = bk_lmdb_start(s, why);
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
		return (bk_lmdb_refuse_errno(why, s->dir, ""));
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
		status = bk_lmdb_check_format(s, why);
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
		return (bk_lmdb_refuse(why, BK_ENOMEM, "out of memory"));
	if (create && make_dirs(dir) == -1) {
		status = bk_lmdb_refuse_errno(why, dir, "");
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
