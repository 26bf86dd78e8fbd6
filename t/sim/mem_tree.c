/* mem_tree.c - nodes in memory, each with its children in order. */
#include "t/sim/mem_tree.h"

#include <err.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct node {
	struct node *parent;
	struct node **children; /* stat.nchildren of them, sorted by name */
	char *name;
	uint8_t *data;
	size_t len;
	struct bk_node_stat stat;
	int32_t sequence; /* children ever made */
};

struct mem_tree {
	struct node *root;
	mem_change_fn *changed;
	void *arg;
	mem_trace_fn *trace;
	void *trace_arg;
};

/* How to take back one operation of a multi, and what to tell of it when all
 * of them stand. */
struct undo {
	enum { UNDO_NONE, UNDO_CREATE, UNDO_SET, UNDO_DELETE } kind;
	struct node *node;
	uint8_t *data;
	size_t len;
	struct bk_node_stat parent_stat;
	int32_t parent_sequence;
};

static void *
need(void *memory)
{
	if (memory == NULL)
		err(1, "simulated store");
	return (memory);
}

static struct node *
node_new(const char *name, struct bk_bytes data)
{
	struct node *n = need(calloc(1, sizeof(*n)));

	n->name = need(strdup(name));
	n->data = need(malloc(data.len + 1));
	if (data.len > 0)
		memcpy(n->data, data.data, data.len);
	n->len = data.len;
	return (n);
}

static void
node_free(struct node *n)
{
	for (uint32_t i = 0; i < n->stat.nchildren; i++)
		node_free(n->children[i]);
	free(n->children);
	free(n->name);
	free(n->data);
	free(n);
}

/* Where the child of a name is, or belongs. */
static uint32_t
place_of(const struct node *parent, const char *name)
{
	uint32_t low = 0, high = parent->stat.nchildren, mid;

	while (low < high) {
		mid = low + (high - low) / 2;
		if (strcmp(parent->children[mid]->name, name) < 0)
			low = mid + 1;
		else
			high = mid;
	}
	return (low);
}

static struct node *
child_of(struct node *parent, const char *name)
{
	uint32_t at = place_of(parent, name);

	if (at == parent->stat.nchildren ||
	    strcmp(parent->children[at]->name, name) != 0)
		return (NULL);
	return (parent->children[at]);
}

static struct node *
find(struct mem_tree *t, const char *path)
{
	char copy[MEM_PATH_ROOM], *rest = copy, *name;
	struct node *n = t->root;

	(void)snprintf(copy, sizeof(copy), "%s", path);
	while (n != NULL && (name = strsep(&rest, "/")) != NULL)
		if (*name != '\0')
			n = child_of(n, name);
	return (n);
}

/* The parent of a path that may not exist, and its last component. */
static struct node *
find_parent(struct mem_tree *t, const char *path, const char **name)
{
	char parent[MEM_PATH_ROOM];
	const char *slash = strrchr(path, '/');

	(void)snprintf(parent, sizeof(parent), "%.*s", (int)(slash - path),
	    path);
	*name = slash + 1;
	return (find(t, parent));
}

/* The path of a node below the root, and its length. */
static size_t
put_path(const struct node *n, char path[MEM_PATH_ROOM])
{
	size_t len = 0;

	if (n->parent->parent != NULL)
		len = put_path(n->parent, path);
	return (len +
	    (size_t)snprintf(path + len, MEM_PATH_ROOM - len, "/%s", n->name));
}

static void
path_of(const struct node *n, char path[MEM_PATH_ROOM])
{
	if (n->parent != NULL)
		(void)put_path(n, path);
	else
		(void)snprintf(path, MEM_PATH_ROOM, "/");
}

static void
attach(struct node *parent, struct node *n)
{
	uint32_t at = place_of(parent, n->name), count = parent->stat.nchildren;

	n->parent = parent;
	parent->children = need(
	    reallocarray(parent->children, count + 1, sizeof(struct node *)));
	memmove(&parent->children[at + 1], &parent->children[at],
	    (count - at) * sizeof(struct node *));
	parent->children[at] = n;
	parent->stat.nchildren++;
	parent->stat.cversion++;
}

