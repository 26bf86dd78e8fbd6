/*
 * answer.c - encode answers, keep those that wait, let them go with the sync.
 *
 * An answer that waits is encoded at once into its connection's own buffer,
 * so that what waits costs a few bytes and no allocation of its own, and a
 * sync moves the whole of it on in one copy.
 */
#include "bk-bookied/answer.h"
#include "bk-bookied/client.h"

#include <errno.h>
#include <stdlib.h>

/* Bodies from this size on are sent from where they lie. */
#define LEND_MIN 16384

void
held_init(struct held *h)
{
	*h = (struct held){.first = 0};
	bk_buf_init(&h->bytes);
}

void
held_fini(struct held *h)
{
	bk_buf_fini(&h->bytes);
}

static bool
held_is_empty(const struct held *h)
{
	return (h->n == 0);
}

/* The bytes appended last wait for position, and for what came before. */
static void
held_mark(struct held *h, uint64_t position)
{
	uint64_t end = h->passed + bk_buf_len(&h->bytes);
	unsigned last;

	if (h->n > 0) {
		last = (h->first + h->n - 1) % HELD_MARKS;
		if (position <= h->marks[last].position || h->n == HELD_MARKS) {
			if (position > h->marks[last].position)
				h->marks[last].position = position;
			h->marks[last].end = end;
			return;
		}
	}
	last = (h->first + h->n) % HELD_MARKS;
	h->marks[last].position = position;
	h->marks[last].end = end;
	h->n++;
}

/* How many bytes at the front may leave now. */
static size_t
held_ripe(struct held *h, uint64_t synced)
{
	uint64_t end = h->passed;

	while (h->n > 0 && h->marks[h->first].position <= synced) {
		end = h->marks[h->first].end;
		h->first = (h->first + 1) % HELD_MARKS;
		h->n--;
	}
	return ((size_t)(end - h->passed));
}

static void
let_go(struct client *c)
{
	struct held *h = &c->held;
	size_t ripe = held_ripe(h, c->server->synced);

	if (ripe == 0)
		return;
	if (client_hears(c)) {
		if (bk_buf_put(bk_conn_out(c->conn), bk_buf_head(&h->bytes),
			ripe) == -1)
			client_break(c, "out of memory");
		bk_conn_flush(c->conn);
	}
	bk_buf_consume(&h->bytes, ripe);
	h->passed += ripe;
	if (held_is_empty(h)) {
		TAILQ_REMOVE(&c->server->holding, c, holding);
		c->is_holding = false;
	}
	client_account(c);
	client_settle(c);
}

void
answers_release(struct server *s, uint64_t position)
{
	struct client *c, *next;

	s->synced = position;
	for (c = TAILQ_FIRST(&s->holding); c != NULL; c = next) {
		next = TAILQ_NEXT(c, holding);
		let_go(c);
	}
}

uint64_t
answer_order(const struct client *c, const struct bk_request *req)
{
	struct store_ledger ledger;

	if ((req->flags & BK_REQ_FENCE) == 0 && held_is_empty(&c->held))
		return (0);
	store_ledger(c->server->store, req->ledger_id, &ledger);
	return (ledger.unsynced);
}

/* Where an answer that rests on position is to be appended. */
static struct bk_buf *
place(struct client *c, uint64_t position)
{
	if (position <= c->server->synced)
		return (bk_conn_out(c->conn));
	return (&c->held.bytes);
}

/* An answer was appended to its place. */
static void
placed(struct client *c, uint64_t position)
{
	if (position <= c->server->synced) {
		bk_conn_flush(c->conn);
		return;
	}
	held_mark(&c->held, position);
	if (!c->is_holding) {
		c->is_holding = true;
		TAILQ_INSERT_TAIL(&c->server->holding, c, holding);
	}
}

static void
count(struct client *c, const struct bk_response *resp)
{
	struct server_counts *counts = &c->server->counts;

	if (resp->status == BK_OK)
		counts->answers_ok++;
	else
		counts->answers_not_ok++;
}

void
answer(struct client *c, const struct bk_response *resp, uint64_t position)
{
	struct bk_response eio;
	int r;

	if (!client_hears(c))
		return;
	r = bk_response_encode(resp, place(c, position));
	if (r == -1 && errno == EMSGSIZE) {
		eio = *resp;
		eio.status = BK_EIO;
		eio.present = 0;
		r = bk_response_encode(&eio, place(c, position));
	}
	if (r == -1) {
		client_break(c, "out of memory");
		return;
	}
	placed(c, position);
	count(c, resp);
}

void
answer_status(struct client *c, const struct bk_request *req,
    enum bk_status status, uint64_t position)
{
	struct bk_response resp;

	bk_response_to(req, status, &resp);
	answer(c, &resp, position);
}

/* Append head and body, or the head alone and lend the body. */
static int
put_with_body(struct client *c, const struct bk_response *resp,
    uint64_t position, bool *lent, void (*release)(void *arg), void *arg)
{
	struct bk_buf *out = place(c, position);

	*lent = false;
	if (bk_read_response_head(resp, out) == -1)
		return (-1);
	if (out == &c->held.bytes || resp->body.len < LEND_MIN ||
	    release == NULL)
		return (bk_buf_put(out, resp->body.data, resp->body.len));
	if (bk_conn_out_ref(c->conn, resp->body, release, arg) == -1)
		return (-1);
	*lent = true;
	return (0);
}

void
answer_body(struct client *c, const struct bk_response *resp, uint64_t position,
    void (*release)(void *arg), void *arg)
{
	bool lent = false;

	if (!client_hears(c))
		;
	else if (put_with_body(c, resp, position, &lent, release, arg) == -1)
		client_break(c, "out of memory");
	else {
		placed(c, position);
		count(c, resp);
	}
	if (!lent && release != NULL)
		release(arg);
}

static void
take_back(void *arg)
{
	struct store_entry *lent = arg;

	store_entry_release(lent);
	free(lent);
}

void
answer_entry(struct client *c, struct bk_response *resp,
    struct store_entry *entry, uint64_t position)
{
	struct store_entry *lent = NULL;

	resp->present |= BK_RESP_BODY;
	resp->body = entry->bytes;
	if (entry->bytes.len >= LEND_MIN &&
	    (lent = malloc(sizeof(*lent))) != NULL) {
		*lent = *entry;
		answer_body(c, resp, position, take_back, lent);
		return;
	}
	answer_body(c, resp, position, NULL, NULL);
	store_entry_release(entry);
}
