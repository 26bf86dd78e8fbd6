/*
 * outq.h - bytes on their way out of a socket: some copied into the queue,
 * some left where they lie, sent in the order they were queued.
 */
#ifndef BK_OUTQ_H
#define BK_OUTQ_H

#include "base/buf.h"

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct bk_outq_ref;

struct bk_outq {
	struct bk_buf copied;     /* append here */
	uint64_t sent;            /* bytes of copied that were sent, ever */
	struct bk_outq_ref *refs; /* a ring, cap a power of two */
	size_t head;
	size_t nrefs;
	size_t cap;
	size_t ref_bytes; /* not yet sent of all refs */
};

void bk_outq_init(struct bk_outq *q);
/* Drops what is queued and releases it; the queue is empty and usable again. */
void bk_outq_fini(struct bk_outq *q);
/* Queue body behind everything queued so far, without a copy. release(arg), if
 * not NULL, is called once it is sent or dropped. 0, or -1 with errno ENOMEM
 * and no call of release. */
int bk_outq_ref(struct bk_outq *q, struct bk_bytes body,
    void (*release)(void *arg), void *arg);
size_t bk_outq_len(const struct bk_outq *q);
/* One sendmsg(2) of what is queued, or of the first pieces where those are
 * many, to a socket. The bytes taken, or -1 with errno. */
ssize_t bk_outq_write(struct bk_outq *q, int fd);

#endif
