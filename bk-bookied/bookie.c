/*
 * bookie.c - what the parts of a bookie tell each other, signals, and the end:
 * no more connections, answers already earned leave, the store is flushed, the
 * registration goes.
 */
#include "bk-bookied/bookie.h"
#include "base/log.h"
#include "bk-bookied/admin.h"
#include "bk-bookied/bookie_impl.h"
#include "bk-bookied/counters.h"
#include "bk-bookied/gc.h"
#include "bk-bookied/idle.h"
#include "bk-bookied/serve.h"
#include "bk-bookied/session.h"
#include "meta/meta.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>
#include <unistd.h>

#define STOP_LIMIT (5 * BK_SECOND)  /* for answers on their way */
#define LEAVE_LIMIT (2 * BK_SECOND) /* for the metadata store */

/* The end. */

void
bookie_left(void *arg)
{
	struct bookie *b = arg;

	bk_loop_stop(b->loop);
}

static void
answers_left(void *arg)
{
	struct bookie *b = arg;

	store_close(b->store);
	b->store = NULL;
	bk_timer_set(b->leave_limit, LEAVE_LIMIT);
	session_leave(b->session, bookie_left, b);
}

static void
stop(struct bookie *b)
{
	if (b->is_stopping)
		return;
	b->is_stopping = true;
	bk_notify("STOPPING=1");
	if (!b->is_serving) {
		bk_loop_stop(b->loop);
		return;
	}
	admin_free(b->admin);
	b->admin = NULL;
	if (b->idle != NULL)
		idle_stop(b->idle);
	gc_stop(b->gc);
	server_stop(b->server, STOP_LIMIT, answers_left, b);
}

void
bookie_leave(void *arg)
{
	struct bookie *b = arg;

	bk_log(BK_LOG_INFO, "unused: leaving");
	stop(b);
}

/* What the parts tell each other. */

static void
update_mode(struct bookie *b)
{
	if (b->session != NULL && b->store != NULL)
		session_mode(b->session, store_readonly(b->store, NULL));
}

static void
on_synced(void *arg, uint64_t position)
{
	struct bookie *b = arg;

	if (b->server != NULL)
		server_synced(b->server, position);
}

static void
on_room(void *arg)
{
	struct bookie *b = arg;

	if (b->server != NULL)
		server_room(b->server);
}

static void
on_mode(void *arg, bool readonly, const char *why)
{
	struct bookie *b = arg;

	bk_log(BK_LOG_WARNING, "%s: %s", readonly ? "read-only" : "writable",
	    why);
	update_mode(b);
}

/* Nothing may be answered any more, so nothing can be finished either. */
static void
on_store_failed(void *arg, const char *what)
{
	(void)arg;
	bk_log(BK_LOG_ERROR, "storage: %s: ending at once", what);
	_exit(EX_IOERR);
}

static void
on_moved(void *arg, int64_t ledger_id, bool fenced, bool gone)
{
	struct bookie *b = arg;

	if (b->server != NULL)
		server_moved(b->server, ledger_id, fenced, gone);
}

const struct store_events bookie_store_events = {
    .synced = on_synced,
    .room = on_room,
    .mode = on_mode,
    .failed = on_store_failed,
    .moved = on_moved,
};

void
bookie_session_failed(void *arg, enum bk_status status)
{
	struct bookie *b = arg;

	b->exit_status = bk_status_exit(status);
	stop(b);
}

static void
on_handed_over(void *arg, int fd)
{
	struct bookie *b = arg;

	if (server_adopt(b->server, fd) == -1)
		bk_log(BK_LOG_WARNING, "connection handed over: %s",
		    strerror(errno));
}

/* The cluster of its machine leaves; somebody may still be here by name. */
static void
on_asked_to_leave(void *arg)
{
	struct bookie *b = arg;

	if (b->idle != NULL && server_connections(b->server) == 0)
		bookie_leave(b);
}

