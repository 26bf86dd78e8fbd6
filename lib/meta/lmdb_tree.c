/* lmdb_tree.c - creating, changing, deleting and listing nodes. */
#include "meta/lmdb_tree.h"

#include "base/log.h"
#include "meta/lmdb_record.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* The parent's path; false for the root. */
static bool
parent_of(const char *path, char parent[BK_PATH_MAX + 1])
{
	size_t len = strlen(path);

	if (len < 2)
		return (false);
	while (path[len] != '/')
		len--;
	if (len == 0)
		len = 1;
	memcpy(parent, path, len);
	parent[len] = '\0';
	return (true);
}

static void
count_node(struct bk_lmdb_txn *tx, const char *path, int32_t version,
    struct bk_bytes data)
{
	tx->state.sum ^= bk_lmdb_node_hash(path, version, data);
}

/* A child came or went. */
static enum bk_status
put_parent(struct bk_lmdb_txn *tx, const char *path, struct bk_lmdb_node *node)
{
	enum bk_status status;

	node->children_zxid = tx->zxid;
	status = bk_lmdb_node_put_header(tx, path, node);
	if (status == BK_OK)
		status = bk_lmdb_touch(tx, path, BK_WATCH_CHILDREN);
	return (status);
}

static enum bk_status
put_new(struct bk_lmdb_txn *tx, const char *path, struct bk_bytes data,
    uint64_t owner)
{
	struct bk_lmdb_node node = {
	    .created_zxid = tx->zxid,
	    .modified_zxid = tx->zxid,
	    .children_zxid = tx->zxid,
	    .created_ms = tx->now_ms,
	    .modified_ms = tx->now_ms,
	    .owner = owner,
	    .data = data,
	};
	struct bk_lmdb_key key;
	enum bk_status status;

	status = bk_lmdb_node_put(tx, path, &node);
	if (status == BK_OK && owner != 0) {
		bk_lmdb_key_id(&key, BK_LMDB_EPHEMERAL, owner, path);
		status = bk_lmdb_put(tx, &key, "", 0);
	}
	if (status == BK_OK)
		status = bk_lmdb_touch(tx, path, BK_WATCH_CREATED);
	tx->state.nodes++;
	count_node(tx, path, 0, data);
	return (status);
}

static bool
is_ephemeral(enum bk_node_kind kind)
{
	return (
	    kind == BK_NODE_EPHEMERAL || kind == BK_NODE_EPHEMERAL_SEQUENTIAL);
}

static bool
is_sequential(enum bk_node_kind kind)
{
	return (
	    kind == BK_NODE_SEQUENTIAL || kind == BK_NODE_EPHEMERAL_SEQUENTIAL);
}

enum bk_status
bk_lmdb_create(struct bk_lmdb_txn *tx, const char *path, struct bk_bytes data,
    enum bk_node_kind kind, uint64_t session, char *made)
{
	uint64_t owner = is_ephemeral(kind) ? session : 0;
	struct bk_lmdb_node parent, node;
	char parent_path[BK_PATH_MAX + 1];
	enum bk_status status;

	if (!parent_of(path, parent_path))
		return (BK_EEXIST);
	status = bk_lmdb_node(tx, parent_path, &parent);
	if (status != BK_OK)
		return (status);
	if (parent.owner != 0)
		return (BK_EINVAL); /* no children below ephemeral nodes */
	if (is_sequential(kind))
		(void)snprintf(made, BK_PATH_MAX + 1, "%.*s%010" PRId32,
		    BK_PATH_MAX - 10, path, (int32_t)parent.ncreated);
	else
		(void)snprintf(made, BK_PATH_MAX + 1, "%s", path);
	status = bk_lmdb_node(tx, made, &node);
	if (status != BK_ENONODE)
		return (status == BK_OK ? BK_EEXIST : status);
	parent.ncreated++;
	parent.nchildren++;
	status = put_parent(tx, parent_path, &parent);
	if (status == BK_OK)
		status = put_new(tx, made, data, owner);
	return (status);
}

