/*
 * local.h - several bookies for trying out, each a child process over the
 * embedded store (--local N).
 */
#ifndef BOOKIE_LOCAL_H
#define BOOKIE_LOCAL_H

struct options;

/* Run them until all have ended. Returns the exit status. */
int local_run(const struct options *o);

#endif
