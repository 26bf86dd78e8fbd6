/* pipe.c - the ring of entries: in at next, acknowledged at head, gone at
 * tail. What concerns one member is in pipe_member.c. */
#include "client/pipe.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define RING_FIRST 64

static void ticked(void *arg);

static int
member_init(struct bk_pipe *p, int position, const char *id)
{
	struct bk_pipe_member *m = &p->members[position];

	m->pipe = p;
	m->position = position;
	m->cursor = p->head;
	m->highest = -1;
	if ((m->id = strdup(id)) == NULL)
		return (-1);
	errno = 0;
	m->peer = p->env->ops->peer(p->env, id);
	return (m->peer == NULL && errno == ENOMEM ? -1 : 0);
}

static int
members_init(struct bk_pipe *p, char *const *bookies)
{
	size_t e = (size_t)p->quorum.ensemble_size;
	int i;

	p->members = calloc(e, sizeof(*p->members));
	p->write_sets = calloc(e, sizeof(*p->write_sets));
	if (p->members == NULL || p->write_sets == NULL)
		return (-1);
	for (i = 0; i < p->quorum.ensemble_size; i++) {
		p->write_sets[i] = bk_quorum_write_set(&p->quorum, i);
		if (member_init(p, i, bookies[i]) != 0)
			return (-1);
	}
	return (0);
}

int
bk_pipe_init(struct bk_pipe *p, const struct bk_pipe_config *config,
    const struct bk_pipe_events *events, void *arg)
{
	*p = (struct bk_pipe){
	    .c = config->c,
	    .env = config->c->env,
	    .events = events,
	    .arg = arg,
	    .ledger_id = config->ledger_id,
	    .quorum = config->quorum,
	    .flags = config->flags | BK_REQ_KEY,
	    .tail = config->first,
	    .head = config->first,
	    .next = config->first,
	    .cap = RING_FIRST,
	};
	memcpy(p->key, config->key, sizeof(p->key));
	p->ring = calloc(p->cap, sizeof(*p->ring));
	p->tickets = calloc(p->cap * (size_t)p->quorum.write_quorum,
	    sizeof(*p->tickets));
	p->ticker = p->env->ops->timer_new(p->env, ticked, p);
	p->resume = p->env->ops->timer_new(p->env, bk_pipe_resume, p);
	if (p->ring == NULL || p->tickets == NULL || p->ticker == NULL ||
	    p->resume == NULL || members_init(p, config->bookies) != 0) {
		bk_pipe_fini(p);
		return (-1);
	}
	return (0);
}

void
bk_pipe_fini(struct bk_pipe *p)
{
	int64_t e;
	int i;

	if (p->members != NULL) {
		bk_pipe_stop(p);
		for (i = 0; i < p->quorum.ensemble_size; i++)
			free(p->members[i].id);
	}
	for (e = p->tail; e < p->next; e++)
		free(bk_pipe_slot(p, e)->entry);
	if (p->ticker != NULL)
		p->env->ops->timer_free(p->ticker);
	if (p->resume != NULL)
		p->env->ops->timer_free(p->resume);
	free(p->members);
	free(p->write_sets);
	free(p->ring);
	free(p->tickets);
	memset(p, 0, sizeof(*p));
}

void
bk_pipe_stop(struct bk_pipe *p)
{
	int i;

	p->stopped = true;
	for (i = 0; i < p->quorum.ensemble_size; i++) {
		struct bk_pipe_member *m = &p->members[i];

		bk_pipe_cancel(m, p->tail, p->next);
		if (m->probe != 0)
			p->env->ops->cancel(p->env, m->probe);
		m->probe = 0;
	}
	p->env->ops->timer_stop(p->ticker);
	p->env->ops->timer_stop(p->resume);
}

/* Twice the ring. */
static int
grow(struct bk_pipe *p)
{
	size_t cap = p->cap * 2, qw = (size_t)p->quorum.write_quorum;
	struct bk_pending *ring = calloc(cap, sizeof(*ring));
	uint64_t *tickets = calloc(cap * qw, sizeof(*tickets));
	int64_t e;

	if (ring == NULL || tickets == NULL) {
		free(ring);
		free(tickets);
		errno = ENOMEM;
		return (-1);
	}
	for (e = p->tail; e < p->next; e++) {
		size_t from = (size_t)e & (p->cap - 1);
		size_t to = (size_t)e & (cap - 1);

		ring[to] = p->ring[from];
		memcpy(&tickets[to * qw], &p->tickets[from * qw],
		    qw * sizeof(*tickets));
	}
	free(p->ring);
	free(p->tickets);
	p->ring = ring;
	p->tickets = tickets;
	p->cap = cap;
	return (0);
}

