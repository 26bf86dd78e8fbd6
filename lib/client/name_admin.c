/*
 * name_admin.c - what is done to a name without writing to it: truncate,
 * delete, settings, list.
 *
 * Truncate and delete change the chain first and delete ledgers after, so that
 * a crash in between leaves ledgers that no chain holds, never a chain that
 * holds ledgers that are gone.
 */
#include "client/name.h"

#include <bsd/string.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct change {
	struct bk_client *client;
	char name[BK_NAME_MAX + 1];
	enum { TRUNCATE, DELETE, SET } kind;
	uint64_t position;        /* TRUNCATE */
	struct bk_chain settings; /* SET */
	bk_done_cb *done;
	void *arg;

	int64_t chain_id;
	struct bk_chain_at at, next;
	struct bk_chain_page page; /* whose ledgers are deleted now */
	uint64_t from, to;         /* positions still to be deleted */
};

static void find_chain(struct change *c);
static void delete_next(struct change *c);

static void
finish(struct change *c, enum bk_status status)
{
	c->done(c->arg, status == BK_ENONODE ? BK_ENOLEDGER : status);
	free(c);
}

/* Deleting ledgers [from, to), then the pages that lie whole below to. */

static void
page_removed(void *arg, enum bk_status status, const struct bk_meta_reply *r)
{
	struct change *c = arg;

	(void)r;
	if (status != BK_OK && status != BK_ENONODE)
		finish(c, status);
	else
		delete_next(c);
}

static void
ledger_removed(void *arg, enum bk_status status)
{
	struct change *c = arg;
	char path[BK_PATH_MAX + 1];
	uint64_t page = c->from / BK_CHAIN_PAGE;

	if (status != BK_OK) {
		finish(c, status);
		return;
	}
	c->from++;
	/* A deleted chain loses its last page too. */
	if ((c->from % BK_CHAIN_PAGE == 0 ||
		(c->kind == DELETE && c->from == c->to)) &&
	    bk_chain_page_path(c->client->tree, c->chain_id, page, path) == 0)
		bk_meta_remove(c->client->tree->meta, path, BK_ANY_VERSION,
		    page_removed, c);
	else
		delete_next(c);
}

static void
delete_from_page(struct change *c)
{
	uint64_t slot = c->from % BK_CHAIN_PAGE;

	if (slot < c->page.n && c->page.ledgers[slot] >= 0)
		bk_ledger_remove(c->client->tree, c->page.ledgers[slot],
		    ledger_removed, c);
	else
		ledger_removed(c, BK_OK);
}

static void
page_read(void *arg, enum bk_status status, const struct bk_chain_page *page,
    int32_t version)
{
	struct change *c = arg;

	(void)version;
	if (status == BK_ENONODE) {
		c->page.n = 0; /* deleted by an earlier try */
	} else if (status != BK_OK) {
		finish(c, status);
		return;
	} else {
		c->page = *page;
	}
	delete_from_page(c);
}

static void
delete_next(struct change *c)
{
	uint64_t page = c->from / BK_CHAIN_PAGE;

	if (c->from >= c->to)
		finish(c, BK_OK);
	else if (c->from % BK_CHAIN_PAGE == 0 || c->from == c->at.chain.first)
		bk_chain_page_read(c->client->tree, c->chain_id, page,
		    page_read, c);
	else
		delete_from_page(c);
}

/* The chain. */

static void
committed(void *arg, enum bk_status status, const struct bk_chain_at *at)
{
	struct change *c = arg;

	(void)at;
	if (status == BK_EVERSION || status == BK_ESTORE) {
		find_chain(
		    c); /* moved, or unknown: all steps may be repeated */
		return;
	}
	if (status != BK_OK || c->kind == SET) {
		finish(c, status);
		return;
	}
	c->from = c->at.chain.first;
	c->to = c->next.chain.first;
	delete_next(c);
}

