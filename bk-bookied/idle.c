/*
 * idle.c - one look after another; on the embedded store a look lists the
 * bookies, learns their sessions, and counts the files of all sessions.
 */
#include "bk-bookied/idle.h"
#include "base/log.h"
#include "bk-bookied/admin.h"
#include "bk-bookied/serve.h"
#include "meta/registry.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#define LOOK_MIN (20 * BK_MS)
#define LOOK_MAX (1 * BK_SECOND)
/* An embedded cluster has three bookies, and some more for trying out. */
#define BOOKIES_MAX 128

struct fellow {
	uint64_t session;
	char dir[256]; /* of its admin socket, or "" */
};

struct idle {
	struct bk_loop *loop;
	struct idle_config config;
	struct bk_timer *timer;
	int64_t used; /* monotonic ns when it was last seen in use */
	int lock;     /* start.lock, held; or -1 */
	bool is_sure; /* nobody can come while we look */
	bool is_stopped;
	char names[BOOKIES_MAX][256]; /* "ID" or "readonly/ID" */
	size_t nnames;
	struct fellow fellows[BOOKIES_MAX];
	size_t nfellows;
};

static void look(void *arg);

static void
look_again(struct idle *i)
{
	int64_t pause = i->config.time / 4;

	if (i->is_stopped)
		return;
	if (pause < LOOK_MIN)
		pause = LOOK_MIN;
	bk_timer_set(i->timer, pause < LOOK_MAX ? pause : LOOK_MAX);
}

static void
release_lock(struct idle *i)
{
	if (i->lock != -1)
		(void)close(i->lock);
	i->lock = -1;
	i->is_sure = false;
}

static void
seen_in_use(struct idle *i)
{
	i->used = bk_clock_now();
	release_lock(i);
	look_again(i);
}

/* The end of a look that found nobody. With the lock held it counts. */
static void
seen_unused(struct idle *i)
{
	size_t n;

	if (bk_clock_now() - i->used < i->config.time) {
		look_again(i);
		return;
	}
	server_drain_backlog(i->config.server);
	if (server_connections(i->config.server) > 0) {
		seen_in_use(i);
		return;
	}
	for (n = 0; n < i->nfellows; n++)
		if (i->fellows[n].dir[0] != '\0')
			(void)admin_send_leave(i->fellows[n].dir);
	i->config.leave(i->config.arg);
}

/* The embedded store. */

static bool
is_bookie(const struct idle *i, uint64_t session)
{
	size_t n;

	/* Ours may have no node of its own: --stay-listed. */
	if (session == bk_meta_session(i->config.tree->meta))
		return (true);
	for (n = 0; n < i->nfellows; n++)
		if (session != 0 && i->fellows[n].session == session)
			return (true);
	return (false);
}

/* Whether a session's file is not that of a bookie. Files not yet named after
 * their session are of somebody who comes. */
static bool
has_guest(const struct idle *i)
{
	char path[PATH_MAX];
	struct dirent *entry;
	DIR *d;
	bool found = false;
	int n =
	    snprintf(path, sizeof(path), "%s/sessions", i->config.store_dir);

	if (n < 0 || (size_t)n >= sizeof(path) || (d = opendir(path)) == NULL)
		return (true);
	while (!found && (entry = readdir(d)) != NULL)
		found = strcmp(entry->d_name, ".") != 0 &&
		    strcmp(entry->d_name, "..") != 0 &&
		    !is_bookie(i, strtoull(entry->d_name, NULL, 16));
	(void)closedir(d);
	return (found);
}

/* The lock beside the store's directory, without waiting. Where none can be
 * made, nobody starts bookies either. */
static bool
take_lock(struct idle *i)
{
	char path[PATH_MAX];
	int n = snprintf(path, sizeof(path), "%s/../start.lock",
	    i->config.store_dir);

	if (n < 0 || (size_t)n >= sizeof(path))
		return (false);
	i->lock = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	i->is_sure = i->lock == -1 || flock(i->lock, LOCK_EX | LOCK_NB) == 0;
	if (!i->is_sure)
		release_lock(i);
	return (i->is_sure);
}

static void list_bookies(struct idle *i);

static void
all_known(struct idle *i)
{
	if (has_guest(i))
		seen_in_use(i);
	else if (i->is_sure || bk_clock_now() - i->used < i->config.time)
		seen_unused(i);
	else if (take_lock(i))
		list_bookies(i); /* once more, now that nobody comes */
	else
		look_again(i);
}

static void learn_next(struct idle *i);

