/*
 * segment.c - make, recycle, remove and find segments of the journal.
 *
 * The header, 64 bytes at the begin of each of the first two blocks:
 *
 *	 0  u32 magic       8  u64 epoch    24  u64 base     48  u32 CRC32C of
 *	 4  u32 version    16  u64 size     32  key, 16          bytes 0 to 47
 *
 * The two copies are written and synced one after the other, so that at any
 * time one of them can be read: a segment without any is damaged, not empty.
 */
#include "segment.h"
#include "disk.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <isa-l/crc.h>
#include <limits.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define MAGIC 0x626b4a53 /* "bkJS" */
#define VERSION 1
#define SUMMED 48
#define COPIES 2

struct header {
	uint32_t version;
	uint64_t epoch;
	uint64_t size;
	uint64_t base;
	uint8_t key[BATCH_KEY];
};

static uint32_t
header_sum(uint8_t *p)
{
	return (~crc32_iscsi(p, SUMMED, UINT32_MAX));
}

static void
header_put(uint8_t block[BATCH_BLOCK], const struct header *h)
{
	memset(block, 0, BATCH_BLOCK);
	bk_be32_put(block, MAGIC);
	bk_be32_put(block + 4, h->version);
	bk_be64_put(block + 8, h->epoch);
	bk_be64_put(block + 16, h->size);
	bk_be64_put(block + 24, h->base);
	memcpy(block + 32, h->key, BATCH_KEY);
	bk_be32_put(block + SUMMED, header_sum(block));
}

static bool
header_get(uint8_t block[BATCH_BLOCK], struct header *h)
{
	if (bk_be32_get(block) != MAGIC ||
	    bk_be32_get(block + SUMMED) != header_sum(block))
		return (false);
	h->version = bk_be32_get(block + 4);
	h->epoch = bk_be64_get(block + 8);
	h->size = bk_be64_get(block + 16);
	h->base = bk_be64_get(block + 24);
	memcpy(h->key, block + 32, BATCH_KEY);
	return (true);
}

void
segment_name(uint64_t epoch, char name[SEGMENT_NAME])
{
	(void)snprintf(name, SEGMENT_NAME, "journal.%016" PRIx64, epoch);
}

static void
unfinished_name(uint64_t epoch, char name[SEGMENT_NAME])
{
	(void)snprintf(name, SEGMENT_NAME, "journal.%016" PRIx64 ".new", epoch);
}

static struct segment *
segment_new(const char *dir, uint64_t epoch)
{
	struct segment *s = calloc(1, sizeof(*s));

	if (s == NULL)
		return (NULL);
	s->dir = dir;
	s->epoch = epoch;
	s->fd = -1;
	return (s);
}

void
segment_free(struct segment *s)
{
	if (s == NULL)
		return;
	disk_close(s->fd);
	sodium_memzero(s->key, sizeof(s->key));
	free(s);
}

void
segment_list_free(struct segment_list *list)
{
	struct segment *s;

	while ((s = TAILQ_FIRST(list)) != NULL) {
		TAILQ_REMOVE(list, s, link);
		segment_free(s);
	}
}

/* Take up a new epoch in memory. */
static void
begin_epoch(struct segment *s, uint64_t epoch, uint64_t base)
{
	s->epoch = epoch;
	s->base = base;
	s->state = SEGMENT_USED;
	s->end = SEGMENT_BEGIN;
	s->last = 0;
	randombytes_buf(s->key, sizeof(s->key));
}

static void
header_of(const struct segment *s, struct header *h)
{
	h->version = VERSION;
	h->epoch = s->epoch;
	h->size = s->size;
	h->base = s->base;
	memcpy(h->key, s->key, BATCH_KEY);
}

/* Both copies; with a sync between them unless the file has no name yet. */
static int
write_header(const struct segment *s, bool one_by_one)
{
	uint8_t block[BATCH_BLOCK];
	struct header h;

	header_of(s, &h);
	header_put(block, &h);
	if (disk_write(s->fd, block, sizeof(block), 0) == -1)
		return (-1);
	if (one_by_one && disk_sync(s->fd) == -1)
		return (-1);
	if (disk_write(s->fd, block, sizeof(block), BATCH_BLOCK) == -1)
		return (-1);
	return (disk_sync(s->fd));
}

/* Fill a file that has only its unfinished name. */
static int
make_file(struct segment *s, const char *unfinished, const atomic_bool *cancel)
{
	char path[PATH_MAX];

	if (disk_path(path, s->dir, unfinished) == -1)
		return (-1);
	s->fd = disk_open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
	if (s->fd == -1)
		return (-1);
	if (disk_fill(s->fd, s->size, cancel) == -1)
		return (-1);
	return (write_header(s, false));
}

struct segment *
segment_create(const char *dir, uint64_t size, uint64_t epoch, uint64_t base,
    const atomic_bool *cancel)
{
	char unfinished[SEGMENT_NAME], name[SEGMENT_NAME];
	struct segment *s = segment_new(dir, epoch);
	int error;

	if (s == NULL)
		return (NULL);
	begin_epoch(s, epoch, base);
	s->size = size & ~(uint64_t)(BATCH_BLOCK - 1);
	unfinished_name(epoch, unfinished);
	segment_name(epoch, name);
	if (make_file(s, unfinished, cancel) == 0 &&
	    disk_rename(dir, unfinished, name) == 0)
		return (s);
	error = errno;
	(void)disk_remove(dir, unfinished); /* else the next start does */
	segment_free(s);
	errno = error;
	return (NULL);
}

