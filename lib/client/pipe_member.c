/*
 * pipe_member.c - one member of the ensemble: sending to it, its answers, and
 * what to think of it when there are none.
 *
 * Lateness. Requests go out with a long time-out; a member is late when it has
 * not answered one within request_timeout. That counts as a failure only if
 * another member is better than it, so that a pause of the whole machine, or of
 * the network, replaces nobody; but not for longer than replace_timeout.
 */
#include "client/pipe.h"

#include "client/pick.h"

#include <errno.h>
#include <stdlib.h>

#define REFUSALS_MAX 6    /* ETOOMANY in a row before it is a failure */
#define HOLD (10 * BK_MS) /* first pause; doubled by each refusal */
#define PROBE_TICKS_MAX 16
#define REQUEST_OVERHEAD 64 /* what a request costs beside its entry */

/* Ticks after which an answer is late. */
static uint32_t
late_ticks(const struct bk_pipe *p)
{
	return ((uint32_t)((p->c->request_timeout + BK_PIPE_TICK - 1) /
	    BK_PIPE_TICK));
}

static uint32_t
later_tick(uint32_t a, uint32_t b)
{
	return ((int32_t)(a - b) > 0 ? a : b);
}

static size_t
ticket_of(const struct bk_pipe_member *m, int64_t entry_id)
{
	const struct bk_pipe *p = m->pipe;
	int e = p->quorum.ensemble_size;
	int first = (int)(entry_id % e);
	int replica = m->position - first + (m->position < first ? e : 0);

	return (
	    ((size_t)entry_id & (p->cap - 1)) * (size_t)p->quorum.write_quorum +
	    (size_t)replica);
}

static void
settle_one(struct bk_pipe_member *m, struct bk_pending *s)
{
	s->inflight &= ~bk_pipe_bit(m);
	m->inflight--;
	m->inflight_bytes -= s->len + REQUEST_OVERHEAD;
}

void
bk_pipe_cancel(struct bk_pipe_member *m, int64_t from, int64_t to)
{
	struct bk_pipe *p = m->pipe;
	int64_t e;

	for (e = from; m->inflight > 0 && e < to; e++) {
		struct bk_pending *s = bk_pipe_slot(p, e);

		if ((s->inflight & bk_pipe_bit(m)) == 0)
			continue;
		p->env->ops->cancel(p->env, p->tickets[ticket_of(m, e)]);
		settle_one(m, s);
	}
}

/* EOK counts also when the entry has its quorum already: a later change may
 * undo that (1.6). */
static void
stored(struct bk_pipe_member *m, struct bk_pending *s, int64_t entry_id)
{
	struct bk_pipe *p = m->pipe;

	s->acked |= bk_pipe_bit(m);
	m->failures = 0;
	m->patience = 0;
	if (entry_id > m->highest)
		m->highest = entry_id;
	if (m->state == BK_MEMBER_DOWN)
		bk_member_up(m);
	else if (m->cursor < p->next)
		bk_pipe_pump(m);
	if (entry_id == p->head)
		bk_pipe_advance(p);
}

static void
refused(struct bk_pipe_member *m, int64_t entry_id, enum bk_status status)
{
	switch (status) {
	case BK_EFENCED:
	case BK_EUA:
		m->pipe->events->fatal(m->pipe->arg, status);
		return;
	case BK_ETOOMANY:
		if (m->state != BK_MEMBER_DOWN && m->failures < REFUSALS_MAX) {
			bk_member_hold(m, entry_id);
			return;
		}
		break;
	default:
		break;
	}
	bk_member_failed(m, status);
}

static void
answered(void *arg, const struct bk_response *resp)
{
	struct bk_pipe_member *m = arg;
	struct bk_pipe *p = m->pipe;
	int64_t e = resp->entry_id;
	struct bk_pending *s;

	if (e < p->tail || e >= p->next)
		return;
	s = bk_pipe_slot(p, e);
	if ((s->inflight & bk_pipe_bit(m)) == 0)
		return;
	settle_one(m, s);
	if (resp->status == BK_OK)
		stored(m, s, e);
	else
		refused(m, e, resp->status);
	if (!p->stopped)
		bk_pipe_trim(p);
}

