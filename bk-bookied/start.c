/*
 * start.c - the start of a bookie, one step a function.
 *
 * Connections wait in the backlog until there is something to serve them with;
 * the bookie is registered when it serves.
 */
#include "base/log.h"
#include "bk-bookied/admin.h"
#include "bk-bookied/bookie_impl.h"
#include "bk-bookied/cookie.h"
#include "bk-bookied/daemon.h"
#include "bk-bookied/extend.h"
#include "bk-bookied/gc.h"
#include "bk-bookied/idle.h"
#include "bk-bookied/serve.h"
#include "bk-bookied/session.h"
#include "tool/common.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <string.h>
#include <sysexits.h>

#define MIB ((size_t)1024 * 1024)
#define CONNECT_LIMIT (10 * BK_SECOND) /* the same, at start */
#define FRAME_LIMIT (30 * BK_SECOND)   /* for a frame once begun */
#define WRITE_LIMIT (60 * BK_SECOND)   /* for a peer to take something */
#define OWED_LIMIT (256 * MIB)
#define DESCRIPTORS_KEPT 256 /* for files, out of those we have */
#define GC_INTERVAL (600 * BK_SECOND)

static int
watch_signals(struct bookie *b)
{
	static const int watched[NSIGNALS] = {SIGTERM, SIGINT, SIGHUP, SIGUSR1,
	    SIGUSR2};
	size_t i;

	for (i = 0; i < NSIGNALS; i++) {
		b->signals[i] =
		    bk_signal_new(b->loop, watched[i], bookie_signal, b);
		if (b->signals[i] == NULL)
			return (-1);
	}
	return (0);
}

/* A bookie that leaves when idle has to have time for two passes before. */
int64_t
bookie_gc_interval(const struct options *o)
{
	if (o->gc_interval >= 0)
		return (o->gc_interval);
	if (o->idle_exit > 0 && o->idle_exit / 3 < GC_INTERVAL)
		return (o->idle_exit / 3 + BK_MS);
	return (GC_INTERVAL);
}

/* The steps; each returns 0 or the exit status. */

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
		b->leave_limit = bk_timer_new(b->loop, bookie_left, b);
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
	    .failed = bookie_session_failed,
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

	status = store_open(b->loop, &config, &bookie_store_events, b,
	    &b->store, &replay, &why);
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
	b->admin =
	    admin_new(b->loop, b->place.data[0], &bookie_admin_events, b);
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
	    .interval = bookie_gc_interval(o),
	};
	struct idle_config idle = {
	    .time = o->idle_exit,
	    .tree = session_tree(b->session),
	    .store_dir = session_store_dir(b->session),
	    .server = b->server,
	    .leave = bookie_leave,
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

int
bookie_start(struct bookie *b)
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
