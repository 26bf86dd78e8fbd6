/*
 * bookie.h - one bookie, put together: start order, what its parts tell each
 * other, signals, the end.
 */
#ifndef BOOKIE_BOOKIE_H
#define BOOKIE_BOOKIE_H

struct bk_inherited;
struct options;

/* Start, serve until told to end, and end. Returns the exit status; why it is
 * not 0 has been reported. o may change when it is read again. */
int bookie_run(struct options *o, const struct bk_inherited *in);
/* As bookie_run(), up to where something would be touched. */
int bookie_test(const struct options *o);

#endif
