/*
 * store_change.c - changes that clients ask for: add, fence, explicit LAC; and
 * removal.
 *
 * A change is one step of the loop (design/bookie.md 1): check, reserve memory,
 * append to the journal, then what cannot fail.
 */
#include "bk-bookied/store_internal.h"

#include <errno.h>
#include <string.h>

/* Use of a ledger that was removed is noted once a day. */
#define REMEMBER_STEP (INT64_C(24) * 3600)

#define ENTRY_HEAD 24 /* ledger id, entry id, LAC: the least an entry has */
#define PACKET_HEAD 16

/* The journal position an answer about this ledger rests on; 0 if durable. */
static uint64_t
rests_on(const struct store *s, const struct ledger *l)
{
	uint64_t changed;

	changed = ledger_changed_at(l, journal_filling(s->journal));
	return (changed > journal_synced(s->journal) ? changed : 0);
}

/* The journal. */

static uint64_t
append(struct store *s, enum journal_kind kind, const struct bk_bytes *pieces,
    size_t npieces, bool reserve)
{
	uint64_t position;

	position = journal_append(s->journal, kind, pieces, npieces, reserve);
	if (position == 0)
		return (0);
	s->last_position = position;
	store_turn(s);
	return (position);
}

uint64_t
store_append(struct store *s, enum journal_kind kind, int64_t ledger_id,
    struct bk_bytes rest, bool reserve)
{
	uint8_t id[8];
	struct bk_bytes pieces[] = {{id, sizeof(id)}, rest};

	bk_be64_put(id, (uint64_t)ledger_id);
	return (append(s, kind, pieces, rest.len > 0 ? 2 : 1, reserve));
}

/* What to answer when the journal did not take a change. */
static enum bk_status
refused(struct store *s)
{
	switch (errno) {
	case ENOSPC:
		return (BK_EREADONLY);
	case EMSGSIZE:
		return (BK_EBADREQ);
	case EAGAIN:
	case ENOMEM:
		s->wants_room = true;
		return (BK_ECANCELED);
	default:
		return (BK_EIO);
	}
}

static enum bk_status
no_memory(struct store *s)
{
	errno = ENOMEM;
	return (refused(s));
}

/* Ledgers come into being. */

/* A removed and fenced ledger is still remembered; this counts as its use. */
static bool
is_remembered(struct store *s, struct ledger *l)
{
	struct ledger_more *more;
	int64_t now;

	if (!l->gone || !l->fenced)
		return (false);
	more = ledgers_more(s->ledgers, l);
	now = store_wall_clock();
	if (more == NULL || more->gone_until < now)
		return (false);
	if (more->gone_until < now + STORE_REMEMBER - REMEMBER_STEP &&
	    store_prepare_state(s) == 0) {
		more->gone_until = now + STORE_REMEMBER;
		store_keep_state(s, l);
	}
	return (true);
}

/* Give a ledger that is new here (*found is NULL), was removed, or has lost its
 * key this one. OK with *found where it is, or what to answer. */
static enum bk_status
adopt_key(struct store *s, int64_t ledger_id, struct bk_bytes key,
    bool recovery, struct ledger **found)
{
	struct ledger *l = *found;
	enum bk_status status;
	uint64_t position;
	uint32_t number;

	if (store_prepare_state(s) == -1 ||
	    (number = keys_take(ledgers_keys(s->ledgers), key)) == 0)
		return (no_memory(s));
	if (l == NULL)
		l = ledgers_add(s->ledgers, ledger_id);
	position = l == NULL ?
	    0 :
	    store_append(s, JOURNAL_KEY, ledger_id, key, recovery);
	if (position == 0) {
		status = refused(s);
		keys_drop(ledgers_keys(s->ledgers), number);
		if (l != NULL && *found == NULL)
			ledgers_drop(s->ledgers, l);
		return (status);
	}
	if (l->gone)
		store_revive(s, l);
	/* What is lost of ledgers not known may be of this one. */
	if (s->doubt_all)
		l->doubt = 1;
	l->key = number & KEYS_MAX;
	l->changed = (uint32_t)position;
	store_keep_state(s, l);
	*found = l;
	return (BK_OK);
}

/*
 * The ledger a change is for, its key checked or, if it has none, adopted. A
 * ledger that may have been lost is begun anew, and a key that was lost
 * replaced, by a recovery only. OK, or what to answer at *position.
 */