static int64_t
wall_clock_ms(void)
{
	struct timespec ts;

	(void)clock_gettime(CLOCK_REALTIME, &ts);
	return ((int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000);
}

static void
apply_settings(struct bk_chain *c, const struct bk_chain *s)
{
	if (s->ensemble_size >= 0) {
		c->ensemble_size = s->ensemble_size;
		c->write_quorum = s->write_quorum;
		c->ack_quorum = s->ack_quorum;
	}
	if (s->keep_age_ms >= 0)
		c->keep_age_ms = s->keep_age_ms;
	if (s->keep_bytes >= 0)
		c->keep_bytes = s->keep_bytes;
	if (s->keep_count >= 0)
		c->keep_count = s->keep_count;
	if (s->roll_bytes >= 0)
		c->roll_bytes = s->roll_bytes;
	if (s->roll_age_ms >= 0)
		c->roll_age_ms = s->roll_age_ms;
}

static void
commit(struct change *c)
{
	char path[BK_PATH_MAX + 1];
	struct bk_meta_op drop = {.kind = BK_OP_DELETE,
	    .path = path,
	    .version = BK_ANY_VERSION};
	struct bk_chain *next = &c->next.chain;
	size_t nops = 0;

	c->next = c->at;
	switch (c->kind) {
	case TRUNCATE:
		if (next->count > 0 && c->position > next->count - 1)
			c->position = next->count - 1;
		if (c->position > next->first)
			next->first = c->position;
		break;
	case DELETE:
		next->first = next->count;
		next->state = BK_CHAIN_DELETED;
		next->deleted_ms = wall_clock_ms();
		if (bk_name_path(c->client->tree, c->name, path) == 0)
			nops = 1;
		break;
	case SET:
		apply_settings(next, &c->settings);
		break;
	}
	bk_chain_commit(c->client->tree, &c->at, &c->next, &drop, nops,
	    committed, c);
}

static void
holder_read(void *arg, enum bk_status status, const struct bk_meta_reply *r)
{
	struct change *c = arg;
	char holder[128];
	size_t n = 0;

	if (status == BK_OK) {
		n = r->data.len < sizeof(holder) ? r->data.len :
						   sizeof(holder) - 1;
		memcpy(holder, r->data.data, n);
	}
	holder[n] = '\0';
	if (status == BK_OK && !bk_holder_dead(holder))
		finish(c, BK_EHELD);
	else if (status != BK_OK && status != BK_ENONODE)
		finish(c, status);
	else
		commit(c);
}

static void
chain_read(void *arg, enum bk_status status, const struct bk_chain_at *at)
{
	struct change *c = arg;
	char path[BK_PATH_MAX + 1];

	if (status != BK_OK) {
		finish(c, status);
		return;
	}
	c->at = *at;
	if (c->kind == DELETE &&
	    bk_chain_holder_path(c->client->tree, c->chain_id, path) == 0)
		bk_meta_get(c->client->tree->meta, path, BK_NO_WATCH,
		    holder_read, c);
	else
		commit(c);
}

static void
name_looked_up(void *arg, enum bk_status status, int64_t chain_id)
{
	struct change *c = arg;

	if (status != BK_OK) {
		finish(c, status);
		return;
	}
	c->chain_id = chain_id;
	bk_chain_read(c->client->tree, chain_id, BK_NO_WATCH, chain_read, c);
}

static void
find_chain(struct change *c)
{
	bk_name_lookup(c->client->tree, c->name, name_looked_up, c);
}

static struct change *
change_new(struct bk_client *client, const char *name, bk_done_cb *cb,
    void *arg)
{
	struct change *c = calloc(1, sizeof(*c));

	if (c == NULL) {
		cb(arg, BK_ENOMEM);
		return (NULL);
	}
	c->client = client;
	(void)strlcpy(c->name, name, sizeof(c->name));
	c->done = cb;
	c->arg = arg;
	return (c);
}

void
bk_name_truncate(struct bk_client *client, const char *name, uint64_t position,
    bk_done_cb *cb, void *arg)
{
	struct change *c = change_new(client, name, cb, arg);

	if (c == NULL)
		return;
	c->kind = TRUNCATE;
	c->position = position;
	find_chain(c);
}

void
bk_name_delete(struct bk_client *client, const char *name, bk_done_cb *cb,
    void *arg)
{
	struct change *c = change_new(client, name, cb, arg);

	if (c == NULL)
		return;
	c->kind = DELETE;
	find_chain(c);
}

void
bk_name_set(struct bk_client *client, const char *name,
    const struct bk_chain *settings, bk_done_cb *cb, void *arg)
{
	struct change *c = change_new(client, name, cb, arg);

	if (c == NULL)
		return;
	c->kind = SET;
	c->settings = *settings;
	find_chain(c);
}

/* Listing. */

struct listing {
	bk_names_cb *cb;
	void *arg;
};

static void
listed(void *arg, enum bk_status status, const struct bk_meta_reply *r)
{
	struct listing *l = arg;

	if (status == BK_OK)
		l->cb(l->arg, BK_OK, r->children, r->nchildren);
	else
		l->cb(l->arg, status == BK_ENONODE ? BK_OK : status, NULL, 0);
	free(l);
}

void
bk_names_list(struct bk_client *c, bk_names_cb *cb, void *arg)
{
	char path[BK_PATH_MAX + 1];
	struct listing *l = malloc(sizeof(*l));

	if (l == NULL) {
		cb(arg, BK_ENOMEM, NULL, 0);
		return;
	}
	l->cb = cb;
	l->arg = arg;
	if (bk_chain_root(c->tree, path) != 0 ||
	    strlcat(path, "/names", sizeof(path)) >= sizeof(path)) {
		free(l);
		cb(arg, BK_ETOOBIG, NULL, 0);
		return;
	}
	bk_meta_children(c->tree->meta, path, BK_NO_WATCH, listed, l);
}
