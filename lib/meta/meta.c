/*
 * meta.c - the face of the metadata store: checks paths and sizes, then calls
 * the store behind it.
 */
#include "meta/meta.h"

#include "meta/meta_stores.h"

#include <stdlib.h>
#include <string.h>

/* Room for what a request needs beside its data, per operation. */
#define OP_OVERHEAD 64

/* How often a path is created again whose parents vanish. */
#define CREATE_TRIES 100

static const struct bk_meta_reply no_reply;

struct bk_meta *
bk_meta_open(struct bk_loop *loop, const struct bk_cluster_uri *uri,
    const struct bk_meta_config *config, bk_meta_state_cb *on_state, void *arg,
    enum bk_status *status, const char **why)
{
	struct bk_meta *m;

	if (uri->kind == BK_CLUSTER_ZK)
		m = bk_meta_zk_open(loop, uri, config, status, why);
	else
		m = bk_meta_lmdb_open(loop, uri, config, status, why);
	if (m == NULL)
		return (NULL);
	m->on_state = on_state;
	m->state_arg = arg;
	return (m);
}

void
bk_meta_close(struct bk_meta *m)
{
	if (m != NULL)
		m->ops->close(m);
}

/* What a path may be. */

static bool
is_dots(const char *name, size_t len)
{
	return ((len == 1 && name[0] == '.') ||
	    (len == 2 && name[0] == '.' && name[1] == '.'));
}

/* Bytes of the UTF-8 character at p, which ends in NUL; 0: none, or a control
 * character, a surrogate, or longer than needed. */
static size_t
utf8_len(const unsigned char *p)
{
	static const uint32_t least[] = {0, 0x80, 0x800, 0x10000};
	size_t more = p[0] >= 0xf0 ? 3 : p[0] >= 0xe0 ? 2 : 1;
	uint32_t c;

	if (p[0] < 0x80)
		return (p[0] >= 0x20 && p[0] != 0x7f);
	if (p[0] < 0xc0 || p[0] > 0xf4)
		return (0);
	c = p[0] & (0x3fU >> more);
	for (size_t i = 1; i <= more; i++) {
		if ((p[i] & 0xc0) != 0x80)
			return (0);
		c = c << 6 | (p[i] & 0x3fU);
	}
	if (c < least[more] || c < 0xa0 || c > 0x10ffff)
		return (0);
	if ((c >= 0xd800 && c <= 0xf8ff) || (c & 0xfff0) == 0xfff0)
		return (0); /* ZooKeeper refuses these */
	return (more + 1);
}

static bool
name_valid(const char *name, size_t len)
{
	size_t step;

	if (len == 0 || is_dots(name, len))
		return (false);
	for (size_t i = 0; i < len; i += step) {
		step = utf8_len((const unsigned char *)name + i);
		if (step == 0)
			return (false);
	}
	return (true);
}

bool
bk_meta_path_valid(const char *path)
{
	size_t len;

	if (path[0] != '/' || strlen(path) > BK_PATH_MAX)
		return (false);
	if (path[1] == '\0')
		return (true);
	while (*path == '/') {
		path++;
		len = strcspn(path, "/");
		if (!name_valid(path, len))
			return (false);
		path += len;
	}
	return (true);
}

static enum bk_status
check(const char *path, struct bk_bytes data)
{
	if (strlen(path) > BK_PATH_MAX || data.len > BK_NODE_MAX)
		return (BK_ETOOBIG);
	return (bk_meta_path_valid(path) ? BK_OK : BK_EINVAL);
}

/* What is created, set or deleted is never the root itself. */
static enum bk_status
check_below_root(const char *path, struct bk_bytes data)
{
	if (path[0] == '/' && path[1] == '\0')
		return (BK_EINVAL);
	return (check(path, data));
}

/* Ten digits are appended to a sequential name. */
static enum bk_status
check_create(const char *path, struct bk_bytes data, enum bk_node_kind kind)
{
	if (kind >= BK_NODE_SEQUENTIAL && strlen(path) > BK_PATH_MAX - 10)
		return (BK_ETOOBIG);
	return (check_below_root(path, data));
}

