/*
 * request.c - from a frame to the function of its operation; the operations
 * that need no file of their own.
 */
#include "bk-bookied/request.h"
#include "bk-bookied/client.h"

#include <string.h>

static const char auth_disabled[] = "AuthDisabledPlugin";

/* Answered when everything of the ledger so far is on disk. */
static enum served
force_ledger(struct client *c, const struct bk_request *req)
{
	uint64_t position = store_force(c->server->store, req->ledger_id);

	answer_status(c, req, BK_OK, position);
	return (SERVED);
}

static enum served
bookie_info(struct client *c, const struct bk_request *req)
{
	struct bk_response resp;

	bk_response_to(req, BK_OK, &resp);
	if (store_space(c->server->store, &resp.total_space,
		&resp.free_space) == -1)
		resp.status = BK_EIO;
	else if (req->requested_info & BK_INFO_TOTAL)
		resp.present |= BK_RESP_TOTAL;
	if (resp.status == BK_OK && (req->requested_info & BK_INFO_FREE))
		resp.present |= BK_RESP_FREE;
	answer(c, &resp, 0);
	return (SERVED);
}

/* A server without authentication lets everyone in (6.2). */
static enum served
authenticate(struct client *c, const struct bk_request *req)
{
	struct bk_response resp;

	bk_response_to(req, BK_OK, &resp);
	resp.auth_plugin.data = (const uint8_t *)auth_disabled;
	resp.auth_plugin.len = strlen(auth_disabled);
	resp.auth_payload = (struct bk_bytes){NULL, 0};
	answer(c, &resp, 0);
	return (SERVED);
}

static enum served
refuse_tls(struct client *c, const struct bk_request *req)
{
	answer_status(c, req, BK_EBADREQ, 0);
	return (SERVED);
}

/* A client that asks for what is not built finds its way back only from the
 * end of the connection (design/bookie.md 8). */
static enum served
not_built(struct client *c, const struct bk_request *req)
{
	(void)c;
	(void)req;
	return (SERVED_BROKEN);
}

/* What an operation is about, as bits. */
enum {
	OF_LEDGER = 1,   /* ledger_id means something */
	FOR_ENTRIES = 2, /* its answer may be long */
};

static const struct operation {
	enum served (*serve)(struct client *c, const struct bk_request *req);
	unsigned about;
} operations[] = {
    [BK_OP_ADD] = {add_entry, OF_LEDGER},
    [BK_OP_READ] = {read_entry, OF_LEDGER | FOR_ENTRIES},
    [BK_OP_BATCH_READ] = {batch_read, OF_LEDGER | FOR_ENTRIES},
    [BK_OP_AUTH] = {authenticate, 0},
    [BK_OP_WRITE_LAC] = {write_lac, OF_LEDGER},
    [BK_OP_READ_LAC] = {read_lac, OF_LEDGER | FOR_ENTRIES},
    [BK_OP_BOOKIE_INFO] = {bookie_info, 0},
    [BK_OP_START_TLS] = {refuse_tls, 0},
    [BK_OP_FORCE] = {force_ledger, OF_LEDGER},
    [BK_OP_LIST] = {list_entries, OF_LEDGER | FOR_ENTRIES},
    [BK_OP_UNSUPPORTED] = {not_built, 0},
};

/* Whether the request can be served, before its operation looks at it. */
static enum bk_status
admit(const struct server *s, const struct bk_request *req,
    const struct operation *op)
{
	/* Negative ids are journal marks elsewhere, and nobody's here (5.2). */
	if ((op->about & OF_LEDGER) != 0 && req->ledger_id < 0)
		return (BK_EBADREQ);
	if ((op->about & FOR_ENTRIES) != 0 && s->owed > s->config.max_owed)
		return (BK_ETOOMANY);
	return (BK_OK);
}

enum served
request_serve(struct client *c, const uint8_t *payload, size_t len)
{
	const struct operation *op;
	struct bk_request req;
	enum bk_status status = bk_request_decode(payload, len, &req);

	if (status == BK_EPROTO)
		return (SERVED_BROKEN);
	op = &operations[req.op];
	if (status == BK_OK)
		status = admit(c->server, &req, op);
	if (status != BK_OK) {
		answer_status(c, &req, status, 0);
		return (SERVED);
	}
	return (op->serve(c, &req));
}
