/*
 * bookie.c - start, events, end.
 *
 * Start: bind, become the user, cluster, identity and cookies, replay, serve,
 * register, say so. Connections wait in the backlog until there is something to
 * serve them with. End: no more connections, answers already earned leave, the
 * store is flushed, the registration goes.
 */
#include "bk-bookied/bookie.h"
#include "base/log.h"
#include "bk-bookied/admin.h"
#include "bk-bookied/cookie.h"
#include "bk-bookied/counters.h"
#include "bk-bookied/daemon.h"
#include "bk-bookied/extend.h"
#include "bk-bookied/gc.h"
#include "bk-bookied/identity.h"
#include "bk-bookied/idle.h"
#include "bk-bookied/options.h"
#include "bk-bookied/place.h"
#include "bk-bookied/serve.h"
#include "bk-bookied/session.h"
#include "bk-bookied/sockets.h"
#include "bk-bookied/store.h"
#include "tool/common.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>
#include <unistd.h>

#define MIB ((size_t)1024 * 1024)
#define STOP_LIMIT (5 * BK_SECOND)     /* for answers on their way */
#define LEAVE_LIMIT (2 * BK_SECOND)    /* for the metadata store */
#define CONNECT_LIMIT (10 * BK_SECOND) /* the same, at start */
#define FRAME_LIMIT (30 * BK_SECOND)   /* for a frame once begun */
#define WRITE_LIMIT (60 * BK_SECOND)   /* for a peer to take something */
#define OWED_LIMIT (256 * MIB)
#define DESCRIPTORS_KEPT 256 /* for files, out of those we have */
#define GC_INTERVAL (600 * BK_SECOND)

enum { NSIGNALS = 5 };

struct bookie {
	struct options *options;
	const struct bk_inherited *inherited;
	struct place place;
	struct bk_loop *loop;
	struct bk_signal *signals[NSIGNALS];
	struct sockets sockets;
	struct session *session;
	struct identity identity;
	struct store *store;
	struct server *server;
	struct admin *admin;
	struct gc *gc;
	struct idle *idle;
	struct bk_timer *leave_limit;
	bool is_serving;
	bool is_stopping;
	bool operator_readonly;
	int exit_status;
};

/* The end. */

static void
has_left(void *arg)
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
	session_leave(b->session, has_left, b);
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

static void
on_leave(void *arg)
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

static const struct store_events store_events = {
    .synced = on_synced,
    .room = on_room,
    .mode = on_mode,
    .failed = on_store_failed,
    .moved = on_moved,
};

static void
on_session_failed(void *arg, enum bk_status status)
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
		on_leave(b);
}

static const struct admin_events admin_events = {
    .connection = on_handed_over,
    .leave = on_asked_to_leave,
};

/* Signals. */

/* A bookie that leaves when idle has to have time for two passes before. */
static int64_t
gc_interval(const struct options *o)
{
	if (o->gc_interval >= 0)
		return (o->gc_interval);
	if (o->idle_exit > 0 && o->idle_exit / 3 < GC_INTERVAL)
		return (o->idle_exit / 3 + BK_MS);
	return (GC_INTERVAL);
}

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
		gc_set_interval(b->gc, gc_interval(fresh));
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

static void
on_signal(void *arg, int signo)
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

static int
watch_signals(struct bookie *b)
{
	static const int watched[NSIGNALS] = {SIGTERM, SIGINT, SIGHUP, SIGUSR1,
	    SIGUSR2};
	size_t i;

	for (i = 0; i < NSIGNALS; i++) {
		b->signals[i] =
		    bk_signal_new(b->loop, watched[i], on_signal, b);
		if (b->signals[i] == NULL)
			return (-1);
	}
	return (0);
}

/* Start, one step a function. Each returns 0 or the exit status. */

static int
fail(enum bk_status status)
{
	return (status == BK_ECANCELED ? EX_OK : bk_status_exit(status));
}

static int
begin(struct bookie *b)
{
	b->loop = bk_loop_new();
	if (b->loop != NULL)
		b->leave_limit = bk_timer_new(b->loop, has_left, b);
	if (b->leave_limit == NULL || watch_signals(b) == -1) {
		bk_log(BK_LOG_ERROR, "cannot begin: %s", strerror(errno));
		return (EX_OSERR);
	}
	return (0);
}