int
bk_pipe_push(struct bk_pipe *p, uint8_t *entry, size_t len, size_t payload)
{
	int64_t e = p->next;
	int i, position;

	if ((size_t)(p->next - p->tail) == p->cap && grow(p) != 0)
		return (-1);
	*bk_pipe_slot(p, e) = (struct bk_pending){
	    .entry = entry,
	    .len = (uint32_t)len,
	    .payload = (uint32_t)payload,
	    .tick = p->tick,
	};
	p->next++;
	p->bytes += len;
	position = bk_quorum_position(&p->quorum, e, 0);
	for (i = 0; i < p->quorum.write_quorum && !p->stopped; i++) {
		bk_pipe_pump(&p->members[position]);
		if (++position == p->quorum.ensemble_size)
			position = 0;
	}
	bk_pipe_wind(p);
	return (0);
}

static bool
complete(const struct bk_pipe *p, const struct bk_pending *s)
{
	return (bk_quorum_acked(&p->quorum, s->acked & ~p->replacing));
}

/* An acknowledged entry leaves the pending ones. Returns the members that lag
 * so far behind that it was not even sent to them. */
static uint64_t
pop(struct bk_pipe *p, struct bk_pending *s)
{
	uint64_t owed =
	    bk_pipe_write_set(p, p->head) & ~s->acked & ~s->inflight;
	uint64_t idle = s->inflight & p->down, lagging = 0;
	int i;

	p->bytes -= s->len;
	p->acked_payload += s->payload;
	for (i = 0; idle != 0 && i < p->quorum.ensemble_size; i++)
		if ((idle >> i & 1) != 0)
			bk_pipe_cancel(&p->members[i], p->head, p->head + 1);
	for (i = 0; owed != 0 && i < p->quorum.ensemble_size; i++)
		if ((owed >> i & 1) != 0 && p->members[i].state == BK_MEMBER_UP)
			lagging |= UINT64_C(1) << i;
	if ((owed & p->replacing) != 0 &&
	    p->kept_bytes + s->len <= p->c->window_bytes) {
		p->kept_bytes += s->len;
	} else {
		free(s->entry);
		s->entry = NULL;
	}
	p->head++;
	return (lagging);
}

void
bk_pipe_advance(struct bk_pipe *p)
{
	uint64_t lagging = 0;
	int64_t before = p->head;
	int i;

	while (p->head < p->next && !p->stopped) {
		struct bk_pending *s = bk_pipe_slot(p, p->head);

		if (!complete(p, s))
			break;
		lagging |= pop(p, s);
	}
	if (p->head == before)
		return;
	p->events->advanced(p->arg);
	for (i = 0; lagging != 0 && i < p->quorum.ensemble_size; i++)
		if ((lagging >> i & 1) != 0 && !p->stopped)
			bk_member_failed(&p->members[i], BK_ETIMEOUT);
}

void
bk_pipe_trim(struct bk_pipe *p)
{
	bool moved = false;

	while (p->tail < p->head) {
		const struct bk_pending *s = bk_pipe_slot(p, p->tail);

		if (s->inflight != 0 || s->entry != NULL)
			return;
		p->tail++;
		moved = true;
	}
	if (moved && p->tail == p->next)
		p->events->idle(p->arg);
}

void
bk_pipe_replacing(struct bk_pipe *p, uint64_t positions)
{
	p->replacing = positions;
}

/* Make member m the bookie id (owned from here on). */
static void
replace(struct bk_pipe_member *m, char *id, struct bk_peer *peer)
{
	struct bk_pipe *p = m->pipe;
	int64_t e;

	bk_pipe_cancel(m, p->tail, p->next);
	for (e = p->head; e < p->next; e++)
		bk_pipe_slot(p, e)->acked &= ~bk_pipe_bit(m);
	if (m->probe != 0)
		p->env->ops->cancel(p->env, m->probe);
	free(m->id);
	*m = (struct bk_pipe_member){
	    .pipe = p,
	    .id = id,
	    .peer = peer,
	    .position = m->position,
	    .cursor = p->tail,
	    .highest = -1,
	    .joined = p->tick,
	    .since = p->tick,
	};
	p->down &= ~bk_pipe_bit(m);
}

