/*
 * conn.h - one connection that carries length-prefixed frames, both queues
 * bounded. Used by bookies, hubs and clients alike.
 *
 * Reads as much as is at hand, hands over each whole frame, in place; writes
 * what was queued in one call at the end of the turn. One drop path ends it.
 */
#ifndef BK_CONN_H
#define BK_CONN_H

#include "base/buf.h"
#include "loop/loop.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct bk_conn;

enum bk_conn_end {
	BK_CONN_EOF,      /* the peer closed; what was queued is flushed */
	BK_CONN_ERROR,    /* errno tells */
	BK_CONN_OVERSIZE, /* a frame above max_frame was announced */
	BK_CONN_TLS,      /* the same, and it is the head of a TLS record */
	BK_CONN_STALLED,  /* a half-sent frame, or output nobody takes */
	BK_CONN_CLOSED,   /* bk_conn_finish() is done */
};

struct bk_conn_config {
	size_t max_frame;      /* of L + 4, bytes */
	size_t out_high;       /* drained() tells when to go on after more */
	int64_t frame_timeout; /* ns to complete a frame once begun; 0 = none */
	int64_t write_timeout; /* ns without progress of queued output; 0 */
	/* Both are noticed after once to twice the time. */
};

struct bk_conn_events {
	/* Required. One frame's payload, valid until return. Return false to
	 * end the connection as after bk_conn_finish(). The callback may queue
	 * output and may call bk_conn_finish() and bk_conn_pause(), but must
	 * not free the connection. */
	bool (*frame)(void *arg, uint8_t *payload, size_t len);
	/* No more frames will come: the peer closed, or sent what is no frame;
	 * why and what as in end(). Return true to keep the connection, not
	 * read any more, for output still to be queued: bk_conn_finish() then
	 * ends it. Otherwise, or when NULL, it is over; a peer that closed
	 * still gets what was queued. */
	bool (*input_over)(void *arg, enum bk_conn_end why, const char *what);
	/* All frames of one read were handed over (end of a batch). */
	void (*batch_end)(void *arg);
	/* Queued output fell below out_high / 2 after having been above
	 * out_high. */
	void (*drained)(void *arg);
	/* The connection is over, its descriptor closed; the only notice,
	 * exactly once, never from inside a call of the owner's. The owner
	 * frees it here or later. what is a reason for people, such as "closed
	 * by the peer", valid until return. */
	void (*end)(void *arg, enum bk_conn_end why, const char *what);
};

/* Take over a connected (or connecting: connecting = true) non-blocking
 * socket. NULL with errno set, the descriptor is then still the caller's.
 * events and config are kept by reference; NULL members are not called. */
struct bk_conn *bk_conn_new(struct bk_loop *loop, int fd, bool connecting,
    const struct bk_conn_config *config, const struct bk_conn_events *events,
    void *arg);
/* Close at once and free; no end event. NULL is fine. Never from inside
 * frame() or batch_end(). */
void bk_conn_free(struct bk_conn *conn);

/* The output queue: append whole frames to it. It is written at the end of
 * the turn, or when bk_conn_flush() is called. */
struct bk_buf *bk_conn_out(struct bk_conn *conn);
/* Something was appended: have it written at the end of this turn. */
void bk_conn_flush(struct bk_conn *conn);
size_t bk_conn_queued(const struct bk_conn *conn);
/* Queue bytes that must not be copied: body is sent behind what is in the
 * output queue now; release(arg) is called when the bytes are no longer
 * needed (also at the end of the connection). 0, or -1 with errno ENOMEM. */
int bk_conn_out_ref(struct bk_conn *conn, struct bk_bytes body,
    void (*release)(void *arg), void *arg);

/* Stop or go on reading (back-pressure); frames already read are kept. */
void bk_conn_pause(struct bk_conn *conn, bool pause);
/* Write out what is queued, then close with a FIN (never a reset: unread input
 * is drained for a moment); end(BK_CONN_CLOSED) follows. */
void bk_conn_finish(struct bk_conn *conn);
int bk_conn_fd(const struct bk_conn *conn);

#endif