/* Whether a socket is to be made in the data directory, as it is by default
 * over the embedded store. */
static bool
lies_in_data(const struct bookie *b)
{
	const struct bk_opt_list *listen = &b->options->listen;
	const char *dir = b->place.data[0];
	size_t len = strlen(dir), i;

	for (i = 0; i < listen->n; i++)
		if (strncmp(listen->values[i], "unix:", 5) == 0 &&
		    strncmp(listen->values[i] + 5, dir, len) == 0 &&
		    listen->values[i][5 + len] == '/')
			return (true);
	return (listen->n == 0 && b->place.is_local);
}

static int
bind_and_become(struct bookie *b)
{
	const struct options *o = b->options;
	int status;

	if (lies_in_data(b) && place_make_dir(b->place.data[0]) == -1) {
		bk_log(BK_LOG_ERROR, "%s: %s", b->place.data[0],
		    strerror(errno));
		return (EX_CANTCREAT);
	}
	status = sockets_open(&b->sockets, o, b->inherited, b->place.listen);
	if (status == 0 && o->pidfile != NULL)
		status = daemon_pidfile(o->pidfile);
	if (status == 0 && o->user != NULL)
		status = daemon_become(o->user);
	return (status);
}

static int
join_cluster(struct bookie *b)
{
	struct session_config config = {
	    .cluster = b->place.cluster,
	    .auth_file = bk_common.auth_file,
	    .session_timeout = b->options->session_timeout,
	    .connect_timeout = CONNECT_LIMIT,
	    .failed = on_session_failed,
	    .arg = b,
	};
	enum bk_status status = session_open(b->loop, &config, &b->session);

	return (status == BK_OK ? 0 : fail(status));
}

static int
find_identity(struct bookie *b)
{
	struct identity_subject subject = {
	    .id = b->place.id,
	    .advertise = b->options->advertise,
	    .rack = b->options->rack,
	    .names = (const char *const *)b->sockets.names,
	    .nnames = b->sockets.n,
	    .is_local = session_is_local(b->session),
	};
	const char *why = "";

	if (identity_find(&b->identity, &subject, &why) == 0)
		return (0);
	bk_log(BK_LOG_ERROR, "%s", why);
	return (EX_CONFIG);
}

static int
check_cookies(struct bookie *b)
{
	struct cookie_subject subject = {
	    .bookie_id = b->identity.id,
	    .journal_dirs = (const char *const *)b->place.journal,
	    .njournal_dirs = b->place.njournal,
	    .ledger_dirs = (const char *const *)b->place.data,
	    .nledger_dirs = b->place.ndata,
	    .instance_id = session_instance(b->session),
	};
	enum bk_status status =
	    cookie_check(b->loop, session_tree(b->session), &subject);

	return (status == BK_OK ? 0 : fail(status));
}

static void
tell_replay(const struct store_replay *r)
{
	if (r->torn_file != NULL)
		bk_log(BK_LOG_WARNING,
		    "journal: %" PRIu64 " torn bytes cut off at %s, offset "
		    "%" PRIu64,
		    r->torn_bytes, r->torn_file, r->torn_offset);
	if (r->batches > 0)
		bk_log(BK_LOG_INFO,
		    "journal: %" PRIu64 " batches with %" PRIu64
		    " entries replayed",
		    r->batches, r->entries);
}

static size_t
ballast(const struct bookie *b)
{
	if (b->options->ballast >= 0)
		return ((size_t)b->options->ballast);
	return (session_is_local(b->session) ? MIB : 64 * MIB);
}

