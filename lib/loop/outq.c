/* outq.c - bytes on their way out of a socket. */
#include "loop/outq.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>

#define REFS_MIN 16
#define PIECES 128 /* of one call */

struct bk_outq_ref {
	struct bk_bytes body; /* what is not sent yet */
	uint64_t at;          /* copied bytes that go before it, ever */
	void (*release)(void *arg);
	void *arg;
};

static struct bk_outq_ref *
nth_ref(const struct bk_outq *q, size_t n)
{
	return (&q->refs[(q->head + n) & (q->cap - 1)]);
}

void
bk_outq_init(struct bk_outq *q)
{
	memset(q, 0, sizeof(*q));
}

static void
drop_first_ref(struct bk_outq *q)
{
	struct bk_outq_ref ref = *nth_ref(q, 0);

	q->ref_bytes -= ref.body.len;
	q->head = (q->head + 1) & (q->cap - 1);
	q->nrefs--;
	if (ref.release != NULL)
		ref.release(ref.arg);
}

void
bk_outq_fini(struct bk_outq *q)
{
	while (q->nrefs > 0)
		drop_first_ref(q);
	free(q->refs);
	bk_buf_fini(&q->copied);
	bk_outq_init(q);
}

static int
grow(struct bk_outq *q)
{
	size_t cap = q->cap == 0 ? REFS_MIN : q->cap * 2;
	struct bk_outq_ref *refs;

	refs = calloc(cap, sizeof(*refs));
	if (refs == NULL)
		return (-1);
	for (size_t i = 0; i < q->nrefs; i++)
		refs[i] = *nth_ref(q, i);
	free(q->refs);
	q->refs = refs;
	q->cap = cap;
	q->head = 0;
	return (0);
}

int
bk_outq_ref(struct bk_outq *q, struct bk_bytes body, void (*release)(void *arg),
    void *arg)
{
	if (q->nrefs == q->cap && grow(q) == -1)
		return (-1);
	*nth_ref(q, q->nrefs++) = (struct bk_outq_ref){
	    .body = body,
	    .at = q->sent + bk_buf_len(&q->copied),
	    .release = release,
	    .arg = arg,
	};
	q->ref_bytes += body.len;
	return (0);
}

size_t
bk_outq_len(const struct bk_outq *q)
{
	return (bk_buf_len(&q->copied) + q->ref_bytes);
}

static struct iovec
piece(const uint8_t *data, size_t len)
{
	return ((struct iovec){.iov_base = (void *)data, .iov_len = len});
}

/* The first pieces in order; returns how many. */
static size_t
gather(const struct bk_outq *q, struct iovec iov[PIECES])
{
	const uint8_t *p = bk_buf_head(&q->copied);
	const uint8_t *end = p + bk_buf_len(&q->copied);
	const struct bk_outq_ref *ref;
	const uint8_t *next;
	size_t i;
	size_t n = 0;

	for (i = 0; i < q->nrefs && n + 2 <= PIECES; i++) {
		ref = nth_ref(q, i);
		next = bk_buf_head(&q->copied) + (ref->at - q->sent);
		if (next > p)
			iov[n++] = piece(p, (size_t)(next - p));
		iov[n++] = piece(ref->body.data, ref->body.len);
		p = next;
	}
	if (i == q->nrefs && end > p && n < PIECES)
		iov[n++] = piece(p, (size_t)(end - p));
	return (n);
}

/* Take len sent bytes off the front. */
static void
consume(struct bk_outq *q, size_t len)
{
	struct bk_outq_ref *ref;
	size_t n;

	while (q->nrefs > 0) {
		ref = nth_ref(q, 0);
		n = (size_t)(ref->at - q->sent);
		if (n > len)
			break;
		bk_buf_consume(&q->copied, n);
		q->sent += n;
		len -= n;
		if (len < ref->body.len) {
			ref->body.data += len;
			ref->body.len -= len;
			q->ref_bytes -= len;
			return;
		}
		len -= ref->body.len;
		drop_first_ref(q);
	}
	bk_buf_consume(&q->copied, len);
	q->sent += len;
}

ssize_t
bk_outq_write(struct bk_outq *q, int fd)
{
	struct iovec iov[PIECES];
	struct msghdr msg = {.msg_iov = iov, .msg_iovlen = gather(q, iov)};
	ssize_t n;

	do
		n = sendmsg(fd, &msg, MSG_NOSIGNAL | MSG_DONTWAIT);
	while (n == -1 && errno == EINTR);
	if (n >= 0)
		consume(q, (size_t)n);
	return (n);
}
