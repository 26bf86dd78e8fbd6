/*
 * spares.h - segments ready for use, made and recycled ahead by a thread.
 *
 * Making a segment of 64 MB, or the three syncs of recycling one, would stop
 * every batch for as long as it takes, so neither the loop nor the thread that
 * writes batches does it.
 */
#ifndef BOOKIE_SPARES_H
#define BOOKIE_SPARES_H

#include "segment.h"

struct spares;

struct spares_config {
	const char *const *dirs;
	size_t ndirs;
	uint64_t size_min;
	uint64_t size_max;
	uint64_t size;       /* of the next one made */
	uint64_t next_epoch; /* above all that were ever given out */
	uint64_t number;     /* of the first batch to come */
	/* A segment became ready, or none can be made: on the thread. */
	void (*changed)(void *arg);
	void *arg;
};

/* How many are kept for those who may use the reserve. */
#define SPARES_RESERVE 2

/* NULL with errno. */
struct spares *spares_new(const struct spares_config *config);
/* Make one ready here and now, and start the thread. -1 with errno; a full disk
 * is no failure. */
int spares_start(struct spares *p);
/* Deal with what was given back, and end the thread. Then only spares_empty() and spares_free() may be called. */
void spares_stop(struct spares *p);
void spares_free(struct spares *p);

/* A segment in which nothing is needed any more; give the oldest first: they
 * cease to be in this order, so that no gap ever shows in what is left. */
void spares_give(struct spares *p, struct segment *s);
/* A segment to use, the caller's from now on; number: of the first batch that
 * can get into it. NULL with errno ENOSPC (no more can be made, and what there
 * is is the reserve), EAGAIN (it is being made), or EIO (see spares_error()). */
struct segment *spares_take(struct spares *p, bool reserve, uint64_t number);
/* Bytes in the segments that could be taken now, headers apart, and how many
 * they are. */
uint64_t spares_room(struct spares *p, bool reserve, size_t *n);
/* Keep room for this many bytes outside of the reserve from now on. */
void spares_want(struct spares *p, uint64_t room);
/* Whether the disk was full when one was to be made last, */
bool spares_exhausted(struct spares *p);
/* and not even the reserve is whole. */
bool spares_full(struct spares *p);
/* What went wrong for good, or NULL. */
const char *spares_error(struct spares *p);
/* Make a segment empty now, and free it. -1 with errno. */
int spares_empty(struct spares *p, struct segment *s);

#endif