/* Returns false when the member takes no more for now. */
static bool
send_one(struct bk_pipe_member *m, struct bk_pending *s, int64_t entry_id)
{
	struct bk_pipe *p = m->pipe;
	struct bk_request req = {
	    .op = BK_OP_ADD,
	    .version = (uint8_t)p->c->wire_version,
	    .flags = p->flags,
	    .ledger_id = p->ledger_id,
	    .entry_id = entry_id,
	    .master_key = {p->key, sizeof(p->key)},
	    .body = {s->entry, s->len},
	};
	uint64_t ticket;

	if (m->inflight > 0 && m->inflight_bytes + s->len > p->c->peer_bytes)
		return (false);
	ticket = p->env->ops->send(p->env, m->peer, &req, p->c->add_timeout,
	    answered, m);
	if (ticket == 0)
		return (false);
	p->tickets[ticket_of(m, entry_id)] = ticket;
	s->inflight |= bk_pipe_bit(m);
	m->inflight++;
	m->inflight_bytes += s->len + REQUEST_OVERHEAD;
	return (true);
}

void
bk_pipe_pump(struct bk_pipe_member *m)
{
	struct bk_pipe *p = m->pipe;
	uint64_t bit = bk_pipe_bit(m);

	if (m->state != BK_MEMBER_UP)
		return;
	if (m->peer == NULL) {
		bk_member_failed(m, BK_EUNREACHABLE);
		return;
	}
	if (m->cursor < p->tail)
		m->cursor = p->tail;
	for (; m->cursor < p->next; m->cursor++) {
		struct bk_pending *s = bk_pipe_slot(p, m->cursor);

		if ((bk_pipe_write_set(p, m->cursor) & bit) == 0 ||
		    ((s->acked | s->inflight) & bit) != 0 || s->entry == NULL)
			continue;
		if (!send_one(m, s, m->cursor))
			return;
	}
}

void
bk_member_up(struct bk_pipe_member *m)
{
	struct bk_pipe *p = m->pipe;

	m->state = BK_MEMBER_UP;
	m->cursor = p->head;
	m->joined = p->tick;
	p->down &= ~bk_pipe_bit(m);
	bk_pick_pardon(p->c, m->id);
	bk_pipe_pump(m);
}

void
bk_member_failed(struct bk_pipe_member *m, enum bk_status why)
{
	struct bk_pipe *p = m->pipe;
	unsigned wait;

	m->why = why;
	if (m->state == BK_MEMBER_DOWN)
		return;
	m->state = BK_MEMBER_DOWN;
	wait = 1u << (m->failures < 4 ? m->failures : 4);
	m->failures++;
	m->retry = p->tick + (wait < PROBE_TICKS_MAX ? wait : PROBE_TICKS_MAX);
	p->down |= bk_pipe_bit(m);
	bk_pick_shun(p->c, m->id);
	/* Answers to acknowledged entries are not worth waiting for now. */
	bk_pipe_cancel(m, p->tail, p->head);
	bk_pipe_wind(p);
	p->events->lost(p->arg);
}

/* Overloaded (6.3): a pause, somewhat random, and the entry again. */
void
bk_member_hold(struct bk_pipe_member *m, int64_t entry_id)
{
	struct bk_pipe *p = m->pipe;
	int64_t pause = HOLD << m->failures;

	if (entry_id < m->cursor)
		m->cursor = entry_id;
	if (m->state == BK_MEMBER_HELD)
		return;
	m->state = BK_MEMBER_HELD;
	m->failures++;
	pause += (int64_t)bk_random_below(p->env, (uint64_t)pause);
	p->env->ops->timer_set(p->resume, pause);
}

void
bk_pipe_resume(void *arg)
{
	struct bk_pipe *p = arg;
	int i;

	for (i = 0; i < p->quorum.ensemble_size && !p->stopped; i++) {
		struct bk_pipe_member *m = &p->members[i];

		if (m->state != BK_MEMBER_HELD)
			continue;
		m->state = BK_MEMBER_UP;
		m->joined = p->tick;
		bk_pipe_pump(m);
	}
}

/* A member that lives and owes answers for long has lost the requests, or will
 * lose the answers: they are sent again, at growing intervals, so that one
 * which is merely slow is heard at last. */
