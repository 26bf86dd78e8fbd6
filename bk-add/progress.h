/* progress.h - a count on a terminal, while a run takes longer. */
#ifndef ADD_PROGRESS_H
#define ADD_PROGRESS_H

#include "loop/loop.h"

struct progress;

/* NULL, which is fine, when nobody would see it: standard error is no
 * terminal, or -q was given. */
struct progress *progress_new(struct bk_loop *loop, const char *target);
void progress_at(struct progress *p, uint64_t nentries);
/* Clears the line. */
void progress_free(struct progress *p);

#endif
