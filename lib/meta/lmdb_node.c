/*
 * lmdb_node.c - one node as a record: a fixed header, then its data.
 *
 *	 0 u32 sum over key and all that follows    40 i64 modified, ms
 *	 4 u8  version of this layout (1)           48 i32 version
 *	 5 u8  flags: 1 data in a record apart      52 u32 created below, ever
 *	 6 u16 0                                    56 u32 children
 *	 8 u64 zxid of creation                     60 u32 length of data apart
 *	16 u64 zxid of last set                     64 u64 owner (session), or 0
 *	24 u64 zxid of last change below            72 u32 sum of data apart
 *	32 i64 created, ms of the wall clock        76 u32 0
 */
#include "meta/lmdb_record.h"

#include "base/log.h"

#include <sodium.h>
#include <string.h>

#define LAYOUT 1
#define APART 1
#define HEADER 80
/* A parent is written again at each change below it, its data with it. */
#define INLINE_MAX 1024

static void
encode_header(const struct bk_lmdb_node *node, uint8_t *p)
{
	memset(p, 0, HEADER);
	p[4] = LAYOUT;
	p[5] = node->apart ? APART : 0;
	bk_be64_put(p + 8, node->created_zxid);
	bk_be64_put(p + 16, node->modified_zxid);
	bk_be64_put(p + 24, node->children_zxid);
	bk_be64_put(p + 32, (uint64_t)node->created_ms);
	bk_be64_put(p + 40, (uint64_t)node->modified_ms);
	bk_be32_put(p + 48, (uint32_t)node->version);
	bk_be32_put(p + 52, node->ncreated);
	bk_be32_put(p + 56, node->nchildren);
	bk_be32_put(p + 60, node->apart_len);
	bk_be64_put(p + 64, node->owner);
	bk_be32_put(p + 72, node->apart_sum);
}

enum bk_status
bk_lmdb_node_decode(const struct bk_lmdb_key *key, struct bk_bytes value,
    struct bk_lmdb_node *node)
{
	const uint8_t *p = value.data;

	if (value.len < HEADER || p[4] != LAYOUT ||
	    bk_be32_get(p) != bk_lmdb_sum(key, p + 4, value.len - 4))
		return (BK_EBADMETA);
	node->apart = (p[5] & APART) != 0;
	node->created_zxid = bk_be64_get(p + 8);
	node->modified_zxid = bk_be64_get(p + 16);
	node->children_zxid = bk_be64_get(p + 24);
	node->created_ms = (int64_t)bk_be64_get(p + 32);
	node->modified_ms = (int64_t)bk_be64_get(p + 40);
	node->version = (int32_t)bk_be32_get(p + 48);
	node->ncreated = bk_be32_get(p + 52);
	node->nchildren = bk_be32_get(p + 56);
	node->apart_len = bk_be32_get(p + 60);
	node->owner = bk_be64_get(p + 64);
	node->apart_sum = bk_be32_get(p + 72);
	node->data = (struct bk_bytes){p + HEADER, value.len - HEADER};
	return (BK_OK);
}

static enum bk_status
damaged(struct bk_lmdb_txn *tx, const char *path)
{
	bk_log(BK_LOG_ERROR, "store %s: node %s: damaged", tx->store->dir,
	    path);
	return (BK_EBADMETA);
}

enum bk_status
bk_lmdb_node(struct bk_lmdb_txn *tx, const char *path,
    struct bk_lmdb_node *node)
{
	struct bk_lmdb_key key;
	struct bk_bytes value;
	enum bk_status status;

	bk_lmdb_key_node(&key, path);
	status = bk_lmdb_get(tx, &key, &value);
	if (status != BK_OK)
		return (status);
	status = bk_lmdb_node_decode(&key, value, node);
	return (status == BK_OK ? BK_OK : damaged(tx, path));
}

