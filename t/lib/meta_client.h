/*
 * meta_client.h - a metadata store as a test uses it: each call is made and
 * run to its end, what is told meanwhile is kept. Nothing here waits longer
 * than META_LIMIT; a call that is not answered by then counts as ETIMEOUT.
 */
#ifndef T_META_CLIENT_H
#define T_META_CLIENT_H

#include "meta/meta.h"

#include <sys/types.h>

#define META_LIMIT (30 * BK_SECOND)
#define META_EVENTS 64

/* An answer, as far as tests look at it. */
struct meta_answer {
	bool done;
	enum bk_status status;
	char path[BK_PATH_MAX + 1];
	uint8_t *data;
	size_t len;
	struct bk_node_stat stat;
	char names[2000]; /* of children, each followed by a blank */
	size_t nchildren;
	size_t failed;
	unsigned order; /* among all answers and events of the client */
};

struct meta_event {
	enum bk_watch_event event;
	char path[BK_PATH_MAX + 1];
	unsigned order;
};

struct meta_client {
	struct bk_loop *loop;
	struct bk_meta *meta;
	enum bk_status open_status; /* when meta is NULL */
	char why[512];

	enum bk_meta_state state; /* the last that was told */
	enum bk_status state_status;
	char reason[512];
	size_t nstates[BK_META_FAILED + 1]; /* how often each was told */

	struct meta_event events[META_EVENTS];
	size_t nevents;
	unsigned order;
	struct meta_answer answer; /* of the last call */
};

/* Open; the loop may be shared by several. */
void meta_client_open(struct meta_client *c, struct bk_loop *loop,
    const char *cluster, const struct bk_meta_config *config);
void meta_client_close(struct meta_client *c);
void meta_answer_fini(struct meta_answer *a);

/* Run the loop until a number is reached. */
bool meta_await_events(struct meta_client *c, size_t n);
bool meta_await_state(struct meta_client *c, enum bk_meta_state state,
    size_t times);
bool meta_await(struct meta_client *c, const bool *done);

/* A watch that keeps its events in the client. */
struct bk_watch meta_watch(struct meta_client *c);
/* "created /a", "session /b": event i, or "none". */
const char *meta_event_text(const struct meta_client *c, size_t i);

/* Calls; text is the data. The answer is in c->answer, its status returned. */
enum bk_status meta_create(struct meta_client *c, const char *path,
    const char *text, enum bk_node_kind kind);
enum bk_status meta_create_path(struct meta_client *c, const char *path,
    const char *text);
enum bk_status meta_get(struct meta_client *c, const char *path,
    struct bk_watch w);
enum bk_status meta_exists(struct meta_client *c, const char *path,
    struct bk_watch w);
enum bk_status meta_children(struct meta_client *c, const char *path,
    struct bk_watch w);
enum bk_status meta_set(struct meta_client *c, const char *path,
    const char *text, int32_t version);
enum bk_status meta_remove(struct meta_client *c, const char *path,
    int32_t version);
enum bk_status meta_multi(struct meta_client *c, const struct bk_meta_op *ops,
    size_t nops);
enum bk_status meta_sync(struct meta_client *c);
enum bk_status meta_verify(struct meta_client *c);
enum bk_status meta_pause(struct meta_client *c, int64_t delay);
/* The answer's data as text. */
const char *meta_text(const struct meta_client *c);
/* Call again until it is so: whether a node exists, in the end. */
bool meta_await_node(struct meta_client *c, const char *path, bool exists);

/* The callback behind these: arg is a struct meta_answer, made empty (again) by
 * meta_begin(). */
void meta_begin(struct meta_answer *a);
void meta_answered(void *arg, enum bk_status status,
    const struct bk_meta_reply *reply);

struct bk_bytes meta_bytes(const char *text);

/* This program again, with these arguments, the last followed by NULL. Returns
 * its process id once it has printed a line. */
pid_t meta_spawn(const char *const *args);
/* kill(2) it and wait for its end. */
void meta_kill(pid_t pid, int signo);

#endif
