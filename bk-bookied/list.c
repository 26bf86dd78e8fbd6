/* list.c - LIST: which entries of a ledger are here (bookie-protocol.md 3.5). */
#include "bk-bookied/client.h"
#include "bk-bookied/request.h"

#include <stdlib.h>

struct list {
	struct client *client;
	struct bk_request req;
};

static int
encode(struct bk_availability *a, const struct store_run *runs, size_t n)
{
	size_t i;

	if (bk_availability_init(a) == -1)
		return (-1);
	for (i = 0; i < n; i++)
		if (bk_availability_add(a, runs[i].first, runs[i].last) == -1)
			return (-1);
	return (0);
}

static void
answer_list(struct client *c, const struct bk_request *req,
    const struct store_run *runs, size_t n)
{
	struct bk_availability entries;
	struct bk_response resp;

	bk_response_to(req, BK_OK, &resp);
	if (encode(&entries, runs, n) == 0)
		resp.body = bk_availability_finish(&entries);
	if (resp.body.data != NULL) {
		resp.present |= BK_RESP_BODY;
		answer(c, &resp, answer_order(c, req));
	} else
		client_break(c, "out of memory");
	bk_availability_fini(&entries);
}

static void
list_arrived(void *arg, enum bk_status status, const struct store_run *runs,
    size_t n)
{
	struct list *l = arg;
	struct client *c = l->client;

	client_fetched(c);
	if (!client_hears(c))
		;
	else if (status == BK_OK)
		answer_list(c, &l->req, runs, n);
	else if (status == BK_ENOMEM)
		answer_status(c, &l->req, BK_EIO, 0);
	else
		answer_status(c, &l->req, status, answer_order(c, &l->req));
	free(l);
	client_settle(c);
}

enum served
list_entries(struct client *c, const struct bk_request *req)
{
	struct list *l = malloc(sizeof(*l));

	if (l == NULL) {
		client_break(c, "out of memory");
		return (SERVED);
	}
	l->client = c;
	l->req = *req;
	c->server->counts.reads++;
	client_fetching(c);
	store_list(c->server->store, req->ledger_id, list_arrived, l);
	return (SERVED);
}
