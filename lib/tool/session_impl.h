/* session_impl.h - the inside of a session, for the files session*.c. */
#ifndef BK_SESSION_IMPL_H
#define BK_SESSION_IMPL_H

#include "tool/local.h"
#include "tool/session.h"

/* One thing waited for while the session opens. */
struct bk_session_wait {
	bool done;
	enum bk_status status;
};

struct bk_session_in {
	struct bk_session s; /* first: what the caller sees */
	struct bk_session_config config;
	struct bk_cluster_uri uri;
	struct bk_local local;
	struct bk_session_wait connected, step;
	char reason[600]; /* why it is not connected */
	bool lost;        /* and said so */
	struct bk_starter *starter;
	bk_done_cb *revived;
	void *revived_arg;
};

static inline struct bk_session_in *
bk_session_of(struct bk_session *s)
{
	return ((struct bk_session_in *)s);
}

/* session_bookies.c: bookies, also on demand; rpc and client. */
enum bk_status bk_session_open_bookies(struct bk_session_in *in);
enum bk_status bk_session_open_client(struct bk_session_in *in);
void bk_session_close_bookies(struct bk_session_in *in);
/* Run the loop until step is done. */
enum bk_status bk_session_await(struct bk_session_in *in,
    struct bk_session_wait *wait);
void bk_session_step_done(void *arg, enum bk_status status);

#endif
