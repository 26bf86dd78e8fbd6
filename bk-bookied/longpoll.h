/*
 * longpoll.h - reads that wait for a ledger's LAC to pass what their reader
 * knows (bookie-protocol.md 5.8).
 *
 * A poll waits under its ledger until the LAC is above previous_lac, the
 * ledger is fenced or removed, or its time is up; then it is answered, from
 * the end of that turn of the loop.
 */
#ifndef BOOKIE_LONGPOLL_H
#define BOOKIE_LONGPOLL_H

#include "loop/loop.h"
#include "wire/bookie_msg.h"

#include <bsd/sys/queue.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Polls that wait at a time, in the whole bookie; above, ETOOMANY. */
#define LONGPOLL_MAX 100000

struct client;
struct longpoll;
struct longpolls;
TAILQ_HEAD(poll_list, longpoll);

/* Serve a READ that carries previous_lac and no fence: answer or wait. */
void longpoll_read(struct client *c, const struct bk_request *req);

/* NULL with errno ENOMEM. */
struct longpolls *longpolls_new(struct bk_loop *loop);
/* All polls have been dropped before. */
void longpolls_free(struct longpolls *l);
/* The ledger's LAC rose, or it was fenced, or it is gone. Only marks: nothing
 * is answered and nothing asked of the store inside the call. */
void longpolls_moved(struct longpolls *l, int64_t ledger_id, bool fenced,
    bool gone);
/* Drop a client's polls without answering: it is gone. */
void longpolls_drop(struct client *c);
size_t longpolls_count(const struct longpolls *l);

#endif
