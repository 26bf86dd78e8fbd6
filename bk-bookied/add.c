/* add.c - ADD: check, insert and journal in one step of the store. */
#include "bk-bookied/client.h"
#include "bk-bookied/request.h"

enum served
add_entry(struct client *c, const struct bk_request *req)
{
	struct server *s = c->server;
	struct store_add add = {
	    .master_key = req->master_key,
	    .entry = req->body,
	    .recovery = (req->flags & BK_REQ_RECOVERY) != 0,
	    .deferred = (req->flags & BK_REQ_DEFERRED_SYNC) != 0,
	    .high_priority = (req->flags & BK_REQ_HIGH_PRIORITY) != 0,
	};
	uint64_t position = 0;
	enum bk_status status;

	status = store_add(s->store, &add, &position);
	if (status == BK_ECANCELED)
		return (SERVED_PUT_BACK);
	s->counts.adds++;
	answer_status(c, req, status, position);
	return (SERVED);
}
