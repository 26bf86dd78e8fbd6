/*
 * name_reader.c - the ledgers of a name in order, and waiting for more. The
 * entries themselves are read with a struct bk_reader each.
 */
#include "client/name.h"

#include <bsd/string.h>
#include <stdlib.h>
#include <string.h>

#define RETRY_DELAY (200 * BK_MS)

struct bk_name_reader {
	struct bk_client *client;
	char name[BK_NAME_MAX + 1];
	int64_t chain_id;
	struct bk_chain_at at;     /* as last read */
	struct bk_chain_page page; /* an older page, cached */
	uint64_t page_number;      /* its number; UINT64_MAX: none */

	bk_name_reader_cb *opened;
	void *opened_arg;
	bk_name_place_cb *placed; /* a place asked for */
	void *placed_arg;
	uint64_t position;
	bk_done_cb *waiting;
	void *waiting_arg;
	struct bk_timer *retry; /* of a wait over a lost store */
	unsigned calls;         /* answers outstanding */
	bool freed;             /* free with the last answer */
};

static void find_place(struct bk_name_reader *r);
static void read_watched(struct bk_name_reader *r);

static void
destroy(struct bk_name_reader *r)
{
	if (r->retry != NULL)
		r->client->env->ops->timer_free(r->retry);
	free(r);
}

static bool
answered(struct bk_name_reader *r)
{
	bool freed = r->freed;

	r->calls--;
	if (freed && r->calls == 0)
		destroy(r);
	return (!freed);
}

/* Opening. */

static void
opened(struct bk_name_reader *r, enum bk_status status)
{
	bk_name_reader_cb *cb = r->opened;

	r->opened = NULL;
	cb(r->opened_arg, status, status == BK_OK ? r : NULL);
	if (status != BK_OK)
		bk_name_reader_free(r);
}

static void
chain_read(void *arg, enum bk_status status, const struct bk_chain_at *at)
{
	struct bk_name_reader *r = arg;

	if (!answered(r))
		return;
	if (status == BK_OK && at->chain.state == BK_CHAIN_DELETED)
		status = BK_ENONODE;
	if (status == BK_OK)
		r->at = *at;
	opened(r, status == BK_ENONODE ? BK_ENOLEDGER : status);
}

static void
name_looked_up(void *arg, enum bk_status status, int64_t chain_id)
{
	struct bk_name_reader *r = arg;

	if (!answered(r))
		return;
	if (status != BK_OK) {
		opened(r, status == BK_ENONODE ? BK_ENOLEDGER : status);
		return;
	}
	r->chain_id = chain_id;
	r->calls++;
	bk_chain_read(r->client->tree, chain_id, BK_NO_WATCH, chain_read, r);
}

/* Places. */

static void
placed(struct bk_name_reader *r, enum bk_status status, int64_t ledger_id)
{
	bk_name_place_cb *cb = r->placed;
	struct bk_name_place place = {r->position, ledger_id};

	r->placed = NULL;
	cb(r->placed_arg, status, status == BK_OK ? &place : NULL);
}

/* A page that is gone was truncated away: look at the chain again. */
static void
chain_reread(void *arg, enum bk_status status, const struct bk_chain_at *at)
{
	struct bk_name_reader *r = arg;

	if (!answered(r))
		return;
	if (status != BK_OK || at->version == r->at.version) {
		placed(r, status == BK_OK ? BK_EBADMETA : status, -1);
		return;
	}
	r->at = *at;
	find_place(r);
}

static void
page_read(void *arg, enum bk_status status, const struct bk_chain_page *page,
    int32_t version)
{
	struct bk_name_reader *r = arg;

	(void)version;
	if (!answered(r))
		return;
	if (status == BK_ENONODE) {
		r->calls++;
		bk_chain_read(r->client->tree, r->chain_id, BK_NO_WATCH,
		    chain_reread, r);
	} else if (status != BK_OK) {
		placed(r, status, -1);
	} else {
		r->page = *page;
		r->page_number = r->position / BK_CHAIN_PAGE;
		find_place(r);
	}
}

