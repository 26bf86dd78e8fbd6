/*
 * serve.h - the bookie's protocol server: listening, connections, and the
 * bounds on what they may cost (design/bookie.md 7).
 */
#ifndef BOOKIE_SERVE_H
#define BOOKIE_SERVE_H

#include "loop/loop.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct server;
struct store;

struct server_config {
	size_t max_connections;
	size_t max_owed;       /* bytes of answers nobody has taken yet; reads
	                          are refused (ETOOMANY) above */
	int64_t frame_timeout; /* ns for a frame once begun */
	int64_t write_timeout; /* ns without progress of an answer */
};

struct server_counts {
	uint64_t connections; /* ever accepted */
	uint64_t broken;      /* ended for bad input */
	uint64_t adds, reads, fences;
	uint64_t answers_ok, answers_not_ok;
};

/* NULL with errno ENOMEM. */
struct server *server_new(struct bk_loop *loop, struct store *store,
    const struct server_config *config);
/* End everything at once and free. NULL is fine. */
void server_free(struct server *s);

/* Accept on a listening descriptor, which stays the caller's. -1 with errno
 * (ENOMEM, or EMFILE above BK_LISTEN_MAX of them). */
int server_listen(struct server *s, int fd);
/* Serve a connection that someone else accepted; takes fd over, also when it
 * fails (-1 with errno). */
int server_adopt(struct server *s, int fd);
/* Accept what waits, now. */
void server_drain_backlog(struct server *s);

/* What the store reports, handed on by its owner. */
void server_synced(struct server *s, uint64_t position);
void server_room(struct server *s);
void server_moved(struct server *s, int64_t ledger_id, bool fenced, bool gone);

/* Stop accepting and reading; stopped(arg) is called from the loop once every
 * answer already earned has been sent, or after limit ns. */
void server_stop(struct server *s, int64_t limit, void (*stopped)(void *arg),
    void *arg);

size_t server_connections(const struct server *s);
size_t server_polls(const struct server *s);
/* Monotonic ns of the last connection or request. */
int64_t server_last_activity(const struct server *s);
void server_counts(const struct server *s, struct server_counts *counts);

#endif