static enum bk_status
ledger_for(struct store *s, int64_t ledger_id, struct bk_bytes key,
    bool recovery, enum bk_status if_remembered, struct ledger **found,
    uint64_t *position)
{
	struct ledger *l = ledgers_find(s->ledgers, ledger_id);

	*found = l;
	if (l != NULL && is_remembered(s, l)) {
		*position = rests_on(s, l);
		return (if_remembered);
	}
	if (l == NULL || l->gone || l->key == 0) {
		if (!recovery && (s->doubt_all || (l != NULL && !l->gone)))
			return (BK_EIO);
		return (adopt_key(s, ledger_id, key, recovery, found));
	}
	if (keys_match(ledgers_keys(s->ledgers), l->key, key))
		return (BK_OK);
	*position = rests_on(s, l);
	return (BK_EUA);
}

/* Adds. */

static enum bk_status
check_entry(const struct store_add *add)
{
	if (add->entry.len < ENTRY_HEAD || add->entry.len > BK_ENTRY_MAX ||
	    add->master_key.len > KEY_MAX)
		return (BK_EBADREQ);
	if (add->entry.data[0] & 0x80 || add->entry.data[8] & 0x80)
		return (BK_EBADREQ);
	return (BK_OK);
}

/* Before anything is looked at: may this add be made now at all? */
static enum bk_status
check_mode(struct store *s, const struct store_add *add)
{
	if ((s->is_readonly || space_readonly(s->space)) &&
	    !(add->high_priority && space_for_urgent(s->space)))
		return (BK_EREADONLY);
	if (store_make_room(s))
		return (BK_OK);
	/* A full disk may keep the flush back for long. */
	if (space_readonly(s->space))
		return (BK_EREADONLY);
	s->wants_room = true;
	return (BK_ECANCELED);
}

/* May the ledger take this add? */
static enum bk_status
check_ledger(struct store *s, const struct store_add *add,
    const struct ledger *l)
{
	if (add->recovery)
		return (BK_OK);
	if (l->fenced)
		return (BK_EFENCED);
	return (store_in_doubt(s, l) ? BK_EIO : BK_OK);
}

/* Whether the memtable that is being flushed has this entry of the ledger. */
static bool
is_frozen(const struct store *s, const struct ledger *l, int64_t entry_id)
{
	return (s->frozen != NULL && entry_id <= l->last_entry &&
	    memtable_number(s->frozen) >= store_floor(s, l) &&
	    memtable_find(s->frozen, l->id, entry_id).data != NULL);
}

void
store_insert(struct store *s, struct ledger *l,
    const struct memtable_place *place, struct bk_bytes entry, int64_t entry_id,
    uint64_t position)
{
	l->newest = memtable_put(s->active, place, entry, l->newest);
	l->changed = (uint32_t)position;
	ledgers_raise_last(s->ledgers, l, entry_id);
}

static void
raise_lac(struct store *s, struct ledger *l, int64_t lac)
{
	if (ledgers_raise_lac(s->ledgers, l, lac))
		s->events.moved(s->arg, l->id, false, false);
}

static enum bk_status
add_entry(struct store *s, const struct store_add *add, struct ledger *l,
    uint64_t *position)
{
	int64_t entry_id = (int64_t)bk_be64_get(add->entry.data + 8);
	struct memtable_place place;

	switch (memtable_prepare(s->active, l->id, entry_id, add->entry.len,
	    &place)) {
	case MEMTABLE_ENOMEM:
		return (no_memory(s));
	case MEMTABLE_HAS:
		*position = rests_on(s, l);
		break;
	case MEMTABLE_FREE:
		if (is_frozen(s, l, entry_id)) {
			*position = rests_on(s, l);
			break;
		}
		*position =
		    append(s, JOURNAL_ENTRY, &add->entry, 1, add->recovery);
		if (*position == 0)
			return (refused(s));
		store_insert(s, l, &place, add->entry, entry_id, *position);
		break;
	}
	s->figures.adds++;
	s->figures.add_bytes += add->entry.len;
	raise_lac(s, l, (int64_t)bk_be64_get(add->entry.data + 16));
	return (BK_OK);
}

