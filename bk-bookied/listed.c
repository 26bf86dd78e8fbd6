/*
 * listed.c - the persistent registration, one step after another: make the
 * node in the list that is wanted, set its payload, remove it from the other.
 * A change of mind starts the steps again.
 */
#include "bk-bookied/listed.h"
#include "base/log.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PAUSE (1 * BK_SECOND)

struct listed {
	const struct bk_tree *tree;
	char *id;
	uint8_t *payload;
	size_t len;
	bool readonly; /* what is wanted */
	bool is_busy;  /* steps are on their way */
	bool again;    /* wanted has changed meanwhile */
	bk_done_cb *state;
	void *arg;
};

static void begin(struct listed *l);

/* -1 when too long. */
static int
path_of(const struct listed *l, bool readonly, char path[BK_PATH_MAX + 1])
{
	int n = snprintf(path, BK_PATH_MAX + 1, "%s/available/%s%s",
	    l->tree->root, readonly ? "readonly/" : "", l->id);

	return (n < 0 || n > BK_PATH_MAX ? -1 : 0);
}

static void
on_pause(void *arg, enum bk_status status, const struct bk_meta_reply *reply)
{
	(void)reply;
	if (status == BK_OK)
		begin(arg);
}

/* The store was lost: look again later, as often as it takes. */
static void
try_later(struct listed *l)
{
	bk_meta_pause(l->tree->meta, PAUSE, on_pause, l);
}

static void
end(struct listed *l, enum bk_status status)
{
	if (status == BK_ECANCELED) /* the store is being closed */
		return;
	if (l->again) {
		begin(l);
		return;
	}
	l->is_busy = false;
	l->state(l->arg, status);
}

static bool
is_lost(enum bk_status status)
{
	return (status == BK_ESTORE || status == BK_ESESSION);
}

static void
on_removed(void *arg, enum bk_status status, const struct bk_meta_reply *reply)
{
	struct listed *l = arg;

	(void)reply;
	if (is_lost(status))
		try_later(l);
	else
		end(l, status == BK_ENONODE ? BK_OK : status);
}

static void
remove_other(struct listed *l)
{
	char path[BK_PATH_MAX + 1];

	if (path_of(l, !l->readonly, path) == -1)
		end(l, BK_EINVAL);
	else
		bk_meta_remove(l->tree->meta, path, BK_ANY_VERSION, on_removed,
		    l);
}

static void
on_set(void *arg, enum bk_status status, const struct bk_meta_reply *reply)
{
	struct listed *l = arg;

	(void)reply;
	if (status == BK_OK)
		remove_other(l);
	else if (status == BK_ENONODE)
		begin(l); /* it was ephemeral, and has gone */
	else if (is_lost(status))
		try_later(l);
	else
		end(l, status);
}

static void
on_looked(void *arg, enum bk_status status, const struct bk_meta_reply *reply)
{
	struct listed *l = arg;
	char path[BK_PATH_MAX + 1];

	if (status == BK_OK && reply->stat.owner == 0 &&
	    path_of(l, l->readonly, path) == 0)
		bk_meta_set(l->tree->meta, path,
		    (struct bk_bytes){l->payload, l->len}, BK_ANY_VERSION,
		    on_set, l);
	else if (status == BK_OK || is_lost(status))
		try_later(l); /* a predecessor's, until its session ends */
	else
		on_set(l, status, NULL);
}

static void
on_created(void *arg, enum bk_status status, const struct bk_meta_reply *reply)
{
	struct listed *l = arg;
	char path[BK_PATH_MAX + 1];

	(void)reply;
	if (status == BK_EEXIST && path_of(l, l->readonly, path) == 0)
		bk_meta_exists(l->tree->meta, path, BK_NO_WATCH, on_looked, l);
	else
		on_set(l, status, NULL);
}

static void
begin(struct listed *l)
{
	char path[BK_PATH_MAX + 1];

	l->is_busy = true;
	l->again = false;
	if (path_of(l, l->readonly, path) == -1)
		end(l, BK_EINVAL);
	else
		bk_meta_create_path(l->tree->meta, path,
		    (struct bk_bytes){l->payload, l->len}, BK_NODE_PERSISTENT,
		    BK_ACL_CONF, on_created, l);
}

struct listed *
listed_new(const struct bk_tree *tree, const char *bookie_id,
    struct bk_bytes payload, bool readonly, bk_done_cb *state, void *arg)
{
	struct listed *l = calloc(1, sizeof(*l));

	if (l == NULL)
		return (NULL);
	l->tree = tree;
	l->readonly = readonly;
	l->state = state;
	l->arg = arg;
	l->len = payload.len;
	l->id = strdup(bookie_id);
	l->payload = malloc(payload.len + 1);
	if (l->id == NULL || l->payload == NULL) {
		listed_free(l);
		return (NULL);
	}
	memcpy(l->payload, payload.data, payload.len);
	begin(l);
	return (l);
}

void
listed_mode(struct listed *l, bool readonly)
{
	if (l->readonly == readonly)
		return;
	l->readonly = readonly;
	if (l->is_busy)
		l->again = true;
	else
		begin(l);
}

void
listed_free(struct listed *l)
{
	if (l == NULL)
		return;
	free(l->id);
	free(l->payload);
	free(l);
}
