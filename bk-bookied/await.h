/*
 * await.h - at start, one thing after another: run the loop until the store
 * has answered one call.
 */
#ifndef BOOKIE_AWAIT_H
#define BOOKIE_AWAIT_H

#include "meta/ledger_tree.h"

struct await {
	bool done;
	enum bk_status status;
	struct bk_buf data; /* a copy of the reply's data, or of a text */
};

void await_init(struct await *w);
void await_fini(struct await *w);
/* Callbacks to give to a call, with the await as their argument. */
void await_done(void *arg, enum bk_status status);
void await_reply(void *arg, enum bk_status status,
    const struct bk_meta_reply *reply);
void await_text(void *arg, enum bk_status status, const char *text);
/* Run the loop. The call's status, or ECANCELED if the loop was stopped: then
 * the answer is still to come, and w must stay until the store is closed. */
enum bk_status await(struct await *w, struct bk_loop *loop);
struct bk_bytes await_data(const struct await *w);

#endif
