/*
 * lmdb_tree.h - the tree of nodes in the embedded store: transactions, nodes,
 * and what changed (bk-disk(5), "metadata store").
 *
 * One plain LMDB database; the first byte of a key is its table. Integers are
 * big-endian.
 *
 *	m format     the format's version
 *	m state      counters, number of nodes and sum over them
 *	n D PATH     a node; D is its depth, so that the children of a node lie
 *	             side by side and in order
 *	d PATH       a node's data where that is large
 *	e ID PATH    an ephemeral node of session ID
 *	s ID         a session
 *	c ZXID       paths touched by the changes up to ZXID since the record
 *	             before
 *
 * Every value carries a sum of its own, and the state, in the same transaction
 * as each change, the number of all nodes and the xor of a hash of each: LMDB
 * has no checksums, and a damaged page may hide nodes without an error.
 */
#ifndef BK_LMDB_TREE_H
#define BK_LMDB_TREE_H

#include "base/buf.h"
#include "meta/lmdb_store.h"
#include "meta/meta.h"
#include "meta/meta_call.h"
#include "meta/watch_table.h"

#define BK_LMDB_FORMAT 1

struct bk_lmdb_state {
	uint64_t zxid; /* of the last change */
	uint64_t next_session;
	uint64_t nodes;
	uint64_t sum;
};

struct bk_lmdb_txn {
	struct bk_lmdb *store;
	MDB_txn *txn;
	int error; /* LMDB's first: nothing may be committed */
	bool changed;
	uint64_t zxid; /* of the change being made */
	int64_t now_ms;
	struct bk_lmdb_state state;
	struct bk_buf touched;
};

/* The format's version, or LMDB's error; MDB_NOTFOUND: a fresh file. */
int bk_lmdb_read_format(struct bk_lmdb *store, uint32_t *version);
/* Write it, with an empty tree, into a fresh file. */
enum bk_status bk_lmdb_format(struct bk_lmdb *store);

/* A transaction; to write, the writer's lock is had. After BK_OK it is to be
 * ended. A commit that fails has changed nothing that is visible. */
enum bk_status bk_lmdb_begin(struct bk_lmdb_txn *tx, struct bk_lmdb *store,
    bool write);
enum bk_status bk_lmdb_commit(struct bk_lmdb_txn *tx);
void bk_lmdb_abort(struct bk_lmdb_txn *tx);
/* Note LMDB's error; its status. */
enum bk_status bk_lmdb_fail(struct bk_lmdb_txn *tx, int rc);

/* A node as it lies there. */
struct bk_lmdb_node {
	uint64_t created_zxid;
	uint64_t modified_zxid;
	uint64_t children_zxid; /* last creation or deletion below */
	int64_t created_ms;
	int64_t modified_ms;
	int32_t version;
	uint32_t ncreated; /* ever, below: the next sequence number */
	uint32_t nchildren;
	uint64_t owner;
	bool apart; /* data is in a record of its own */
	uint32_t apart_len;
	uint32_t apart_sum;
	struct bk_bytes data; /* unless apart; dies with the next change */
};

/* BK_OK, BK_ENONODE, BK_EBADMETA, or an error noted in tx. */
enum bk_status bk_lmdb_node(struct bk_lmdb_txn *tx, const char *path,
    struct bk_lmdb_node *node);
/* Its data, from wherever it is. */
enum bk_status bk_lmdb_node_data(struct bk_lmdb_txn *tx, const char *path,
    const struct bk_lmdb_node *node, struct bk_bytes *data);
void bk_lmdb_node_stat(const struct bk_lmdb_node *node,
    struct bk_node_stat *stat);
void bk_lmdb_node_seen(const struct bk_lmdb_node *node,
    struct bk_watch_seen *seen);
/* Names of children, added in order. */
enum bk_status bk_lmdb_children(struct bk_lmdb_txn *tx, const char *path,
    const struct bk_lmdb_node *node, struct bk_names *names);
/* Read all there is. */
enum bk_status bk_lmdb_verify(struct bk_lmdb_txn *tx);

/* Changes, made as tx->zxid. A refusal (any status without tx->error) has
 * changed nothing. made has room for BK_PATH_MAX + 1. */
enum bk_status bk_lmdb_create(struct bk_lmdb_txn *tx, const char *path,
    struct bk_bytes data, enum bk_node_kind kind, uint64_t session, char *made);
enum bk_status bk_lmdb_set(struct bk_lmdb_txn *tx, const char *path,
    struct bk_bytes data, int32_t version, struct bk_node_stat *stat);
enum bk_status bk_lmdb_delete(struct bk_lmdb_txn *tx, const char *path,
    int32_t version);
enum bk_status bk_lmdb_check(struct bk_lmdb_txn *tx, const char *path,
    int32_t version);

/* The session table. */
enum bk_status bk_lmdb_session_put(struct bk_lmdb_txn *tx, uint64_t id,
    struct bk_bytes about);
enum bk_status bk_lmdb_session_get(struct bk_lmdb_txn *tx, uint64_t id,
    struct bk_bytes *about);
/* The first session with an id of at least *id; ENONODE: none. */
enum bk_status bk_lmdb_session_next(struct bk_lmdb_txn *tx, uint64_t *id,
    struct bk_bytes *about);
/* Delete a session and its ephemeral nodes. */
enum bk_status bk_lmdb_session_delete(struct bk_lmdb_txn *tx, uint64_t id);

/* Fire the watches that changes after since concern. */
enum bk_status bk_lmdb_fire(struct bk_lmdb_txn *tx, uint64_t since,
    struct bk_watches *watches);

#endif
