/*
 * sim.h - simulated time and chance: everything that happens is an event with
 * a time, and all chance comes from one seed, so that a seed is a history that
 * can be run again.
 */
#ifndef T_SIM_H
#define T_SIM_H

#include <bsd/sys/tree.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sim;

/* Embedded where something may happen later; zeroed at first. */
struct sim_event {
	RB_ENTRY(sim_event) entry;
	struct sim *sim;
	int64_t due;
	uint64_t order; /* among those due at the same time */
	bool queued;
	void (*fn)(void *arg);
	void *arg;
};

struct sim *sim_new(uint64_t seed);
void sim_free(struct sim *s);

int64_t sim_now(const struct sim *s);
/* Below bound; 0 when bound is 0. */
uint64_t sim_random(struct sim *s, uint64_t bound);
/* From min to max, both included. */
int64_t sim_between(struct sim *s, int64_t min, int64_t max);
/* True in n of 1000 cases. */
bool sim_chance(struct sim *s, unsigned n);

/* Let it happen, in place of when it was to happen; or not at all. */
void sim_event_set(struct sim *s, struct sim_event *e, int64_t delay,
    void (*fn)(void *arg), void *arg);
void sim_event_stop(struct sim_event *e);
/* Something that happens once and is nobody's. */
void sim_later(struct sim *s, int64_t delay, void (*fn)(void *arg), void *arg);

/* Run until *done or until the given time; whether *done. */
bool sim_run(struct sim *s, const bool *done, int64_t until);

/* What happened, as a number: equal histories have equal ones. Anyone may put
 * in what he did. */
void sim_mark(struct sim *s, uint64_t what);
uint64_t sim_history(const struct sim *s);

/* What must not be NULL; the test ends if it is. */
void *sim_need(void *memory);

#endif
