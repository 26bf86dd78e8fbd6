/*
 * zk_session.c - the session with ZooKeeper: its beginning, its loss, its
 * renewal, and why there is none.
 *
 * The C client says "connected" before the server has agreed to serve, and
 * nothing at all about a session that nobody answers for. So a first request
 * is made before anything else, and a clock of our own tells when the session
 * may be gone.
 */
#include "meta/meta_zk.h"

#include "base/log.h"
#include "meta/zk_log.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TICK (100 * BK_MS)
/* A server that says nothing for so long is looked at. */
#define DOUBT BK_SECOND
#define PROBE_INTERVAL (2 * BK_SECOND)
#define RESOLVE_FIRST BK_SECOND
#define RESOLVE_AGAIN (30 * BK_SECOND)

static void open_client(struct meta_zk *m);

/* Why there is no connection. */

static void
probed(void *arg, enum bk_status status, const char *reason)
{
	struct meta_zk *m = arg;

	m->probe = NULL;
	m->probe_due = bk_clock_now() + PROBE_INTERVAL;
	(void)snprintf(m->reason, sizeof(m->reason), "%s", reason);
	if (status == BK_ETLS)
		bk_zk_fail(m, BK_ETLS, reason);
}

/* An attempt failed that never succeeded before: see why. */
void
bk_zk_ask_why(struct meta_zk *m)
{
	if (m->session == 0 && m->probe == NULL &&
	    bk_clock_now() >= m->probe_due)
		m->probe = bk_zk_probe_new(m->q.loop, m->hosts, probed, m);
}

/* The session. */

static void
set_serving(struct meta_zk *m)
{
	uint64_t session = (uint64_t)zoo_client_id(m->zh)->client_id;
	bool fresh = m->session != 0 && m->session != session;

	bk_timer_stop(m->tick);
	bk_zk_probe_cancel(m->probe);
	m->probe = NULL;
	m->session = session;
	m->connect_deadline = BK_FOREVER;
	m->lease = zoo_recv_timeout(m->zh) * BK_MS;
	m->lease_over = false;
	m->reason[0] = '\0';
	bk_meta_tell(&m->q, fresh ? BK_META_NEW_SESSION : BK_META_CONNECTED,
	    BK_OK, "");
}

static void
set_lost(struct meta_zk *m)
{
	m->connected = m->serving = false;
	bk_timer_set(m->tick, TICK);
	m->resolve_due = bk_clock_now() + RESOLVE_AGAIN;
	bk_meta_tell(&m->q, BK_META_CONNECTING, BK_ESTORE, "connection lost");
}

/* Events of a connection may be missing or come twice: its state counts. */
void
bk_zk_follow(struct meta_zk *m)
{
	bool connected = zoo_state(m->zh) == ZOO_CONNECTED_STATE;

	if (connected && !m->connected)
		bk_zk_ask(m);
	if (connected && m->serving && !m->connected) {
		m->connected = true;
		set_serving(m);
	}
	if (!connected && m->connected)
		set_lost(m);
	else if (!connected)
		m->serving = false;
}

void
bk_zk_close_client(struct meta_zk *m)
{
	zhandle_t *zh = m->zh;

	bk_zk_forget_fd(m);
	m->zh = NULL;
	m->asked = m->connected = m->serving = false;
	m->in_client++;
	if (zh != NULL)
		(void)zookeeper_close(zh);
	m->in_client--;
}

/* The session is over: a new one, with none of its watches and nodes. */
void
bk_zk_renew(struct meta_zk *m)
{
	bool was_connected = m->connected;

	bk_log(BK_LOG_DEBUG, "zookeeper: session %" PRIx64 " has expired",
	    m->session);
	bk_zk_close_client(m);
	m->expired = false;
	bk_zk_ephemerals_clear(&m->ephemerals);
	if (was_connected)
		bk_meta_tell(&m->q, BK_META_CONNECTING, BK_ESESSION,
		    "session expired");
	bk_zk_fail_changes(m, BK_ESESSION);
	bk_watches_fire_all(&m->watches, BK_WATCH_SESSION);
	bk_zk_deliver_events(m);
	if (!m->q.closed) {
		bk_timer_set(m->tick, TICK);
		open_client(m);
	}
}

/* The client's word about its session. */
static void
session_event(zhandle_t *zh, int type, int state, const char *path, void *ctx)
{
	struct meta_zk *m = ctx;

	(void)zh;
	(void)path;
	if (m->q.closed || type != ZOO_SESSION_EVENT)
		return;
	if (state == ZOO_EXPIRED_SESSION_STATE)
		m->expired = true;
	else if (state == ZOO_AUTH_FAILED_STATE)
		bk_zk_fail(m, BK_EACCESS, "the server refuses this login");
}

static int
add_auth(struct meta_zk *m)
{
	if (m->auth == NULL)
		return (ZOK);
	return (zoo_add_auth(m->zh, "digest", m->auth, (int)strlen(m->auth),
	    NULL, NULL));
}