static enum bk_status
check_op(const struct bk_meta_op *op)
{
	switch (op->kind) {
	case BK_OP_CREATE:
		if (op->node >= BK_NODE_SEQUENTIAL)
			return (BK_EINVAL);
		return (check_below_root(op->path, op->data));
	case BK_OP_DELETE:
		return (check_below_root(op->path, op->data));
	case BK_OP_SET:
	case BK_OP_CHECK:
		return (check(op->path, op->data));
	}
	return (BK_EINVAL);
}

/* A refusal reaches its callback from the loop. */

struct refusal {
	enum bk_status status;
	size_t failed;
	bk_meta_cb *cb;
	void *arg;
};

static void
refused(void *arg, enum bk_status status, const struct bk_meta_reply *reply)
{
	struct refusal r = *(struct refusal *)arg;
	struct bk_meta_reply answer = *reply;

	free(arg);
	answer.failed = r.failed;
	r.cb(r.arg, status == BK_OK ? r.status : status, &answer);
}

static void
refuse(struct bk_meta *m, enum bk_status status, size_t failed, bk_meta_cb *cb,
    void *arg)
{
	struct refusal *r;

	r = malloc(sizeof(*r));
	if (r == NULL) {
		cb(arg, BK_ENOMEM, &no_reply);
		return;
	}
	*r = (struct refusal){status, failed, cb, arg};
	m->ops->pause(m, 0, refused, r);
}

/* The calls. */

static const struct bk_bytes no_data = {NULL, 0};

void
bk_meta_create(struct bk_meta *m, const char *path, struct bk_bytes data,
    enum bk_node_kind kind, enum bk_node_acl acl, bk_meta_cb *cb, void *arg)
{
	enum bk_status status = check_create(path, data, kind);

	if (status != BK_OK)
		refuse(m, status, 0, cb, arg);
	else
		m->ops->create(m, path, data, kind, acl, cb, arg);
}

void
bk_meta_get(struct bk_meta *m, const char *path, struct bk_watch w,
    bk_meta_cb *cb, void *arg)
{
	enum bk_status status = check(path, no_data);

	if (status != BK_OK)
		refuse(m, status, 0, cb, arg);
	else
		m->ops->get(m, path, w, cb, arg);
}

void
bk_meta_exists(struct bk_meta *m, const char *path, struct bk_watch w,
    bk_meta_cb *cb, void *arg)
{
	enum bk_status status = check(path, no_data);

	if (status != BK_OK)
		refuse(m, status, 0, cb, arg);
	else
		m->ops->exists(m, path, w, cb, arg);
}

void
bk_meta_set(struct bk_meta *m, const char *path, struct bk_bytes data,
    int32_t version, bk_meta_cb *cb, void *arg)
{
	enum bk_status status = check(path, data);

	if (status != BK_OK)
		refuse(m, status, 0, cb, arg);
	else
		m->ops->set(m, path, data, version, cb, arg);
}

void
bk_meta_remove(struct bk_meta *m, const char *path, int32_t version,
    bk_meta_cb *cb, void *arg)
{
	enum bk_status status = check_below_root(path, no_data);

	if (status != BK_OK)
		refuse(m, status, 0, cb, arg);
	else
		m->ops->remove(m, path, version, cb, arg);
}

void
bk_meta_children(struct bk_meta *m, const char *path, struct bk_watch w,
    bk_meta_cb *cb, void *arg)
{
	enum bk_status status = check(path, no_data);

	if (status != BK_OK)
		refuse(m, status, 0, cb, arg);
	else
		m->ops->children(m, path, w, cb, arg);
}

void
bk_meta_multi(struct bk_meta *m, const struct bk_meta_op *ops, size_t nops,
    bk_meta_cb *cb, void *arg)
{
	enum bk_status status;
	size_t total = 0;

	for (size_t i = 0; i < nops; i++) {
		status = check_op(&ops[i]);
		total += ops[i].data.len + strlen(ops[i].path) + OP_OVERHEAD;
		if (status == BK_OK && total > BK_NODE_MAX)
			status = BK_ETOOBIG;
		if (status != BK_OK) {
			refuse(m, status, i, cb, arg);
			return;
		}
	}
	m->ops->multi(m, ops, nops, cb, arg);
}