enum bk_status
store_add(struct store *s, const struct store_add *add, uint64_t *position)
{
	enum bk_status status;
	struct ledger *l;

	*position = 0;
	status = check_entry(add);
	if (status == BK_OK)
		status = check_mode(s, add);
	if (status != BK_OK)
		return (status);
	status = ledger_for(s, (int64_t)bk_be64_get(add->entry.data),
	    add->master_key, add->recovery, BK_EFENCED, &l, position);
	if (status != BK_OK)
		return (status);
	status = check_ledger(s, add, l);
	if (status != BK_OK) {
		*position = rests_on(s, l);
		return (status);
	}
	return (add_entry(s, add, l, position));
}

void
store_prefetch(const struct store *s, int64_t ledger_id, int64_t entry_id)
{
	ledgers_prefetch(s->ledgers, ledger_id);
	memtable_prefetch(s->active, ledger_id, entry_id);
}

/* Fence and explicit LAC. */

enum bk_status
store_fence(struct store *s, int64_t ledger_id, struct bk_bytes master_key,
    uint64_t *position)
{
	enum bk_status status;
	struct ledger *l;

	*position = 0;
	if (ledger_id < 0 || master_key.len > KEY_MAX)
		return (BK_EBADREQ);
	status = ledger_for(s, ledger_id, master_key, true, BK_ENOLEDGER, &l,
	    position);
	/* Read-only for lack of space is no answer to a fencing read. */
	if (status != BK_OK)
		return (status == BK_EREADONLY ? BK_EIO : status);
	if (l->fenced) {
		*position = rests_on(s, l);
		return (BK_OK);
	}
	if (store_prepare_state(s) == -1)
		return (no_memory(s));
	*position = store_append(s, JOURNAL_FENCE, ledger_id,
	    (struct bk_bytes){0}, true);
	if (*position == 0) {
		status = refused(s);
		return (status == BK_EREADONLY ? BK_EIO : status);
	}
	l->fenced = 1;
	l->changed = (uint32_t)*position;
	store_keep_state(s, l);
	s->events.moved(s->arg, ledger_id, true, false);
	return (BK_OK);
}

enum bk_status
store_write_lac(struct store *s, struct bk_bytes master_key,
    struct bk_bytes packet, uint64_t *position)
{
	struct ledger_more *more;
	enum bk_status status;
	struct ledger *l;

	*position = 0;
	if (packet.len < PACKET_HEAD || packet.len > BK_LAC_PACKET_MAX ||
	    packet.data[0] & 0x80 || master_key.len > KEY_MAX)
		return (BK_EBADREQ);
	if (s->is_readonly || space_readonly(s->space))
		return (BK_EREADONLY);
	status = ledger_for(s, (int64_t)bk_be64_get(packet.data), master_key,
	    false, BK_ENOLEDGER, &l, position);
	if (status != BK_OK)
		return (status);
	more = ledgers_more_make(s->ledgers, l);
	if (more == NULL || store_prepare_state(s) == -1)
		return (no_memory(s));
	*position = append(s, JOURNAL_LAC, &packet, 1, false);
	if (*position == 0)
		return (refused(s));
	l->changed = (uint32_t)*position;
	store_keep_packet(s, l, more, packet);
	raise_lac(s, l, (int64_t)bk_be64_get(packet.data + 8));
	return (BK_OK);
}

uint64_t
store_force(struct store *s, int64_t ledger_id)
{
	const struct ledger *l = ledgers_find(s->ledgers, ledger_id);

	return (l == NULL ? 0 : rests_on(s, l));
}

/* Removal. */

enum bk_status
store_remove(struct store *s, int64_t ledger_id)
{
	struct ledger *l = ledgers_find(s->ledgers, ledger_id);
	struct ledger_more *more;
	uint8_t flag;
	struct bk_bytes rest = {&flag, 1};
	uint64_t position;

	if (l == NULL || l->gone)
		return (BK_ENOLEDGER);
	more = ledgers_more_make(s->ledgers, l);
	if (more == NULL || store_prepare_state(s) == -1)
		return (no_memory(s));
	flag = l->fenced;
	position = store_append(s, JOURNAL_REMOVE, ledger_id, rest, false);
	if (position == 0)
		return (refused(s));
	l->changed = (uint32_t)position;
	store_forget(s, l, more,
	    flag != 0 ? store_wall_clock() + STORE_REMEMBER : 0);
	store_reads_forget(s, ledger_id);
	s->events.moved(s->arg, ledger_id, false, true);
	store_reclaim(s);
	return (BK_OK);
}