static bool
version_fits(const struct bk_lmdb_node *node, int32_t version)
{
	return (version == BK_ANY_VERSION || version == node->version);
}

enum bk_status
bk_lmdb_set(struct bk_lmdb_txn *tx, const char *path, struct bk_bytes data,
    int32_t version, struct bk_node_stat *stat)
{
	struct bk_lmdb_node node;
	struct bk_bytes old;
	enum bk_status status;

	status = bk_lmdb_node(tx, path, &node);
	if (status != BK_OK)
		return (status);
	if (!version_fits(&node, version))
		return (BK_EVERSION);
	status = bk_lmdb_node_data(tx, path, &node, &old);
	if (status != BK_OK)
		return (status);
	count_node(tx, path, node.version, old);
	node.version++;
	node.modified_zxid = tx->zxid;
	node.modified_ms = tx->now_ms;
	node.data = data;
	count_node(tx, path, node.version, data);
	status = bk_lmdb_node_put(tx, path, &node);
	if (status == BK_OK)
		status = bk_lmdb_touch(tx, path, BK_WATCH_CHANGED);
	bk_lmdb_node_stat(&node, stat);
	return (status);
}

static enum bk_status
delete_records(struct bk_lmdb_txn *tx, const char *path,
    const struct bk_lmdb_node *node)
{
	struct bk_lmdb_key key;
	enum bk_status status;

	bk_lmdb_key_node(&key, path);
	status = bk_lmdb_del(tx, &key);
	if (status == BK_OK && node->apart) {
		bk_lmdb_key_text(&key, BK_LMDB_DATA, path, strlen(path));
		status = bk_lmdb_del(tx, &key);
	}
	if (status == BK_OK && node->owner != 0) {
		bk_lmdb_key_id(&key, BK_LMDB_EPHEMERAL, node->owner, path);
		status = bk_lmdb_del(tx, &key);
	}
	return (status == BK_ENONODE ? BK_OK : status);
}

enum bk_status
bk_lmdb_delete(struct bk_lmdb_txn *tx, const char *path, int32_t version)
{
	char parent_path[BK_PATH_MAX + 1];
	struct bk_lmdb_node node, parent;
	struct bk_bytes data;
	enum bk_status status;

	if (!parent_of(path, parent_path))
		return (BK_EINVAL);
	status = bk_lmdb_node(tx, path, &node);
	if (status != BK_OK)
		return (status);
	if (!version_fits(&node, version))
		return (BK_EVERSION);
	if (node.nchildren > 0)
		return (BK_ENOTEMPTY);
	status = bk_lmdb_node_data(tx, path, &node, &data);
	if (status == BK_OK)
		status = bk_lmdb_node(tx, parent_path, &parent);
	if (status != BK_OK)
		return (status == BK_ENONODE ? BK_EBADMETA : status);
	count_node(tx, path, node.version, data);
	tx->state.nodes--;
	parent.nchildren--;
	status = put_parent(tx, parent_path, &parent);
	if (status == BK_OK)
		status = delete_records(tx, path, &node);
	if (status == BK_OK)
		status = bk_lmdb_touch(tx, path, BK_WATCH_DELETED);
	return (status);
}

enum bk_status
bk_lmdb_check(struct bk_lmdb_txn *tx, const char *path, int32_t version)
{
	struct bk_lmdb_node node;
	enum bk_status status;

	status = bk_lmdb_node(tx, path, &node);
	if (status == BK_OK && !version_fits(&node, version))
		status = BK_EVERSION;
	return (status);
}

/* Reading many. */

/* What the keys of all children begin with. */
static void
children_prefix(const char *path, struct bk_lmdb_key *prefix)
{
	bool root = path[1] == '\0';

	bk_lmdb_key_node(prefix, path);
	prefix->bytes[1]++;
	if (!root)
		prefix->bytes[prefix->len++] = '/';
}

/* A damaged page may end a walk early without an error: the number of children
 * must be the one the node tells. */