static void
detach(struct node *n)
{
	struct node *parent = n->parent;
	uint32_t at = place_of(parent, n->name);

	memmove(&parent->children[at], &parent->children[at + 1],
	    (parent->stat.nchildren - at - 1) * sizeof(struct node *));
	parent->stat.nchildren--;
	parent->stat.cversion++;
}

/* Telling. */

static void
trace(struct mem_tree *t, const char *op, const char *path, const char *kind,
    const uint8_t *data, size_t len)
{
	char *line, *p;

	if (t->trace == NULL)
		return;
	line = need(malloc(strlen(op) + strlen(path) + 2 * len + 40));
	p = line + sprintf(line, "%s %s %s ", op, path, kind);
	for (size_t i = 0; i < len; i++)
		p += sprintf(p, "%02x", data[i]);
	if (len == 0)
		memcpy(p, "-", 2);
	t->trace(t->trace_arg, line);
	free(line);
}

static void
parent_changed(struct mem_tree *t, const struct node *n)
{
	char path[MEM_PATH_ROOM];

	path_of(n->parent, path);
	t->changed(t->arg, BK_WATCH_CHILDREN, path);
}

static void
tell_created(struct mem_tree *t, const struct node *n, const char *prefix)
{
	char path[MEM_PATH_ROOM], op[32];

	path_of(n, path);
	(void)snprintf(op, sizeof(op), "%screate", prefix);
	trace(t, op, path, n->stat.owner != 0 ? "ephemeral" : "persistent",
	    n->data, n->len);
	t->changed(t->arg, BK_WATCH_CREATED, path);
	parent_changed(t, n);
}

static void
tell_set(struct mem_tree *t, const struct node *n, const char *prefix)
{
	char path[MEM_PATH_ROOM], op[32];

	path_of(n, path);
	(void)snprintf(op, sizeof(op), "%sset:v%" PRId32, prefix,
	    n->stat.version);
	trace(t, op, path, "-", n->data, n->len);
	t->changed(t->arg, BK_WATCH_CHANGED, path);
}

/* n is detached, and still knows its parent. */
static void
tell_removed(struct mem_tree *t, const struct node *n, const char *prefix)
{
	char path[MEM_PATH_ROOM], op[32];

	path_of(n, path);
	(void)snprintf(op, sizeof(op), "%sdelete", prefix);
	trace(t, op, path, "-", NULL, 0);
	t->changed(t->arg, BK_WATCH_DELETED, path);
	parent_changed(t, n);
}

/* Doing: each leaves in *u how to take it back. */

static enum bk_status
do_create(struct mem_tree *t, const struct bk_meta_op *op, uint64_t session,
    int64_t now_ms, struct undo *u)
{
	bool sequential = op->node == BK_NODE_SEQUENTIAL ||
	    op->node == BK_NODE_EPHEMERAL_SEQUENTIAL;
	char full[MEM_PATH_ROOM];
	struct node *parent;
	const char *name;

	if ((parent = find_parent(t, op->path, &name)) == NULL)
		return (BK_ENONODE);
	if (parent->stat.owner != 0)
		return (BK_EINVAL);
	(void)snprintf(full, sizeof(full), "%s", name);
	if (sequential)
		(void)snprintf(full, sizeof(full), "%s%010" PRId32, name,
		    parent->sequence);
	if (child_of(parent, full) != NULL)
		return (BK_EEXIST);
	u->kind = UNDO_CREATE;
	u->parent_stat = parent->stat;
	u->parent_sequence = parent->sequence;
	u->node = node_new(full, op->data);
	u->node->stat.created_ms = now_ms;
	if (op->node == BK_NODE_EPHEMERAL ||
	    op->node == BK_NODE_EPHEMERAL_SEQUENTIAL)
		u->node->stat.owner = session;
	/* As ZooKeeper's, the number wraps to negative ones. */
	parent->sequence = (int32_t)((uint32_t)parent->sequence + 1);
	attach(parent, u->node);
	return (BK_OK);
}

