/*
 * registration.c - a bookie's own node in one of the two lists (spec/metadata.md
 * 5.3, design/bookie.md 6).
 *
 * One round: create the node; look whose it is, with a watch; delete the one
 * in the other list; stand. Another session's node is that of a predecessor
 * that died: it is watched and ours made when it goes. Whatever happens to the
 * node or the session, and a change of mode, begins a round anew, after the
 * one under way. So a bookie may be in both lists for a moment, never in none.
 */
#include "meta/registry.h"
#include "meta/tree_call.h"

#include "base/log.h"
#include "env/env.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PAUSE (200 * BK_MS)

struct bk_registration {
	const struct bk_tree *tree;
	char *id;
	uint8_t *payload;
	size_t len;
	bool readonly; /* the mode wanted */
	bool busy;     /* a round is under way */
	bool again;    /* and another has to follow */
	bool stands;   /* a node was made */
	bool gone;     /* the store is closed */
	bool told;     /* the wait for a predecessor has been reported */
	bk_done_cb *state;
	void *arg;
	bool closing;
	int left; /* lists left when closing */
	bk_done_cb *done;
	void *done_arg;
};

static void begin_round(struct bk_registration *r);
static void on_watch(void *arg, enum bk_watch_event event, const char *path);

static void
node_path(const struct bk_registration *r, bool readonly,
    char path[BK_PATH_MAX + 1])
{
	bk_tree_path(r->tree, path, "/available/%s%s",
	    readonly ? "readonly/" : "", r->id);
}

static void
destroy(struct bk_registration *r, enum bk_status status)
{
	if (r->done != NULL)
		r->done(r->done_arg, status);
	free(r->id);
	free(r->payload);
	free(r);
}

static void leave_list(struct bk_registration *r);

static void
on_left(void *arg, enum bk_status status, const struct bk_meta_reply *reply)
{
	struct bk_registration *r = arg;

	(void)reply;
	if (status != BK_OK && status != BK_ENONODE)
		destroy(r, status);
	else
		leave_list(r);
}

static void
on_left_whose(void *arg, enum bk_status status,
    const struct bk_meta_reply *reply)
{
	struct bk_registration *r = arg;
	char path[BK_PATH_MAX + 1];

	if (status != BK_OK ||
	    reply->stat.owner != bk_meta_session(r->tree->meta)) {
		on_left(r, status, reply);
		return;
	}
	node_path(r, r->left == 1, path);
	bk_meta_remove(r->tree->meta, path, BK_ANY_VERSION, on_left, r);
}

/* Out of the lists, one after the other, where the node is ours. */
static void
leave_list(struct bk_registration *r)
{
	char path[BK_PATH_MAX + 1];

	if (++r->left > 2) {
		destroy(r, BK_OK);
		return;
	}
	node_path(r, r->left == 1, path);
	bk_meta_exists(r->tree->meta, path, BK_NO_WATCH, on_left_whose, r);
}

/* The end: no round is under way any more. */
static void
leave(struct bk_registration *r)
{
	bk_meta_unwatch(r->tree->meta, on_watch, r);
	if (r->stands)
		leave_list(r);
	else
		destroy(r, BK_OK);
}

/* The store was closed, which ends the session and its nodes; it must not be
 * called any more. */
static void
store_gone(struct bk_registration *r)
{
	r->busy = true; /* no round begins any more */
	if (r->closing) {
		destroy(r, BK_ECANCELED);
		return;
	}
	r->gone = true;
	r->state(r->arg, BK_ECANCELED);
}

static void
round_over(struct bk_registration *r)
{
	r->busy = false;
	if (r->closing)
		leave(r);
	else if (r->again)
		begin_round(r);
}

static void
give_up(struct bk_registration *r, enum bk_status status)
{
	if (!r->closing)
		r->state(r->arg, status);
	round_over(r);
}

static void
on_paused(void *arg, enum bk_status status, const struct bk_meta_reply *reply)
{
	struct bk_registration *r = arg;

	(void)reply;
	if (status == BK_ECANCELED) {
		store_gone(r);
		return;
	}
	r->again = true;
	round_over(r);
}

/* Not done, or unknown whether: once more, soon. */
static void
try_again(struct bk_registration *r, enum bk_status status)
{
	if (status == BK_ECANCELED)
		store_gone(r);
	else if (bk_answer_lost(status))
		bk_meta_pause(r->tree->meta, PAUSE, on_paused, r);
	else
		give_up(r, status);
}

static void
on_watch(void *arg, enum bk_watch_event event, const char *path)
{
	struct bk_registration *r = arg;

	(void)event;
	(void)path;
	if (r->busy)
		r->again = true;
	else
		begin_round(r);
}

static void
stand(struct bk_registration *r)
{
	if (!r->closing && !r->again)
		r->state(r->arg, BK_OK);
	round_over(r);
}

static void
on_other_gone(void *arg, enum bk_status status,
    const struct bk_meta_reply *reply)
{
	struct bk_registration *r = arg;

	(void)reply;
	if (status == BK_OK || status == BK_ENONODE)
		stand(r);
	else
		try_again(r, status);
}

static void
remove_other(struct bk_registration *r)
{
	char path[BK_PATH_MAX + 1];

	r->stands = true;
	r->told = false;
	node_path(r, !r->readonly, path);
	bk_meta_remove(r->tree->meta, path, BK_ANY_VERSION, on_other_gone, r);
}

