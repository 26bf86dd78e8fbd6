/* lmdb_notice.c - inotify on the embedded store. */
#include "meta/lmdb_notice.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/inotify.h>
#include <unistd.h>

struct bk_lmdb_notice {
	struct bk_fd *watch;
	int fd;
	int changed_wd;
	bk_timer_cb *changed;
	bk_timer_cb *died;
	void *arg;
};

/* All that is there is taken before anything is done about it. */
static void
readable(void *arg, int fd, int what)
{
	_Alignas(struct inotify_event) char buf[4096];
	struct bk_lmdb_notice *n = arg;
	bk_timer_cb *changed = n->changed, *died = n->died;
	bool has_changed = false, has_died = false;
	const struct inotify_event *event;
	ssize_t len;

	(void)what;
	while ((len = read(fd, buf, sizeof(buf))) > 0) {
		for (char *p = buf; p < buf + len;
		     p += sizeof(*event) + event->len) {
			event = (const struct inotify_event *)p;
			if (event->mask & IN_Q_OVERFLOW)
				has_changed = has_died = true;
			else if (event->wd == n->changed_wd)
				has_changed = true;
			else
				has_died = true;
		}
	}
	arg = n->arg; /* the first may free n */
	if (has_died)
		died(arg);
	if (has_changed)
		changed(arg);
}

static int
add_watch(int fd, int target, uint32_t mask)
{
	char path[64];

	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", target);
	return (inotify_add_watch(fd, path, mask));
}

struct bk_lmdb_notice *
bk_lmdb_notice_new(struct bk_loop *loop, struct bk_lmdb *store,
    bk_timer_cb *changed, bk_timer_cb *died, void *arg)
{
	struct bk_lmdb_notice *n;

	n = calloc(1, sizeof(*n));
	if (n == NULL)
		return (NULL);
	n->changed = changed;
	n->died = died;
	n->arg = arg;
	n->fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
	if (n->fd == -1) {
		free(n);
		return (NULL);
	}
	n->changed_wd = add_watch(n->fd, store->changed_fd, IN_MODIFY);
	if (n->changed_wd != -1 &&
	    add_watch(n->fd, store->sessions_fd, IN_CLOSE_WRITE) != -1)
		n->watch = bk_fd_new(loop, n->fd, BK_READABLE, readable, n);
	if (n->watch == NULL) {
		bk_lmdb_notice_free(n);
		return (NULL);
	}
	return (n);
}

void
bk_lmdb_notice_free(struct bk_lmdb_notice *n)
{
	if (n == NULL)
		return;
	bk_fd_free(n->watch);
	(void)close(n->fd);
	free(n);
}