/* Entries kept for a new member have been sent to it, or never will be. */
static void
release_kept(struct bk_pipe *p)
{
	int64_t e;

	for (e = p->tail; p->kept_bytes > 0 && e < p->head; e++) {
		struct bk_pending *s = bk_pipe_slot(p, e);

		if (s->entry == NULL)
			continue;
		p->kept_bytes -= s->len;
		free(s->entry);
		s->entry = NULL;
	}
}

int
bk_pipe_adopt(struct bk_pipe *p, char *const *bookies)
{
	uint64_t fresh = 0;
	int i;

	for (i = 0; i < p->quorum.ensemble_size; i++) {
		struct bk_peer *peer;
		char *id;

		if (strcmp(p->members[i].id, bookies[i]) == 0)
			continue;
		errno = 0;
		peer = p->env->ops->peer(p->env, bookies[i]);
		if ((peer == NULL && errno == ENOMEM) ||
		    (id = strdup(bookies[i])) == NULL)
			return (-1);
		replace(&p->members[i], id, peer);
		fresh |= UINT64_C(1) << i;
	}
	p->replacing = 0;
	for (i = 0; i < p->quorum.ensemble_size && !p->stopped; i++)
		if ((fresh >> i & 1) != 0)
			bk_pipe_pump(&p->members[i]);
	release_kept(p);
	bk_pipe_advance(p);
	bk_pipe_trim(p);
	bk_pipe_wind(p);
	return (0);
}

bool
bk_pipe_blocked(const struct bk_pipe *p)
{
	uint64_t out = p->down | p->replacing;
	int64_t e;

	for (e = p->head; e < p->next; e++) {
		uint64_t may = bk_pipe_slot(p, e)->acked & ~p->replacing;

		may |= bk_pipe_write_set(p, e) & ~out;
		if (!bk_quorum_acked(&p->quorum, may))
			return (true);
	}
	return (false);
}

bool
bk_pipe_starved(struct bk_pipe *p)
{
	uint32_t limit = (uint32_t)(p->c->replace_timeout / BK_PIPE_TICK);

	if (p->starving && p->starving_head != p->head)
		p->starving = false;
	if (!bk_pipe_blocked(p))
		return (false);
	if (!p->starving) {
		p->starving = true;
		p->starving_since = p->tick;
		p->starving_head = p->head;
	}
	return (p->tick - p->starving_since >= limit);
}

void
bk_pipe_call_for_help(struct bk_pipe *p)
{
	const struct bk_candidates *c = &p->c->candidates;

	if (c->need == NULL ||
	    (p->helped && p->tick - p->helped_at < BK_SECOND / BK_PIPE_TICK))
		return;
	p->helped = true;
	p->helped_at = p->tick;
	c->need(c->arg);
}

void
bk_pipe_wind(struct bk_pipe *p)
{
	if (p->ticking || p->stopped || (p->tail == p->next && p->down == 0))
		return;
	p->ticking = true;
	p->env->ops->timer_set(p->ticker, BK_PIPE_TICK);
}

static void
ticked(void *arg)
{
	struct bk_pipe *p = arg;
	uint32_t limit = (uint32_t)(p->c->add_timeout / BK_PIPE_TICK);
	int i;

	p->ticking = false;
	p->tick++;
	if (p->head < p->next &&
	    p->tick - bk_pipe_slot(p, p->head)->tick > limit) {
		p->events->fatal(p->arg, BK_ETIMEOUT);
		return;
	}
	bk_pipe_find_late(p);
	for (i = 0; i < p->quorum.ensemble_size && !p->stopped; i++) {
		if (p->members[i].state == BK_MEMBER_DOWN)
			bk_member_probe(&p->members[i]);
		else
			bk_pipe_pump(&p->members[i]);
	}
	if (!p->stopped)
		p->events->tick(p->arg);
	bk_pipe_trim(p);
	bk_pipe_wind(p);
}
