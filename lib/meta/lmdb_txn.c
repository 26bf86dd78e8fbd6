/*
 * lmdb_txn.c - transactions of the embedded store: its state, its log of
 * changes, its sessions' records.
 */
#include "meta/lmdb_tree.h"

#include "base/log.h"
#include "meta/lmdb_record.h"

#include <errno.h>
#include <string.h>
#include <time.h>

/* So many changes are told from the log; who is behind by more compares. */
#define CHANGES_KEPT 4096

static const char magic[] = "bk metadata store";

static void
meta_key(struct bk_lmdb_key *key, const char *name)
{
	bk_lmdb_key_text(key, BK_LMDB_META, name, strlen(name));
}

enum bk_status
bk_lmdb_fail(struct bk_lmdb_txn *tx, int rc)
{
	if (rc == MDB_PANIC)
		tx->store->panic = true;
	if (tx->error == 0) {
		tx->error = rc;
		bk_log(BK_LOG_WARNING, "store %s: %s", tx->store->dir,
		    bk_lmdb_strerror(rc));
	}
	return (bk_lmdb_status(rc));
}

/* The state. */

static enum bk_status
load_state(struct bk_lmdb_txn *tx)
{
	struct bk_lmdb_key key;
	enum bk_status status;
	struct bk_cursor r;
	struct bk_bytes value;

	meta_key(&key, "state");
	status = bk_lmdb_get_summed(tx, &key, &value);
	if (status != BK_OK) {
		bk_log(BK_LOG_ERROR, "store %s: damaged: its state is lost",
		    tx->store->dir);
		return (tx->error != 0 ? status : BK_EBADMETA);
	}
	bk_cursor_init(&r, value.data, value.len);
	tx->state.zxid = bk_cursor_u64(&r);
	tx->state.next_session = bk_cursor_u64(&r);
	tx->state.nodes = bk_cursor_u64(&r);
	tx->state.sum = bk_cursor_u64(&r);
	return (bk_cursor_done(&r) ? BK_OK : BK_EBADMETA);
}

static enum bk_status
save_state(struct bk_lmdb_txn *tx)
{
	struct bk_lmdb_key key;
	uint8_t value[32];

	bk_be64_put(value, tx->state.zxid);
	bk_be64_put(value + 8, tx->state.next_session);
	bk_be64_put(value + 16, tx->state.nodes);
	bk_be64_put(value + 24, tx->state.sum);
	meta_key(&key, "state");
	return (bk_lmdb_put_summed(tx, &key, value, sizeof(value)));
}

/* Begin and end. */