static void
wait_for_predecessor(struct bk_registration *r)
{
	if (!r->told) {
		bk_log(BK_LOG_INFO,
		    "bookie %s: an earlier session's registration stands: "
		    "waiting for it to go",
		    r->id);
		r->state(r->arg, BK_EEXIST);
	}
	r->told = true;
	round_over(r);
}

static void
on_replaced(void *arg, enum bk_status status, const struct bk_meta_reply *reply)
{
	struct bk_registration *r = arg;

	(void)reply;
	if (status == BK_OK || status == BK_ENONODE || status == BK_EVERSION ||
	    status == BK_EEXIST) {
		r->again = true;
		round_over(r);
	} else {
		try_again(r, status);
	}
}

/* A persistent node of our name was left there to stay listed: put ours in
 * its place, in one step. */
static void
replace_persistent(struct bk_registration *r, int32_t version)
{
	char path[BK_PATH_MAX + 1];
	struct bk_meta_op ops[] = {
	    {.kind = BK_OP_DELETE, .path = path, .version = version},
	    {.kind = BK_OP_CREATE,
		.path = path,
		.data = {r->payload, r->len},
		.node = BK_NODE_EPHEMERAL,
		.acl = BK_ACL_CONF},
	};

	node_path(r, r->readonly, path);
	bk_meta_multi(r->tree->meta, ops, sizeof(ops) / sizeof(*ops),
	    on_replaced, r);
}

static void
on_whose(void *arg, enum bk_status status, const struct bk_meta_reply *reply)
{
	struct bk_registration *r = arg;

	if (status == BK_ECANCELED) {
		store_gone(r);
	} else if (r->closing || r->again) {
		round_over(r);
	} else if (status == BK_ENONODE) {
		r->again = true;
		round_over(r);
	} else if (status != BK_OK) {
		try_again(r, status);
	} else if (reply->stat.owner == bk_meta_session(r->tree->meta)) {
		remove_other(r);
	} else if (reply->stat.owner == 0) {
		replace_persistent(r, reply->stat.version);
	} else {
		wait_for_predecessor(r);
	}
}

/* Whose node it is, and a watch on it in each case; the old one goes. */
static void
look_whose(struct bk_registration *r)
{
	char path[BK_PATH_MAX + 1];

	node_path(r, r->readonly, path);
	bk_meta_unwatch(r->tree->meta, on_watch, r);
	bk_meta_exists(r->tree->meta, path, (struct bk_watch){on_watch, r},
	    on_whose, r);
}

static void
on_list_made(void *arg, enum bk_status status,
    const struct bk_meta_reply *reply)
{
	struct bk_registration *r = arg;

	(void)reply;
	if (status == BK_OK || status == BK_EEXIST) {
		r->again = true;
		round_over(r);
	} else {
		try_again(r, status);
	}
}

/* The read-only list is made when it is needed; a missing cluster is not. */
static void
make_readonly_list(struct bk_registration *r)
{
	char path[BK_PATH_MAX + 1];

	bk_tree_path(r->tree, path, "/available/readonly");
	bk_meta_create(r->tree->meta, path, (struct bk_bytes){NULL, 0},
	    BK_NODE_PERSISTENT, BK_ACL_CONF, on_list_made, r);
}

static void
on_created(void *arg, enum bk_status status, const struct bk_meta_reply *reply)
{
	struct bk_registration *r = arg;

	(void)reply;
	if (status == BK_OK)
		r->stands = true;
	if (status == BK_ECANCELED)
		store_gone(r);
	else if (r->closing || r->again)
		round_over(r);
	else if (status == BK_OK || status == BK_EEXIST)
		look_whose(r);
	else if (status == BK_ENONODE && r->readonly)
		make_readonly_list(r);
	else
		try_again(r, status);
}

static void
begin_round(struct bk_registration *r)
{
	char path[BK_PATH_MAX + 1];

	r->busy = true;
	r->again = false;
	node_path(r, r->readonly, path);
	bk_meta_create(r->tree->meta, path,
	    (struct bk_bytes){r->payload, r->len}, BK_NODE_EPHEMERAL,
	    BK_ACL_CONF, on_created, r);
}

struct bk_registration *
bk_registration_new(const struct bk_tree *tree, const char *bookie_id,
    struct bk_bytes payload, bool readonly, bk_done_cb *state, void *arg)
{
	struct bk_registration *r = calloc(1, sizeof(*r));

	if (r == NULL)
		return (NULL);
	r->tree = tree;
	r->id = strdup(bookie_id);
	r->payload = malloc(payload.len + 1);
	if (r->id == NULL || r->payload == NULL) {
		free(r->id);
		free(r->payload);
		free(r);
		return (NULL);
	}
	if (payload.len > 0)
		memcpy(r->payload, payload.data, payload.len);
	r->len = payload.len;
	r->readonly = readonly;
	r->state = state;
	r->arg = arg;
	begin_round(r);
	return (r);
}

void
bk_registration_mode(struct bk_registration *r, bool readonly)
{
	if (r->readonly == readonly)
		return;
	r->readonly = readonly;
	bk_registration_renew(r);
}

void
bk_registration_renew(struct bk_registration *r)
{
	if (r->busy)
		r->again = true;
	else
		begin_round(r);
}

void
bk_registration_free(struct bk_registration *r, bk_done_cb *done, void *arg)
{
	if (r == NULL) {
		if (done != NULL)
			done(arg, BK_OK);
		return;
	}
	r->closing = true;
	r->done = done;
	r->done_arg = arg;
	if (r->gone)
		destroy(r, BK_OK);
	else if (!r->busy)
		leave(r);
}
