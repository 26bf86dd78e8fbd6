/*
 * space.h - the ledger directories and the room on their disks: locks, usage
 * marks, ballast (design/bookie.md 5). Loop thread only.
 *
 * Each directory holds a ballast file, blocks set aside that are given up when
 * the disk is found full, so that memory can still be flushed, and taken back
 * when there is room again.
 */
#ifndef BOOKIE_SPACE_H
#define BOOKIE_SPACE_H

#include "base/status.h"
#include "loop/loop.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct space;

struct space_config {
	const char *const *ledger_dirs;
	size_t nledger_dirs;
	const char *const *journal_dirs;
	size_t njournal_dirs;
	size_t ballast_bytes;
	size_t flush_bytes; /* what flushing memory may take, at most */
	double high_mark;
	double low_mark;
};

/* Lock all directories, made if they do not exist; look at the disks, now and
 * then every few seconds, after which looked() is called; make ballast. BK_OK, BK_ECONFIG (in use by another process), BK_ESYS, BK_ENOMEM with why
 * filled. */
enum bk_status space_open(struct bk_loop *loop,
    const struct space_config *config, void (*looked)(void *arg), void *arg,
    struct space **space, char *why, size_t why_size);
void space_close(struct space *sp);

size_t space_ndirs(const struct space *sp);
const char *space_dir(const struct space *sp, size_t i);
/* The directory for the next file: in turn those that are not full, or, if all
 * are, the one with the most room. */
const char *space_choose(struct space *sp);
/* A write to this directory found the disk full: give up its ballast, and be
 * read-only until there is room again. */
void space_full(struct space *sp, const char *dir);

/* Whether no directory takes more; why says so in one line. */
bool space_readonly(const struct space *sp);
const char *space_why(const struct space *sp);
/* Whether there is room yet for adds that pass read-only. */
bool space_for_urgent(const struct space *sp);
/* Total and free bytes, each file system once; -1 with errno set. */
int space_usage(const struct space *sp, int64_t *total, int64_t *free_bytes);

#endif
