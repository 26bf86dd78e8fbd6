/*
 * store_change.c - adds, fences, explicit LACs, removals: each checks, inserts
 * and goes to the journal in one step (design/bookie.md 1).
 *
 * A change first makes sure that memory takes it, then appends to the journal,
 * then inserts, so that nothing half done is left when either has no room.
 */
#include "bk-bookied/store_internal.h"

#include <errno.h>
#include <string.h>
#include <time.h>

#define ENTRY_MIN 24                  /* ledger id, entry id, LAC */
#define REMEMBERED (7 * 24 * 3600)    /* s, of a fenced one removed */
#define AGE_EVERY (UINT64_C(1) << 30) /* positions */

static void
turn_end(void *arg)
{
	struct store *s = arg;

	s->turn_ends = false;
	if (!s->has_failed)
		journal_turn_end(s->journal);
}

void
store_turn(struct store *s)
{
	if (s->turn_ends)
		return;
	s->turn_ends = true;
	/* Out of memory the batch waits for the next turn that has some. */
	if (bk_loop_later(s->loop, turn_end, s) != 0)
		s->turn_ends = false;
}

uint64_t
store_unsynced(const struct store *s, const struct ledger *l)
{
	uint64_t position = ledger_changed_at(l, journal_filling(s->journal));

	return (position > journal_synced(s->journal) ? position : 0);
}

static void
changed(struct store *s, struct ledger *l, uint64_t position)
{
	l->changed = (uint32_t)position;
	store_turn(s);
	if (position - s->aged_at < AGE_EVERY)
		return;
	s->aged_at = position;
	ledgers_age(s->ledgers, journal_filling(s->journal),
	    journal_synced(s->journal));
}

/* What an append that was refused means for the request. */
static enum bk_status
refused(struct store *s, int error)
{
	switch (error) {
	case EAGAIN:
		s->wants_room = true;
		return (BK_ECANCELED);
	case ENOSPC:
		return (BK_EREADONLY);
	case EMSGSIZE:
		return (BK_EBADREQ);
	default:
		return (BK_EIO);
	}
}

static bool
is_remembered(const struct store *s, const struct ledger *l)
{
	const struct ledger_more *more = ledgers_more(s->ledgers, l);

	return (l->gone && l->fenced && more != NULL &&
	    more->gone_until > (int64_t)time(NULL));
}

/* Whether the key opens the ledger. One whose key was lost takes the first. */
static bool
key_fits(const struct store *s, const struct ledger *l, struct bk_bytes key)
{
	return (
	    l->key == 0 || keys_match(ledgers_keys(s->ledgers), l->key, key));
}

/* A ledger that is new here, or was removed, or has lost its key: with this
 * key from now on. *ledger may be NULL before. */
static enum bk_status
give_key(struct store *s, int64_t id, struct bk_bytes key, bool reserve,
    struct ledger **ledger)
{
	uint8_t bytes[8];
	struct bk_bytes pieces[2] = {{bytes, sizeof(bytes)}, key};
	struct ledger *l = *ledger;
	uint64_t position;

	if (l == NULL && (l = ledgers_add(s->ledgers, id)) == NULL)
		return (BK_EIO);
	bk_be64_put(bytes, (uint64_t)id);
	position = journal_append(s->journal, JOURNAL_KEY, pieces, 2, reserve);
	if (position == 0) {
		int error = errno;

		if (*ledger == NULL)
			ledgers_drop(s->ledgers, l);
		return (refused(s, error));
	}
	/* A removed one begins anew; one that has lost its key stays fenced. */
	if (l->gone)
		l->fenced = 0;
	l->gone = 0;
	*ledger = l;
	changed(s, l, position);
	if (ledgers_set_key(s->ledgers, l, key) == -1 ||
	    store_put_state(s, l) == -1) {
		store_fail(s,
		    "out of memory for a ledger that is in the "
		    "journal");
		return (BK_EIO);
	}
	return (BK_OK);
}

static bool
needs_key(const struct ledger *l)
{
	return (l == NULL || l->gone || l->key == 0);
}

/* Adds. */

int
store_insert(struct store *s, struct ledger *l, struct bk_bytes entry)
{
	int64_t entry_id = (int64_t)bk_be64_get(entry.data + 8);
	struct memtable_place place;

	switch (
	    memtable_prepare(s->active, l->id, entry_id, entry.len, &place)) {
	case MEMTABLE_HAS:
		return (0);
	case MEMTABLE_ENOMEM:
		return (-1);
	case MEMTABLE_FREE:
		break;
	}
	l->newest = memtable_put(s->active, &place, entry, l->newest);
	ledgers_raise_last(s->ledgers, l, entry_id);
	(void)ledgers_raise_lac(s->ledgers, l,
	    (int64_t)bk_be64_get(entry.data + 16));
	return (0);
}

