/* session.c - opening the metadata store, and the tree in it. */
#include "tool/session.h"

#include "base/log.h"
#include "loop/rpc.h"
#include "tool/session_impl.h"

#include <bsd/string.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TIMEOUT (10 * BK_SECOND)
#define SLACK BK_SECOND /* for the store to report its own time-out first */

enum bk_status
bk_session_await(struct bk_session_in *in, struct bk_session_wait *wait)
{
	int64_t end = bk_clock_now() + in->config.timeout + SLACK;

	if (!bk_loop_run_until(in->s.loop, &wait->done, end))
		return (BK_ETIMEOUT);
	wait->done = false;
	return (wait->status);
}

void
bk_session_step_done(void *arg, enum bk_status status)
{
	struct bk_session_in *in = arg;

	in->step.status = status;
	in->step.done = true;
}

static void
on_sync(void *arg, enum bk_status status, const struct bk_meta_reply *reply)
{
	(void)reply;
	bk_session_step_done(arg, status);
}

static const char *
cluster_text(const struct bk_session_in *in)
{
	return (in->config.cluster != NULL ? in->config.cluster : in->uri.dir);
}

static void
connected(struct bk_session_in *in, enum bk_status status)
{
	if (in->lost)
		bk_log(BK_LOG_INFO, "metadata store: in touch again");
	in->lost = false;
	in->connected.status = status;
	in->connected.done = true;
}

/* While it opens the reason is kept; later it is said. */
static void
not_connected(struct bk_session_in *in, enum bk_status status,
    const char *reason, bool for_good)
{
	(void)strlcpy(in->reason, reason, sizeof(in->reason));
	if (in->s.client.tree == NULL && (for_good || status == BK_EHELD)) {
		connected(in, status);
	} else if (in->s.client.tree != NULL && !in->lost) {
		bk_log(BK_LOG_WARNING, "metadata store: %s", reason);
		in->lost = true;
	}
}

static void
on_state(void *arg, enum bk_meta_state state, enum bk_status status,
    const char *reason)
{
	struct bk_session_in *in = arg;

	switch (state) {
	case BK_META_CONNECTING:
		not_connected(in, status, reason, false);
		break;
	case BK_META_FAILED:
		not_connected(in, status, reason, true);
		break;
	case BK_META_CONNECTED:
	case BK_META_NEW_SESSION:
		connected(in, BK_OK);
		break;
	}
}

static enum bk_status
fail(const struct bk_session_in *in, enum bk_status status, const char *why)
{
	bk_log(BK_LOG_ERROR, "cluster %s: %s", cluster_text(in), why);
	return (status);
}

/* Nothing was configured: the store in our own state directory. */
static enum bk_status
find_local(struct bk_session_in *in)
{
	enum bk_status status = bk_local_open(&in->local, in->config.create);

	if (status != BK_OK)
		return (status);
	in->s.demand = true;
	in->uri.kind = BK_CLUSTER_LOCAL;
	if (asprintf(&in->uri.dir, "%s/store", in->local.dir) == -1)
		in->uri.dir = NULL;
	in->uri.root = strdup("/ledgers");
	return (
	    in->uri.dir != NULL && in->uri.root != NULL ? BK_OK : BK_ENOMEM);
}

static enum bk_status
find_cluster(struct bk_session_in *in)
{
	const char *why = "";
	enum bk_status status;

	if (in->config.cluster == NULL)
		status = find_local(in);
	else if (bk_cluster_uri_parse(in->config.cluster, &in->uri, &why) == -1)
		return (fail(in, BK_ECONFIG, why));
	else
		status = BK_OK;
	in->s.local = in->uri.kind == BK_CLUSTER_LOCAL;
	return (status);
}

static enum bk_status
open_store(struct bk_session_in *in)
{
	char label[128], host[64] = "";
	struct bk_meta_config config = {
	    .connect_timeout = in->config.timeout,
	    .auth_file = in->config.auth_file,
	    .create = in->config.create,
	    .label = label,
	};
	enum bk_status status = BK_ESYS;
	const char *why = "";

	(void)gethostname(host, sizeof(host) - 1);
	(void)snprintf(label, sizeof(label), "%s %s %ld", bk_log_program(),
	    host, (long)getpid());
	in->s.meta = bk_meta_open(in->s.loop, &in->uri, &config, on_state, in,
	    &status, &why);
	if (in->s.meta == NULL && status == BK_ENONODE && in->s.local)
		return (status);
	if (in->s.meta == NULL)
		return (fail(in, status, why));
	status = bk_session_await(in, &in->connected);
	if (status == BK_ETIMEOUT)
		status = BK_ESTORE;
	if (status != BK_OK)
		return (fail(in, status,
		    in->reason[0] != '\0' ? in->reason :
					    bk_status_text(status)));
	return (BK_OK);
}

