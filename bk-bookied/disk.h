/*
 * disk.h - the bookie's disk calls. Journal and store touch files through
 * these only, so that a test can fail or record the n-th call.
 *
 * All of them may be called from any thread. They return 0 or a count, or -1
 * with errno set; an interrupted or partial call is carried on.
 */
#ifndef BOOKIE_DISK_H
#define BOOKIE_DISK_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Open (O_CLOEXEC is added); the descriptor is closed by disk_close(). */
int disk_open(const char *path, int flags, mode_t mode);
/* Accepts -1. What was not synced may be lost: an error here tells nothing. */
void disk_close(int fd);

/* As many bytes as there are, fewer than len only at the end of the file. */
ssize_t disk_read(int fd, void *data, size_t len, uint64_t offset);
/* All len bytes, or -1: then any part of them may be written. */
int disk_write(int fd, const void *data, size_t len, uint64_t offset);
/* Make what was written durable, the file's size with it. Never call it again
 * after a failure: the system may have dropped the data and then say yes. */
int disk_sync(int fd);

/* Blocks for bytes 0 to size, written with zeros, a megabyte at a time so that
 * little is ever waiting for the disk; not synced. Given up with ECANCELED when
 * *cancel becomes true (NULL: never). */
int disk_fill(int fd, uint64_t size, const atomic_bool *cancel);

/* dir/name; -1 with ENAMETOOLONG if it does not fit into PATH_MAX bytes. */
int disk_path(char *path, const char *dir, const char *name);
int disk_sync_dir(const char *dir);
/* Rename within a directory, then make it durable. */
int disk_rename(const char *dir, const char *from, const char *to);
/* Remove a file, then make it durable. */
int disk_remove(const char *dir, const char *name);

/* Whether an overwrite goes to the blocks the file has: 1, or 0 on a
 * file system that allocates others (btrfs, zfs and their kind). */
int disk_overwrites(const char *dir);

/* For tests: a hook sees each call before it is made, and fails it by
 * returning an errno value. Set it while no other thread is running. */
enum disk_op {
	DISK_OPEN,     /* path */
	DISK_READ,     /* fd, len, offset */
	DISK_WRITE,    /* fd, data, len, offset */
	DISK_SYNC,     /* fd */
	DISK_FILL,     /* fd, len */
	DISK_SYNC_DIR, /* path */
	DISK_RENAME,   /* path, to */
	DISK_REMOVE,   /* path */
};

struct disk_call {
	enum disk_op op;
	int fd;
	const char *path;
	const char *to;
	const void *data;
	uint64_t len;
	uint64_t offset;
};

typedef int disk_hook(void *arg, const struct disk_call *call);
/* NULL takes it away. */
void disk_set_hook(disk_hook *hook, void *arg);

#endif
