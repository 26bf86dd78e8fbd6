/*
 * outlet.h - standard output of a filter that also has a loop to turn: bytes
 * are gathered in a buffer and written once a turn, a slow reader does not
 * stop the loop, and one that leaves is noticed at once, also when there is
 * nothing to write (cli.md 1.2).
 *
 * A pipe is opened anew, so that our writes do not block and nobody else's
 * become so. Terminals, files and sockets are written as they are.
 */
#ifndef BK_OUTLET_H
#define BK_OUTLET_H

#include "base/buf.h"
#include "loop/loop.h"

struct bk_outlet;

struct bk_outlet_events {
	/* The buffer was over high, and is below half of it again. */
	void (*drained)(void *arg);
	/* A write failed; errno value. Nothing is written from then on. EPIPE
	 * also when the reader has left: see bk_outlet_reader_left(). Comes
	 * from the loop, or from inside bk_outlet_flush() and _write(). */
	void (*failed)(void *arg, int error);
};

/* high: bytes in the buffer from which on bk_outlet_full(). NULL with errno.
 * The descriptor stays the caller's. */
struct bk_outlet *bk_outlet_new(struct bk_loop *loop, int fd, size_t high,
    const struct bk_outlet_events *events, void *arg);
/* Does not write what is left. NULL is fine. */
void bk_outlet_free(struct bk_outlet *o);

/* Append to this, then call bk_outlet_touch(): it is written at the end of the
 * turn, or as soon as the reader takes it. */
struct bk_buf *bk_outlet_buf(struct bk_outlet *o);
void bk_outlet_touch(struct bk_outlet *o);
/* Write what is in the buffer and then body without copying it, unless the
 * reader is slow: what he does not take now is copied. 0, or -1 when out of
 * memory. For large bodies. */
int bk_outlet_write(struct bk_outlet *o, struct bk_bytes body);
/* Write now what can be written without waiting. */
void bk_outlet_flush(struct bk_outlet *o);
bool bk_outlet_full(const struct bk_outlet *o);
bool bk_outlet_empty(const struct bk_outlet *o);
/* Write all that is left, waiting for the reader. 0, or an errno value, also
 * that of an earlier failure. */
int bk_outlet_finish(struct bk_outlet *o);

/* End this program as SIGPIPE does, even where that is ignored. */
void bk_outlet_reader_left(void) __attribute__((noreturn));

#endif
