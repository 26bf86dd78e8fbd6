/* add.h - a run of bk-add from the first entry to the exit status. */
#ifndef ADD_ADD_H
#define ADD_ADD_H

#include "bk-add/options.h"

/* Store the input. Returns the exit status; whatever is wrong has been
 * reported. */
int add_run(const struct options *o);

/* Only read and count, and show where it would go. */
int dry_run(const struct options *o);

#endif
