/*
 * store_state.c - the state of ledgers: out of the table into the memtable,
 * from disk and journal into the table; doubt.
 */
#include "bk-bookied/store_internal.h"

#include "base/log.h"
#include "bk-bookied/state.h"

#include <string.h>
#include <time.h>

int
store_put_state(struct store *s, const struct ledger *l)
{
	const struct ledger_more *more = ledgers_more(s->ledgers, l);
	struct ledger_state state = {
	    .ledger_id = l->id,
	    .log = memtable_number(s->active),
	    .fenced = l->fenced,
	    .doubt = l->doubt,
	    .gone = l->gone,
	    .has_key = l->key != 0,
	};
	uint8_t bytes[STATE_MAX];

	if (l->key != 0)
		state.key = keys_get(ledgers_keys(s->ledgers), l->key);
	if (more != NULL) {
		state.floor = more->floor;
		state.gone_until = more->gone_until;
		state.packet =
		    (struct bk_bytes){more->packet, more->packet_len};
	}
	state_encode(&state, bytes);
	return (memtable_put_state(s->active,
	    (struct bk_bytes){bytes, state_size(&state)}));
}

/* The doubt on all ledgers, as a state of its own. */
static int
put_doubt_all(struct store *s)
{
	struct ledger_state state = {.ledger_id = STATE_ALL,
	    .log = memtable_number(s->active),
	    .doubt = true};
	uint8_t bytes[STATE_HEAD];

	state_encode(&state, bytes);
	return (memtable_put_state(s->active,
	    (struct bk_bytes){bytes, sizeof(bytes)}));
}

static int
take_more(struct store *s, struct ledger *l, const struct ledger_state *state)
{
	struct ledger_more *more = ledgers_more_make(s->ledgers, l);

	if (more == NULL)
		return (-1);
	more->floor = state->floor;
	more->gone_until = state->gone_until;
	more->packet_len = (uint8_t)state->packet.len;
	if (state->packet.len > 0)
		memcpy(more->packet, state->packet.data, state->packet.len);
	return (0);
}

int
store_take_state(struct store *s, const struct ledger_state *state)
{
	struct ledger *l;

	if (state->ledger_id == STATE_ALL) {
		s->doubt_all = state->doubt;
		return (0);
	}
	l = ledgers_find(s->ledgers, state->ledger_id);
	if (l == NULL &&
	    (l = ledgers_add(s->ledgers, state->ledger_id)) == NULL)
		return (-1);
	l->fenced = state->fenced;
	l->doubt = state->doubt;
	l->gone = state->gone;
	if (state->has_key && ledgers_set_key(s->ledgers, l, state->key) == -1)
		return (-1);
	if ((state->floor != 0 || state->gone_until != 0 ||
		state->packet.len > 0 || l->more) &&
	    take_more(s, l, state) == -1)
		return (-1);
	if (state->packet.len >= 16)
		(void)ledgers_raise_lac(s->ledgers, l,
		    (int64_t)bk_be64_get(state->packet.data + 8));
	return (0);
}

/* Doubt. */

struct range {
	struct store *store;
	int64_t low, high;
};

static void
journal_doubt(struct store *s, int64_t ledger_id)
{
	uint8_t bytes[9];
	struct bk_bytes piece = {bytes, sizeof(bytes)};

	bk_be64_put(bytes, (uint64_t)ledger_id);
	bytes[8] = 1;
	/* Without room the mark lives in memory, and damage shows again. */
	if (s->journal != NULL &&
	    journal_append(s->journal, JOURNAL_DOUBT, &piece, 1, true) != 0)
		store_turn(s);
}

static void
doubt_one(void *arg, struct ledger *l)
{
	struct range *r = arg;

	if (l->id < r->low || l->id > r->high || l->doubt)
		return;
	l->doubt = 1;
	journal_doubt(r->store, l->id);
	(void)store_put_state(r->store, l);
	bk_log(BK_LOG_ERROR,
	    "ledger %lld: in doubt: entries of it may be lost "
	    "here",
	    (long long)l->id);
}

void
store_set_doubt(struct store *s, int64_t low, int64_t high)
{
	struct range r = {s, low, high};

	if (s->doubt_all)
		return;
	if (low != STATE_ALL) {
		ledgers_each(s->ledgers, doubt_one, &r);
		return;
	}
	s->doubt_all = true;
	journal_doubt(s, STATE_ALL);
	(void)put_doubt_all(s);
	bk_log(BK_LOG_ERROR,
	    "all ledgers are in doubt: what is not found here "
	    "is not denied");
}

/* Replay. */

static struct ledger *
find_or_add(struct store *s, int64_t id)
{
	struct ledger *l = ledgers_find(s->ledgers, id);

	return (l != NULL ? l : ledgers_add(s->ledgers, id));
}

/* A removed ledger comes back to life with the first change after. */
static bool
replay_key(struct store *s, struct ledger *l, struct bk_bytes key)
{
	l->gone = 0;
	return (ledgers_set_key(s->ledgers, l, key) == 0 &&
	    store_put_state(s, l) == 0);
}

static bool
replay_lac(struct store *s, struct ledger *l, struct bk_bytes packet)
{
	struct ledger_more *more = ledgers_more_make(s->ledgers, l);

	if (more == NULL || packet.len > BK_LAC_PACKET_MAX)
		return (more != NULL);
	memcpy(more->packet, packet.data, packet.len);
	more->packet_len = (uint8_t)packet.len;
	(void)ledgers_raise_lac(s->ledgers, l,
	    (int64_t)bk_be64_get(packet.data + 8));
	return (store_put_state(s, l) == 0);
}

bool
store_replay_record(void *arg, const struct journal_record *record)
{
	struct store *s = arg;
	struct bk_bytes b = record->bytes;
	struct ledger *l;
	int64_t id;

	if (b.len < 8)
		return (true); /* nothing we wrote is that short */
	id = (int64_t)bk_be64_get(b.data);
	if (record->kind == JOURNAL_DOUBT && id == STATE_ALL) {
		s->doubt_all = true;
		return (put_doubt_all(s) == 0);
	}
	if (id < 0)
		return (true);
	if ((l = find_or_add(s, id)) == NULL)
		return (false);
	switch (record->kind) {
	case JOURNAL_ENTRY:
		return (b.len < 24 || store_insert(s, l, b) == 0);
	case JOURNAL_KEY:
		return (
		    replay_key(s, l, (struct bk_bytes){b.data + 8, b.len - 8}));
	case JOURNAL_FENCE:
		l->fenced = 1;
		return (store_put_state(s, l) == 0);
	case JOURNAL_LAC:
		return (b.len < 16 || replay_lac(s, l, b));
	case JOURNAL_REMOVE:
		return (b.len < 9 || store_forget(s, l, b.data[8] != 0) == 0);
	case JOURNAL_DOUBT:
		l->doubt = b.len >= 9 && b.data[8] != 0;
		return (store_put_state(s, l) == 0);
	}
	return (true);
}
