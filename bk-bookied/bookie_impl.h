/*
 * bookie_impl.h - what start.c and bookie.c share: the bookie as a whole.
 */
#ifndef BOOKIE_IMPL_H
#define BOOKIE_IMPL_H

#include "bk-bookied/identity.h"
#include "bk-bookied/options.h"
#include "bk-bookied/place.h"
#include "bk-bookied/sockets.h"
#include "bk-bookied/store.h"

enum { NSIGNALS = 5 };

struct bookie {
	struct options *options;
	const struct bk_inherited *inherited;
	struct place place;
	struct bk_loop *loop;
	struct bk_signal *signals[NSIGNALS];
	struct sockets sockets;
	struct session *session;
	struct identity identity;
	struct store *store;
	struct server *server;
	struct admin *admin;
	struct gc *gc;
	struct idle *idle;
	struct bk_timer *leave_limit;
	bool is_serving;
	bool is_stopping;
	bool operator_readonly;
	int exit_status;
};

/* Start, in order: bind, become the user, cluster, identity and cookies,
 * replay, serve, register, say so. 0, or the exit status after saying why; 0
 * with is_stopping set when it was told to end meanwhile. */
int bookie_start(struct bookie *b);
/* Time between two passes of collection. */
int64_t bookie_gc_interval(const struct options *o);

/* What the parts call: bookie.c. */
extern const struct store_events bookie_store_events;
extern const struct admin_events bookie_admin_events;
void bookie_session_failed(void *arg, enum bk_status status);
void bookie_signal(void *arg, int signo);
void bookie_leave(void *arg); /* unused */
void bookie_left(void *arg);  /* off the list, or time is up */

#endif