int
segment_recycle(struct segment *s, uint64_t epoch, uint64_t base)
{
	char old[SEGMENT_NAME], new[SEGMENT_NAME];

	segment_name(s->epoch, old);
	segment_name(epoch, new);
	begin_epoch(s, epoch, base);
	if (write_header(s, true) == -1)
		return (-1);
	return (disk_rename(s->dir, old, new));
}

int
segment_remove(struct segment *s)
{
	char name[SEGMENT_NAME];
	int rc, error;

	segment_name(s->epoch, name);
	rc = disk_remove(s->dir, name);
	error = errno;
	segment_free(s);
	errno = error;
	return (rc);
}

/* Finding them again. */

/* The epoch in a file's name; *unfinished if it is one being made. */
static bool
parse_name(const char *name, uint64_t *epoch, bool *unfinished)
{
	char want[SEGMENT_NAME];

	if (sscanf(name, "journal.%16" SCNx64, epoch) != 1)
		return (false);
	segment_name(*epoch, want);
	*unfinished = false;
	if (strcmp(name, want) == 0)
		return (true);
	unfinished_name(*epoch, want);
	*unfinished = true;
	return (strcmp(name, want) == 0);
}

static void
adopt(struct segment *s, const struct header *h)
{
	s->state = SEGMENT_USED;
	s->base = h->base;
	s->end = SEGMENT_BEGIN;
	memcpy(s->key, h->key, BATCH_KEY);
}

/* Read both copies: one that confirms the name wins. */
static enum bk_status
read_header(struct segment *s, char why[SEGMENT_WHY])
{
	uint8_t blocks[COPIES][BATCH_BLOCK];
	struct header h;
	int i;

	s->state = SEGMENT_DAMAGED;
	for (i = 0; i < COPIES; i++) {
		if (disk_read(s->fd, blocks[i], BATCH_BLOCK,
			(uint64_t)i * BATCH_BLOCK) != BATCH_BLOCK)
			continue;
		if (!header_get(blocks[i], &h))
			continue;
		if (h.version > VERSION) {
			(void)snprintf(why, SEGMENT_WHY,
			    "%s/journal.%016" PRIx64 ": format %" PRIu32
			    " is newer than this program",
			    s->dir, s->epoch, h.version);
			return (BK_ECONFIG);
		}
		if (h.epoch == s->epoch) {
			adopt(s, &h);
			return (BK_OK);
		}
		s->state = SEGMENT_EMPTY;
		if (h.base > s->base)
			s->base = h.base;
	}
	return (BK_OK);
}

static enum bk_status
say_errno(char why[SEGMENT_WHY], const char *dir, const char *name)
{
	(void)snprintf(why, SEGMENT_WHY, "%s%s%s: %s", dir,
	    *name != '\0' ? "/" : "", name, strerror(errno));
	return (errno == ENOMEM ? BK_ENOMEM : BK_ESYS);
}

static enum bk_status
open_segment(struct segment *s, const char *name, char why[SEGMENT_WHY])
{
	char path[PATH_MAX];
	struct stat st;

	if (disk_path(path, s->dir, name) == -1)
		return (say_errno(why, s->dir, name));
	s->fd = disk_open(path, O_RDWR, 0);
	if (s->fd == -1 || fstat(s->fd, &st) == -1)
		return (say_errno(why, s->dir, name));
	s->size = (uint64_t)st.st_size & ~(uint64_t)(BATCH_BLOCK - 1);
	return (read_header(s, why));
}

/* Into the list by epoch. */
static enum bk_status
insert(struct segment_list *list, struct segment *s, char why[SEGMENT_WHY])
{
	struct segment *before = TAILQ_LAST(list, segment_list);

	while (before != NULL && before->epoch > s->epoch)
		before = TAILQ_PREV(before, segment_list, link);
	if (before == NULL) {
		TAILQ_INSERT_HEAD(list, s, link);
		return (BK_OK);
	}
	if (before->epoch == s->epoch) {
		(void)snprintf(why, SEGMENT_WHY,
		    "journal.%016" PRIx64 " is in both %s and %s", s->epoch,
		    before->dir, s->dir);
		return (BK_ECONFIG);
	}
	TAILQ_INSERT_AFTER(list, before, s, link);
	return (BK_OK);
}

static enum bk_status
scan_one(const char *dir, const char *name, struct segment_list *list,
    char why[SEGMENT_WHY])
{
	enum bk_status status;
	struct segment *s;
	bool unfinished;
	uint64_t epoch;

	if (!parse_name(name, &epoch, &unfinished))
		return (BK_OK);
	if (unfinished)
		return (disk_remove(dir, name) == 0 ?
			BK_OK :
			say_errno(why, dir, name));
	s = segment_new(dir, epoch);
	if (s == NULL)
		return (say_errno(why, dir, name));
	status = open_segment(s, name, why);
	if (status == BK_OK)
		status = insert(list, s, why);
	if (status != BK_OK)
		segment_free(s);
	return (status);
}

enum bk_status
segment_scan(const char *dir, struct segment_list *list, char why[SEGMENT_WHY])
{
	enum bk_status status = BK_OK;
	struct dirent *entry;
	DIR *d = opendir(dir);

	if (d == NULL)
		return (say_errno(why, dir, ""));
	while (status == BK_OK) {
		errno = 0;
		entry = readdir(d);
		if (entry == NULL) {
			if (errno != 0)
				status = say_errno(why, dir, "");
			break;
		}
		status = scan_one(dir, entry->d_name, list, why);
	}
	(void)closedir(d);
	return (status);
}
