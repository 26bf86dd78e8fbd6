/*
 * client.c - one connection's life: frames to requests, what stops it being
 * read, how it ends.
 *
 * An end takes three steps. client_end() stops requests; once nothing is held
 * back or on its way from the read thread, the connection is finished (queued
 * answers, then a FIN); its end puts the client among the gone, who are freed
 * when the turn is over, since callers up the stack may still look at them.
 */
#include "bk-bookied/client.h"
#include "bk-bookied/request.h"

#include <arpa/inet.h>
#include <bsd/string.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

/* Reads of one connection that the read thread may owe. */
#define READING_MAX 32

void
client_pause(struct client *c, unsigned reason, bool pause)
{
	unsigned before = c->paused;

	if (pause)
		c->paused |= reason;
	else
		c->paused &= ~reason;
	if (c->conn != NULL && (before == 0) != (c->paused == 0))
		bk_conn_pause(c->conn, c->paused != 0);
}

void
client_account(struct client *c)
{
	size_t owed = 0;

	if (c->conn != NULL)
		owed = bk_conn_queued(c->conn) + bk_buf_len(&c->held.bytes);
	c->server->owed += owed - c->counted;
	c->counted = owed;
	client_pause(c, PAUSED_OUTPUT, owed > CLIENT_OWED_MAX);
}

void
client_fetching(struct client *c)
{
	c->reading++;
	if (c->reading >= READING_MAX)
		client_pause(c, PAUSED_READS, true);
}

void
client_fetched(struct client *c)
{
	c->reading--;
	if (c->reading < READING_MAX)
		client_pause(c, PAUSED_READS, false);
}

/* "10.0.0.1:4711", "[fe80::1]:4711", "a local process". */
static void
name_peer(struct client *c, int fd)
{
	struct sockaddr_storage ss;
	socklen_t size = sizeof(ss);
	char host[INET6_ADDRSTRLEN];
	const struct sockaddr_in *v4 = (const struct sockaddr_in *)&ss;
	const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)&ss;

	(void)strlcpy(c->name, "a local process", sizeof(c->name));
	if (getpeername(fd, (struct sockaddr *)&ss, &size) == -1)
		return;
	if (ss.ss_family == AF_INET &&
	    inet_ntop(AF_INET, &v4->sin_addr, host, sizeof(host)) != NULL)
		(void)snprintf(c->name, sizeof(c->name), "%s:%u", host,
		    ntohs(v4->sin_port));
	else if (ss.ss_family == AF_INET6 &&
	    inet_ntop(AF_INET6, &v6->sin6_addr, host, sizeof(host)) != NULL)
		(void)snprintf(c->name, sizeof(c->name), "[%s]:%u", host,
		    ntohs(v6->sin6_port));
}

static void
blame(struct client *c, const char *why)
{
	c->server->counts.broken++;
	complain(&c->server->broken, bk_clock_now(), BK_LOG_WARNING,
	    "connection of %s: %s: ended", c->name, why);
}

static void
drop_put_back(struct client *c)
{
	if (!c->is_waiting)
		return;
	TAILQ_REMOVE(&c->server->waiting, c, waiting);
	c->is_waiting = false;
	bk_buf_fini(&c->put_back);
}

static void
drop_held(struct client *c)
{
	if (!c->is_holding)
		return;
	TAILQ_REMOVE(&c->server->holding, c, holding);
	c->is_holding = false;
	held_fini(&c->held);
	held_init(&c->held);
}

/* Nothing more can be said to it. */
static void
drop_all(struct client *c)
{
	longpolls_drop(c);
	drop_put_back(c);
	drop_held(c);
}

static void
finish(struct client *c)
{
	if (c->is_finishing || c->conn == NULL)
		return;
	c->is_finishing = true;
	bk_conn_finish(c->conn);
}

void
client_settle(struct client *c)
{
	if (c->reading > 0 || c->is_holding)
		return;
	if (c->conn == NULL)
		server_bury(c);
	else if ((c->paused & PAUSED_END) != 0)
		finish(c);
}

void
client_end(struct client *c, const char *why)
{
	if (c->conn == NULL || (c->paused & PAUSED_END) != 0)
		return;
	if (why != NULL)
		blame(c, why);
	client_pause(c, PAUSED_END, true);
	longpolls_drop(c);
	drop_put_back(c);
	client_settle(c);
}

void
client_break(struct client *c, const char *why)
{
	if (!client_hears(c))
		return;
	bk_log(BK_LOG_ERROR, "connection of %s: %s: ended", c->name, why);
	c->is_broken = true;
	client_pause(c, PAUSED_END, true);
	drop_all(c);
	finish(c);
}

/* Keep a request whole until there is room, and read nothing behind it. */
static void
put_back(struct client *c, const uint8_t *payload, size_t len)
{
	bk_buf_init(&c->put_back);
	if (bk_buf_put(&c->put_back, payload, len) == -1) {
		client_break(c, "out of memory");
		return;
	}
	c->is_waiting = true;
	TAILQ_INSERT_TAIL(&c->server->waiting, c, waiting);
	client_pause(c, PAUSED_ROOM, true);
}

bool
client_try_again(struct client *c)
{
	enum served served = request_serve(c, bk_buf_head(&c->put_back),
	    bk_buf_len(&c->put_back));

	if (served == SERVED_PUT_BACK)
		return (false);
	drop_put_back(c);
	client_account(c);
	client_pause(c, PAUSED_ROOM, false);
	return (true);
}

static bool
on_frame(void *arg, uint8_t *payload, size_t len)
{
	struct client *c = arg;

	if ((c->paused & PAUSED_END) != 0)
		return (true);
	switch (request_serve(c, payload, len)) {
	case SERVED:
		break;
	case SERVED_PUT_BACK:
		put_back(c, payload, len);
		break;
	case SERVED_BROKEN:
		client_end(c, "not a request of this protocol");
		break;
	}
	client_account(c);
	return (true);
}

/* Answers on their way still leave: to a peer that closed only its half, and
 * to one whose last frame was bad. */
static bool
on_input_over(void *arg, enum bk_conn_end why, const char *what)
{
	client_end(arg, why == BK_CONN_EOF ? NULL : what);
	return (true);
}

static void
on_batch_end(void *arg)
{
	struct client *c = arg;

	c->server->active = bk_clock_now();
}

static void
on_drained(void *arg)
{
	client_account(arg);
}

static void
on_end(void *arg, enum bk_conn_end why, const char *what)
{
	struct client *c = arg;

	if (why == BK_CONN_STALLED)
		blame(c, what);
	drop_all(c);
	bk_conn_free(c->conn);
	c->conn = NULL;
	client_account(c);
	client_settle(c);
}

static const struct bk_conn_events events = {
    .frame = on_frame,
    .input_over = on_input_over,
    .batch_end = on_batch_end,
    .drained = on_drained,
    .end = on_end,
};

void
client_free(struct client *c)
{
	drop_all(c);
	bk_conn_free(c->conn);
	held_fini(&c->held);
	free(c);
}

struct client *
client_new(struct server *s, int fd)
{
	struct client *c = calloc(1, sizeof(*c));

	if (c == NULL)
		return (NULL);
	c->server = s;
	name_peer(c, fd);
	held_init(&c->held);
	TAILQ_INIT(&c->polls);
	c->conn = bk_conn_new(s->loop, fd, false, &s->conn_config, &events, c);
	if (c->conn == NULL) {
		free(c);
		return (NULL);
	}
	return (c);
}
