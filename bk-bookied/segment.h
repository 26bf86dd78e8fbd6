/*
 * segment.h - one file of the journal: a header twice, then batches, each at a
 * multiple of BATCH_BLOCK (bk-disk(5)).
 *
 * A segment is named by its epoch, a number given out once. It is written in
 * full before it gets its name, and used again under a new epoch when nothing
 * in it is needed any more. The header holds the epoch too: a header with
 * another one than the name means that the segment is empty.
 */
#ifndef BOOKIE_SEGMENT_H
#define BOOKIE_SEGMENT_H

#include "base/status.h"
#include "batch.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

enum {
	SEGMENT_BEGIN = 2 * BATCH_BLOCK, /* where the first batch stands */
	SEGMENT_NAME = 32,
	SEGMENT_WHY = 512, /* text of an error */
};
#define SEGMENT_SIZE_MIN ((uint64_t)64 * 1024)
#define SEGMENT_SIZE_MAX ((uint64_t)1024 * 1024 * 1024)

enum segment_state {
	SEGMENT_USED,    /* the header confirms the name */
	SEGMENT_EMPTY,   /* it does not: nothing in it counts */
	SEGMENT_DAMAGED, /* no header can be read */
};

struct segment {
	TAILQ_ENTRY(segment) link;
	const char *dir; /* the caller's, as long as the segment */
	uint64_t epoch;  /* of the name */
	uint64_t size;   /* bytes of the file, a multiple of BATCH_BLOCK */
	uint64_t base;   /* no batch in it has a lower number */
	uint8_t key[BATCH_KEY];
	int fd;
	enum segment_state state;
	uint64_t end;  /* where the next batch goes */
	uint64_t last; /* position of the youngest record that has a part
	                       in it; 0 if none */
};
TAILQ_HEAD(segment_list, segment);

/* Make a new one, durably: filled, header, name. NULL with errno; ECANCELED
 * when *cancel became true meanwhile (NULL: never). */
struct segment *segment_create(const char *dir, uint64_t size, uint64_t epoch,
    uint64_t base, const atomic_bool *cancel);
/* Give a used one a new epoch, and with it a new name and key, durably. A crash
 * leaves it as it was or empty, under the old name or the new. -1 with errno:
 * then it must not be used. */
int segment_recycle(struct segment *s, uint64_t epoch, uint64_t base);
/* Remove the file, durably, and free the segment. */
int segment_remove(struct segment *s);
/* Close and free; the file stays. NULL is fine. */
void segment_free(struct segment *s);
void segment_name(uint64_t epoch, char name[SEGMENT_NAME]);

/* Open every segment found in dir and put it into list, which is kept in order
 * of epochs; remove what a crash left of one that was being made. BK_OK,
 * BK_ECONFIG (newer format, epoch twice), BK_ESYS, BK_ENOMEM with why. */
enum bk_status segment_scan(const char *dir, struct segment_list *list,
    char why[SEGMENT_WHY]);
void segment_list_free(struct segment_list *list);

#endif
