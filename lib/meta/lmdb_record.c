/* lmdb_record.c - keys and values of the embedded store. */
#include "meta/lmdb_record.h"

#include <isa-l/crc.h>
#include <string.h>

void
bk_lmdb_key_text(struct bk_lmdb_key *key, int table, const char *text,
    size_t len)
{
	key->bytes[0] = (uint8_t)table;
	memcpy(key->bytes + 1, text, len);
	key->len = 1 + len;
}

void
bk_lmdb_key_id(struct bk_lmdb_key *key, int table, uint64_t id,
    const char *path)
{
	size_t len = strlen(path);

	key->bytes[0] = (uint8_t)table;
	bk_be64_put(key->bytes + 1, id);
	memcpy(key->bytes + 9, path, len);
	key->len = 9 + len;
}

void
bk_lmdb_key_node(struct bk_lmdb_key *key, const char *path)
{
	size_t len = strlen(path);
	uint8_t depth = 0;

	for (size_t i = 0; len > 1 && i < len; i++)
		depth = (uint8_t)(depth + (path[i] == '/'));
	key->bytes[0] = BK_LMDB_NODE;
	key->bytes[1] = depth;
	memcpy(key->bytes + 2, path, len);
	key->len = 2 + len;
}

uint64_t
bk_lmdb_key_number(const struct bk_lmdb_key *key)
{
	return (key->len < 9 ? 0 : bk_be64_get(key->bytes + 1));
}

static uint32_t
crc(uint32_t seed, const void *data, size_t len)
{
	/* ISA-L only reads, though its prototype does not say so. */
	return (crc32_iscsi((unsigned char *)(uintptr_t)data, (int)len, seed));
}

uint32_t
bk_lmdb_sum(const struct bk_lmdb_key *key, const void *data, size_t len)
{
	return (~crc(crc(~0U, key->bytes, key->len), data, len));
}

static MDB_val
key_val(const struct bk_lmdb_key *key)
{
	return ((MDB_val){key->len, (void *)(uintptr_t)key->bytes});
}

enum bk_status
bk_lmdb_get(struct bk_lmdb_txn *tx, const struct bk_lmdb_key *key,
    struct bk_bytes *value)
{
	MDB_val k = key_val(key), v;
	int rc;

	rc = mdb_get(tx->txn, tx->store->dbi, &k, &v);
	if (rc == MDB_NOTFOUND)
		return (BK_ENONODE);
	if (rc != 0)
		return (bk_lmdb_fail(tx, rc));
	*value = (struct bk_bytes){v.mv_data, v.mv_size};
	return (BK_OK);
}

enum bk_status
bk_lmdb_put(struct bk_lmdb_txn *tx, const struct bk_lmdb_key *key,
    const void *data, size_t len)
{
	MDB_val k = key_val(key), v = {len, (void *)(uintptr_t)data};
	int rc;

	rc = mdb_put(tx->txn, tx->store->dbi, &k, &v, 0);
	return (rc == 0 ? BK_OK : bk_lmdb_fail(tx, rc));
}

enum bk_status
bk_lmdb_del(struct bk_lmdb_txn *tx, const struct bk_lmdb_key *key)
{
	MDB_val k = key_val(key);
	int rc;

	rc = mdb_del(tx->txn, tx->store->dbi, &k, NULL);
	if (rc == MDB_NOTFOUND)
		return (BK_ENONODE);
	return (rc == 0 ? BK_OK : bk_lmdb_fail(tx, rc));
}

enum bk_status
bk_lmdb_get_summed(struct bk_lmdb_txn *tx, const struct bk_lmdb_key *key,
    struct bk_bytes *value)
{
	enum bk_status status;

	status = bk_lmdb_get(tx, key, value);
	if (status != BK_OK)
		return (status);
	if (value->len < 4)
		return (BK_EBADMETA);
	value->data += 4;
	value->len -= 4;
	if (bk_be32_get(value->data - 4) !=
	    bk_lmdb_sum(key, value->data, value->len))
		return (BK_EBADMETA);
	return (BK_OK);
}

enum bk_status
bk_lmdb_put_summed(struct bk_lmdb_txn *tx, const struct bk_lmdb_key *key,
    const void *data, size_t len)
{
	uint8_t value[4 + BK_LMDB_SUMMED_MAX];

	if (len > BK_LMDB_SUMMED_MAX)
		return (BK_ETOOBIG);
	bk_be32_put(value, bk_lmdb_sum(key, data, len));
	memcpy(value + 4, data, len);
	return (bk_lmdb_put(tx, key, value, 4 + len));
}

enum bk_status
bk_lmdb_seek(struct bk_lmdb_txn *tx, const struct bk_lmdb_key *key,
    struct bk_lmdb_key *found, struct bk_bytes *value)
{
	MDB_val k = key_val(key), v;
	MDB_cursor *cursor;
	int rc;

	rc = mdb_cursor_open(tx->txn, tx->store->dbi, &cursor);
	if (rc != 0)
		return (bk_lmdb_fail(tx, rc));
	rc = mdb_cursor_get(cursor, &k, &v, MDB_SET_RANGE);
	mdb_cursor_close(cursor);
	if (rc != 0 && rc != MDB_NOTFOUND)
		return (bk_lmdb_fail(tx, rc));
	if (rc == MDB_NOTFOUND || k.mv_size > sizeof(found->bytes) ||
	    *(const uint8_t *)k.mv_data != key->bytes[0])
		return (BK_ENONODE);
	memcpy(found->bytes, k.mv_data, k.mv_size);
	found->len = k.mv_size;
	*value = (struct bk_bytes){v.mv_data, v.mv_size};
	return (BK_OK);
}
