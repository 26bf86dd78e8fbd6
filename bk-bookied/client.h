/*
 * client.h - what the protocol side of the bookie keeps: the server and each
 * of its connections. serve.c makes and ends them; requests, answers and long
 * polls use them. Nothing else includes this.
 */
#ifndef BOOKIE_CLIENT_H
#define BOOKIE_CLIENT_H

#include "bk-bookied/answer.h"
#include "bk-bookied/complain.h"
#include "bk-bookied/longpoll.h"
#include "bk-bookied/serve.h"
#include "bk-bookied/store.h"
#include "loop/conn.h"
#include "loop/listen.h"

#include <bsd/sys/queue.h>
#include <netinet/in.h>

/* Why a connection is not read for now; bits. */
enum {
	PAUSED_OUTPUT = 1 << 0, /* its peer takes no answers */
	PAUSED_ROOM = 1 << 1,   /* an add was put back: no memory */
	PAUSED_READS = 1 << 2,  /* enough reads on their way */
	PAUSED_END = 1 << 3,    /* nothing more is wanted of it */
};

struct client {
	struct server *server;
	struct bk_conn *conn; /* NULL once the connection is over */
	struct held held;     /* answers that wait for the journal */
	unsigned paused;
	unsigned reading;       /* reads on their way; they keep the client */
	struct bk_buf put_back; /* the request that waits for room */
	struct poll_list polls; /* its long polls */
	size_t counted;         /* its bytes in server.owed */
	char name[INET6_ADDRSTRLEN + 10]; /* its peer, for people */
	TAILQ_ENTRY(client) all;          /* or among the gone */
	TAILQ_ENTRY(client) holding;      /* while held is not empty */
	TAILQ_ENTRY(client) waiting;      /* while put_back is not empty */
	bool is_holding;
	bool is_waiting;
	bool is_broken;    /* its output is cut short: nothing more */
	bool is_finishing; /* its last answers are on their way */
	bool is_gone;
};
TAILQ_HEAD(client_list, client);

struct server {
	struct bk_loop *loop;
	struct store *store;
	struct server_config config;
	struct bk_conn_config conn_config;
	struct bk_listener *listeners[BK_LISTEN_MAX];
	size_t nlisteners;
	struct client_list all;
	struct client_list holding;
	struct client_list waiting;
	struct client_list gone; /* to be freed at the end of this turn */
	size_t nclients;         /* in all */
	size_t owed;             /* bytes of answers nobody has taken yet */
	uint64_t synced;         /* journal position that is on disk */
	struct longpolls *polls;
	struct complaint broken; /* about what is not our protocol */
	struct complaint crowd;  /* about too many connections */
	struct server_counts counts;
	int64_t active;             /* monotonic ns of the last sign of life */
	bool is_full;               /* listeners are paused */
	bool is_reaping;            /* reap is due */
	struct bk_timer *limit;     /* of stopping */
	void (*stopped)(void *arg); /* not NULL: stopping */
	void *stopped_arg;
};

/* Bytes of answers above which a connection is not read. */
#define CLIENT_OWED_MAX (1024 * 1024)

/* Serve a connected socket. NULL with errno, and fd is still the caller's. */
struct client *client_new(struct server *s, int fd);
/* End it at once, whatever it waits for. Its reads must be back. */
void client_free(struct client *c);
/* Serve the request that was put back; false: still no room. */
bool client_try_again(struct client *c);
/* The connection is over and nothing refers to the client any more: take it
 * off the lists and have it freed when the turn is over. */
void server_bury(struct client *c);

/* Stop or go on reading a client, for one of the reasons above. */
void client_pause(struct client *c, unsigned reason, bool pause);
/* Answers were queued, sent or dropped: keep the bounds. */
void client_account(struct client *c);
/* Whether an answer can still reach it. */
static inline bool
client_hears(const struct client *c)
{
	return (c->conn != NULL && !c->is_broken);
}

/* Take no more requests; the connection ends once every answer already earned
 * has left. why, if not NULL, is what its peer did wrong. A client is freed at
 * the end of the turn at the earliest. */
void client_end(struct client *c, const char *why);
/* No further answer can be given, for a reason on this side: end at once. */
void client_break(struct client *c, const char *why);
/* A read went to the read thread, or came back from it. It keeps the client
 * until client_settle(), which follows the latter. */
void client_fetching(struct client *c);
void client_fetched(struct client *c);
/* Something the end of the client may have waited for is done. */
void client_settle(struct client *c);

#endif
