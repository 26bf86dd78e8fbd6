/* sim.c - the queue of events, the clock and the dice. */
#include "t/sim/sim.h"

#include <err.h>
#include <stdlib.h>

RB_HEAD(sim_queue, sim_event);

struct sim {
	struct sim_queue queue;
	int64_t now;
	uint64_t order;
	uint64_t dice;
	uint64_t history;
};

struct once {
	struct sim_event event;
	void (*fn)(void *arg);
	void *arg;
};

static int
compare(const struct sim_event *a, const struct sim_event *b)
{
	if (a->due != b->due)
		return (a->due < b->due ? -1 : 1);
	return (a->order < b->order ? -1 : a->order > b->order);
}

#define QUIETLY static __attribute__((unused))
RB_GENERATE_INTERNAL(sim_queue, sim_event, entry, compare, QUIETLY)

void *
sim_need(void *memory)
{
	if (memory == NULL)
		err(1, "simulation");
	return (memory);
}

struct sim *
sim_new(uint64_t seed)
{
	struct sim *s = sim_need(calloc(1, sizeof(*s)));

	RB_INIT(&s->queue);
	s->now = 1000 * INT64_C(1000000000);
	s->dice = seed * UINT64_C(0x9e3779b97f4a7c15) + 1;
	return (s);
}

static void
run_once(void *arg)
{
	struct once *o = arg;

	o->fn(o->arg);
	free(o);
}

void
sim_free(struct sim *s)
{
	struct sim_event *e;

	while ((e = RB_MIN(sim_queue, &s->queue)) != NULL) {
		sim_event_stop(e);
		if (e->fn == run_once)
			free(e->arg);
	}
	free(s);
}

int64_t
sim_now(const struct sim *s)
{
	return (s->now);
}

/* xorshift, scrambled: plenty for tests. */
uint64_t
sim_random(struct sim *s, uint64_t bound)
{
	uint64_t x = s->dice;

	x ^= x >> 12;
	x ^= x << 25;
	x ^= x >> 27;
	s->dice = x;
	x *= UINT64_C(0x2545f4914f6cdd1d);
	return (bound == 0 ? 0 : (x >> 11) % bound);
}

int64_t
sim_between(struct sim *s, int64_t min, int64_t max)
{
	return (min + (int64_t)sim_random(s, (uint64_t)(max - min) + 1));
}

bool
sim_chance(struct sim *s, unsigned n)
{
	return (sim_random(s, 1000) < n);
}

void
sim_event_stop(struct sim_event *e)
{
	if (e->queued)
		RB_REMOVE(sim_queue, &e->sim->queue, e);
	e->queued = false;
}

void
sim_event_set(struct sim *s, struct sim_event *e, int64_t delay,
    void (*fn)(void *arg), void *arg)
{
	sim_event_stop(e);
	e->sim = s;
	e->due = s->now + (delay > 0 ? delay : 0);
	e->order = s->order++;
	e->fn = fn;
	e->arg = arg;
	e->queued = true;
	RB_INSERT(sim_queue, &s->queue, e);
}

void
sim_later(struct sim *s, int64_t delay, void (*fn)(void *arg), void *arg)
{
	struct once *o = sim_need(calloc(1, sizeof(*o)));

	o->fn = fn;
	o->arg = arg;
	sim_event_set(s, &o->event, delay, run_once, o);
}

bool
sim_run(struct sim *s, const bool *done, int64_t until)
{
	struct sim_event *e;

	while (!*done) {
		e = RB_MIN(sim_queue, &s->queue);
		if (e == NULL || e->due > until) {
			if (until != INT64_MAX)
				s->now = until;
			break;
		}
		s->now = e->due;
		sim_event_stop(e);
		e->fn(e->arg);
	}
	return (*done);
}

void
sim_mark(struct sim *s, uint64_t what)
{
	s->history =
	    (s->history ^ what ^ (uint64_t)s->now) * UINT64_C(0x100000001b3);
}

uint64_t
sim_history(const struct sim *s)
{
	return (s->history);
}
