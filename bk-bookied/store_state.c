/*
 * store_state.c - the state of ledgers: from the table into the memtable, from
 * files into the table; removal; doubt.
 *
 * Every change of a ledger's state puts its whole new state into the memtable,
 * which is what a flush keeps of it.
 */
#include "bk-bookied/store_internal.h"

#include "base/log.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#define PACKET_HEAD 16

bool
store_in_doubt(const struct store *s, const struct ledger *l)
{
	return (s->doubt_all || (l != NULL && l->doubt));
}

uint32_t
store_floor(const struct store *s, const struct ledger *l)
{
	const struct ledger_more *more = ledgers_more(s->ledgers, l);

	return (more != NULL ? more->floor : 0);
}

/* States in memory. */

static void
state_of(const struct store *s, const struct ledger *l,
    struct ledger_state *state)
{
	const struct ledger_more *more = ledgers_more(s->ledgers, l);

	*state = (struct ledger_state){
	    .ledger_id = l->id,
	    .fenced = l->fenced,
	    .doubt = l->doubt,
	    .gone = l->gone,
	    .has_key = l->key != 0,
	};
	if (l->key != 0)
		state->key = keys_get(ledgers_keys(s->ledgers), l->key);
	if (more == NULL)
		return;
	state->floor = more->floor;
	state->gone_until = more->gone_until;
	state->packet = (struct bk_bytes){more->packet, more->packet_len};
}

int
store_prepare_state(struct store *s)
{
	return (memtable_prepare_state(s->active, STATE_MAX));
}

static void
put_state(struct store *s, const struct ledger_state *state)
{
	uint8_t encoded[STATE_MAX];
	struct bk_bytes bytes = {encoded, state_size(state)};

	state_encode(state, encoded);
	memtable_put_state(s->active, bytes);
}

void
store_keep_state(struct store *s, const struct ledger *l)
{
	struct ledger_state state;

	state_of(s, l, &state);
	put_state(s, &state);
}

void
store_keep_packet(struct store *s, struct ledger *l, struct ledger_more *more,
    struct bk_bytes packet)
{
	memcpy(more->packet, packet.data, packet.len);
	more->packet_len = (uint8_t)packet.len;
	store_keep_state(s, l);
}

int
store_take_state(struct store *s, const struct ledger_state *state)
{
	struct ledger_more *more;
	struct ledger *l;

	if (state->ledger_id == STATE_ALL) {
		s->doubt_all = state->doubt;
		return (0);
	}
	l = ledgers_add(s->ledgers, state->ledger_id);
	if (l == NULL)
		return (-1);
	l->fenced = state->fenced;
	l->doubt = state->doubt;
	l->gone = state->gone;
	if (state->has_key && ledgers_set_key(s->ledgers, l, state->key) == -1)
		return (-1);
	if (state->floor == 0 && state->packet.len == 0 &&
	    state->gone_until == 0)
		return (0);
	more = ledgers_more_make(s->ledgers, l);
	if (more == NULL)
		return (-1);
	more->floor = state->floor;
	more->gone_until = state->gone_until;
	more->packet_len = (uint8_t)state->packet.len;
	if (state->packet.len < PACKET_HEAD)
		return (0);
	memcpy(more->packet, state->packet.data, state->packet.len);
	(void)ledgers_raise_lac(s->ledgers, l,
	    (int64_t)bk_be64_get(more->packet + 8));
	return (0);
}

void
store_revive(struct store *s, struct ledger *l)
{
	struct ledger_more *more = ledgers_more(s->ledgers, l);

	l->gone = 0;
	l->fenced = 0;
	if (more != NULL)
		more->gone_until = 0;
}

/* Removal. */

/* Take the ledger's entries out of the active memtable. */
static void
kill_entries(struct store *s, const struct ledger *l)
{
	uint32_t ref = l->newest;

	while (memtable_holds(s->active, ref)) {
		memtable_kill(s->active, ref);
		ref = memtable_previous(s->active, ref);
	}
}

void
store_forget(struct store *s, struct ledger *l, struct ledger_more *more,
    int64_t until)
{
	kill_entries(s, l);
	ledgers_drop_key(s->ledgers, l);
	more->floor = memtable_number(s->active);
	more->packet_len = 0;
	more->lac = -1;
	more->gone_until = until;
	l->fenced = until != 0;
	l->doubt = 0;
	l->gone = 1;
	l->newest = 0;
	l->last_entry = -1;
	l->lac_gap = 0;
	store_keep_state(s, l);
}

/* Doubt. */

static void
put_doubt_all(struct store *s, bool doubt)
{
	struct ledger_state state = {.ledger_id = STATE_ALL, .doubt = doubt};

	s->doubt_all = doubt;
	put_state(s, &state);
}

int
store_doubt(struct store *s, int64_t ledger_id, bool doubt)
{
	struct ledger *l = NULL;
	uint8_t flag = doubt;
	struct bk_bytes rest = {&flag, 1};

	if (ledger_id != STATE_ALL) {
		l = ledgers_find(s->ledgers, ledger_id);
		if (l == NULL || l->gone || l->doubt == doubt)
			return (0);
	} else if (s->doubt_all == doubt)
		return (0);
	if (store_prepare_state(s) == -1)
		return (-1);
	if (s->journal != NULL &&
	    store_append(s, JOURNAL_DOUBT, ledger_id, rest, true) == 0)
		return (-1);
	if (l == NULL) {
		put_doubt_all(s, doubt);
		return (0);
	}
	l->doubt = doubt;
	if (s->journal != NULL)
		l->changed = (uint32_t)s->last_position;
	store_keep_state(s, l);
	return (0);
}

struct range {
	struct store *s;
	int64_t low, high;
	size_t n;
};

static void
doubt_in_range(void *arg, struct ledger *l)
{
	struct range *r = arg;

	if (l->id < r->low || l->id > r->high || l->gone || l->doubt)
		return;
	r->n++;
	if (store_doubt(r->s, l->id, true) == 0)
		return;
	/* It stays in memory, and is found again after a restart. */
	l->doubt = 1;
	bk_log(BK_LOG_WARNING,
	    "ledger %" PRId64 ": in doubt, which is not "
	    "recorded: %s",
	    l->id, strerror(errno));
}

void
store_doubt_range(struct store *s, int64_t low, int64_t high)
{
	struct range r = {s, low, high, 0};
	struct ledger *l;

	if (low == high) {
		l = ledgers_find(s->ledgers, low);
		if (l != NULL)
			doubt_in_range(&r, l);
	} else
		ledgers_each(s->ledgers, doubt_in_range, &r);
	if (r.n > 0)
		bk_log(BK_LOG_ERROR,
		    "ledgers %" PRId64 " to %" PRId64 ": "
		    "%zu in doubt: what is not found of them may be lost",
		    low, high, r.n);
}

struct keep {
	struct store *s;
	bool failed;
};

static void
keep_doubt(void *arg, struct ledger *l)
{
	struct keep *k = arg;

	if (l->gone || (l->key != 0 && !l->doubt))
		return;
	l->doubt = 1;
	if (store_prepare_state(k->s) == -1)
		k->failed = true;
	else
		store_keep_state(k->s, l);
}

bool
store_keep_doubts(struct store *s)
{
	struct keep k = {.s = s};

	ledgers_each(s->ledgers, keep_doubt, &k);
	if (k.failed || store_prepare_state(s) == -1)
		return (false);
	if (s->doubt_all)
		put_doubt_all(s, true);
	return (true);
}
