/*
 * watch.c - one watch on one ledger's node.
 *
 * read with watch -> tell -> wait for the event -> read again. A store that
 * does not answer is asked again after a second. The struct outlives
 * bk_ledger_watch_free() while a read is under way, since that read may still
 * set the watch.
 */
#include "client/watch.h"

#include <stdlib.h>

#define RETRY BK_SECOND

struct bk_ledger_watch {
	struct bk_client *c;
	int64_t ledger_id;
	bk_ledger_meta_cb *cb; /* NULL: freed */
	void *arg;
	struct bk_timer *retry;
	bool reading;
	bool again; /* an event came while reading */
};

static void read_now(void *arg);

static void dispose(struct bk_ledger_watch *w);

static void
fired(void *arg, enum bk_watch_event event, const char *path)
{
	struct bk_ledger_watch *w = arg;

	(void)event;
	(void)path;
	if (w->reading)
		w->again = true;
	else
		read_now(w);
}

static void
have_read(void *arg, enum bk_status status, const struct bk_ledger_meta *m,
    int32_t version)
{
	struct bk_ledger_watch *w = arg;

	w->reading = false;
	if (w->cb == NULL) {
		dispose(w);
		return;
	}
	switch (status) {
	case BK_OK:
	case BK_ENOLEDGER:
	case BK_EBADMETA:
		if (w->again)
			read_now(w);
		w->cb(w->arg, status, m, version);
		break;
	case BK_ECANCELED:
		break;
	default:
		w->c->env->ops->timer_set(w->retry, RETRY);
	}
}

static void
read_now(void *arg)
{
	struct bk_ledger_watch *w = arg;

	w->c->env->ops->timer_stop(w->retry);
	w->reading = true;
	w->again = false;
	bk_ledger_read(w->c->tree, w->ledger_id, (struct bk_watch){fired, w},
	    have_read, w);
}

struct bk_ledger_watch *
bk_ledger_watch_new(struct bk_client *c, int64_t ledger_id,
    bk_ledger_meta_cb *cb, void *arg)
{
	struct bk_ledger_watch *w;

	if ((w = calloc(1, sizeof(*w))) == NULL)
		return (NULL);
	w->c = c;
	w->ledger_id = ledger_id;
	w->cb = cb;
	w->arg = arg;
	if ((w->retry = c->env->ops->timer_new(c->env, read_now, w)) == NULL) {
		free(w);
		return (NULL);
	}
	read_now(w);
	return (w);
}

static void
dispose(struct bk_ledger_watch *w)
{
	bk_meta_unwatch(w->c->tree->meta, fired, w);
	free(w);
}

void
bk_ledger_watch_free(struct bk_ledger_watch *w)
{
	if (w == NULL)
		return;
	w->cb = NULL;
	w->c->env->ops->timer_free(w->retry);
	if (!w->reading)
		dispose(w);
}