static bool
version_fits(const struct node *n, int32_t version)
{
	return (version == BK_ANY_VERSION || version == n->stat.version);
}

static enum bk_status
do_set(struct mem_tree *t, const struct bk_meta_op *op, struct undo *u)
{
	struct node *n = find(t, op->path);

	if (n == NULL)
		return (BK_ENONODE);
	if (!version_fits(n, op->version))
		return (BK_EVERSION);
	*u = (struct undo){UNDO_SET, n, n->data, n->len, n->stat, 0};
	n->data = need(malloc(op->data.len + 1));
	if (op->data.len > 0)
		memcpy(n->data, op->data.data, op->data.len);
	n->len = op->data.len;
	n->stat.version++;
	return (BK_OK);
}

static enum bk_status
do_remove(struct mem_tree *t, const struct bk_meta_op *op, struct undo *u)
{
	struct node *n = find(t, op->path);

	if (n == NULL || n->parent == NULL)
		return (BK_ENONODE);
	if (!version_fits(n, op->version))
		return (BK_EVERSION);
	if (n->stat.nchildren > 0)
		return (BK_ENOTEMPTY);
	*u = (struct undo){UNDO_DELETE, n, NULL, 0, n->parent->stat,
	    n->parent->sequence};
	detach(n);
	return (BK_OK);
}

static enum bk_status
do_check(struct mem_tree *t, const struct bk_meta_op *op)
{
	struct node *n = find(t, op->path);

	if (n == NULL)
		return (BK_ENONODE);
	return (version_fits(n, op->version) ? BK_OK : BK_EVERSION);
}

static enum bk_status
do_op(struct mem_tree *t, const struct bk_meta_op *op, uint64_t session,
    int64_t now_ms, struct undo *u)
{
	*u = (struct undo){.kind = UNDO_NONE};
	switch (op->kind) {
	case BK_OP_CREATE:
		return (do_create(t, op, session, now_ms, u));
	case BK_OP_SET:
		return (do_set(t, op, u));
	case BK_OP_DELETE:
		return (do_remove(t, op, u));
	case BK_OP_CHECK:
		return (do_check(t, op));
	}
	return (BK_EINVAL);
}

static void
take_back(struct undo *u)
{
	struct node *parent = u->node != NULL ? u->node->parent : NULL;

	switch (u->kind) {
	case UNDO_NONE:
		return;
	case UNDO_SET:
		free(u->node->data);
		u->node->data = u->data;
		u->node->len = u->len;
		u->node->stat = u->parent_stat;
		return;
	case UNDO_CREATE:
		detach(u->node);
		node_free(u->node);
		break;
	case UNDO_DELETE:
		attach(parent, u->node);
		break;
	}
	parent->stat = u->parent_stat;
	parent->sequence = u->parent_sequence;
}

/* It stands: tell of it and drop what undoing would have needed. */
static void
settle(struct mem_tree *t, struct undo *u, const char *prefix)
{
	switch (u->kind) {
	case UNDO_NONE:
		return;
	case UNDO_CREATE:
		tell_created(t, u->node, prefix);
		return;
	case UNDO_SET:
		free(u->data);
		tell_set(t, u->node, prefix);
		return;
	case UNDO_DELETE:
		tell_removed(t, u->node, prefix);
		node_free(u->node);
		return;
	}
}

/* The face. */

struct mem_tree *
mem_tree_new(mem_change_fn *changed, void *arg)
{
	struct mem_tree *t = need(calloc(1, sizeof(*t)));

	t->root = node_new("", (struct bk_bytes){NULL, 0});
	t->changed = changed;
	t->arg = arg;
	return (t);
}

void
mem_tree_free(struct mem_tree *t)
{
	node_free(t->root);
	free(t);
}

void
mem_tree_trace(struct mem_tree *t, mem_trace_fn *fn, void *arg)
{
	t->trace = fn;
	t->trace_arg = arg;
}

