/*
 * space.h - room in the ledger directories: whose they are, how full they are,
 * and the ballast that is given up when a disk is full (design/bookie.md 5).
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
	const char *const *dirs;
	size_t ndirs;
	size_t ballast_bytes;
	double high_mark, low_mark;
};

/* Lock every directory for this process. BK_ECONFIG: in use by another one;
 * BK_ESYS. *why is text of this thread. changed() is called from the loop when
 * the disks become too full, or are so no more. */
enum bk_status space_open(struct bk_loop *loop,
    const struct space_config *config, void (*changed)(void *arg), void *arg,
    struct space **space, const char **why);
/* Unlocks. NULL is fine. */
void space_close(struct space *s);

/* Whether new entries are to be refused; why is text then. */
bool space_full(const struct space *s, const char **why);
/* Whether urgent entries (recovery) still fit. */
bool space_urgent(const struct space *s);
/* A write found the disk of this directory full: its ballast is given up. */
void space_exhausted(struct space *s, const char *dir);
/* Total and usable bytes, each file system once; -1 with errno set. */
int space_sum(const struct space *s, int64_t *total, int64_t *usable);

#endif