static void
open_client(struct meta_zk *m)
{
	int timeout = (int)(m->session_timeout / BK_MS);

	bk_zk_log_level();
	m->zh = zookeeper_init2(m->list, session_event, timeout, NULL, m,
	    ZOO_NO_LOG_CLIENTENV, bk_zk_log);
	if (m->zh == NULL) {
		bk_zk_fail(m, errno == ENOMEM ? BK_ENOMEM : BK_ESTORE,
		    strerror(errno));
		return;
	}
	(void)zoo_set_servers_resolution_delay(m->zh, -1);
	if (add_auth(m) != ZOK) {
		bk_zk_fail(m, BK_ENOMEM, "cannot log in");
		return;
	}
	bk_zk_schedule(m);
}

/* Names. */

static void
resolved(void *arg)
{
	struct meta_zk *m = arg;
	const char *list = bk_zk_hosts_list(m->hosts);
	char *copy;

	m->resolve_due =
	    bk_clock_now() + (list == NULL ? RESOLVE_FIRST : RESOLVE_AGAIN);
	if (list == NULL)
		return;
	if (m->list != NULL && strcmp(list, m->list) == 0)
		return;
	copy = strdup(list);
	if (copy == NULL)
		return;
	free(m->list);
	m->list = copy;
	if (m->zh == NULL)
		open_client(m);
	else
		(void)zoo_set_servers(m->zh, m->list);
}

/* While there is no connection. */

static void
check_lease(struct meta_zk *m, int64_t now)
{
	char reason[100];

	if (m->session == 0 || m->lease_over || now - m->heard < m->lease)
		return;
	m->lease_over = true;
	(void)snprintf(reason, sizeof(reason),
	    "no answer for %lld s, the session may be lost",
	    (long long)(m->lease / BK_SECOND));
	bk_meta_tell(&m->q, BK_META_CONNECTING, BK_ESESSION, reason);
}

/* The end, from the loop and outside of the client. Calls made later end here
 * too. */
static void
end_failed(struct meta_zk *m)
{
	bk_meta_enter(&m->q);
	bk_timer_stop(m->tick);
	bk_zk_close_client(m);
	if (!m->failure_told)
		bk_meta_tell(&m->q, BK_META_FAILED, m->failed, m->reason);
	m->failure_told = true;
	bk_calls_finish(&m->again, m->failed);
	bk_calls_finish(&m->q.calls, m->failed);
	bk_meta_leave(&m->q);
}

void
bk_zk_fail(struct meta_zk *m, enum bk_status status, const char *reason)
{
	if (m->q.closed || m->failed != BK_OK)
		return;
	m->failed = status;
	if (reason != m->reason)
		(void)snprintf(m->reason, sizeof(m->reason), "%s", reason);
	bk_timer_set(m->tick, 0);
}

static void
give_up(struct meta_zk *m)
{
	const char *host, *why;
	uint16_t port;

	if (m->list == NULL) {
		host = bk_zk_hosts_unknown(m->hosts, &why);
		(void)snprintf(m->reason, sizeof(m->reason), "%s: %s", host,
		    why);
	} else if (m->reason[0] == '\0') {
		host = bk_zk_hosts_name(m->hosts, 0, &port);
		(void)snprintf(m->reason, sizeof(m->reason), "%s:%u: no answer",
		    host, (unsigned)port);
	}
	bk_zk_fail(m, BK_ESTORE, m->reason);
}

static void
tick(void *arg)
{
	struct meta_zk *m = arg;
	int64_t now = bk_clock_now();

	if (m->failed != BK_OK) {
		end_failed(m);
		return;
	}
	bk_timer_set(m->tick, TICK);
	if (now >= m->connect_deadline) {
		give_up(m);
		return;
	}
	if (now >= m->doubt)
		bk_zk_ask_why(m);
	if (m->resolve_due <= now &&
	    (m->list == NULL || bk_zk_hosts_named(m->hosts)))
		bk_zk_hosts_resolve(m->hosts);
	bk_meta_enter(&m->q);
	check_lease(m, now);
	if (!m->q.closed)
		bk_zk_expire_calls(m, now);
	bk_meta_leave(&m->q);
}

enum bk_status
bk_zk_start(struct meta_zk *m, const char *hosts)
{
	m->timer = bk_timer_new(m->q.loop, bk_zk_drive_timer, m);
	m->tick = bk_timer_new(m->q.loop, tick, m);
	m->hosts = bk_zk_hosts_new(m->q.loop, hosts, resolved, m);
	if (m->timer == NULL || m->tick == NULL || m->hosts == NULL)
		return (BK_ENOMEM);
	m->doubt = bk_clock_now() + DOUBT;
	bk_timer_set(m->tick, TICK);
	bk_zk_hosts_resolve(m->hosts);
	return (BK_OK);
}

void
bk_zk_stop(struct meta_zk *m)
{
	bk_zk_unschedule(m);
	bk_zk_probe_cancel(m->probe);
	bk_zk_hosts_free(m->hosts);
	bk_timer_free(m->timer);
	bk_timer_free(m->tick);
	m->probe = NULL;
	m->hosts = NULL;
	m->timer = m->tick = NULL;
}