/* The page a position is on, if it is at hand. */
static const struct bk_chain_page *
page_at_hand(const struct bk_name_reader *r, uint64_t number)
{
	if (number == (r->at.chain.count - 1) / BK_CHAIN_PAGE)
		return (&r->at.last_page);
	return (number == r->page_number ? &r->page : NULL);
}

static void
find_place(struct bk_name_reader *r)
{
	const struct bk_chain_page *page;
	uint64_t number, slot;

	if (r->position < r->at.chain.first)
		r->position = r->at.chain.first;
	for (; r->position < r->at.chain.count; r->position++) {
		number = r->position / BK_CHAIN_PAGE;
		slot = r->position % BK_CHAIN_PAGE;
		if ((page = page_at_hand(r, number)) == NULL) {
			r->calls++;
			bk_chain_page_read(r->client->tree, r->chain_id, number,
			    page_read, r);
			return;
		}
		if (slot < page->n && page->ledgers[slot] >= 0) {
			placed(r, BK_OK, page->ledgers[slot]);
			return;
		}
	}
	placed(r, BK_ENOENTRY, -1);
}

void
bk_name_reader_at(struct bk_name_reader *r, uint64_t position,
    bk_name_place_cb *cb, void *arg)
{
	r->placed = cb;
	r->placed_arg = arg;
	r->position = position;
	find_place(r);
}

/* Waiting. */

static void
changed(void *arg, enum bk_watch_event event, const char *path)
{
	(void)event;
	(void)path;
	read_watched(arg);
}

static void
watched_read(void *arg, enum bk_status status, const struct bk_chain_at *at)
{
	struct bk_name_reader *r = arg;
	bk_done_cb *waiting = r->waiting;

	if (!answered(r) || waiting == NULL)
		return;
	if (status == BK_ESTORE || status == BK_ESESSION) {
		r->client->env->ops->timer_set(r->retry, RETRY_DELAY);
		return;
	}
	if (status == BK_OK && at->version == r->at.version)
		return; /* the watch will tell */
	if (status == BK_OK)
		r->at = *at;
	r->waiting = NULL;
	waiting(r->waiting_arg, status == BK_ENONODE ? BK_ENOLEDGER : status);
}

static void
read_watched(struct bk_name_reader *r)
{
	struct bk_watch watch = {changed, r};

	if (r->waiting == NULL)
		return;
	bk_meta_unwatch(r->client->tree->meta, changed, r);
	r->calls++;
	bk_chain_read(r->client->tree, r->chain_id, watch, watched_read, r);
}

static void
retry_due(void *arg)
{
	read_watched(arg);
}

void
bk_name_reader_wait(struct bk_name_reader *r, bk_done_cb *cb, void *arg)
{
	r->waiting = cb;
	r->waiting_arg = arg;
	read_watched(r);
}

/* Making and freeing. */

void
bk_name_reader_open(struct bk_client *c, const char *name,
    bk_name_reader_cb *cb, void *arg)
{
	struct bk_name_reader *r = calloc(1, sizeof(*r));

	if (r == NULL) {
		cb(arg, BK_ENOMEM, NULL);
		return;
	}
	r->client = c;
	r->opened = cb;
	r->opened_arg = arg;
	r->page_number = UINT64_MAX;
	(void)strlcpy(r->name, name, sizeof(r->name));
	r->retry = c->env->ops->timer_new(c->env, retry_due, r);
	if (r->retry == NULL) {
		free(r);
		cb(arg, BK_ENOMEM, NULL);
		return;
	}
	r->calls++;
	bk_name_lookup(c->tree, r->name, name_looked_up, r);
}

void
bk_name_reader_free(struct bk_name_reader *r)
{
	if (r == NULL)
		return;
	bk_meta_unwatch(r->client->tree->meta, changed, r);
	r->client->env->ops->timer_stop(r->retry);
	r->freed = true;
	if (r->calls == 0)
		destroy(r);
}

const struct bk_chain *
bk_name_reader_chain(const struct bk_name_reader *r)
{
	return (&r->at.chain);
}
