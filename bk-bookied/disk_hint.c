/* disk_hint.c - reads without waiting, paced write-back, read-ahead. */
#include "bk-bookied/disk_hint.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/uio.h>

ssize_t
disk_read_now(int fd, void *data, size_t len, uint64_t offset)
{
	struct iovec iov = {.iov_base = data, .iov_len = len};
	ssize_t n;

	n = preadv2(fd, &iov, 1, (off_t)offset, RWF_NOWAIT);
	/* A short count may mean the end of the file or of what is in memory;
	 * a file system without RWF_NOWAIT is asked the other way. */
	if ((n >= 0 && (size_t)n < len) || (n == -1 && errno == EOPNOTSUPP)) {
		errno = EAGAIN;
		return (-1);
	}
	return (n);
}

int
disk_push(int fd, uint64_t offset, uint64_t len)
{
	return (sync_file_range(fd, (off_t)offset, (off_t)len,
	    SYNC_FILE_RANGE_WRITE));
}

int
disk_await(int fd, uint64_t begin, uint64_t end)
{
	return (sync_file_range(fd, (off_t)begin, (off_t)(end - begin),
	    SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE |
		SYNC_FILE_RANGE_WAIT_AFTER));
}

void
disk_ahead(int fd, uint64_t offset, uint64_t len)
{
	(void)posix_fadvise(fd, (off_t)offset, (off_t)len, POSIX_FADV_WILLNEED);
}