enum bk_status
bk_lmdb_children(struct bk_lmdb_txn *tx, const char *path,
    const struct bk_lmdb_node *node, struct bk_names *names)
{
	struct bk_lmdb_key prefix;
	enum bk_status status = BK_OK;
	MDB_cursor *cursor;
	MDB_val k, v;
	int rc;

	children_prefix(path, &prefix);
	k = (MDB_val){prefix.len, prefix.bytes};
	rc = mdb_cursor_open(tx->txn, tx->store->dbi, &cursor);
	if (rc != 0)
		return (bk_lmdb_fail(tx, rc));
	rc = mdb_cursor_get(cursor, &k, &v, MDB_SET_RANGE);
	while (rc == 0 && status == BK_OK && k.mv_size > prefix.len &&
	    memcmp(k.mv_data, prefix.bytes, prefix.len) == 0) {
		if (bk_names_add(names, (const char *)k.mv_data + prefix.len,
			k.mv_size - prefix.len) != 0)
			status = BK_ENOMEM;
		rc = mdb_cursor_get(cursor, &k, &v, MDB_NEXT);
	}
	mdb_cursor_close(cursor);
	if (rc != 0 && rc != MDB_NOTFOUND)
		return (bk_lmdb_fail(tx, rc));
	if (status == BK_OK && names->n != node->nchildren) {
		bk_log(BK_LOG_ERROR,
		    "store %s: node %s: damaged: %zu of %u children",
		    tx->store->dir, path, names->n, (unsigned)node->nchildren);
		status = BK_EBADMETA;
	}
	return (status);
}

static enum bk_status
verify_node(struct bk_lmdb_txn *tx, const MDB_val *k, const MDB_val *v,
    struct bk_lmdb_state *found)
{
	struct bk_bytes value = {v->mv_data, v->mv_size}, data;
	char path[BK_PATH_MAX + 1];
	struct bk_lmdb_node node;
	struct bk_lmdb_key key;
	enum bk_status status;

	if (k->mv_size < 3 || k->mv_size > 2 + BK_PATH_MAX)
		return (BK_EBADMETA);
	memcpy(path, (const char *)k->mv_data + 2, k->mv_size - 2);
	path[k->mv_size - 2] = '\0';
	bk_lmdb_key_node(&key, path);
	status = bk_lmdb_node_decode(&key, value, &node);
	if (status == BK_OK)
		status = bk_lmdb_node_data(tx, path, &node, &data);
	if (status != BK_OK) {
		bk_log(BK_LOG_ERROR, "store %s: node %s: damaged",
		    tx->store->dir, path);
		return (status);
	}
	found->nodes++;
	found->sum ^= bk_lmdb_node_hash(path, node.version, data);
	return (BK_OK);
}

enum bk_status
bk_lmdb_verify(struct bk_lmdb_txn *tx)
{
	struct bk_lmdb_state found = {.nodes = 0, .sum = 0};
	enum bk_status status = BK_OK;
	uint8_t table = BK_LMDB_NODE;
	MDB_val k = {1, &table}, v;
	MDB_cursor *cursor;
	int rc;

	rc = mdb_cursor_open(tx->txn, tx->store->dbi, &cursor);
	if (rc != 0)
		return (bk_lmdb_fail(tx, rc));
	rc = mdb_cursor_get(cursor, &k, &v, MDB_SET_RANGE);
	while (rc == 0 && status == BK_OK &&
	    *(const uint8_t *)k.mv_data == BK_LMDB_NODE) {
		status = verify_node(tx, &k, &v, &found);
		rc = mdb_cursor_get(cursor, &k, &v, MDB_NEXT);
	}
	mdb_cursor_close(cursor);
	if (rc != 0 && rc != MDB_NOTFOUND)
		return (bk_lmdb_fail(tx, rc));
	if (status == BK_OK &&
	    (found.nodes != tx->state.nodes || found.sum != tx->state.sum)) {
		bk_log(BK_LOG_ERROR,
		    "store %s: damaged: %" PRIu64 " nodes of %" PRIu64
		    ", or other ones",
		    tx->store->dir, found.nodes, tx->state.nodes);
		status = BK_EBADMETA;
	}
	return (status);
}
