/*
 * hold.c - taking hold of a chain and keeping it (design/meta.md 5).
 *
 * Look the name up or make it; read chain and holder node; one multi {chain at
 * its version: epoch + 1; old node deleted, ours created}. Any answer that
 * says only that somebody moved, or nothing, leads to another look. The node
 * is watched; when it goes with a lost session while nobody took over (the
 * chain's version proves it) it is put back.
 */
#include "client/hold.h"

#include "client/name.h"

#include <bsd/string.h>
#include <stdlib.h>
#include <string.h>

#define RETRY_DELAY (100 * BK_MS)
#define RELEASE_TRIES 50

struct bk_hold {
	struct bk_client *client;
	char name[BK_NAME_MAX + 1];
	struct bk_chain settings; /* for a new name */
	bool fence;
	enum { TAKING, HELD, CHANGING, RELEASED } state;

	bk_hold_cb *taken; /* until held */
	void *taken_arg;
	bk_done_cb *changed; /* while CHANGING */
	void *changed_arg;

	int64_t chain_id;
	struct bk_chain_at at;   /* as last read or committed */
	struct bk_chain_at next; /* the commit in progress */
	int64_t append_ledger;   /* what it appends */
	int32_t append_version;
	char self[128];   /* our text in the holder node */
	char holder[128]; /* the text found there, or "" */
	char holder_path[BK_PATH_MAX + 1];
	bool release_ended; /* how it is to be let go */
	bool release_waits; /* until the change in progress ends */
	int release_tries;
	struct bk_timer *retry;
	unsigned calls; /* answers outstanding */
	bool freed;     /* free with the last answer */
};

static void find_chain(struct bk_hold *h);
static void append(struct bk_hold *h);
static void watch_holder(struct bk_hold *h);
static void release(struct bk_hold *h);

static struct bk_tree *
tree(struct bk_hold *h)
{
	return (h->client->tree);
}

static void
look_again(struct bk_hold *h)
{
	h->client->env->ops->timer_set(h->retry, RETRY_DELAY);
}

static void
destroy(struct bk_hold *h)
{
	if (h->retry != NULL)
		h->client->env->ops->timer_free(h->retry);
	free(h);
}

/* Every answer passes here first: false when the hold was freed meanwhile and
 * the answer is to be dropped. */
static bool
answered(struct bk_hold *h)
{
	bool freed = h->freed;

	h->calls--;
	if (freed && h->calls == 0)
		destroy(h);
	return (!freed);
}

static void
taken(struct bk_hold *h, enum bk_status status, const char *holder)
{
	if (status == BK_OK)
		h->state = HELD;
	h->taken(h->taken_arg, status, holder);
}

/* Whether an answer says only that somebody moved, or nothing at all. */
static bool
moved(enum bk_status status)
{
	return (status == BK_EVERSION || status == BK_EEXIST ||
	    status == BK_ENONODE || status == BK_ESTORE ||
	    status == BK_ESESSION);
}

static struct bk_bytes
text_bytes(const char *text)
{
	return ((struct bk_bytes){(const uint8_t *)text, strlen(text)});
}

static struct bk_meta_op
create_node(struct bk_hold *h)
{
	return ((struct bk_meta_op){.kind = BK_OP_CREATE,
	    .path = h->holder_path,
	    .data = text_bytes(h->self),
	    .node = BK_NODE_EPHEMERAL,
	    .acl = BK_ACL_CONF});
}

static struct bk_meta_op
delete_node(struct bk_hold *h)
{
	return ((struct bk_meta_op){.kind = BK_OP_DELETE,
	    .path = h->holder_path,
	    .version = BK_ANY_VERSION});
}

/* Becoming the holder. */

static void
became_holder(void *arg, enum bk_status status, const struct bk_chain_at *at)
{
	struct bk_hold *h = arg;

	if (!answered(h))
		return;
	if (moved(status)) {
		look_again(h);
	} else if (status != BK_OK) {
		taken(h, status, NULL);
	} else {
		h->at = *at;
		watch_holder(h);
		taken(h, BK_OK, NULL);
	}
}

static void
take(struct bk_hold *h)
{
	struct bk_meta_op ops[2];
	size_t n = 0;

	if (strcmp(h->holder, h->self) == 0 &&
	    strcmp(h->at.chain.holder, h->self) == 0) {
		/* Our own multi, whose answer was lost. */
		watch_holder(h);
		taken(h, BK_OK, NULL);
		return;
	}
	if (h->holder[0] != '\0' && !h->fence && !bk_holder_dead(h->holder)) {
		taken(h, BK_EHELD, h->holder);
		return;
	}
	if (h->holder[0] != '\0')
		ops[n++] = delete_node(h);
	ops[n++] = create_node(h);
	h->next = h->at;
	h->next.chain.epoch++;
	h->next.chain.state = BK_CHAIN_WRITING;
	(void)strlcpy(h->next.chain.holder, h->self,
	    sizeof(h->next.chain.holder));
	h->calls++;
	bk_chain_commit(tree(h), &h->at, &h->next, ops, n, became_holder, h);
}

