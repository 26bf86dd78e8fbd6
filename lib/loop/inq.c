/*
 * inq.c - frames out of a stream of bytes.
 *
 * A read goes first into what is missing of a frame begun earlier, then into a
 * buffer that all queues of a thread share. So an idle connection costs no
 * buffer, frames are handed over without a copy, and only the last, incomplete
 * one of a read is copied and kept.
 */
#include "loop/inq.h"

#include <errno.h>
#include <sys/uio.h>
#include <unistd.h>

#define FRAME_HEAD 4
#define SHARED_SIZE ((size_t)128 * 1024)
#define GROW_MIN ((size_t)64 * 1024) /* a frame's first piece of memory */

static _Thread_local uint8_t shared[SHARED_SIZE];

void
bk_inq_init(struct bk_inq *q, size_t max_frame)
{
	bk_buf_init(&q->kept);
	q->max_frame = max_frame;
	q->frames = 0;
}

void
bk_inq_fini(struct bk_inq *q)
{
	bk_buf_fini(&q->kept);
}

static bool
is_fit(const struct bk_inq *q, const uint8_t *head)
{
	return (bk_be32_get(head) <= q->max_frame - FRAME_HEAD);
}

/* Hand over the whole frames of data while they are wanted. Returns the bytes
 * they took; *wanted tells whether more are. */
static size_t
hand_over(struct bk_inq *q, uint8_t *data, size_t len, bool *wanted,
    bk_inq_frame_fn *frame, void *arg)
{
	size_t used = 0;
	size_t n;

	while (*wanted && len - used >= FRAME_HEAD && is_fit(q, data + used)) {
		n = bk_be32_get(data + used);
		if (len - used - FRAME_HEAD < n)
			break;
		q->frames++;
		*wanted = frame(arg, data + used + FRAME_HEAD, n);
		used += FRAME_HEAD + n;
	}
	return (used);
}

/* Hand over what is kept, then the len bytes behind it, and keep the rest. */
static enum bk_inq_result
digest(struct bk_inq *q, uint8_t *data, size_t len, bk_inq_frame_fn *frame,
    void *arg)
{
	bool wanted = true;
	size_t used;

	if (bk_buf_len(&q->kept) > 0) {
		used = hand_over(q, bk_buf_head(&q->kept), bk_buf_len(&q->kept),
		    &wanted, frame, arg);
		bk_buf_consume(&q->kept, used);
	}
	if (bk_buf_len(&q->kept) == 0) {
		used = hand_over(q, data, len, &wanted, frame, arg);
		data += used;
		len -= used;
	}
	if (len > 0 && bk_buf_put(&q->kept, data, len) == -1)
		return (BK_INQ_FAILED);
	if (bk_buf_len(&q->kept) >= FRAME_HEAD &&
	    !is_fit(q, bk_buf_head(&q->kept)))
		return (BK_INQ_UNFIT);
	return (BK_INQ_TOOK);
}

enum bk_inq_result
bk_inq_again(struct bk_inq *q, bk_inq_frame_fn *frame, void *arg)
{
	return (digest(q, NULL, 0, frame, arg));
}

/* How much to read behind the kept part of a frame. *ends: that is the whole
 * rest of the frame, so that the next one may be read with it. Memory grows
 * with what has arrived, not with what was announced. */
static size_t
room_for_rest(const struct bk_inq *q, bool *ends)
{
	size_t kept = bk_buf_len(&q->kept);
	size_t most = kept > GROW_MIN ? kept : GROW_MIN;
	size_t rest = 0;

	*ends = kept == 0 || kept >= FRAME_HEAD;
	if (kept >= FRAME_HEAD)
		rest = FRAME_HEAD + bk_be32_get(bk_buf_head(&q->kept)) - kept;
	if (rest > most)
		*ends = false;
	return (*ends ? rest : most);
}

static enum bk_inq_result
result_of(ssize_t n)
{
	if (n > 0)
		return (BK_INQ_TOOK);
	if (n == 0)
		return (BK_INQ_EOF);
	return (
	    errno == EAGAIN || errno == EINTR ? BK_INQ_NOTHING : BK_INQ_FAILED);
}

enum bk_inq_result
bk_inq_read(struct bk_inq *q, int fd, bk_inq_frame_fn *frame, void *arg)
{
	struct iovec iov[2] = {{NULL, 0}, {shared, sizeof(shared)}};
	size_t room;
	ssize_t n;
	bool ends;

	room = room_for_rest(q, &ends);
	if (room > 0) {
		iov[0].iov_base = bk_buf_reserve(&q->kept, room);
		iov[0].iov_len = room;
		if (iov[0].iov_base == NULL)
			return (BK_INQ_FAILED);
	}
	n = readv(fd, iov, ends ? 2 : 1);
	if (n <= 0)
		return (result_of(n));
	if ((size_t)n < room)
		room = (size_t)n;
	bk_buf_commit(&q->kept, room);
	return (digest(q, shared, (size_t)n - room, frame, arg));
}

enum bk_inq_result
bk_inq_discard(int fd)
{
	return (result_of(read(fd, shared, sizeof(shared))));
}
