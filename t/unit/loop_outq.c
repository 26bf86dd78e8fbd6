/* loop_outq.c - copied and referenced bytes leave in the order queued. */
#include "loop/outq.h"
#include "tap.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#define BYTES 300000

static uint8_t source[BYTES];
static int released;

static void
release(void *arg)
{
	(void)arg;
	released++;
}

/* Queue the source in pieces of all sizes, some by reference. */
static int
queue_all(struct bk_outq *q)
{
	size_t at = 0;
	size_t n;
	int refs = 0;

	for (unsigned i = 0; at < BYTES; i++) {
		n = (size_t)(i * 7919 % 1000);
		if (n > BYTES - at)
			n = BYTES - at;
		if (i % 3 == 0) {
			if (bk_outq_ref(q, (struct bk_bytes){source + at, n},
				release, NULL) == -1)
				return (-1);
			refs++;
		} else if (bk_buf_put(&q->copied, source + at, n) == -1) {
			return (-1);
		}
		at += n;
	}
	return (refs);
}

static void
keeps_order(void)
{
	static uint8_t got[BYTES];
	struct bk_outq q;
	size_t have = 0;
	bool counted = true;
	ssize_t n;
	int fds[2];
	int refs;

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, fds) == -1)
		return;
	bk_outq_init(&q);
	refs = queue_all(&q);
	is_int(bk_outq_len(&q), BYTES, "all is queued");
	while (bk_outq_len(&q) > 0) {
		n = bk_outq_write(&q, fds[0]);
		if (n == -1 && errno != EAGAIN)
			break;
		n = recv(fds[1], got + have, 4099, 0);
		if (n > 0)
			have += (size_t)n;
		counted = counted && bk_outq_len(&q) <= BYTES - have;
	}
	(void)shutdown(fds[0], SHUT_WR);
	while ((n = recv(fds[1], got + have, BYTES - have, 0)) > 0)
		have += (size_t)n;
	ok(counted, "the length counts down");
	is_int(have, BYTES, "all arrives");
	ok(memcmp(got, source, BYTES) == 0, "in the order queued");
	is_int(released, refs, "each reference is released once");
	bk_outq_fini(&q);
	(void)close(fds[0]);
	(void)close(fds[1]);
}

static void
drops(void)
{
	struct bk_outq q;

	bk_outq_init(&q);
	released = 0;
	(void)bk_outq_ref(&q, (struct bk_bytes){source, 10}, release, NULL);
	(void)bk_buf_put(&q.copied, source, 5);
	(void)bk_outq_ref(&q, (struct bk_bytes){source, 0}, release, NULL);
	bk_outq_fini(&q);
	is_int(released, 2, "what is dropped is released");
	is_int(bk_outq_len(&q), 0, "and gone");
}

static void
tells_errors(void)
{
	struct bk_outq q;
	int fds[2];

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, fds) == -1)
		return;
	(void)close(fds[1]);
	bk_outq_init(&q);
	(void)bk_buf_put(&q.copied, source, 5);
	errno = 0;
	ok(bk_outq_write(&q, fds[0]) == -1 && errno == EPIPE,
	    "a peer that left is an error, not a signal");
	bk_outq_fini(&q);
	(void)close(fds[0]);
}

int
main(void)
{
	for (size_t i = 0; i < BYTES; i++)
		source[i] = (uint8_t)(i * 31 ^ i >> 8);
	keeps_order();
	drops();
	tells_errors();
	return (tap_done());
}