static enum bk_status
make_tree(struct bk_session_in *in)
{
	enum bk_status status;

	bk_tree_init(&in->s.tree, bk_session_step_done, in);
	status = bk_session_await(in, &in->step);
	if (status != BK_OK && status != BK_EEXIST)
		return (status);
	bk_tree_open(&in->s.tree, in->uri.layout, bk_session_step_done, in);
	return (bk_session_await(in, &in->step));
}

static enum bk_status
open_tree(struct bk_session_in *in)
{
	enum bk_status status;

	in->s.tree.meta = in->s.meta;
	(void)strlcpy(in->s.tree.root, in->uri.root, sizeof(in->s.tree.root));
	bk_meta_sync(in->s.meta, in->uri.root, on_sync, in);
	status = bk_session_await(in, &in->step);
	if (status == BK_OK || status == BK_ENONODE) {
		bk_tree_open(&in->s.tree, in->uri.layout, bk_session_step_done,
		    in);
		status = bk_session_await(in, &in->step);
	}
	if (status == BK_ENONODE && in->s.local && in->config.create)
		status = make_tree(in);
	if (status == BK_OK || (status == BK_ENONODE && in->s.local))
		return (status);
	if (status == BK_ENONODE)
		return (fail(in, BK_ECONFIG,
		    "not there; make it with 'bk-ledger cluster init'"));
	if (status == BK_ECONFIG)
		return (fail(in, status, "its LAYOUT is another one"));
	return (fail(in, status, bk_status_text(status)));
}

enum bk_status
bk_session_open(const struct bk_session_config *config,
    struct bk_session **session)
{
	struct bk_session_in *in = calloc(1, sizeof(*in));
	enum bk_status status;

	*session = NULL;
	if (in == NULL || (in->s.loop = bk_loop_new()) == NULL) {
		bk_log(BK_LOG_ERROR, "%s", strerror(errno));
		free(in);
		return (BK_ESYS);
	}
	in->config = *config;
	in->config.create |= config->need_bookies;
	if (in->config.timeout == 0)
		in->config.timeout = TIMEOUT;
	status = find_cluster(in);
	if (status == BK_OK)
		status = open_store(in);
	if (status == BK_OK)
		status = open_tree(in);
	if (status == BK_OK) {
		in->s.client.tree = &in->s.tree;
		bk_local_entered(&in->local);
	}
	if (status == BK_OK && config->bookies)
		status = bk_session_open_bookies(in);
	if (status == BK_OK)
		status = bk_session_open_client(in);
	if (status == BK_OK)
		*session = &in->s;
	else
		bk_session_close(&in->s);
	return (status);
}

void
bk_session_close(struct bk_session *s)
{
	struct bk_session_in *in;

	if (s == NULL)
		return;
	in = bk_session_of(s);
	bk_session_close_bookies(in);
	/* What it cancels may still have timers of the env. */
	bk_meta_close(s->meta);
	if (s->env != NULL)
		bk_rpc_free(s->env);
	bk_loop_free(s->loop);
	bk_local_close(&in->local);
	bk_cluster_uri_fini(&in->uri);
	free(in);
}

void
bk_session_quorum(const struct bk_session *s, struct bk_ledger_params *p)
{
	const struct bk_client *c = &s->client;

	if (p->ensemble_size == 0) {
		p->ensemble_size = c->ensemble_size;
		if (p->write_quorum > p->ensemble_size)
			p->ensemble_size = p->write_quorum;
		if (p->write_quorum == 0 && p->ack_quorum > p->ensemble_size)
			p->ensemble_size = p->ack_quorum;
	}
	if (p->write_quorum == 0) {
		p->write_quorum = c->write_quorum;
		if (p->write_quorum < p->ack_quorum)
			p->write_quorum = p->ack_quorum;
		if (p->write_quorum > p->ensemble_size)
			p->write_quorum = p->ensemble_size;
	}
	if (p->ack_quorum == 0) {
		p->ack_quorum = c->ack_quorum;
		if (p->ack_quorum > p->write_quorum)
			p->ack_quorum = p->write_quorum;
	}
}

int
bk_session_fail(enum bk_status status, const char *fmt, ...)
{
	char object[512];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(object, sizeof(object), fmt, ap);
	va_end(ap);
	bk_log(BK_LOG_ERROR, "%s: %s", object, bk_status_text(status));
	return (bk_status_exit(status));
}
