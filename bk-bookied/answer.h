/*
 * answer.h - answers to requests, held back until the journal position they
 * rest on is on disk (design/bookie.md 1).
 *
 * Held answers of a connection leave in the order they were given, each as
 * soon as its position and those before it are synced. An answer that need
 * not wait may leave before held ones: the protocol knows no order, but see
 * answer_order().
 */
#ifndef BOOKIE_ANSWER_H
#define BOOKIE_ANSWER_H

#include "bk-bookied/store.h"
#include "wire/bookie_msg.h"

#include <stdint.h>

struct client;
struct server;

/* Positions that can be unsynced at a time are few; beyond these, answers
 * wait for a later position, which does no harm. */
#define HELD_MARKS 8

/* Encoded answers that wait: marks[i] says up to which byte of all that ever
 * passed here position i must be synced. */
struct held {
	struct bk_buf bytes;
	struct {
		uint64_t position;
		uint64_t end;
	} marks[HELD_MARKS];
	unsigned first;
	unsigned n;
	uint64_t passed; /* bytes that have left */
};

void held_init(struct held *h);
void held_fini(struct held *h);

/* Answer with a status alone, or with a whole response, when position is
 * synced; 0: at once. An answer too long for a frame becomes EIO. */
void answer_status(struct client *c, const struct bk_request *req,
    enum bk_status status, uint64_t position);
void answer(struct client *c, const struct bk_response *resp,
    uint64_t position);
/* The same with the body of a READ or BATCH_READ, which may be sent from where
 * it lies: release(arg) is called when it is no longer needed. */
void answer_body(struct client *c, const struct bk_response *resp,
    uint64_t position, void (*release)(void *arg), void *arg);
/* The same with an entry as the body of a READ; it is released in time. */
void answer_entry(struct client *c, struct bk_response *resp,
    struct store_entry *entry, uint64_t position);

/* The position that the answer to a reading request rests on: if it fences, its
 * ledger's youngest change; if not, nothing, except that it must not overtake
 * the answer to a change it may show, given on its own connection. */
uint64_t answer_order(const struct client *c, const struct bk_request *req);

/* The journal is synced up to position: let go what waited for it. */
void answers_release(struct server *s, uint64_t position);

#endif
