/*
 * lmdb_record.h - the embedded store's records: keys, and values with a sum
 * before them. Used by the files that make up lmdb_tree.h.
 */
#ifndef BK_LMDB_RECORD_H
#define BK_LMDB_RECORD_H

#include "meta/lmdb_tree.h"

/* LMDB takes keys of up to 511 bytes. */
struct bk_lmdb_key {
	uint8_t bytes[1 + 8 + BK_PATH_MAX + 1];
	size_t len;
};

enum {
	BK_LMDB_META = 'm',
	BK_LMDB_NODE = 'n',
	BK_LMDB_DATA = 'd',
	BK_LMDB_EPHEMERAL = 'e',
	BK_LMDB_SESSION = 's',
	BK_LMDB_CHANGE = 'c',
};

/* A table, then a number, then a path or part of one. */
void bk_lmdb_key_text(struct bk_lmdb_key *key, int table, const char *text,
    size_t len);
void bk_lmdb_key_id(struct bk_lmdb_key *key, int table, uint64_t id,
    const char *path);
void bk_lmdb_key_node(struct bk_lmdb_key *key, const char *path);

/* CRC-32C over a key and a value. */
uint32_t bk_lmdb_sum(const struct bk_lmdb_key *key, const void *data,
    size_t len);

/* The value of a key; ENONODE, or an error noted in tx. */
enum bk_status bk_lmdb_get(struct bk_lmdb_txn *tx,
    const struct bk_lmdb_key *key, struct bk_bytes *value);
enum bk_status bk_lmdb_put(struct bk_lmdb_txn *tx,
    const struct bk_lmdb_key *key, const void *data, size_t len);
enum bk_status bk_lmdb_del(struct bk_lmdb_txn *tx,
    const struct bk_lmdb_key *key);

/* A small value behind its sum; EBADMETA when that does not fit. */
#define BK_LMDB_SUMMED_MAX 1024
enum bk_status bk_lmdb_get_summed(struct bk_lmdb_txn *tx,
    const struct bk_lmdb_key *key, struct bk_bytes *value);
enum bk_status bk_lmdb_put_summed(struct bk_lmdb_txn *tx,
    const struct bk_lmdb_key *key, const void *data, size_t len);

/* The first record of a table at or after key: where it is and what it holds.
 * ENONODE: none in this table. */
enum bk_status bk_lmdb_seek(struct bk_lmdb_txn *tx,
    const struct bk_lmdb_key *key, struct bk_lmdb_key *found,
    struct bk_bytes *value);

/* Number behind the table's letter. */
uint64_t bk_lmdb_key_number(const struct bk_lmdb_key *key);

/* Write a node with its data (not apart). */
enum bk_status bk_lmdb_node_put(struct bk_lmdb_txn *tx, const char *path,
    struct bk_lmdb_node *node);
/* The same for one whose data stays as and where it is. */
enum bk_status bk_lmdb_node_put_header(struct bk_lmdb_txn *tx, const char *path,
    const struct bk_lmdb_node *node);
/* Read a node from its record's value. */
enum bk_status bk_lmdb_node_decode(const struct bk_lmdb_key *key,
    struct bk_bytes value, struct bk_lmdb_node *node);
/* What a node adds to the sum over all. */
uint64_t bk_lmdb_node_hash(const char *path, int32_t version,
    struct bk_bytes data);
/* Note that this happened at path. */
enum bk_status bk_lmdb_touch(struct bk_lmdb_txn *tx, const char *path,
    enum bk_watch_event event);

#endif
