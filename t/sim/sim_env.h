/*
 * sim_env.h - a client process's env in a simulation, and the network between
 * processes and bookies: frames that take their time, get lost, come twice or
 * overtake each other. Messages pass through the real codecs.
 */
#ifndef T_SIM_ENV_H
#define T_SIM_ENV_H

#include "env/env.h"
#include "t/sim/sim.h"

/* How the network is now. */
struct sim_weather {
	int64_t delay_min, delay_max; /* ns, one way */
	unsigned drop;                /* of 1000 frames */
	unsigned twice;
	unsigned reset; /* requests that meet a lost connection */
};

struct sim_net;

/* Where an answer has to go. */
struct sim_origin {
	uint64_t process;
	uint64_t ticket;
	const char *bookie; /* who answers */
};

/* A bookie: takes a request, which dies with the call; answers by
 * sim_net_answer(), now or later or never. */
typedef void sim_serve_fn(void *arg, const struct sim_origin *from,
    const struct bk_request *req);

struct sim_net *sim_net_new(struct sim *s);
void sim_net_free(struct sim_net *n);
struct sim_weather *sim_net_weather(struct sim_net *n);

/* The bookie listens under id (kept by reference) until the next call; serve
 * NULL: its host is up and refuses; sim_net_vanish(): it is silent. */
void sim_net_listen(struct sim_net *n, const char *id, sim_serve_fn *serve,
    void *arg);
void sim_net_vanish(struct sim_net *n, const char *id);
/* Every connection to the bookie breaks. */
void sim_net_break(struct sim_net *n, const char *id);
void sim_net_answer(struct sim_net *n, const struct sim_origin *to,
    const struct bk_response *resp);

/* A process. What it sent stays on its way after it is gone. version: what
 * requests of version 0 are sent in. */
struct bk_env *sim_env_new(struct sim_net *n, unsigned version);
void sim_env_free(struct bk_env *env);
/* It stands still until a time: timers and answers wait. */
void sim_env_pause(struct bk_env *env, int64_t until);
/* Frames between the process and a bookie are lost, or no more. */
void sim_env_cut(struct bk_env *env, const char *id, bool cut);
/* Bytes under way to one bookie above which send says EAGAIN; 0: no limit. */
void sim_env_queue_max(struct bk_env *env, size_t bytes);

#endif
