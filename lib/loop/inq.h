/*
 * inq.h - frames out of a stream of bytes: reads from a socket, hands over
 * each whole frame where it lies, and keeps the rest.
 */
#ifndef BK_INQ_H
#define BK_INQ_H

#include "base/buf.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct bk_inq {
	struct bk_buf kept; /* begins with a frame's length */
	size_t max_frame;   /* of L + 4, bytes */
	uint64_t frames;    /* handed over, ever */
};

enum bk_inq_result {
	BK_INQ_TOOK,
	BK_INQ_NOTHING, /* nothing to read now */
	BK_INQ_EOF,
	BK_INQ_FAILED, /* errno tells */
	BK_INQ_UNFIT,  /* kept begins with a length above max_frame */
};

/* One frame's payload, valid until return. Returns whether the next one may
 * follow at once; if not, the rest is kept for bk_inq_again(). Must not touch
 * the queue. */
typedef bool bk_inq_frame_fn(void *arg, uint8_t *payload, size_t len);

void bk_inq_init(struct bk_inq *q, size_t max_frame);
/* Throws away what is kept; the queue is empty and usable again. */
void bk_inq_fini(struct bk_inq *q);

/* Read once, and hand over the whole frames. Not while whole ones are kept. */
enum bk_inq_result bk_inq_read(struct bk_inq *q, int fd, bk_inq_frame_fn *frame,
    void *arg);
/* Hand over the whole frames that are kept. */
enum bk_inq_result bk_inq_again(struct bk_inq *q, bk_inq_frame_fn *frame,
    void *arg);
/* Read once, and throw it away. */
enum bk_inq_result bk_inq_discard(int fd);

#endif
