/*
 * extend.h - ask the service manager for patience while replay keeps the loop
 * (EXTEND_TIMEOUT_USEC, cli.md 3.6).
 */
#ifndef BOOKIE_EXTEND_H
#define BOOKIE_EXTEND_H

struct extend;

/* Ask now and every few seconds until extend_stop(). NULL: nobody to ask, or
 * no thread to be had; replay goes on all the same. */
struct extend *extend_start(void);
void extend_stop(struct extend *e);

#endif
