/*
 * batchread.c - BATCH_READ: consecutive entries in one answer, up to a count and a
 * size (bookie-protocol.md 2.7).
 *
 * The first entry is always there, whatever its size; if it cannot be read,
 * the answer is the one READ would give. The batch ends silently at the first
 * entry that is absent, unreadable or too much.
 */
#include "bk-bookied/client.h"
#include "bk-bookied/request.h"

#include <stdlib.h>

/* Counted as if each answer had the longest head there is. */
#define ANSWER_HEAD 36
#define ENTRY_HEAD 4

struct batchread {
	struct client *client;
	struct bk_request req;
	uint64_t position; /* the answer waits for it */
	int64_t next;      /* entry to read, -1 for the last one */
	int64_t left;      /* entries that may still be taken */
	size_t size;       /* of the answer so far */
	size_t limit;
	struct bk_buf body;
	enum bk_status status; /* of the first entry */
};

static void batchread_go_on(struct batchread *b);

static void
batchread_free(struct batchread *b)
{
	bk_buf_fini(&b->body);
	free(b);
}

static void
batchread_answer(struct batchread *b)
{
	struct client *c = b->client;
	uint64_t order = answer_order(c, &b->req);
	struct bk_response resp;

	if (order > b->position)
		b->position = order;
	bk_response_to(&b->req, b->status, &resp);
	if (b->status == BK_OK) {
		resp.present |= BK_RESP_BODY;
		resp.body.data = bk_buf_head(&b->body);
		resp.body.len = bk_buf_len(&b->body);
		answer_body(c, &resp, b->position, free, b->body.data);
		bk_buf_init(&b->body); /* what it held has been given away */
	} else
		answer(c, &resp, b->position);
	batchread_free(b);
}

/* Take an entry that was read; false when the batch is at its end. */
static bool
batchread_take(struct batchread *b, struct store_entry *entry)
{
	size_t more = ENTRY_HEAD + entry->bytes.len;
	bool is_first = bk_buf_len(&b->body) == 0;
	bool is_taken =
	    entry->status == BK_OK && (is_first || b->size + more <= b->limit);

	if (is_first)
		b->status = entry->status;
	if (is_taken &&
	    (bk_buf_put_u32(&b->body, (uint32_t)entry->bytes.len) == -1 ||
		bk_buf_put(&b->body, entry->bytes.data, entry->bytes.len) ==
		    -1)) {
		client_break(b->client, "out of memory");
		is_taken = false;
	}
	store_entry_release(entry);
	if (!is_taken || --b->left == 0 || b->next == INT64_MAX)
		return (false);
	b->size += more;
	b->next++;
	return (true);
}

static void
batchread_arrived(void *arg, struct store_entry *entry)
{
	struct batchread *b = arg;
	struct client *c = b->client;

	client_fetched(c);
	if (!client_hears(c)) {
		store_entry_release(entry);
		batchread_free(b);
	} else if (batchread_take(b, entry))
		batchread_go_on(b);
	else
		batchread_answer(b);
	client_settle(c);
}

static void
batchread_go_on(struct batchread *b)
{
	struct client *c = b->client;
	bool urgent =
	    (b->req.flags & (BK_REQ_FENCE | BK_REQ_HIGH_PRIORITY)) != 0;
	struct store_entry entry;

	do {
		if (!store_read(c->server->store, b->req.ledger_id, b->next,
			urgent, &entry, batchread_arrived, b)) {
			client_fetching(c);
			return;
		}
	} while (batchread_take(b, &entry));
	batchread_answer(b);
}

static size_t
size_limit(int64_t asked)
{
	if (asked < 0)
		return (0);
	return (asked < BK_FRAME_MAX ? (size_t)asked : BK_FRAME_MAX);
}

enum served
batch_read(struct client *c, const struct bk_request *req)
{
	struct batchread *b;
	uint64_t position;
	enum bk_status status;

	c->server->counts.reads++;
	if (req->entry_id < -1) {
		answer_status(c, req, BK_EBADREQ, 0);
		return (SERVED);
	}
	status = fence_first(c, req, &position);
	if (status != BK_OK) {
		answer_status(c, req, status, position);
		return (SERVED);
	}
	if ((b = malloc(sizeof(*b))) == NULL) {
		client_break(c, "out of memory");
		return (SERVED);
	}
	*b = (struct batchread){
	    .client = c,
	    .req = *req,
	    .position = position,
	    .next = req->entry_id,
	    .left = req->max_count > 0 ? req->max_count : INT64_MAX,
	    .size = ANSWER_HEAD,
	    .limit = size_limit(req->max_size),
	};
	bk_buf_init(&b->body);
	if (req->entry_id == -1) /* the last one has none behind it */
		b->left = 1;
	batchread_go_on(b);
	return (SERVED);
}