/* The directory its socket lies in. */
static void
note_dir(struct fellow *f, const struct bk_service_info *info)
{
	const struct bk_endpoint *e = bk_service_endpoint(info);
	const char *slash;

	if (e == NULL || strcmp(e->protocol, "bookie-unix") != 0 ||
	    info->pid == getpid() || (slash = strrchr(e->host, '/')) == NULL)
		return;
	(void)snprintf(f->dir, sizeof(f->dir), "%.*s", (int)(slash - e->host),
	    e->host);
}

static void
on_bookie(void *arg, enum bk_status status, const struct bk_meta_reply *reply)
{
	struct idle *i = arg;
	struct bk_service_info info;
	struct fellow *f;

	if (i->is_stopped)
		return;
	if (status == BK_OK) {
		f = &i->fellows[i->nfellows++];
		f->session = reply->stat.owner;
		f->dir[0] = '\0';
		if (bk_service_info_decode(reply->data, i->names[i->nnames],
			&info) == BK_OK)
			note_dir(f, &info);
	} else if (status != BK_ENONODE) {
		look_again(i);
		return;
	}
	learn_next(i);
}

static void
learn_next(struct idle *i)
{
	char path[BK_PATH_MAX + 1];
	int n;

	if (i->nnames == 0) {
		all_known(i);
		return;
	}
	n = snprintf(path, sizeof(path), "%s/available/%s",
	    i->config.tree->root, i->names[--i->nnames]);
	if (n < 0 || (size_t)n >= sizeof(path))
		look_again(i);
	else
		bk_meta_get(i->config.tree->meta, path, BK_NO_WATCH, on_bookie,
		    i);
}

static void
note_names(struct idle *i, const struct bk_meta_reply *reply,
    const char *prefix)
{
	size_t n;
	char *name;

	for (n = 0; n < reply->nchildren && i->nnames < BOOKIES_MAX; n++) {
		if (strcmp(reply->children[n], "readonly") == 0)
			continue;
		name = i->names[i->nnames++];
		(void)snprintf(name, sizeof(i->names[0]), "%s%s", prefix,
		    reply->children[n]);
	}
}

static void
on_readonly(void *arg, enum bk_status status, const struct bk_meta_reply *reply)
{
	struct idle *i = arg;

	if (i->is_stopped)
		return;
	if (status == BK_OK)
		note_names(i, reply, "readonly/");
	if (status == BK_OK || status == BK_ENONODE)
		learn_next(i);
	else
		look_again(i);
}

static void
on_writable(void *arg, enum bk_status status, const struct bk_meta_reply *reply)
{
	struct idle *i = arg;
	char path[BK_PATH_MAX + 1];
	int n = snprintf(path, sizeof(path), "%s/available/readonly",
	    i->config.tree->root);

	if (i->is_stopped)
		return;
	if (status != BK_OK || n < 0 || (size_t)n >= sizeof(path)) {
		look_again(i);
		return;
	}
	note_names(i, reply, "");
	bk_meta_children(i->config.tree->meta, path, BK_NO_WATCH, on_readonly,
	    i);
}

static void
list_bookies(struct idle *i)
{
	char path[BK_PATH_MAX + 1];
	int n =
	    snprintf(path, sizeof(path), "%s/available", i->config.tree->root);

	i->nnames = 0;
	i->nfellows = 0;
	if (n < 0 || (size_t)n >= sizeof(path))
		look_again(i);
	else
		bk_meta_children(i->config.tree->meta, path, BK_NO_WATCH,
		    on_writable, i);
}

static void
look(void *arg)
{
	struct idle *i = arg;
	int64_t active = server_last_activity(i->config.server);

	release_lock(i);
	if (active > i->used)
		i->used = active;
	if (server_connections(i->config.server) > 0)
		seen_in_use(i);
	else if (i->config.store_dir != NULL)
		list_bookies(i);
	else
		seen_unused(i);
}

struct idle *
idle_new(struct bk_loop *loop, const struct idle_config *config)
{
	struct idle *i = calloc(1, sizeof(*i));

	if (i == NULL)
		return (NULL);
	i->loop = loop;
	i->config = *config;
	i->used = bk_clock_now();
	i->lock = -1;
	if ((i->timer = bk_timer_new(loop, look, i)) == NULL) {
		free(i);
		return (NULL);
	}
	look_again(i);
	return (i);
}

void
idle_stop(struct idle *i)
{
	i->is_stopped = true;
	bk_timer_stop(i->timer);
}

void
idle_free(struct idle *i)
{
	if (i == NULL)
		return;
	bk_timer_free(i->timer);
	free(i);
}
