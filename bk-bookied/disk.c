/* disk.c - disk calls that do all they were asked or say why not. */
#include "disk.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdio.h>
#include <sys/statfs.h>
#include <unistd.h>

#define FILL_STEP (1024 * 1024)

/* File systems that never overwrite, not all of them in linux/magic.h. */
#define MAGIC_ZFS 0x2fc12fc1
#define MAGIC_BCACHEFS 0xca451a4e

static disk_hook *hook;
static void *hook_arg;

void
disk_set_hook(disk_hook *fn, void *arg)
{
	hook = fn;
	hook_arg = arg;
}

/* Whether the call may be made; if not, errno says why. */
static bool
allowed(const struct disk_call *call)
{
	int error = hook != NULL ? hook(hook_arg, call) : 0;

	if (error != 0)
		errno = error;
	return (error == 0);
}

int
disk_open(const char *path, int flags, mode_t mode)
{
	struct disk_call call = {.op = DISK_OPEN, .fd = -1, .path = path};
	int fd;

	if (!allowed(&call))
		return (-1);
	do
		fd = open(path, flags | O_CLOEXEC, mode);
	while (fd == -1 && errno == EINTR);
	return (fd);
}

void
disk_close(int fd)
{
	if (fd != -1)
		(void)close(fd);
}

ssize_t
disk_read(int fd, void *data, size_t len, uint64_t offset)
{
	struct disk_call call = {.op = DISK_READ,
	    .fd = fd,
	    .len = len,
	    .offset = offset};
	size_t done = 0;

	if (!allowed(&call))
		return (-1);
	while (done < len) {
		ssize_t n = pread(fd, (uint8_t *)data + done, len - done,
		    (off_t)(offset + done));

		if (n == -1 && errno == EINTR)
			continue;
		if (n == -1)
			return (-1);
		if (n == 0)
			break;
		done += (size_t)n;
	}
	return ((ssize_t)done);
}

static int
write_all(int fd, const uint8_t *data, size_t len, uint64_t offset)
{
	while (len > 0) {
		ssize_t n = pwrite(fd, data, len, (off_t)offset);

		if (n == -1 && errno == EINTR)
			continue;
		if (n == -1)
			return (-1);
		data += n;
		len -= (size_t)n;
		offset += (uint64_t)n;
	}
	return (0);
}

int
disk_write(int fd, const void *data, size_t len, uint64_t offset)
{
	struct disk_call call = {.op = DISK_WRITE,
	    .fd = fd,
	    .data = data,
	    .len = len,
	    .offset = offset};

	return (allowed(&call) ? write_all(fd, data, len, offset) : -1);
}

int
disk_sync(int fd)
{
	struct disk_call call = {.op = DISK_SYNC, .fd = fd};

	return (allowed(&call) ? fdatasync(fd) : -1);
}

/* Blocks for the whole file first: a full disk shows before any work. */
static int
allocate(int fd, uint64_t size)
{
	if (fallocate(fd, 0, 0, (off_t)size) == 0)
		return (0);
	return (errno == EOPNOTSUPP ? 0 : -1);
}

int
disk_fill(int fd, uint64_t size, const atomic_bool *cancel)
{
	static const uint8_t zeros[FILL_STEP];
	struct disk_call call = {.op = DISK_FILL, .fd = fd, .len = size};
	uint64_t at;

	if (!allowed(&call) || allocate(fd, size) == -1)
		return (-1);
	for (at = 0; at < size; at += FILL_STEP) {
		size_t n =
		    size - at < FILL_STEP ? (size_t)(size - at) : FILL_STEP;

		if (cancel != NULL && atomic_load(cancel)) {
			errno = ECANCELED;
			return (-1);
		}
		if (write_all(fd, zeros, n, at) == -1)
			return (-1);
		/* Only paces the disk: the caller's sync is what counts. */
		(void)sync_file_range(fd, (off_t)at, (off_t)n,
		    SYNC_FILE_RANGE_WRITE | SYNC_FILE_RANGE_WAIT_AFTER);
	}
	return (0);
}

int
disk_path(char *path, const char *dir, const char *name)
{
	int n = snprintf(path, PATH_MAX, "%s/%s", dir, name);

	if (n >= 0 && n < PATH_MAX)
		return (0);
	errno = ENAMETOOLONG;
	return (-1);
}

int
disk_sync_dir(const char *dir)
{
	struct disk_call call = {.op = DISK_SYNC_DIR, .fd = -1, .path = dir};
	int fd, rc, error;

	if (!allowed(&call))
		return (-1);
	fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd == -1)
		return (-1);
	rc = fsync(fd);
	error = errno;
	(void)close(fd);
	errno = error;
	return (rc);
}

int
disk_rename(const char *dir, const char *from, const char *to)
{
	char old[PATH_MAX], new[PATH_MAX];
	struct disk_call call = {.op = DISK_RENAME,
	    .fd = -1,
	    .path = old,
	    .to = new};

	if (disk_path(old, dir, from) == -1 || disk_path(new, dir, to) == -1)
		return (-1);
	if (!allowed(&call) || rename(old, new) == -1)
		return (-1);
	return (disk_sync_dir(dir));
}

int
disk_remove(const char *dir, const char *name)
{
	char path[PATH_MAX];
	struct disk_call call = {.op = DISK_REMOVE, .fd = -1, .path = path};

	if (disk_path(path, dir, name) == -1)
		return (-1);
	if (!allowed(&call) || unlink(path) == -1)
		return (-1);
	return (disk_sync_dir(dir));
}

int
disk_overwrites(const char *dir)
{
	struct statfs fs;

	if (statfs(dir, &fs) == -1)
		return (-1);
	switch ((unsigned long)fs.f_type) {
	case BTRFS_SUPER_MAGIC:
	case F2FS_SUPER_MAGIC:
	case NILFS_SUPER_MAGIC:
	case MAGIC_ZFS:
	case MAGIC_BCACHEFS:
		return (0);
	default:
		return (1);
	}
}