static void
holder_read(void *arg, enum bk_status status, const struct bk_meta_reply *r)
{
	struct bk_hold *h = arg;
	size_t n = 0;

	if (!answered(h))
		return;
	if (status == BK_ESTORE || status == BK_ESESSION) {
		look_again(h);
		return;
	}
	if (status != BK_OK && status != BK_ENONODE) {
		taken(h, status, NULL);
		return;
	}
	if (status == BK_OK) {
		n = r->data.len < sizeof(h->holder) ? r->data.len :
						      sizeof(h->holder) - 1;
		memcpy(h->holder, r->data.data, n);
	}
	h->holder[n] = '\0';
	take(h);
}

static void
chain_read(void *arg, enum bk_status status, const struct bk_chain_at *at)
{
	struct bk_hold *h = arg;

	if (!answered(h))
		return;
	if (moved(status) ||
	    (status == BK_OK && at->chain.state == BK_CHAIN_DELETED)) {
		look_again(h); /* the name is being deleted */
		return;
	}
	if (status != BK_OK) {
		taken(h, status, NULL);
		return;
	}
	h->at = *at;
	h->calls++;
	bk_meta_get(tree(h)->meta, h->holder_path, BK_NO_WATCH, holder_read, h);
}

static void
chain_found(void *arg, enum bk_status status, int64_t chain_id)
{
	struct bk_hold *h = arg;

	if (!answered(h))
		return;
	if (moved(status)) {
		look_again(h);
		return;
	}
	if (status == BK_OK &&
	    bk_chain_holder_path(tree(h), chain_id, h->holder_path) != 0)
		status = BK_ETOOBIG;
	if (status != BK_OK) {
		taken(h, status, NULL);
		return;
	}
	h->chain_id = chain_id;
	h->calls++;
	bk_chain_read(tree(h), chain_id, BK_NO_WATCH, chain_read, h);
}

static void
name_looked_up(void *arg, enum bk_status status, int64_t chain_id)
{
	struct bk_hold *h = arg;

	if (status != BK_ENONODE) {
		chain_found(h, status, chain_id);
		return;
	}
	if (answered(h)) {
		h->calls++;
		bk_name_create(tree(h), h->name, &h->settings, chain_found, h);
	}
}

static void
find_chain(struct bk_hold *h)
{
	h->calls++;
	bk_name_lookup(tree(h), h->name, name_looked_up, h);
}

/* Keeping the node. */

static void
restored(void *arg, enum bk_status status, const struct bk_chain_at *at)
{
	struct bk_hold *h = arg;

	if (!answered(h))
		return;
	h->state = HELD;
	if (status == BK_OK)
		h->at = *at;
	if (h->release_waits) {
		release(h);
	} else if (status == BK_OK) {
		watch_holder(h);
	} else if (status != BK_EVERSION) {
		look_again(h);
	}
	/* EVERSION: somebody took over; the next change tells the owner. */
}

static void
restore(struct bk_hold *h)
{
	struct bk_meta_op create = create_node(h);

	if (h->state != HELD) {
		look_again(h);
		return;
	}
	h->state = CHANGING;
	h->next = h->at;
	h->calls++;
	bk_chain_commit(tree(h), &h->at, &h->next, &create, 1, restored, h);
}

static void
holder_watched(void *arg, enum bk_watch_event event, const char *path)
{
	(void)event;
	(void)path;
	watch_holder(arg);
}

static void
holder_seen(void *arg, enum bk_status status, const struct bk_meta_reply *r)
{
	struct bk_hold *h = arg;

	(void)r;
	if (!answered(h) || h->state == RELEASED)
		return;
	if (status == BK_ENONODE)
		restore(h);
	else if (status != BK_OK)
		look_again(h);
}

static void
watch_holder(struct bk_hold *h)
{
	struct bk_watch watch = {holder_watched, h};

	if (h->state == RELEASED)
		return;
	bk_meta_unwatch(tree(h)->meta, holder_watched, h);
	h->calls++;
	bk_meta_exists(tree(h)->meta, h->holder_path, watch, holder_seen, h);
}

static void
retry_due(void *arg)
{
	struct bk_hold *h = arg;

	if (h->state == TAKING)
		find_chain(h);
	else if (h->state == RELEASED)
		release(h);
	else if (h->changed != NULL && h->state == HELD)
		append(h); /* it waited for the node to be restored */
	else
		watch_holder(h);
}

/* Changing the chain. */

static void
change_done(struct bk_hold *h, enum bk_status status,
    const struct bk_chain_at *at)
{
	bk_done_cb *changed = h->changed;

	h->state = HELD;
	h->changed = NULL;
	if (status == BK_OK)
		h->at = *at;
	changed(h->changed_arg, moved(status) ? BK_EFENCED : status);
}

