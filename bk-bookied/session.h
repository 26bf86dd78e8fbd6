/*
 * session.h - the bookie and its cluster's metadata store: opening it at
 * start, being registered while it runs, leaving it (design/bookie.md 6).
 */
#ifndef BOOKIE_SESSION_H
#define BOOKIE_SESSION_H

#include "meta/registry.h"

#include <stdbool.h>
#include <stdint.h>

struct session;

struct session_config {
	const char *cluster;     /* a BK_CLUSTER text */
	const char *auth_file;   /* ZooKeeper digest, or NULL */
	int64_t session_timeout; /* ns */
	int64_t connect_timeout; /* ns */
	/* The store cannot come back: the bookie has to end. */
	void (*failed)(void *arg, enum bk_status status);
	void *arg;
};

/* Open the store, and its tree, which is made in an embedded store that has
 * none. Runs the loop until that is done. BK_OK, ECANCELED (the loop was
 * stopped), or the reason, which has been reported. */
enum bk_status session_open(struct bk_loop *loop,
    const struct session_config *config, struct session **session);
/* End the session; what it registered goes with it. NULL is fine. */
void session_close(struct session *s);

const struct bk_tree *session_tree(const struct session *s);
/* The cluster's instance id, or NULL if it has none. */
const char *session_instance(const struct session *s);
/* Whether the store is the embedded one. */
bool session_is_local(const struct session *s);
/* Directory of the embedded store, or NULL. */
const char *session_store_dir(const struct session *s);

/* Register, and stay so over the loss of sessions. Runs the loop until the
 * bookie is listed, by this node or by one a predecessor left. stays: the node
 * outlives the session. BK_OK, ECANCELED, or the reason, reported. */
enum bk_status session_register(struct session *s, const char *bookie_id,
    const struct bk_service_info *info, bool readonly, bool stays);
/* Change from one list to the other. */
void session_mode(struct session *s, bool readonly);
/* Take the bookie off the lists, unless it stays listed; then done(arg), from
 * the loop. */
void session_leave(struct session *s, void (*done)(void *arg), void *arg);

#endif
