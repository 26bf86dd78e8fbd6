/* meta_client.c - a metadata store, one call after the other. */
#include "t/lib/meta_client.h"

#include <bsd/string.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static const char *const event_names[] = {
    [BK_WATCH_CREATED] = "created",
    [BK_WATCH_CHANGED] = "changed",
    [BK_WATCH_DELETED] = "deleted",
    [BK_WATCH_CHILDREN] = "children",
    [BK_WATCH_SESSION] = "session",
};

/* The order of answers and events is that of all clients together. */
static unsigned now;

struct bk_bytes
meta_bytes(const char *text)
{
	return ((struct bk_bytes){(const uint8_t *)text, strlen(text)});
}

static void
on_state(void *arg, enum bk_meta_state state, enum bk_status status,
    const char *reason)
{
	struct meta_client *c = arg;

	c->state = state;
	c->state_status = status;
	c->nstates[state]++;
	(void)strlcpy(c->reason, reason, sizeof(c->reason));
}

void
meta_client_open(struct meta_client *c, struct bk_loop *loop,
    const char *cluster, const struct bk_meta_config *config)
{
	struct bk_cluster_uri uri;
	const char *why = "";

	memset(c, 0, sizeof(*c));
	c->loop = loop;
	if (bk_cluster_uri_parse(cluster, &uri, &why) != 0) {
		c->open_status = BK_EINVAL;
	} else {
		c->meta = bk_meta_open(loop, &uri, config, on_state, c,
		    &c->open_status, &why);
		bk_cluster_uri_fini(&uri);
	}
	if (c->meta == NULL)
		(void)strlcpy(c->why, why, sizeof(c->why));
}

void
meta_client_close(struct meta_client *c)
{
	bk_meta_close(c->meta);
	meta_answer_fini(&c->answer);
	c->meta = NULL;
}

void
meta_answer_fini(struct meta_answer *a)
{
	free(a->data);
	a->data = NULL;
}

/* Waiting. */

bool
meta_await(struct meta_client *c, const bool *done)
{
	return (bk_loop_run_until(c->loop, done, bk_clock_now() + META_LIMIT));
}

/* The loop has to turn for a number to change. */
static bool
turn_until(struct meta_client *c, const size_t *number, size_t n)
{
	int64_t deadline = bk_clock_now() + META_LIMIT;
	const bool never = false;

	while (*number < n) {
		if (bk_clock_now() > deadline)
			return (false);
		(void)bk_loop_run_until(c->loop, &never,
		    bk_clock_now() + 2 * BK_MS);
	}
	return (true);
}

bool
meta_await_events(struct meta_client *c, size_t n)
{
	return (turn_until(c, &c->nevents, n));
}

bool
meta_await_state(struct meta_client *c, enum bk_meta_state state, size_t times)
{
	return (turn_until(c, &c->nstates[state], times));
}

/* Watches. */

static void
on_event(void *arg, enum bk_watch_event event, const char *path)
{
	struct meta_client *c = arg;
	struct meta_event *e;

	if (c->nevents == META_EVENTS)
		return;
	e = &c->events[c->nevents++];
	e->event = event;
	e->order = ++now;
	(void)strlcpy(e->path, path, sizeof(e->path));
}

struct bk_watch
meta_watch(struct meta_client *c)
{
	return ((struct bk_watch){on_event, c});
}

const char *
meta_event_text(const struct meta_client *c, size_t i)
{
	static char text[BK_PATH_MAX + 20];

	if (i >= c->nevents)
		return ("none");
	(void)snprintf(text, sizeof(text), "%s %s",
	    event_names[c->events[i].event], c->events[i].path);
	return (text);
}

/* Calls. */

void
meta_begin(struct meta_answer *a)
{
	meta_answer_fini(a);
	memset(a, 0, sizeof(*a));
}

void
meta_answered(void *arg, enum bk_status status,
    const struct bk_meta_reply *reply)
{
	struct meta_answer *a = arg;

	a->done = true;
	a->status = status;
	a->stat = reply->stat;
	a->failed = reply->failed;
	a->nchildren = reply->nchildren;
	a->order = ++now;
	if (reply->path != NULL)
		(void)strlcpy(a->path, reply->path, sizeof(a->path));
	for (size_t i = 0; i < reply->nchildren; i++) {
		(void)strlcat(a->names, reply->children[i], sizeof(a->names));
		(void)strlcat(a->names, " ", sizeof(a->names));
	}
	a->len = reply->data.len;
	a->data = malloc(a->len + 1);
	if (a->data == NULL)
		return;
	if (a->len > 0)
		memcpy(a->data, reply->data.data, a->len);
	a->data[a->len] = '\0';
}