enum bk_status
bk_lmdb_node_data(struct bk_lmdb_txn *tx, const char *path,
    const struct bk_lmdb_node *node, struct bk_bytes *data)
{
	struct bk_lmdb_key key;
	enum bk_status status;

	*data = node->data;
	if (!node->apart)
		return (BK_OK);
	bk_lmdb_key_text(&key, BK_LMDB_DATA, path, strlen(path));
	status = bk_lmdb_get(tx, &key, data);
	if (tx->error != 0)
		return (status);
	if (status != BK_OK || data->len != node->apart_len ||
	    bk_lmdb_sum(&key, data->data, data->len) != node->apart_sum)
		return (damaged(tx, path));
	return (BK_OK);
}

/* Large data goes into a record apart; small data may have been apart. */
static enum bk_status
settle_data(struct bk_lmdb_txn *tx, const char *path, struct bk_lmdb_node *node)
{
	struct bk_lmdb_key key;
	enum bk_status status;
	bool was_apart = node->apart;

	node->apart = node->data.len > INLINE_MAX;
	if (!was_apart && !node->apart)
		return (BK_OK);
	bk_lmdb_key_text(&key, BK_LMDB_DATA, path, strlen(path));
	if (!node->apart) {
		node->apart_len = node->apart_sum = 0;
		status = bk_lmdb_del(tx, &key);
		return (status == BK_ENONODE ? BK_OK : status);
	}
	node->apart_len = (uint32_t)node->data.len;
	node->apart_sum = bk_lmdb_sum(&key, node->data.data, node->data.len);
	status = bk_lmdb_put(tx, &key, node->data.data, node->data.len);
	node->data = (struct bk_bytes){NULL, 0};
	return (status);
}

static enum bk_status
put_record(struct bk_lmdb_txn *tx, const char *path,
    const struct bk_lmdb_node *node)
{
	uint8_t value[HEADER + INLINE_MAX];
	size_t len = HEADER + node->data.len;
	struct bk_lmdb_key key;

	encode_header(node, value);
	if (node->data.len > 0)
		memcpy(value + HEADER, node->data.data, node->data.len);
	bk_lmdb_key_node(&key, path);
	bk_be32_put(value, bk_lmdb_sum(&key, value + 4, len - 4));
	return (bk_lmdb_put(tx, &key, value, len));
}

enum bk_status
bk_lmdb_node_put(struct bk_lmdb_txn *tx, const char *path,
    struct bk_lmdb_node *node)
{
	enum bk_status status;

	status = settle_data(tx, path, node);
	return (status == BK_OK ? put_record(tx, path, node) : status);
}

enum bk_status
bk_lmdb_node_put_header(struct bk_lmdb_txn *tx, const char *path,
    const struct bk_lmdb_node *node)
{
	return (put_record(tx, path, node));
}

/* The key is no secret: this is against damage, not against people. */
static uint64_t
siphash(const void *data, size_t len)
{
	static const uint8_t key[crypto_shorthash_KEYBYTES];
	uint8_t hash[crypto_shorthash_BYTES];

	(void)crypto_shorthash(hash, data, len, key);
	return (bk_be64_get(hash));
}

uint64_t
bk_lmdb_node_hash(const char *path, int32_t version, struct bk_bytes data)
{
	uint8_t text[12 + BK_PATH_MAX];
	size_t len = strlen(path);

	bk_be32_put(text, (uint32_t)version);
	bk_be64_put(text + 4, siphash(data.data, data.len));
	memcpy(text + 12, path, len);
	return (siphash(text, 12 + len));
}

void
bk_lmdb_node_stat(const struct bk_lmdb_node *node, struct bk_node_stat *stat)
{
	stat->version = node->version;
	/* Each creation and each deletion below counts. */
	stat->cversion = (int32_t)(2 * node->ncreated - node->nchildren);
	stat->created_ms = node->created_ms;
	stat->owner = node->owner;
	stat->nchildren = node->nchildren;
}

void
bk_lmdb_node_seen(const struct bk_lmdb_node *node, struct bk_watch_seen *seen)
{
	seen->created = node->created_zxid;
	seen->changed = node->modified_zxid;
	seen->children = node->children_zxid;
}
