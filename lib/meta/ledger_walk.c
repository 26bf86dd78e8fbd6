/*
 * ledger_walk.c - all ledgers, ascending (spec/metadata.md 2.4).
 *
 * Directories are read one after the other, in order, each behind a sync of
 * its own, which costs no wait, so that also a read that went to another
 * server after a loss of the connection is a fresh one. A directory that is
 * gone was pruned and is empty. Anything else that goes wrong ends the walk: a
 * short listing would have a bookie delete data (2.6).
 */
#include "meta/tree_call.h"

#include <stdlib.h>
#include <string.h>

#define LEVELS_MAX 5
#define DEEPEST 32 /* bytes of the longest path below root, rounded up */

/* How many digits each component of a path has; the last follows an L. */
struct shape {
	int levels;
	int digits[LEVELS_MAX];
};

static const struct shape flat_shape = {1, {10}};
static const struct shape short_shape = {3, {2, 4, 4}};
static const struct shape long_shape = {5, {3, 4, 4, 4, 4}};

/* The directories of one level that are still to be read. */
struct level {
	char **names;
	size_t n;
	size_t next;
	size_t path_len; /* of the directory they are in */
	uint64_t prefix; /* its digits, up to 19 of them */
};

struct walk {
	const struct bk_tree *tree;
	const struct shape *shape;
	const struct shape *then; /* walked after it, or NULL */
	struct level levels[LEVELS_MAX];
	int depth;       /* of the directory being read */
	uint64_t prefix; /* its digits */
	enum bk_status sync_status;
	char path[BK_PATH_MAX + 1];
	bk_each_ledger_cb *each;
	bk_done_cb *cb;
	void *arg;
};

static void read_directory(struct walk *w);

static void
drop_level(struct level *l)
{
	for (size_t i = 0; i < l->n; i++)
		free(l->names[i]);
	free(l->names);
	*l = (struct level){0};
}

static void
finish(struct walk *w, enum bk_status status)
{
	w->cb(w->arg, status);
	for (int i = 0; i < LEVELS_MAX; i++)
		drop_level(&w->levels[i]);
	free(w);
}

/* The number in a name of just so many digits, or -1. */
static int64_t
component_value(const char *name, int digits)
{
	return (strlen(name) == (size_t)digits ? bk_digits_value(name) : -1);
}

/* The prefix with the digits of one more component. */
static uint64_t
extend(uint64_t prefix, int64_t value, int digits)
{
	while (digits-- > 0)
		prefix *= 10;
	return (prefix + (uint64_t)value);
}

static void
begin_shape(struct walk *w, const struct shape *shape)
{
	w->shape = shape;
	w->depth = 0;
	w->prefix = 0;
	/* Else it stays "", which the store refuses. */
	if (strlen(w->tree->root) + DEEPEST <= BK_PATH_MAX)
		bk_tree_path(w->tree, w->path, "%s", "");
	read_directory(w);
}

/* On to the next directory in order: below where there are some left, else
 * beside its parent. */
static void
next_directory(struct walk *w)
{
	const struct shape *then = w->then;
	struct level *l;
	const char *name;

	while (
	    w->depth >= 0 && w->levels[w->depth].next == w->levels[w->depth].n)
		drop_level(&w->levels[w->depth--]);
	if (w->depth < 0) {
		w->then = NULL;
		if (then != NULL)
			begin_shape(w, then);
		else
			finish(w, BK_OK);
		return;
	}
	l = &w->levels[w->depth];
	name = l->names[l->next++];
	w->prefix = extend(l->prefix, bk_digits_value(name),
	    w->shape->digits[w->depth]);
	w->path[l->path_len] = '/';
	memcpy(w->path + l->path_len + 1, name, strlen(name) + 1);
	w->depth++;
	read_directory(w);
}

/* Keep the names of subdirectories for later. */
static enum bk_status
take_level(struct walk *w, const struct bk_meta_reply *reply)
{
	struct level *l = &w->levels[w->depth];
	int digits = w->shape->digits[w->depth];

	l->path_len = strlen(w->path);
	l->prefix = w->prefix;
	l->names = calloc(reply->nchildren + 1, sizeof(*l->names));
	if (l->names == NULL)
		return (BK_ENOMEM);
	for (size_t i = 0; i < reply->nchildren; i++) {
		if (component_value(reply->children[i], digits) < 0)
			continue;
		if ((l->names[l->n] = strdup(reply->children[i])) == NULL)
			return (BK_ENOMEM);
		l->n++;
	}
	return (BK_OK);
}

/* Whether this is where an id is looked up. Others are no ledgers: ids past
 * the last one, or in the hierarchical layout on the path of the other kind. */
static bool
belongs(const struct walk *w, int64_t id)
{
	char path[BK_PATH_MAX + 1];

	return (bk_ledger_path(w->tree, id, path) == 0 &&
	    strncmp(path, w->path, strlen(w->path)) == 0);
}

static enum bk_status
tell_ledgers(struct walk *w, const struct bk_meta_reply *reply)
{
	int digits = w->shape->digits[w->depth];
	const char *name;
	int64_t value, id;

	for (size_t i = 0; i < reply->nchildren; i++) {
		name = reply->children[i];
		value = name[0] == 'L' ? component_value(name + 1, digits) : -1;
		if (value < 0)
			continue;
		id = (int64_t)extend(w->prefix, value, digits);
		if (belongs(w, id) && !w->each(w->arg, id))
			return (BK_ECANCELED);
	}
	return (BK_OK);
}

static void
on_children(void *arg, enum bk_status status, const struct bk_meta_reply *reply)
{
	struct walk *w = arg;
	bool leaf = w->depth == w->shape->levels - 1;
	bool pruned = status == BK_ENONODE && w->depth > 0;

	if (w->sync_status != BK_OK)
		status = w->sync_status;
	else if (pruned)
		status = BK_OK;
	else if (status == BK_OK)
		status = leaf ? tell_ledgers(w, reply) : take_level(w, reply);
	if (status != BK_OK)
		finish(w, status);
	else
		next_directory(w);
}

static void
on_synced(void *arg, enum bk_status status, const struct bk_meta_reply *reply)
{
	struct walk *w = arg;

	(void)reply;
	w->sync_status = status;
}

/* Calls are answered in order, so the sync is over when the names come. */
static void
read_directory(struct walk *w)
{
	bk_meta_sync(w->tree->meta, w->tree->root, on_synced, w);
	bk_meta_children(w->tree->meta, w->path, BK_NO_WATCH, on_children, w);
}

void
bk_ledger_walk(const struct bk_tree *tree, bk_each_ledger_cb *each,
    bk_done_cb *cb, void *arg)
{
	struct walk *w = calloc(1, sizeof(*w));

	if (w == NULL) {
		cb(arg, BK_ENOMEM);
		return;
	}
	w->tree = tree;
	w->each = each;
	w->cb = cb;
	w->arg = arg;
	switch (tree->layout) {
	case BK_LAYOUT_HIERARCHICAL:
		w->then = &long_shape;
		begin_shape(w, &short_shape);
		break;
	case BK_LAYOUT_LONG:
		begin_shape(w, &long_shape);
		break;
	case BK_LAYOUT_LEGACY:
		begin_shape(w, &short_shape);
		break;
	case BK_LAYOUT_FLAT:
		begin_shape(w, &flat_shape);
		break;
	}
}