static int
open_store(struct bookie *b)
{
	const struct options *o = b->options;
	struct store_config config = {
	    .journal_dirs = (const char *const *)b->place.journal_current,
	    .njournal_dirs = b->place.njournal,
	    .ledger_dirs = (const char *const *)b->place.data_current,
	    .nledger_dirs = b->place.ndata,
	    .memtable_bytes = (size_t)o->memory,
	    .journal_max = (size_t)o->journal_size,
	    .ballast_bytes = ballast(b),
	    .high_mark = 0.95,
	    .low_mark = 0.90,
	    .accept_damage = o->accept_damage,
	};
	struct store_replay replay = {0};
	struct extend *patience = extend_start();
	const char *why = "";
	enum bk_status status;

	status = store_open(b->loop, &config, &store_events, b, &b->store,
	    &replay, &why);
	extend_stop(patience);
	if (status != BK_OK) {
		bk_log(BK_LOG_ERROR, "%s", why);
		return (bk_status_exit(status));
	}
	tell_replay(&replay);
	if (o->read_only) {
		b->operator_readonly = true;
		store_set_readonly(b->store, true);
	}
	return (0);
}

static int
serve(struct bookie *b)
{
	long descriptors = daemon_raise_descriptors() - DESCRIPTORS_KEPT;
	struct server_config config = {
	    .max_connections = (size_t)b->options->max_connections,
	    .max_owed = OWED_LIMIT,
	    .frame_timeout = FRAME_LIMIT,
	    .write_timeout = WRITE_LIMIT,
	};
	size_t i;

	if (descriptors < 1)
		descriptors = 1;
	if (config.max_connections > (size_t)descriptors)
		config.max_connections = (size_t)descriptors;
	b->server = server_new(b->loop, b->store, &config);
	if (b->server == NULL)
		goto fail;
	for (i = 0; i < b->sockets.n; i++)
		if (server_listen(b->server, b->sockets.fds[i]) == -1)
			goto fail;
	b->admin = admin_new(b->loop, b->place.data[0], &admin_events, b);
	if (b->admin == NULL)
		bk_log(BK_LOG_WARNING, "%s/admin: %s", b->place.data[0],
		    strerror(errno));
	return (0);
fail:
	bk_log(BK_LOG_ERROR, "cannot serve: %s", strerror(errno));
	return (EX_OSERR);
}

static int
become_known(struct bookie *b)
{
	enum bk_status status =
	    session_register(b->session, b->identity.id, &b->identity.info,
		store_readonly(b->store, NULL), b->options->stay_listed);

	return (status == BK_OK ? 0 : fail(status));
}

static int
look_after(struct bookie *b)
{
	const struct options *o = b->options;
	struct gc_config gc = {
	    .tree = session_tree(b->session),
	    .store = b->store,
	    .instance_id = session_instance(b->session),
	    .interval = gc_interval(o),
	};
	struct idle_config idle = {
	    .time = o->idle_exit,
	    .tree = session_tree(b->session),
	    .store_dir = session_store_dir(b->session),
	    .server = b->server,
	    .leave = on_leave,
	    .arg = b,
	};

	b->gc = gc_new(b->loop, &gc);
	if (o->idle_exit > 0)
		b->idle = idle_new(b->loop, &idle);
	if (b->gc != NULL && (o->idle_exit == 0 || b->idle != NULL))
		return (0);
	bk_log(BK_LOG_ERROR, "out of memory");
	return (EX_OSERR);
}

static int
say_so(struct bookie *b)
{
	const struct options *o = b->options;
	size_t i;
	int status = 0;

	if (o->ports_file != NULL)
		status = sockets_tell(&b->sockets, o->ports_file);
	if (status != 0)
		return (status);
	for (i = 0; i < b->sockets.n; i++)
		bk_log(BK_LOG_INFO, "bookie %s: serving %s", b->identity.id,
		    b->sockets.names[i]);
	bk_ready_tell((int)o->ready_fd);
	daemon_ready();
	return (0);
}

static int
start(struct bookie *b)
{
	static int (*const steps[])(struct bookie * b) = {begin,
	    bind_and_become, join_cluster, find_identity, check_cookies,
	    open_store, serve, look_after, become_known, say_so};
	size_t i;
	int status = 0;

	for (i = 0; i < sizeof(steps) / sizeof(steps[0]) && status == 0; i++) {
		status = steps[i](b);
		if (b->is_stopping)
			return (status);
	}
	b->is_serving = status == 0;
	return (status);
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
		status = start(b);
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
