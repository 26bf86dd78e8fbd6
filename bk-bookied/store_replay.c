/*
 * store_replay.c - changes that the journal still has, made again. Replaying a
 * change that is in the files already does no harm.
 */
#include "bk-bookied/store_internal.h"

#include <string.h>

#define ENTRY_HEAD 24
#define PACKET_HEAD 16

/* The ledger with this id, made if it is not known, back if it was removed.
 * NULL when out of memory. */
static struct ledger *
ledger_here(struct store *s, int64_t ledger_id)
{
	struct ledger *l = ledgers_find(s->ledgers, ledger_id);

	if (l == NULL)
		return (ledgers_add(s->ledgers, ledger_id));
	if (l->gone)
		store_revive(s, l);
	return (l);
}

static bool
replay_entry(struct store *s, struct bk_bytes entry)
{
	struct memtable_place place;
	struct ledger *l;
	int64_t ledger_id, entry_id;

	if (entry.len < ENTRY_HEAD)
		return (true);
	if (!store_make_room(s))
		return (false);
	ledger_id = (int64_t)bk_be64_get(entry.data);
	entry_id = (int64_t)bk_be64_get(entry.data + 8);
	l = ledger_here(s, ledger_id);
	if (l == NULL)
		return (false);
	switch (memtable_prepare(s->active, ledger_id, entry_id, entry.len,
	    &place)) {
	case MEMTABLE_ENOMEM:
		return (false);
	case MEMTABLE_HAS:
		break;
	case MEMTABLE_FREE:
		store_insert(s, l, &place, entry, entry_id, 0);
		break;
	}
	(void)ledgers_raise_lac(s->ledgers, l,
	    (int64_t)bk_be64_get(entry.data + 16));
	return (true);
}

static bool
replay_key(struct store *s, int64_t ledger_id, struct bk_bytes key)
{
	struct ledger *l;

	if (store_prepare_state(s) == -1)
		return (false);
	l = ledger_here(s, ledger_id);
	if (l == NULL)
		return (false);
	if (l->key != 0)
		return (true);
	if (ledgers_set_key(s->ledgers, l, key) == -1)
		return (false);
	store_keep_state(s, l);
	return (true);
}

static bool
replay_fence(struct store *s, int64_t ledger_id)
{
	struct ledger *l;

	if (store_prepare_state(s) == -1)
		return (false);
	l = ledger_here(s, ledger_id);
	if (l == NULL)
		return (false);
	l->fenced = 1;
	store_keep_state(s, l);
	return (true);
}

static bool
replay_lac(struct store *s, struct bk_bytes packet)
{
	struct ledger_more *more;
	struct ledger *l;

	if (packet.len < PACKET_HEAD || packet.len > BK_LAC_PACKET_MAX)
		return (true);
	if (store_prepare_state(s) == -1)
		return (false);
	l = ledger_here(s, (int64_t)bk_be64_get(packet.data));
	if (l == NULL)
		return (false);
	more = ledgers_more_make(s->ledgers, l);
	if (more == NULL)
		return (false);
	store_keep_packet(s, l, more, packet);
	(void)ledgers_raise_lac(s->ledgers, l,
	    (int64_t)bk_be64_get(packet.data + 8));
	return (true);
}

static bool
replay_remove(struct store *s, int64_t ledger_id, bool remember)
{
	struct ledger_more *more;
	struct ledger *l;

	if (store_prepare_state(s) == -1)
		return (false);
	l = ledger_here(s, ledger_id);
	if (l == NULL)
		return (false);
	more = ledgers_more_make(s->ledgers, l);
	if (more == NULL)
		return (false);
	store_forget(s, l, more,
	    remember ? store_wall_clock() + STORE_REMEMBER : 0);
	return (true);
}

bool
store_replay_record(void *arg, const struct journal_record *record)
{
	struct store *s = arg;
	struct bk_cursor r;
	int64_t ledger_id;

	if (record->kind == JOURNAL_ENTRY)
		return (replay_entry(s, record->bytes));
	if (record->kind == JOURNAL_LAC)
		return (replay_lac(s, record->bytes));
	bk_cursor_init(&r, record->bytes.data, record->bytes.len);
	ledger_id = (int64_t)bk_cursor_u64(&r);
	switch (record->kind) {
	case JOURNAL_KEY:
		return (replay_key(s, ledger_id,
		    bk_cursor_bytes(&r, bk_cursor_left(&r))));
	case JOURNAL_FENCE:
		return (replay_fence(s, ledger_id));
	case JOURNAL_REMOVE:
		return (replay_remove(s, ledger_id, bk_cursor_u8(&r) == 1));
	case JOURNAL_DOUBT:
		return (store_doubt(s, ledger_id, bk_cursor_u8(&r) == 1) == 0);
	default:
		return (true);
	}
}
