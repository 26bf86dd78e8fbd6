/*
 * disk_hint.h - disk calls that do not wait, or say what will be wanted. They
 * may be called from any thread.
 */
#ifndef BOOKIE_DISK_HINT_H
#define BOOKIE_DISK_HINT_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* As disk_read(), if all of it is in memory; else -1 with errno EAGAIN. */
ssize_t disk_read_now(int fd, void *data, size_t len, uint64_t offset);

/* Send what was written here to the disk, without waiting for it; and wait
 * until what was sent of the bytes before end is there. Not a sync: only so
 * that little is left for it. 0, or -1 with errno set. */
int disk_push(int fd, uint64_t offset, uint64_t len);
int disk_await(int fd, uint64_t begin, uint64_t end);

/* These bytes will be read soon. */
void disk_ahead(int fd, uint64_t offset, uint64_t len);

#endif