enum bk_status
mem_tree_create(struct mem_tree *t, const char *path, struct bk_bytes data,
    enum bk_node_kind kind, uint64_t session, int64_t now_ms,
    char made[MEM_PATH_ROOM])
{
	struct bk_meta_op op = {.kind = BK_OP_CREATE,
	    .path = path,
	    .data = data,
	    .node = kind};
	char full[MEM_PATH_ROOM];
	enum bk_status status;
	struct undo u;

	status = do_op(t, &op, session, now_ms, &u);
	if (status != BK_OK)
		return (status);
	path_of(u.node, full);
	(void)snprintf(made, MEM_PATH_ROOM, "%s", full);
	settle(t, &u, "");
	return (BK_OK);
}

enum bk_status
mem_tree_set(struct mem_tree *t, const char *path, struct bk_bytes data,
    int32_t version, struct bk_node_stat *stat)
{
	struct bk_meta_op op = {.kind = BK_OP_SET,
	    .path = path,
	    .data = data,
	    .version = version};
	enum bk_status status;
	struct undo u;

	if ((status = do_op(t, &op, 0, 0, &u)) != BK_OK)
		return (status);
	*stat = u.node->stat;
	settle(t, &u, "");
	return (BK_OK);
}

enum bk_status
mem_tree_remove(struct mem_tree *t, const char *path, int32_t version)
{
	struct bk_meta_op op = {.kind = BK_OP_DELETE,
	    .path = path,
	    .version = version};
	enum bk_status status;
	struct undo u;

	if ((status = do_op(t, &op, 0, 0, &u)) == BK_OK)
		settle(t, &u, "");
	return (status);
}

enum bk_status
mem_tree_multi(struct mem_tree *t, const struct bk_meta_op *ops, size_t nops,
    uint64_t session, int64_t now_ms, size_t *failed)
{
	struct undo *undo = need(calloc(nops + 1, sizeof(*undo)));
	enum bk_status status = BK_OK;
	size_t done = 0;

	for (; done < nops && status == BK_OK; done++)
		status = do_op(t, &ops[done], session, now_ms, &undo[done]);
	if (status != BK_OK) {
		*failed = done - 1;
		while (done-- > 0)
			take_back(&undo[done]);
	} else {
		for (size_t i = 0; i < nops; i++)
			settle(t, &undo[i], "multi:");
	}
	free(undo);
	return (status);
}

enum bk_status
mem_tree_get(struct mem_tree *t, const char *path, struct bk_bytes *data,
    struct bk_node_stat *stat)
{
	struct node *n = find(t, path);

	if (n == NULL)
		return (BK_ENONODE);
	*data = (struct bk_bytes){n->data, n->len};
	*stat = n->stat;
	return (BK_OK);
}

enum bk_status
mem_tree_children(struct mem_tree *t, const char *path, char ***names,
    size_t *count, struct bk_node_stat *stat)
{
	struct node *n = find(t, path);

	if (n == NULL)
		return (BK_ENONODE);
	*names = need(calloc(n->stat.nchildren + 1, sizeof(**names)));
	*count = n->stat.nchildren;
	for (size_t i = 0; i < *count; i++)
		(*names)[i] = need(strdup(n->children[i]->name));
	*stat = n->stat;
	return (BK_OK);
}

void
mem_tree_set_sequence(struct mem_tree *t, const char *path, int64_t next)
{
	struct node *n = find(t, path);

	if (n == NULL)
		errx(1, "simulated store: no %s", path);
	n->sequence = (int32_t)next;
}

/* An ephemeral node of the session below n, or NULL. */
static struct node *
ephemeral_of(struct node *n, uint64_t session)
{
	struct node *child, *found;

	for (uint32_t i = 0; i < n->stat.nchildren; i++) {
		child = n->children[i];
		if (child->stat.owner == session)
			return (child);
		if ((found = ephemeral_of(child, session)) != NULL)
			return (found);
	}
	return (NULL);
}

void
mem_tree_end_session(struct mem_tree *t, uint64_t session)
{
	struct node *n;

	while ((n = ephemeral_of(t->root, session)) != NULL) {
		struct undo u = {.kind = UNDO_DELETE, .node = n};

		detach(n);
		settle(t, &u, "");
	}
}
