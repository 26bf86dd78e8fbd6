/* unacked.h - what was not stored, written back as it was read (--unacked). */
#ifndef ADD_UNACKED_H
#define ADD_UNACKED_H

#include "bk-add/pending.h"

/* Make the file, empty, if one was asked for. 0, or -1 after saying why not. */
int unacked_prepare(const struct options *o);
/* Write the entries pending, the one held, if any, what else was read, and,
 * with all, the rest of the input. pending may be NULL. Returns the exit
 * status: the one given, or EX_IOERR after saying so. */
int unacked_write(const struct options *o, struct pending *pending,
    const struct input_entry *held, struct input *in, bool all, int status);

#endif