static void
give_up_requests(struct bk_pipe_member *m)
{
	struct bk_pipe *p = m->pipe;
	bool any = false;
	int64_t e;

	if (m->patience == 0)
		m->patience = 4 * late_ticks(p);
	for (e = p->head; e < p->next; e++) {
		struct bk_pending *s = bk_pipe_slot(p, e);
		uint32_t sent = later_tick(s->tick, m->since);

		if ((s->inflight & bk_pipe_bit(m)) == 0 ||
		    p->tick - sent < m->patience)
			continue;
		bk_pipe_cancel(m, e, e + 1);
		any = true;
	}
	if (any) {
		m->since = p->tick;
		m->patience *= 2;
	}
}

static void
probed(void *arg, const struct bk_response *resp)
{
	struct bk_pipe_member *m = arg;

	m->probe = 0;
	if (resp->status <= BK_EUNKNOWNSTATE &&
	    resp->status != BK_EBADVERSION) {
		if (m->state == BK_MEMBER_DOWN) {
			give_up_requests(m);
			bk_member_up(m);
		}
		return;
	}
	m->why = resp->status;
	m->failures++;
	m->retry = m->pipe->tick +
	    (m->failures < PROBE_TICKS_MAX ? m->failures : PROBE_TICKS_MAX);
}

/* Any answer to a read of what cannot be there yet is a sign of life. */
void
bk_member_probe(struct bk_pipe_member *m)
{
	struct bk_pipe *p = m->pipe;
	struct bk_request req = {
	    .op = BK_OP_READ,
	    .version = (uint8_t)p->c->wire_version,
	    .ledger_id = p->ledger_id,
	    .entry_id = p->next,
	};

	if (m->state != BK_MEMBER_DOWN || m->probe != 0 || m->peer == NULL ||
	    (int32_t)(p->tick - m->retry) < 0)
		return;
	m->probe = p->env->ops->send(p->env, m->peer, &req,
	    p->c->request_timeout, probed, m);
}

void
bk_pipe_retry(struct bk_pipe *p)
{
	int i;

	for (i = 0; i < p->quorum.ensemble_size; i++) {
		p->members[i].retry = p->tick;
		bk_member_probe(&p->members[i]);
	}
}

static uint32_t
age(const struct bk_pipe_member *m, const struct bk_pending *s)
{
	return (m->pipe->tick - later_tick(s->tick, m->joined));
}

/* Positions late by limit ticks or more; the oldest entry they owe in *oldest
 * and its age. */
static uint64_t
late_positions(const struct bk_pipe *p, uint32_t limit, int64_t *oldest,
    uint32_t *oldest_age)
{
	uint64_t late = 0;
	int64_t e;
	int i;

	for (e = p->tail; e < p->next; e++) {
		const struct bk_pending *s = bk_pipe_slot(p, e);
		uint64_t owing = s->inflight & ~p->down & ~late;

		if (p->tick - s->tick < limit)
			break;
		for (i = 0; owing != 0 && i < p->quorum.ensemble_size; i++) {
			uint32_t a = age(&p->members[i], s);

			if ((owing >> i & 1) == 0 || a < limit)
				continue;
			if (late == 0) {
				*oldest = e;
				*oldest_age = a;
			}
			late |= UINT64_C(1) << i;
		}
	}
	return (late);
}

void
bk_pipe_find_late(struct bk_pipe *p)
{
	uint32_t limit = (uint32_t)((p->c->request_timeout + BK_PIPE_TICK - 1) /
	    BK_PIPE_TICK);
	uint32_t patience =
	    limit + (uint32_t)(p->c->replace_timeout / BK_PIPE_TICK);
	uint32_t oldest_age = 0;
	int64_t oldest = -1;
	uint64_t late;
	bool better = false;
	int i;

	late = late_positions(p, limit, &oldest, &oldest_age);
	for (i = 0; i < p->quorum.ensemble_size; i++)
		better |= (late >> i & 1) == 0 &&
		    p->members[i].state != BK_MEMBER_DOWN &&
		    p->members[i].highest >= oldest;
	if (!better && oldest_age < patience)
		return;
	for (i = 0; i < p->quorum.ensemble_size && !p->stopped; i++)
		if ((late >> i & 1) != 0)
			bk_member_failed(&p->members[i], BK_ETIMEOUT);
}
