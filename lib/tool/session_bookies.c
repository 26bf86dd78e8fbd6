/* session_bookies.c - the bookies of a session: which there are, how they are
 * reached, and starting local ones. */
#include "base/log.h"
#include "loop/rpc.h"
#include "tool/session_impl.h"

#include <errno.h>
#include <string.h>

#define LOCAL_TIMEOUT BK_SECOND
#define CONNECT_TIMEOUT (5 * BK_SECOND)

static size_t
list_writable(void *arg, const char **ids, size_t max)
{
	struct bk_session_in *in = arg;
	size_t n = 0;

	if (in->s.registry == NULL)
		return (0);
	for (size_t i = 0; i < bk_registry_count(in->s.registry); i++) {
		const struct bk_bookie_info *b =
		    bk_registry_at(in->s.registry, i);

		if (b->writable && !b->readonly && n < max)
			ids[n++] = b->id;
	}
	return (n);
}

static bool
is_known(void *arg, const char *id)
{
	struct bk_session_in *in = arg;

	return (in->s.registry != NULL &&
	    bk_registry_find(in->s.registry, id) != NULL);
}

static int
resolve(void *arg, const char *id, struct bk_target *target)
{
	struct bk_session_in *in = arg;
	const struct bk_bookie_info *b = NULL;
	const struct bk_endpoint *e = NULL;

	if (in->s.registry != NULL)
		b = bk_registry_find(in->s.registry, id);
	if (b != NULL && b->service != NULL)
		e = bk_service_endpoint(b->service);
	if (e == NULL)
		return (-1);
	target->kind = strcmp(e->protocol, "bookie-unix") == 0 ?
	    BK_TARGET_UNIX :
	    BK_TARGET_TCP;
	target->host = e->host;
	target->port = e->port;
	return (0);
}

static void
on_change(void *arg)
{
	struct bk_session_in *in = arg;

	if (in->s.env == NULL)
		return;
	for (size_t i = 0; i < bk_registry_count(in->s.registry); i++)
		bk_rpc_hint(in->s.env, bk_registry_at(in->s.registry, i)->id);
	bk_client_bookies_changed(&in->s.client);
}

/* Starting local bookies. */

static void
started(void *arg, enum bk_status status)
{
	struct bk_session_in *in = arg;
	bk_done_cb *cb = in->revived;

	in->starter = NULL;
	in->revived = NULL;
	if (cb != NULL)
		cb(in->revived_arg, status);
}

static void
refused(void *arg)
{
	started(arg, BK_EUNREACHABLE);
}

void
bk_session_revive(struct bk_session *s, bk_done_cb *cb, void *arg)
{
	struct bk_session_in *in = bk_session_of(s);

	in->revived = cb;
	in->revived_arg = arg;
	if (in->starter == NULL && s->demand)
		in->starter = bk_starter_new(s->loop, &in->local, started, in);
	if (in->starter == NULL && bk_loop_later(s->loop, refused, in) == -1)
		refused(in);
}

/* A writer misses a bookie; it asks again while that lasts. */
static void
need(void *arg)
{
	struct bk_session_in *in = arg;

	if (in->starter == NULL)
		in->starter =
		    bk_starter_new(in->s.loop, &in->local, started, in);
}

static int
count_up(const struct bk_session_in *in)
{
	int n = 0;

	for (int i = 1; i <= BK_LOCAL_BOOKIES; i++)
		n += bk_local_is_up(&in->local, i);
	return (n);
}

static void
warn_once(const struct bk_session_in *in)
{
	if (in->local.is_new)
		bk_log(BK_LOG_WARNING,
		    "nothing is configured: %d small bookies under %s keep "
		    "the copies, all on this one disk",
		    BK_LOCAL_BOOKIES, in->local.dir);
}

static enum bk_status
start_missing(struct bk_session_in *in)
{
	int up = count_up(in);

	if (up == BK_LOCAL_BOOKIES || (up > 0 && !in->config.need_bookies))
		return (BK_OK);
	warn_once(in);
	bk_session_revive(&in->s, bk_session_step_done, in);
	return (bk_session_await(in, &in->step));
}

static enum bk_status
watch_bookies(struct bk_session_in *in)
{
	enum bk_status status;

	in->s.registry =
	    bk_registry_new(&in->s.tree, bk_session_step_done, on_change, in);
	if (in->s.registry == NULL)
		return (BK_ENOMEM);
	status = bk_session_await(in, &in->step);
	if (status != BK_OK)
		bk_log(BK_LOG_ERROR, "list of bookies: %s",
		    bk_status_text(status));
	return (status);
}

enum bk_status
bk_session_open_bookies(struct bk_session_in *in)
{
	enum bk_status status = BK_OK;

	if (in->s.demand && (in->config.need_bookies || in->config.need_any))
		status = start_missing(in);
	return (status == BK_OK ? watch_bookies(in) : status);
}

enum bk_status
bk_session_open_client(struct bk_session_in *in)
{
	struct bk_rpc_config rpc = {
	    .version = in->config.wire_version,
	    .connect_timeout = CONNECT_TIMEOUT,
	};
	struct bk_client *c = &in->s.client;

	in->s.env = bk_rpc_new(in->s.loop, &rpc, resolve, in);
	if (in->s.env == NULL) {
		bk_log(BK_LOG_ERROR, "%s", strerror(errno));
		return (BK_ESYS);
	}
	c->env = in->s.env;
	c->candidates.arg = in;
	c->candidates.writable = list_writable;
	c->candidates.known = is_known;
	if (in->s.demand && in->config.need_bookies)
		c->candidates.need = need;
	if (in->s.local) {
		c->request_timeout = LOCAL_TIMEOUT;
		c->ensemble_size = c->write_quorum = c->ack_quorum = 2;
	}
	c->window_entries = in->config.window_entries;
	c->window_bytes = in->config.window_bytes;
	c->wire_version = in->config.wire_version;
	bk_client_defaults(c);
	return (BK_OK);
}

void
bk_session_close_bookies(struct bk_session_in *in)
{
	bk_starter_free(in->starter);
	in->starter = NULL;
	bk_registry_free(in->s.registry);
	in->s.registry = NULL;
}
