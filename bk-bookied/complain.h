/*
 * complain.h - a complaint that may come in thousands: said once, then at most
 * once a minute with a count (cli.md 3.5).
 */
#ifndef BOOKIE_COMPLAIN_H
#define BOOKIE_COMPLAIN_H

#include "base/log.h"

#include <stdint.h>

/* Zero-initialised by its owner. */
struct complaint {
	int64_t last;    /* monotonic ns of the last line; 0: none yet */
	uint64_t unsaid; /* since that line */
};

/* Report, unless a line of this complaint is younger than a minute. now is
 * monotonic ns. */
void complain(struct complaint *k, int64_t now, enum bk_severity severity,
    const char *fmt, ...) __attribute__((format(printf, 4, 5)));

#endif