const struct admin_events bookie_admin_events = {
    .connection = on_handed_over,
    .leave = on_asked_to_leave,
};

/* Signals. */

static void
tell_counters(struct bookie *b)
{
	char *text;

	if (b->server == NULL || b->store == NULL)
		return;
	text = counters_json(b->identity.id, b->server, b->store);
	if (text != NULL)
		(void)fprintf(stderr, "%s\n", text);
	free(text);
}

static void
set_readonly(struct bookie *b, bool readonly, const char *why)
{
	if (b->store == NULL || readonly == b->operator_readonly)
		return;
	b->operator_readonly = readonly;
	store_set_readonly(b->store, readonly);
	bk_log(BK_LOG_INFO, "%s: %s", readonly ? "read-only" : "writable", why);
	update_mode(b);
}

/* Take over what may change while running. */
static void
adopt(struct bookie *b, const struct options *fresh)
{
	if (fresh->read_only != b->options->read_only)
		set_readonly(b, fresh->read_only, "as now configured");
	*b->options = *fresh;
	if (b->gc != NULL)
		gc_set_interval(b->gc, bookie_gc_interval(fresh));
	bk_log(BK_LOG_INFO, "configuration read again");
}

/* A configuration that is bad is refused, and the old one kept. */
static void
reload(struct bookie *b)
{
	struct options fresh;

	bk_notify("RELOADING=1");
	if (options_reload(&fresh) == 0)
		adopt(b, &fresh);
	bk_notify("READY=1");
}

void
bookie_signal(void *arg, int signo)
{
	struct bookie *b = arg;

	switch (signo) {
	case SIGHUP:
		reload(b);
		break;
	case SIGUSR1:
		tell_counters(b);
		break;
	case SIGUSR2:
		set_readonly(b, !b->operator_readonly, "asked by a signal");
		break;
	default:
		/* Whoever cannot wait gets what a crash would give: replay. */
		if (b->is_stopping)
			_exit(EX_OK);
		bk_log(BK_LOG_INFO, "signal %d: ending", signo);
		stop(b);
		break;
	}
}

static void
finish(struct bookie *b)
{
	size_t i;

	store_close(b->store);
	session_close(b->session);
	gc_free(b->gc);
	idle_free(b->idle);
	admin_free(b->admin);
	server_free(b->server);
	sockets_close(&b->sockets);
	bk_timer_free(b->leave_limit);
	for (i = 0; i < NSIGNALS; i++)
		bk_signal_free(b->signals[i]);
	bk_loop_free(b->loop);
	place_fini(&b->place);
}

int
bookie_run(struct options *o, const struct bk_inherited *in)
{
	struct bookie *b = calloc(1, sizeof(*b));
	int status;

	if (b == NULL)
		return (EX_OSERR);
	b->options = o;
	b->inherited = in;
	status = place_find(&b->place, o);
	if (status == 0)
		status = bookie_start(b);
	if (status == 0 && b->is_serving) {
		if (bk_loop_run(b->loop) == -1) {
			bk_log(BK_LOG_ERROR, "loop: %s", strerror(errno));
			b->exit_status = EX_OSERR;
		}
		status = b->exit_status;
	} else if (b->is_stopping) {
		/* Answers may be outstanding for callers that have gone. */
		sockets_close(&b->sockets);
		_exit(status);
	}
	finish(b);
	free(b);
	return (status);
}

int
bookie_test(const struct options *o)
{
	struct bk_cluster_uri uri;
	struct place place;
	const char *why = "";
	int status = place_find(&place, o);

	if (status == 0) {
		if (bk_cluster_uri_parse(place.cluster, &uri, &why) == -1) {
			bk_log(BK_LOG_ERROR, "cluster %s: %s", place.cluster,
			    why);
			status = EX_CONFIG;
		} else
			bk_cluster_uri_fini(&uri);
	}
	place_fini(&place);
	return (status);
}