static bool
may_write(const struct store *s, const struct store_add *add)
{
	if (!store_readonly(s, NULL))
		return (true);
	return (add->high_priority && space_urgent(s->space));
}

/* Key, fence and doubt, in this order; what the answer rests on is waited
 * for. */
static enum bk_status
admit(const struct store *s, const struct ledger *l,
    const struct store_add *add, uint64_t *position)
{
	*position = 0;
	if (s->doubt_all && !add->recovery)
		return (BK_EIO);
	if (l == NULL)
		return (BK_OK);
	*position = store_unsynced(s, l);
	if (l->gone)
		return (is_remembered(s, l) ? BK_EFENCED : BK_OK);
	if (!key_fits(s, l, add->master_key))
		return (BK_EUA);
	if (l->fenced && !add->recovery)
		return (BK_EFENCED);
	if (l->doubt && !add->recovery)
		return (BK_EIO);
	return (BK_OK);
}

/* Room in memory, or the reason to put the request back. */
static enum memtable_room
make_room(struct store *s, int64_t ledger_id, int64_t entry_id, size_t len,
    struct memtable_place *place)
{
	store_flush_if_full(s);
	if (s->frozen != NULL &&
	    memtable_bytes(s->active) >= s->config.memtable_bytes)
		return (MEMTABLE_ENOMEM);
	return (memtable_prepare(s->active, ledger_id, entry_id, len, place));
}

static enum bk_status
append_entry(struct store *s, struct ledger *l, const struct store_add *add,
    int64_t entry_id, const struct memtable_place *place, uint64_t *position)
{
	int64_t lac = (int64_t)bk_be64_get(add->entry.data + 16);

	*position = journal_append(s->journal, JOURNAL_ENTRY, &add->entry, 1,
	    add->recovery);
	if (*position == 0)
		return (refused(s, errno));
	l->newest = memtable_put(s->active, place, add->entry, l->newest);
	ledgers_raise_last(s->ledgers, l, entry_id);
	changed(s, l, *position);
	s->figures.adds++;
	s->figures.add_bytes += add->entry.len;
	if (ledgers_raise_lac(s->ledgers, l, lac))
		s->events.moved(s->arg, l->id, false, false);
	return (BK_OK);
}

enum bk_status
store_add(struct store *s, const struct store_add *add, uint64_t *position)
{
	struct memtable_place place;
	struct ledger *l;
	int64_t ledger_id, entry_id;
	enum bk_status status;

	*position = 0;
	if (add->entry.len < ENTRY_MIN || add->entry.len > BK_ENTRY_MAX ||
	    add->master_key.len > KEY_MAX)
		return (BK_EBADREQ);
	ledger_id = (int64_t)bk_be64_get(add->entry.data);
	entry_id = (int64_t)bk_be64_get(add->entry.data + 8);
	if (ledger_id < 0 || entry_id < 0)
		return (BK_EBADREQ);
	if (!may_write(s, add))
		return (BK_EREADONLY);
	l = ledgers_find(s->ledgers, ledger_id);
	if ((status = admit(s, l, add, position)) != BK_OK)
		return (status);
	if (needs_key(l) &&
	    (status = give_key(s, ledger_id, add->master_key, add->recovery,
		 &l)) != BK_OK)
		return (status);
	switch (make_room(s, ledger_id, entry_id, add->entry.len, &place)) {
	case MEMTABLE_HAS:
		*position = store_unsynced(s, l);
		return (BK_OK);
	case MEMTABLE_ENOMEM:
		s->wants_room = true;
		return (BK_ECANCELED);
	case MEMTABLE_FREE:
		break;
	}
	return (append_entry(s, l, add, entry_id, &place, position));
}

/* Fences and explicit LACs: an existing ledger that the key opens, or a new
 * one. ENOLEDGER: removed and remembered as fenced. */
static enum bk_status
open_ledger(struct store *s, int64_t ledger_id, struct bk_bytes key,
    bool reserve, struct ledger **ledger, uint64_t *position)
{
	struct ledger *l;

	*position = 0;
	if (ledger_id < 0 || key.len > KEY_MAX)
		return (BK_EBADREQ);
	*ledger = l = ledgers_find(s->ledgers, ledger_id);
	if (l != NULL) {
		*position = store_unsynced(s, l);
		if (l->gone && is_remembered(s, l))
			return (BK_ENOLEDGER);
		if (!l->gone && !key_fits(s, l, key))
			return (BK_EUA);
	}
	if (!needs_key(l))
		return (BK_OK);
	return (give_key(s, ledger_id, key, reserve, ledger));
}

