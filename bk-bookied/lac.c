/* lac.c - WRITE_LAC and READ_LAC (bookie-protocol.md 5.8). */
#include "bk-bookied/client.h"
#include "bk-bookied/request.h"

/* Ledger id and LAC, before the digest (4.5). */
#define PACKET_MIN 16

enum served
write_lac(struct client *c, const struct bk_request *req)
{
	struct store *store = c->server->store;
	uint64_t position = 0;
	enum bk_status status;

	if (req->body.len < PACKET_MIN || req->body.len > BK_LAC_PACKET_MAX)
		status = BK_EBADREQ;
	else if ((int64_t)bk_be64_get(req->body.data) < 0)
		status = BK_EBADREQ;
	else if (store_readonly(store, NULL))
		status = BK_EREADONLY;
	else
		status = store_write_lac(store, req->master_key, req->body,
		    &position);
	if (status == BK_ECANCELED)
		return (SERVED_PUT_BACK);
	answer_status(c, req, status, position);
	return (SERVED);
}

/*
 * The explicit LAC and the last entry, whichever there are. Neither: ENOENTRY,
 * but only if that is known; what could not be read is never called absent.
 */
static void
read_lac_done(const struct fetch *f, struct store_entry *last)
{
	struct client *c = f->client;
	uint64_t position = answer_order(c, &f->req);
	uint8_t packet[BK_LAC_PACKET_MAX];
	struct bk_response resp;

	bk_response_to(&f->req, last->status, &resp);
	resp.lac_body.data = packet;
	resp.lac_body.len =
	    store_explicit_lac(c->server->store, f->req.ledger_id, packet);
	if (resp.lac_body.len > 0)
		resp.present |= BK_RESP_LAC_BODY;
	if (last->status == BK_OK) {
		resp.present |= BK_RESP_BODY;
		resp.body = last->bytes;
	} else if (last->status == BK_ENOLEDGER)
		resp.status = BK_ENOENTRY;
	if (resp.status == BK_ENOENTRY && resp.lac_body.len > 0)
		resp.status = BK_OK;
	answer(c, &resp, position);
	store_entry_release(last);
}

enum served
read_lac(struct client *c, const struct bk_request *req)
{
	struct fetch f = {
	    .client = c,
	    .req = *req,
	    .entry_id = -1,
	    .done = read_lac_done,
	};

	c->server->counts.reads++;
	fetch(&f);
	return (SERVED);
}