/* After a lost answer: the append stands if the chain has our epoch and the
 * new length; if nothing moved it is made again. */
static void
reread(void *arg, enum bk_status status, const struct bk_chain_at *at)
{
	struct bk_hold *h = arg;

	if (!answered(h))
		return;
	if (status == BK_OK && at->version == h->at.version)
		append(h);
	else if (status == BK_OK && at->chain.epoch == h->next.chain.epoch &&
	    at->chain.count == h->next.chain.count)
		change_done(h, BK_OK, at);
	else
		change_done(h, status == BK_OK ? BK_EFENCED : status, at);
}

static void
append_done(void *arg, enum bk_status status, const struct bk_chain_at *at)
{
	struct bk_hold *h = arg;

	if (!answered(h))
		return;
	if (status != BK_ESTORE && status != BK_ESESSION) {
		change_done(h, status, at);
		return;
	}
	h->calls++;
	bk_chain_read(tree(h), h->chain_id, BK_NO_WATCH, reread, h);
}

static void
append(struct bk_hold *h)
{
	char path[BK_PATH_MAX + 1];
	struct bk_meta_op check = {.kind = BK_OP_CHECK,
	    .path = path,
	    .version = h->append_version};
	struct bk_chain_page *page = &h->next.last_page;

	h->state = CHANGING;
	h->next = h->at;
	if (h->at.chain.count % BK_CHAIN_PAGE == 0) {
		page->n = 0;
		h->next.page_version = -1;
	}
	page->ledgers[page->n++] = h->append_ledger;
	h->next.chain.count++;
	if (bk_ledger_path(tree(h), h->append_ledger, path) != 0) {
		change_done(h, BK_EBADMETA, NULL);
		return;
	}
	h->calls++;
	bk_chain_commit(tree(h), &h->at, &h->next, &check, 1, append_done, h);
}

void
bk_hold_append(struct bk_hold *h, int64_t ledger_id, int32_t version,
    bk_done_cb *cb, void *arg)
{
	h->changed = cb;
	h->changed_arg = arg;
	h->append_ledger = ledger_id;
	h->append_version = version;
	if (h->state == HELD)
		append(h);
	else
		look_again(h);
}

/* The entries are safe whatever became of the chain's node: a name taken over
 * meanwhile is its new holder's to end. */
static void
released(void *arg, enum bk_status status, const struct bk_chain_at *at)
{
	struct bk_hold *h = arg;
	bk_done_cb *changed = h->changed;

	(void)at;
	if (!answered(h))
		return;
	if ((status == BK_ESTORE || status == BK_ESESSION) &&
	    ++h->release_tries < RELEASE_TRIES) {
		look_again(h);
		return;
	}
	h->changed = NULL;
	changed(h->changed_arg, moved(status) ? BK_OK : status);
}

static void
release(struct bk_hold *h)
{
	struct bk_meta_op drop = delete_node(h);

	h->state = RELEASED;
	h->next = h->at;
	h->next.chain.holder[0] = '\0';
	if (h->release_ended)
		h->next.chain.state = BK_CHAIN_ENDED;
	h->calls++;
	bk_chain_commit(tree(h), &h->at, &h->next, &drop, 1, released, h);
}

void
bk_hold_release(struct bk_hold *h, bool ended, bk_done_cb *cb, void *arg)
{
	h->client->env->ops->timer_stop(h->retry);
	bk_meta_unwatch(tree(h)->meta, holder_watched, h);
	h->changed = cb;
	h->changed_arg = arg;
	h->release_ended = ended;
	if (h->state == CHANGING)
		h->release_waits = true;
	else
		release(h);
}

/* Making and freeing. */

struct bk_hold *
bk_hold_open(struct bk_client *c, const char *name,
    const struct bk_chain *settings, bool fence, bk_hold_cb *cb, void *arg)
{
	struct bk_hold *h = calloc(1, sizeof(*h));
	uint64_t nonce;

	if (h == NULL)
		return (NULL);
	h->client = c;
	(void)strlcpy(h->name, name, sizeof(h->name));
	h->settings = *settings;
	h->fence = fence;
	h->taken = cb;
	h->taken_arg = arg;
	c->env->ops->random(c->env, &nonce, sizeof(nonce));
	bk_holder_self(nonce, h->self);
	h->retry = c->env->ops->timer_new(c->env, retry_due, h);
	if (h->retry == NULL) {
		free(h);
		return (NULL);
	}
	find_chain(h);
	return (h);
}

void
bk_hold_free(struct bk_hold *h)
{
	if (h == NULL)
		return;
	bk_meta_unwatch(tree(h)->meta, holder_watched, h);
	h->client->env->ops->timer_stop(h->retry);
	h->freed = true;
	if (h->calls == 0)
		destroy(h);
}

const struct bk_chain_at *
bk_hold_chain(const struct bk_hold *h)
{
	return (&h->at);
}

int64_t
bk_hold_chain_id(const struct bk_hold *h)
{
	return (h->chain_id);
}
