/*
 * read.c - READ, plain and fencing, and the fetching of entries that other
 * requests share.
 *
 * Order of a fencing read: key, fence, start of its journey to disk, then the
 * entry; no answer of it, not even ENOENTRY, leaves before the fence is on
 * disk, since recovery counts each of them (5.3).
 */
#include "bk-bookied/client.h"
#include "bk-bookied/request.h"

#include <stdlib.h>

static void
fetch_arrived(void *arg, struct store_entry *entry)
{
	struct fetch *f = arg;
	struct client *c = f->client;

	client_fetched(c);
	if (client_hears(c))
		f->done(f, entry);
	else
		store_entry_release(entry);
	free(f);
	client_settle(c);
}

void
fetch(const struct fetch *what)
{
	struct client *c = what->client;
	struct fetch *f = malloc(sizeof(*f));
	bool urgent =
	    (what->req.flags & (BK_REQ_FENCE | BK_REQ_HIGH_PRIORITY)) != 0;
	struct store_entry entry;

	if (f == NULL) {
		client_break(c, "out of memory");
		return;
	}
	*f = *what;
	if (store_read(c->server->store, f->req.ledger_id, f->entry_id, urgent,
		&entry, fetch_arrived, f)) {
		f->done(f, &entry);
		free(f);
		return;
	}
	client_fetching(c);
}

enum bk_status
fence_first(struct client *c, const struct bk_request *req, uint64_t *position)
{
	*position = 0;
	if ((req->flags & BK_REQ_FENCE) == 0)
		return (BK_OK);
	if ((req->flags & BK_REQ_KEY) == 0)
		return (BK_EUA);
	c->server->counts.fences++;
	return (store_fence(c->server->store, req->ledger_id, req->master_key,
	    position));
}

static void
read_done(const struct fetch *f, struct store_entry *entry)
{
	struct client *c = f->client;
	uint64_t order = answer_order(c, &f->req);
	uint64_t position = f->position > order ? f->position : order;
	struct store_ledger ledger;
	struct bk_response resp;

	bk_response_to(&f->req, entry->status, &resp);
	if (entry->status != BK_OK) {
		store_entry_release(entry);
		answer(c, &resp, position);
		return;
	}
	if (f->req.version == 3 && (f->req.flags & BK_REQ_FENCE) == 0) {
		store_ledger(c->server->store, f->req.ledger_id, &ledger);
		resp.present |= BK_RESP_MAX_LAC;
		resp.max_lac = ledger.lac;
	}
	answer_entry(c, &resp, entry, position);
}

void
read_and_answer(struct client *c, const struct bk_request *req,
    uint64_t position)
{
	struct fetch f = {
	    .client = c,
	    .req = *req,
	    .entry_id = req->entry_id,
	    .position = position,
	    .done = read_done,
	};

	fetch(&f);
}

enum served
read_entry(struct client *c, const struct bk_request *req)
{
	uint64_t position;
	enum bk_status status;

	c->server->counts.reads++;
	if (req->entry_id < -1) {
		answer_status(c, req, BK_EBADREQ, 0);
		return (SERVED);
	}
	if ((req->flags & BK_REQ_PREVIOUS_LAC) != 0 &&
	    (req->flags & BK_REQ_FENCE) == 0) {
		longpoll_read(c, req);
		return (SERVED);
	}
	status = fence_first(c, req, &position);
	if (status != BK_OK)
		answer_status(c, req, status, position);
	else
		read_and_answer(c, req, position);
	return (SERVED);
}