enum bk_status
store_fence(struct store *s, int64_t ledger_id, struct bk_bytes master_key,
    uint64_t *position)
{
	uint8_t bytes[8];
	struct bk_bytes piece = {bytes, sizeof(bytes)};
	enum bk_status status;
	struct ledger *l;

	status = open_ledger(s, ledger_id, master_key, true, &l, position);
	if (status != BK_OK)
		return (status == BK_ECANCELED || status == BK_EREADONLY ?
			BK_EIO :
			status);
	if (l->fenced) {
		*position = store_unsynced(s, l);
		return (BK_OK);
	}
	bk_be64_put(bytes, (uint64_t)ledger_id);
	*position = journal_append(s->journal, JOURNAL_FENCE, &piece, 1, true);
	if (*position == 0)
		return (BK_EIO);
	l->fenced = 1;
	changed(s, l, *position);
	if (store_put_state(s, l) == -1)
		store_fail(s, "out of memory for a fence");
	s->events.moved(s->arg, ledger_id, true, false);
	return (BK_OK);
}

static enum bk_status
put_packet(struct store *s, struct ledger *l, struct bk_bytes packet,
    uint64_t *position)
{
	struct ledger_more *more = ledgers_more_make(s->ledgers, l);

	if (more == NULL)
		return (BK_EIO);
	*position = journal_append(s->journal, JOURNAL_LAC, &packet, 1, false);
	if (*position == 0)
		return (refused(s, errno));
	memcpy(more->packet, packet.data, packet.len);
	more->packet_len = (uint8_t)packet.len;
	changed(s, l, *position);
	if (store_put_state(s, l) == -1)
		store_fail(s, "out of memory for an explicit LAC");
	if (ledgers_raise_lac(s->ledgers, l,
		(int64_t)bk_be64_get(packet.data + 8)))
		s->events.moved(s->arg, l->id, false, false);
	return (BK_OK);
}

enum bk_status
store_write_lac(struct store *s, struct bk_bytes master_key,
    struct bk_bytes packet, uint64_t *position)
{
	enum bk_status status;
	struct ledger *l;

	*position = 0;
	if (packet.len < 16 || packet.len > BK_LAC_PACKET_MAX)
		return (BK_EBADREQ);
	store_flush_if_full(s);
	status = open_ledger(s, (int64_t)bk_be64_get(packet.data), master_key,
	    false, &l, position);
	if (status != BK_OK)
		return (status);
	return (put_packet(s, l, packet, position));
}

uint64_t
store_force(struct store *s, int64_t ledger_id)
{
	const struct ledger *l = ledgers_find(s->ledgers, ledger_id);

	return (l == NULL ? 0 : store_unsynced(s, l));
}

/* Removal. */

int
store_forget(struct store *s, struct ledger *l, bool remember)
{
	struct ledger_more *more = ledgers_more_make(s->ledgers, l);
	uint32_t ref, previous;

	if (more == NULL)
		return (-1);
	for (ref = l->newest; ref != 0 && memtable_holds(s->active, ref);
	     ref = previous) {
		previous = memtable_previous(s->active, ref);
		memtable_kill(s->active, ref);
	}
	more->floor = memtable_number(s->active);
	more->packet_len = 0;
	more->gone_until = remember ? (int64_t)time(NULL) + REMEMBERED : 0;
	l->newest = 0;
	l->last_entry = -1;
	l->lac_gap = 0;
	l->gone = 1;
	l->doubt = 0;
	store_cache_drop(s, l->id);
	return (store_put_state(s, l));
}

enum bk_status
store_remove(struct store *s, int64_t ledger_id)
{
	struct ledger *l = ledgers_find(s->ledgers, ledger_id);
	uint8_t bytes[9];
	struct bk_bytes piece = {bytes, sizeof(bytes)};
	uint64_t position;

	if (l == NULL || l->gone)
		return (BK_ENOLEDGER);
	bk_be64_put(bytes, (uint64_t)ledger_id);
	bytes[8] = l->fenced;
	position = journal_append(s->journal, JOURNAL_REMOVE, &piece, 1, true);
	if (position == 0)
		return (refused(s, errno));
	changed(s, l, position);
	if (store_forget(s, l, l->fenced) == -1)
		store_fail(s, "out of memory for a removal");
	s->events.moved(s->arg, ledger_id, false, true);
	return (BK_OK);
}