static int64_t
wall_ms(void)
{
	struct timespec ts;

	(void)clock_gettime(CLOCK_REALTIME, &ts); /* cannot fail */
	return ((int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000);
}

/* Slots of dead readers are given back only when someone asks for it. */
static int
begin_txn(struct bk_lmdb_txn *tx, unsigned flags)
{
	int rc, dead;

	rc = mdb_txn_begin(tx->store->env, NULL, flags, &tx->txn);
	if (rc == MDB_READERS_FULL &&
	    mdb_reader_check(tx->store->env, &dead) == 0)
		rc = mdb_txn_begin(tx->store->env, NULL, flags, &tx->txn);
	return (rc);
}

static enum bk_status
begin(struct bk_lmdb_txn *tx, struct bk_lmdb *store, unsigned flags)
{
	int rc;

	memset(tx, 0, sizeof(*tx));
	tx->store = store;
	bk_buf_init(&tx->touched);
	rc = begin_txn(tx, flags);
	return (rc == 0 ? BK_OK : bk_lmdb_fail(tx, rc));
}

enum bk_status
bk_lmdb_begin(struct bk_lmdb_txn *tx, struct bk_lmdb *store, bool write)
{
	enum bk_status status;

	status = begin(tx, store, write ? 0 : MDB_RDONLY);
	if (status != BK_OK)
		return (status);
	status = load_state(tx);
	if (status != BK_OK)
		bk_lmdb_abort(tx);
	tx->now_ms = write ? wall_ms() : 0;
	return (status);
}

void
bk_lmdb_abort(struct bk_lmdb_txn *tx)
{
	if (tx->txn != NULL)
		mdb_txn_abort(tx->txn);
	tx->txn = NULL;
	bk_buf_fini(&tx->touched);
}

/* The record of these changes in, those of long ago out. */
static enum bk_status
save_changes(struct bk_lmdb_txn *tx)
{
	struct bk_lmdb_key key, found;
	struct bk_bytes value;
	enum bk_status status;

	bk_lmdb_key_id(&key, BK_LMDB_CHANGE, tx->state.zxid, "");
	status = bk_lmdb_put(tx, &key, bk_buf_head(&tx->touched),
	    bk_buf_len(&tx->touched));
	bk_lmdb_key_id(&key, BK_LMDB_CHANGE, 0, "");
	while (status == BK_OK) {
		status = bk_lmdb_seek(tx, &key, &found, &value);
		if (status != BK_OK ||
		    bk_lmdb_key_number(&found) + CHANGES_KEPT >= tx->state.zxid)
			break;
		status = bk_lmdb_del(tx, &found);
	}
	return (status == BK_ENONODE ? BK_OK : status);
}

enum bk_status
bk_lmdb_commit(struct bk_lmdb_txn *tx)
{
	enum bk_status status = BK_OK;
	int rc;

	if (bk_buf_len(&tx->touched) > 0)
		status = save_changes(tx);
	if (status == BK_OK && tx->changed)
		status = save_state(tx);
	if (status != BK_OK || tx->error != 0 || !tx->changed) {
		bk_lmdb_abort(tx);
		return (status != BK_OK ? status : bk_lmdb_status(tx->error));
	}
	rc = mdb_txn_commit(tx->txn);
	tx->txn = NULL;
	bk_buf_fini(&tx->touched);
	if (rc == EIO && bk_lmdb_full(tx->store))
		rc = ENOSPC; /* what LMDB makes of a short write */
	if (rc != 0)
		return (bk_lmdb_fail(tx, rc));
	bk_lmdb_announce(tx->store, tx->state.zxid);
	return (BK_OK);
}

/* The format. */

int
bk_lmdb_read_format(struct bk_lmdb *store, uint32_t *version)
{
	struct bk_lmdb_txn tx;
	struct bk_lmdb_key key;
	struct bk_bytes value;
	enum bk_status status;
	int rc = MDB_NOTFOUND;

	if (begin(&tx, store, MDB_RDONLY) != BK_OK)
		return (tx.error);
	meta_key(&key, "format");
	status = bk_lmdb_get_summed(&tx, &key, &value);
	if (status == BK_EBADMETA)
		rc = MDB_CORRUPTED;
	if (status == BK_OK) {
		rc = MDB_CORRUPTED;
		if (value.len > 4 + sizeof(magic) - 1 &&
		    memcmp(value.data, magic, sizeof(magic)) == 0) {
			*version = bk_be32_get(value.data + sizeof(magic));
			rc = 0;
		}
	}
	if (tx.error != 0)
		rc = tx.error;
	bk_lmdb_abort(&tx);
	return (rc);
}

static enum bk_status
put_format(struct bk_lmdb_txn *tx)
{
	uint8_t value[sizeof(magic) + 4];
	struct bk_lmdb_key key;

	memcpy(value, magic, sizeof(magic));
	bk_be32_put(value + sizeof(magic), BK_LMDB_FORMAT);
	meta_key(&key, "format");
	return (bk_lmdb_put_summed(tx, &key, value, sizeof(value)));
}

enum bk_status
bk_lmdb_format(struct bk_lmdb *store)
{
	struct bk_bytes nothing = {NULL, 0};
	struct bk_lmdb_node root;
	struct bk_lmdb_txn tx;
	enum bk_status status;

	status = begin(&tx, store, 0);
	if (status != BK_OK)
		return (status);
	memset(&root, 0, sizeof(root));
	tx.now_ms = wall_ms();
	tx.changed = true;
	tx.state =
	    (struct bk_lmdb_state){1, 1, 1, bk_lmdb_node_hash("/", 0, nothing)};
	root.created_zxid = root.modified_zxid = root.children_zxid = 1;
	root.created_ms = root.modified_ms = tx.now_ms;
	status = put_format(&tx);
	if (status == BK_OK)
		status = bk_lmdb_node_put(&tx, "/", &root);
	if (status != BK_OK) {
		bk_lmdb_abort(&tx);
		return (status);
	}
	tx.store = store;
	return (bk_lmdb_commit(&tx));
}

/* Sessions. */

enum bk_status
bk_lmdb_session_put(struct bk_lmdb_txn *tx, uint64_t id, struct bk_bytes about)
{
	struct bk_lmdb_key key;

	bk_lmdb_key_id(&key, BK_LMDB_SESSION, id, "");
	tx->changed = true;
	return (bk_lmdb_put_summed(tx, &key, about.data, about.len));
}

enum bk_status
bk_lmdb_session_get(struct bk_lmdb_txn *tx, uint64_t id, struct bk_bytes *about)
{
	struct bk_lmdb_key key;

	bk_lmdb_key_id(&key, BK_LMDB_SESSION, id, "");
	return (bk_lmdb_get_summed(tx, &key, about));
}

enum bk_status
bk_lmdb_session_next(struct bk_lmdb_txn *tx, uint64_t *id,
    struct bk_bytes *about)
{
	struct bk_lmdb_key key, found;
	enum bk_status status;

	bk_lmdb_key_id(&key, BK_LMDB_SESSION, *id, "");
	status = bk_lmdb_seek(tx, &key, &found, about);
	if (status != BK_OK)
		return (status);
	*id = bk_lmdb_key_number(&found);
	return (bk_lmdb_get_summed(tx, &found, about));
}

enum bk_status
bk_lmdb_session_delete(struct bk_lmdb_txn *tx, uint64_t id)
{
	char path[BK_PATH_MAX + 1];
	struct bk_lmdb_key key, found;
	enum bk_status status;
	struct bk_bytes value;

	bk_lmdb_key_id(&key, BK_LMDB_EPHEMERAL, id, "");
	for (;;) {
		status = bk_lmdb_seek(tx, &key, &found, &value);
		if (status != BK_OK || bk_lmdb_key_number(&found) != id)
			break;
		memcpy(path, found.bytes + 9, found.len - 9);
		path[found.len - 9] = '\0';
		status = bk_lmdb_delete(tx, path, BK_ANY_VERSION);
		if (status == BK_ENONODE)
			status = bk_lmdb_del(tx, &found);
		if (status != BK_OK)
			return (status);
	}
	if (status != BK_OK && status != BK_ENONODE)
		return (status);
	tx->changed = true;
	bk_lmdb_key_id(&key, BK_LMDB_SESSION, id, "");
	status = bk_lmdb_del(tx, &key);
	return (status == BK_ENONODE ? BK_OK : status);
}

/* What changed: events, each with the path it happened at. */

enum bk_status
bk_lmdb_touch(struct bk_lmdb_txn *tx, const char *path,
    enum bk_watch_event event)
{
	size_t len = strlen(path) + 1;

	tx->changed = true;
	if (bk_buf_put_u8(&tx->touched, (uint8_t)event) != 0 ||
	    bk_buf_put(&tx->touched, path, len) != 0)
		return (bk_lmdb_fail(tx, ENOMEM));
	return (BK_OK);
}

static void
fire_record(struct bk_bytes record, struct bk_watches *watches)
{
	const char *p = (const char *)record.data, *end = p + record.len, *nul;
	enum bk_watch_event event;

	while (p < end) {
		nul = memchr(p + 1, '\0', (size_t)(end - p) - 1);
		if (nul == NULL)
			return;
		event = (enum bk_watch_event)p[0];
		if (event <= BK_WATCH_CHILDREN)
			bk_watches_fire(watches, p + 1, event);
		p = nul + 1;
	}
}

/* The event that a watch missed, by what is there now. */
static int
judge(void *arg, const struct bk_watch_entry *entry)
{
	struct bk_lmdb_txn *tx = arg;
	struct bk_lmdb_node node;
	enum bk_status status;

	status = bk_lmdb_node(tx, entry->path, &node);
	if (status == BK_ENONODE)
		return (entry->seen.created == 0 ? -1 : BK_WATCH_DELETED);
	if (status != BK_OK)
		return (-1);
	if (entry->seen.created == 0)
		return (BK_WATCH_CREATED);
	if (entry->seen.created != node.created_zxid)
		return (BK_WATCH_DELETED);
	if (entry->kind == BK_WATCH_NODE)
		return (entry->seen.changed == node.modified_zxid ?
			-1 :
			BK_WATCH_CHANGED);
	return (entry->seen.children == node.children_zxid ? -1 :
							     BK_WATCH_CHILDREN);
}

enum bk_status
bk_lmdb_fire(struct bk_lmdb_txn *tx, uint64_t since, struct bk_watches *watches)
{
	struct bk_lmdb_key key, found;
	enum bk_status status = BK_OK;
	struct bk_bytes value;

	if (since + CHANGES_KEPT < tx->state.zxid) {
		bk_watches_compare(watches, judge, tx);
		return (tx->error == 0 ? BK_OK : bk_lmdb_status(tx->error));
	}
	while (since < tx->state.zxid) {
		bk_lmdb_key_id(&key, BK_LMDB_CHANGE, since + 1, "");
		status = bk_lmdb_seek(tx, &key, &found, &value);
		if (status != BK_OK)
			break;
		fire_record(value, watches);
		since = bk_lmdb_key_number(&found);
	}
	return (status == BK_ENONODE ? BK_OK : status);
}
