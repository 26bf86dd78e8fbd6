/*
 * meta_zk.h - what the files of the ZooKeeper store share: meta_zk.c has the
 * calls, zk_request.c hands them to ZooKeeper's C client, zk_answer.c takes
 * them back, zk_drive.c drives the client, zk_session.c has its session.
 */
#ifndef BK_META_ZK_H
#define BK_META_ZK_H

#include "meta/meta_queue.h"
#include "meta/watch_table.h"
#include "meta/zk_hosts.h"
#include "meta/zk_limits.h"
#include "meta/zk_probe.h"

#include <sys/types.h>
#include <zookeeper/zookeeper.h>

/* More outstanding requests only add delay (11). */
#define BK_ZK_OUTSTANDING 1000
/* How often a read is sent whose connections are lost. */
#define BK_ZK_TRIES 5

struct meta_zk {
	struct bk_meta_queue q;
	zhandle_t *zh; /* NULL before the names are resolved */
	struct bk_zk_hosts *hosts;
	char *list; /* the addresses zh was given */
	char *auth; /* "user:password", or NULL */
	int64_t session_timeout;
	int64_t connect_deadline; /* BK_FOREVER once connected */

	unsigned in_client; /* of calls into the client that may call us */
	bool scheduled;

	/* The session. */
	bool connected; /* by the client's word */
	bool serving;   /* and the server has answered a request */
	bool expired;
	bool asked;            /* the first request is under way */
	uint64_t session;      /* the last that served, 0 before */
	enum bk_status failed; /* BK_OK, or why for good */
	bool failure_told;
	char reason[400]; /* of failing, or why there is no connection */
	int64_t heard;    /* when the server was last heard */
	int64_t lease;    /* ns the session lives unheard */
	bool lease_over;

	/* The client's socket. */
	struct bk_fd *fd; /* NULL: none is watched */
	int dup;
	ino_t ino;
	int64_t turned;         /* when it was last driven */
	struct bk_timer *timer; /* the client's time limit */
	struct bk_timer *tick;  /* while not serving */
	struct bk_zk_probe *probe;
	int64_t doubt; /* when to look why it does not connect */
	int64_t probe_due;
	int64_t resolve_due;

	struct bk_calls again;  /* reads to be repeated, before new ones */
	struct bk_calls flight; /* sent */
	size_t outstanding;

	struct bk_watches watches;
	struct bk_zk_ephemerals ephemerals;
};

/* meta_zk.c */
void bk_zk_deliver_events(struct meta_zk *m);

/* zk_drive.c */

/* Drive the client at the end of this turn. */
void bk_zk_schedule(struct meta_zk *m);
/* Nothing more of that. */
void bk_zk_unschedule(struct meta_zk *m);
/* The client's time limit is over. */
void bk_zk_drive_timer(void *arg);
/* The loop watches the client's socket no more. */
void bk_zk_forget_fd(struct meta_zk *m);
/* Whether there is a client to be driven. */
bool bk_zk_usable(const struct meta_zk *m);

/* zk_session.c */

/* Begin: resolve, then connect. BK_OK or ENOMEM. */
enum bk_status bk_zk_start(struct meta_zk *m, const char *hosts);
/* Follow the client's state; it has returned. */
void bk_zk_follow(struct meta_zk *m);
/* The session has expired: begin another. */
void bk_zk_renew(struct meta_zk *m);
/* An attempt failed: if none ever succeeded, see why. */
void bk_zk_ask_why(struct meta_zk *m);
/* End for good; calls get status. */
void bk_zk_fail(struct meta_zk *m, enum bk_status status, const char *reason);
/* The session ends here. Not from within the client. */
void bk_zk_close_client(struct meta_zk *m);
/* Nothing drives it any more. */
void bk_zk_stop(struct meta_zk *m);

/* zk_request.c */

/* Send what may be sent. */
void bk_zk_pump(struct meta_zk *m);
/* Answer what has waited too long to be sent. */
void bk_zk_expire_calls(struct meta_zk *m, int64_t now);
/* Answer changes that were not sent. */
void bk_zk_fail_changes(struct meta_zk *m, enum bk_status status);
/* The first request of a connection: does the server serve us? */
void bk_zk_ask(struct meta_zk *m);

#endif