static struct meta_answer *
begin(struct meta_client *c)
{
	meta_begin(&c->answer);
	return (&c->answer);
}

static enum bk_status
finish(struct meta_client *c)
{
	return (
	    meta_await(c, &c->answer.done) ? c->answer.status : BK_ETIMEOUT);
}

enum bk_status
meta_create(struct meta_client *c, const char *path, const char *text,
    enum bk_node_kind kind)
{
	bk_meta_create(c->meta, path, meta_bytes(text), kind, BK_ACL_CONF,
	    meta_answered, begin(c));
	return (finish(c));
}

enum bk_status
meta_create_path(struct meta_client *c, const char *path, const char *text)
{
	bk_meta_create_path(c->meta, path, meta_bytes(text), BK_NODE_PERSISTENT,
	    BK_ACL_CONF, meta_answered, begin(c));
	return (finish(c));
}

enum bk_status
meta_get(struct meta_client *c, const char *path, struct bk_watch w)
{
	bk_meta_get(c->meta, path, w, meta_answered, begin(c));
	return (finish(c));
}

enum bk_status
meta_exists(struct meta_client *c, const char *path, struct bk_watch w)
{
	bk_meta_exists(c->meta, path, w, meta_answered, begin(c));
	return (finish(c));
}

enum bk_status
meta_children(struct meta_client *c, const char *path, struct bk_watch w)
{
	bk_meta_children(c->meta, path, w, meta_answered, begin(c));
	return (finish(c));
}

enum bk_status
meta_set(struct meta_client *c, const char *path, const char *text,
    int32_t version)
{
	bk_meta_set(c->meta, path, meta_bytes(text), version, meta_answered,
	    begin(c));
	return (finish(c));
}

enum bk_status
meta_remove(struct meta_client *c, const char *path, int32_t version)
{
	bk_meta_remove(c->meta, path, version, meta_answered, begin(c));
	return (finish(c));
}

enum bk_status
meta_multi(struct meta_client *c, const struct bk_meta_op *ops, size_t nops)
{
	bk_meta_multi(c->meta, ops, nops, meta_answered, begin(c));
	return (finish(c));
}

enum bk_status
meta_sync(struct meta_client *c)
{
	bk_meta_sync(c->meta, "/", meta_answered, begin(c));
	return (finish(c));
}

enum bk_status
meta_verify(struct meta_client *c)
{
	bk_meta_verify(c->meta, meta_answered, begin(c));
	return (finish(c));
}

enum bk_status
meta_pause(struct meta_client *c, int64_t delay)
{
	bk_meta_pause(c->meta, delay, meta_answered, begin(c));
	return (finish(c));
}

const char *
meta_text(const struct meta_client *c)
{
	return (c->answer.data != NULL ? (const char *)c->answer.data : "");
}

bool
meta_await_node(struct meta_client *c, const char *path, bool exists)
{
	int64_t deadline = bk_clock_now() + META_LIMIT;
	enum bk_status status, want = exists ? BK_OK : BK_ENONODE;

	for (;;) {
		status = meta_exists(c, path, BK_NO_WATCH);
		if (status == want)
			return (true);
		if (bk_clock_now() > deadline)
			return (false);
		(void)meta_pause(c, 5 * BK_MS);
	}
}

/* Processes. */

pid_t
meta_spawn(const char *const *args)
{
	posix_spawn_file_actions_t actions;
	char *argv[8] = {NULL}, c = '\0';
	size_t n = 0;
	int fds[2];
	pid_t pid;

	argv[n++] = (char *)(uintptr_t) "/proc/self/exe";
	while (args[n - 1] != NULL && n < 7) {
		argv[n] = (char *)(uintptr_t)args[n - 1];
		n++;
	}
	if (pipe(fds) == -1)
		return (-1);
	(void)posix_spawn_file_actions_init(&actions);
	(void)posix_spawn_file_actions_adddup2(&actions, fds[1], 1);
	(void)posix_spawn_file_actions_addclose(&actions, fds[0]);
	(void)posix_spawn_file_actions_addclose(&actions, fds[1]);
	if (posix_spawn(&pid, argv[0], &actions, NULL, argv, environ) != 0)
		pid = -1;
	(void)posix_spawn_file_actions_destroy(&actions);
	(void)close(fds[1]);
	while (pid != -1 && c != '\n') {
		if (read(fds[0], &c, 1) <= 0) {
			meta_kill(pid, SIGKILL);
			pid = -1;
		}
	}
	(void)close(fds[0]);
	return (pid);
}

void
meta_kill(pid_t pid, int signo)
{
	if (pid <= 0)
		return;
	(void)kill(pid, signo);
	(void)waitpid(pid, NULL, 0);
}