void
bk_meta_sync(struct bk_meta *m, const char *path, bk_meta_cb *cb, void *arg)
{
	enum bk_status status = check(path, no_data);

	if (status != BK_OK)
		refuse(m, status, 0, cb, arg);
	else
		m->ops->sync(m, path, cb, arg);
}

void
bk_meta_unwatch(struct bk_meta *m, bk_watch_cb *fn, void *arg)
{
	m->ops->unwatch(m, fn, arg);
}

uint64_t
bk_meta_session(struct bk_meta *m)
{
	return (m->ops->session(m));
}

void
bk_meta_pause(struct bk_meta *m, int64_t delay, bk_meta_cb *cb, void *arg)
{
	m->ops->pause(m, delay, cb, arg);
}

int64_t
bk_meta_now(struct bk_meta *m)
{
	return (m->ops->now(m));
}

void
bk_meta_verify(struct bk_meta *m, bk_meta_cb *cb, void *arg)
{
	if (m->ops->verify != NULL)
		m->ops->verify(m, cb, arg);
	else
		m->ops->sync(m, "/", cb, arg);
}

/*
 * A node and its parents: the node first; when its parent is missing that one
 * in the same way, then the node again.
 */
struct create_path {
	struct bk_meta *m;
	enum bk_node_kind kind;
	enum bk_node_acl acl;
	bk_meta_cb *cb;
	void *arg;
	struct bk_bytes data;
	size_t len; /* of the path, or of the parent now being made */
	int tries;
	char path[BK_PATH_MAX + 1];
	uint8_t bytes[];
};

static void created(void *arg, enum bk_status status,
    const struct bk_meta_reply *reply);

static void
create_next(struct create_path *c)
{
	char part[BK_PATH_MAX + 1];

	if (c->path[c->len] == '\0') {
		bk_meta_create(c->m, c->path, c->data, c->kind, c->acl, created,
		    c);
		return;
	}
	memcpy(part, c->path, c->len);
	part[c->len] = '\0';
	bk_meta_create(c->m, part, no_data, BK_NODE_PERSISTENT, c->acl, created,
	    c);
}

static void
finish_create(struct create_path *c, enum bk_status status,
    const struct bk_meta_reply *reply)
{
	bk_meta_cb *cb = c->cb;
	void *arg = c->arg;

	free(c);
	cb(arg, status, reply);
}

static void
created(void *arg, enum bk_status status, const struct bk_meta_reply *reply)
{
	struct create_path *c = arg;
	bool whole = c->path[c->len] == '\0';
	size_t parent;

	if (status == BK_ENONODE && c->tries++ < CREATE_TRIES) {
		for (parent = c->len - 1; c->path[parent] != '/'; parent--)
			continue;
		if (parent > 0) {
			c->len = parent;
			create_next(c);
			return;
		}
	} else if (!whole && (status == BK_OK || status == BK_EEXIST)) {
		c->len += 1 + strcspn(c->path + c->len + 1, "/");
		create_next(c);
		return;
	}
	finish_create(c, status, reply);
}

void
bk_meta_create_path(struct bk_meta *m, const char *path, struct bk_bytes data,
    enum bk_node_kind kind, enum bk_node_acl acl, bk_meta_cb *cb, void *arg)
{
	enum bk_status status = check_create(path, data, kind);
	struct create_path *c;

	if (status != BK_OK) {
		refuse(m, status, 0, cb, arg);
		return;
	}
	c = malloc(sizeof(*c) + data.len);
	if (c == NULL) {
		refuse(m, BK_ENOMEM, 0, cb, arg);
		return;
	}
	*c = (struct create_path){m, kind, acl, cb, arg, {NULL, 0}, 0, 0, ""};
	c->len = strlen(path);
	memcpy(c->path, path, c->len + 1);
	if (data.len > 0)
		memcpy(c->bytes, data.data, data.len);
	c->data = (struct bk_bytes){c->bytes, data.len};
	create_next(c);
}
