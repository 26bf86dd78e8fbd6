/*
 * serve.c - the server: who may connect, how many, and what becomes of all of
 * them when the store speaks or the bookie leaves.
 */
#include "bk-bookied/serve.h"
#include "bk-bookied/client.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

/* A peer that vanished without a word is noticed after some 2 minutes. */
#define KEEPALIVE_IDLE 60
#define KEEPALIVE_INTERVAL 20
#define KEEPALIVE_COUNT 3

static void limit_reached(void *arg);

struct server *
server_new(struct bk_loop *loop, struct store *store,
    const struct server_config *config)
{
	struct server *s = calloc(1, sizeof(*s));

	if (s == NULL)
		return (NULL);
	s->loop = loop;
	s->store = store;
	s->config = *config;
	s->conn_config = (struct bk_conn_config){
	    .max_frame = BK_FRAME_MAX,
	    .out_high = CLIENT_OWED_MAX,
	    .frame_timeout = config->frame_timeout,
	    .write_timeout = config->write_timeout,
	};
	s->active = bk_clock_now();
	TAILQ_INIT(&s->all);
	TAILQ_INIT(&s->holding);
	TAILQ_INIT(&s->waiting);
	TAILQ_INIT(&s->gone);
	s->polls = longpolls_new(loop);
	s->limit = bk_timer_new(loop, limit_reached, s);
	if (s->polls == NULL || s->limit == NULL) {
		server_free(s);
		return (NULL);
	}
	return (s);
}

static void
free_all(struct client_list *list)
{
	struct client *c;

	while ((c = TAILQ_FIRST(list)) != NULL) {
		TAILQ_REMOVE(list, c, all);
		client_free(c);
	}
}

static void
stop_listening(struct server *s)
{
	size_t i;

	for (i = 0; i < s->nlisteners; i++)
		bk_listener_free(s->listeners[i]);
	s->nlisteners = 0;
}

void
server_free(struct server *s)
{
	if (s == NULL)
		return;
	stop_listening(s);
	free_all(&s->all);
	free_all(&s->gone);
	longpolls_free(s->polls);
	bk_timer_free(s->limit);
	free(s);
}

/* With as many connections as there may be, the next ones wait outside. */
static void
keep_count(struct server *s)
{
	bool full = s->nclients >= s->config.max_connections;
	size_t i;

	if (full == s->is_full)
		return;
	s->is_full = full;
	for (i = 0; i < s->nlisteners; i++)
		bk_listener_pause(s->listeners[i], full);
	if (full)
		complain(&s->crowd, bk_clock_now(), BK_LOG_WARNING,
		    "%zu connections: no more are accepted until one ends",
		    s->nclients);
}

/* Free the gone; with the last one a stop is complete. */
static void
reap(void *arg)
{
	struct server *s = arg;
	void (*stopped)(void *) = s->stopped;

	s->is_reaping = false;
	free_all(&s->gone);
	if (stopped != NULL && s->nclients == 0) {
		s->stopped = NULL;
		bk_timer_stop(s->limit);
		stopped(s->stopped_arg);
	}
}

static void
schedule_reap(struct server *s)
{
	if (!s->is_reaping && bk_loop_later(s->loop, reap, s) == 0)
		s->is_reaping = true;
}

void
server_bury(struct client *c)
{
	struct server *s = c->server;

	if (c->is_gone)
		return;
	c->is_gone = true;
	TAILQ_REMOVE(&s->all, c, all);
	TAILQ_INSERT_TAIL(&s->gone, c, all);
	s->nclients--;
	keep_count(s);
	schedule_reap(s);
}

/* A Unix socket serves its own user and root; the file's mode is not trusted
 * alone, since the directory may be shared. */
static bool
is_welcome(int fd)
{
	struct ucred peer;
	socklen_t len = sizeof(peer);
	int domain;

	len = sizeof(domain);
	if (getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &len) == -1)
		return (false);
	if (domain != AF_UNIX)
		return (true);
	len = sizeof(peer);
	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) == -1)
		return (false);
	return (peer.uid == 0 || peer.uid == geteuid());
}

/* Not fatal where the socket is no TCP: then there is nothing to notice. */
static void
keep_alive(int fd)
{
	int on = 1, idle = KEEPALIVE_IDLE, interval = KEEPALIVE_INTERVAL;
	int count = KEEPALIVE_COUNT;

	(void)setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
	(void)setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle, sizeof(idle));
	(void)setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &interval,
	    sizeof(interval));
	(void)setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &count, sizeof(count));
}

int
server_adopt(struct server *s, int fd)
{
	struct client *c;

	s->active = bk_clock_now();
	if (s->stopped != NULL || !is_welcome(fd)) {
		(void)close(fd);
		errno = EPERM;
		return (-1);
	}
	keep_alive(fd);
	if ((c = client_new(s, fd)) == NULL) {
		(void)close(fd);
		return (-1);
	}
	TAILQ_INSERT_TAIL(&s->all, c, all);
	s->nclients++;
	s->counts.connections++;
	keep_count(s);
	return (0);
}

static void
accepted(void *arg, int fd)
{
	/* Whoever is turned away sees the end of the connection. */
	(void)server_adopt(arg, fd);
}

int
server_listen(struct server *s, int fd)
{
	struct bk_listener *l;

	if (s->nlisteners == BK_LISTEN_MAX) {
		errno = EMFILE;
		return (-1);
	}
	if ((l = bk_listener_new(s->loop, fd, accepted, s)) == NULL)
		return (-1);
	s->listeners[s->nlisteners++] = l;
	return (0);
}

void
server_drain_backlog(struct server *s)
{
	size_t i;

	for (i = 0; i < s->nlisteners; i++)
		bk_listener_drain(s->listeners[i]);
}

void
server_synced(struct server *s, uint64_t position)
{
	answers_release(s, position);
}

/* In the order in which they were put back, while there is room. */
void
server_room(struct server *s)
{
	struct client *c;

	while ((c = TAILQ_FIRST(&s->waiting)) != NULL)
		if (!client_try_again(c))
			break;
}

void
server_moved(struct server *s, int64_t ledger_id, bool fenced, bool gone)
{
	longpolls_moved(s->polls, ledger_id, fenced, gone);
}

/* Time is up: whoever still has answers to come does without. */
static void
limit_reached(void *arg)
{
	struct server *s = arg;
	void (*stopped)(void *) = s->stopped;

	if (stopped == NULL)
		return;
	s->stopped = NULL;
	bk_log(BK_LOG_WARNING, "%zu connections did not end in time",
	    s->nclients);
	stopped(s->stopped_arg);
}

void
server_stop(struct server *s, int64_t limit, void (*stopped)(void *arg),
    void *arg)
{
	struct client *c, *next;

	s->stopped = stopped;
	s->stopped_arg = arg;
	stop_listening(s);
	bk_timer_set(s->limit, limit);
	for (c = TAILQ_FIRST(&s->all); c != NULL; c = next) {
		next = TAILQ_NEXT(c, all);
		client_end(c, NULL);
	}
	schedule_reap(s);
}

size_t
server_connections(const struct server *s)
{
	return (s->nclients);
}

size_t
server_polls(const struct server *s)
{
	return (longpolls_count(s->polls));
}

int64_t
server_last_activity(const struct server *s)
{
	return (s->active);
}

void
server_counts(const struct server *s, struct server_counts *counts)
{
	*counts = s->counts;
}
