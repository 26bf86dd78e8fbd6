/*
 * session.c - the metadata store at start, while running, and at the end.
 *
 * A lost connection is waited out: the session lives, and adds go on. A lost
 * session is replaced by the store's client, which says so, and the bookie
 * registers again. Only a store that refuses us ends the bookie.
 */
#include "bk-bookied/session.h"
#include "base/log.h"
#include "bk-bookied/await.h"
#include "bk-bookied/listed.h"

#include <bsd/string.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct session {
	struct bk_loop *loop;
	struct session_config config;
	struct bk_cluster_uri uri;
	struct bk_meta *meta;
	struct bk_tree tree;
	char *instance;
	struct await connected; /* the first time */
	int64_t lost;           /* monotonic ns since when; 0: in touch */
	struct bk_registration *registration;
	struct listed *listed;   /* instead of it, if the bookie stays listed */
	struct await registered; /* the first time */
	bool is_closing;
	void (*left)(void *arg);
	void *left_arg;
};

static void
in_touch(struct session *s)
{
	if (s->lost != 0)
		bk_log(BK_LOG_INFO,
		    "metadata store: in touch again after %" PRId64 " s",
		    (bk_clock_now() - s->lost) / BK_SECOND);
	s->lost = 0;
	if (!s->connected.done)
		await_done(&s->connected, BK_OK);
}

static void
out_of_touch(struct session *s, const char *reason)
{
	if (s->lost != 0 || !s->connected.done)
		return;
	s->lost = bk_clock_now();
	bk_log(BK_LOG_WARNING, "metadata store: %s; serving goes on", reason);
}

static void
has_failed(struct session *s, enum bk_status status, const char *reason)
{
	bk_log(BK_LOG_ERROR, "cluster %s: %s", s->config.cluster, reason);
	if (!s->connected.done)
		await_done(&s->connected, status);
	else
		s->config.failed(s->config.arg, status);
}

static void
on_state(void *arg, enum bk_meta_state state, enum bk_status status,
    const char *reason)
{
	struct session *s = arg;

	switch (state) {
	case BK_META_CONNECTING:
		out_of_touch(s, reason);
		break;
	case BK_META_CONNECTED:
		in_touch(s);
		break;
	case BK_META_NEW_SESSION:
		in_touch(s);
		if (s->registration == NULL)
			break;
		bk_log(BK_LOG_WARNING,
		    "metadata store: the session expired; registering again");
		bk_registration_renew(s->registration);
		break;
	case BK_META_FAILED:
		has_failed(s, status, reason);
		break;
	}
}

static enum bk_status
connect_store(struct session *s)
{
	char label[128], host[64] = "";
	struct bk_meta_config config = {
	    .session_timeout = s->config.session_timeout,
	    .connect_timeout = s->config.connect_timeout,
	    .auth_file = s->config.auth_file,
	    .own_thread = true,
	    .create = true,
	    .label = label,
	};
	enum bk_status status = BK_ESYS;
	const char *why = "";

	(void)gethostname(host, sizeof(host) - 1);
	(void)snprintf(label, sizeof(label), "bk-bookied %s %ld", host,
	    (long)getpid());
	s->meta =
	    bk_meta_open(s->loop, &s->uri, &config, on_state, s, &status, &why);
	if (s->meta == NULL) {
		bk_log(BK_LOG_ERROR, "cluster %s: %s", s->config.cluster, why);
		return (status);
	}
	return (await(&s->connected, s->loop));
}

static enum bk_status
await_tree(struct session *s, bool make)
{
	struct await w;
	enum bk_status status;

	await_init(&w);
	if (make)
		bk_tree_init(&s->tree, await_done, &w);
	else
		bk_tree_open(&s->tree, s->uri.layout, await_done, &w);
	status = await(&w, s->loop);
	await_fini(&w);
	return (status);
}

/* An embedded store is made whole by the first who comes. */
static enum bk_status
open_tree(struct session *s)
{
	enum bk_status status;

	s->tree.meta = s->meta;
	(void)strlcpy(s->tree.root, s->uri.root, sizeof(s->tree.root));
	status = await_tree(s, false);
	if (status == BK_ENONODE && session_is_local(s)) {
		status = await_tree(s, true);
		if (status == BK_OK || status == BK_EEXIST)
			status = await_tree(s, false);
	}
	if (status == BK_ENONODE) {
		bk_log(BK_LOG_ERROR,
		    "cluster %s: not there; make it with 'bk-ledger cluster "
		    "init'",
		    s->config.cluster);
		return (BK_ECONFIG);
	}
	if (status == BK_ECONFIG)
		bk_log(BK_LOG_ERROR, "cluster %s: its LAYOUT is another one",
		    s->config.cluster);
	else if (status != BK_OK)
		bk_log(BK_LOG_ERROR, "cluster %s: %s", s->config.cluster,
		    bk_status_text(status));
	return (status);
}

static enum bk_status
learn_instance(struct session *s)
{
	struct bk_bytes text;
	struct await w;
	enum bk_status status;

	await_init(&w);
	bk_tree_instance(&s->tree, await_text, &w);
	status = await(&w, s->loop);
	text = await_data(&w);
	if (status == BK_OK) {
		s->instance = strndup((const char *)text.data, text.len);
		if (s->instance == NULL)
			status = BK_ENOMEM;
	} else if (status == BK_ENONODE)
		status = BK_OK;
	await_fini(&w);
	if (status != BK_OK)
		bk_log(BK_LOG_ERROR, "cluster %s: its instance id: %s",
		    s->config.cluster, bk_status_text(status));
	return (status);
}

static enum bk_status
parse_cluster(struct session *s)
{
	const char *why = "";

	if (bk_cluster_uri_parse(s->config.cluster, &s->uri, &why) == 0)
		return (BK_OK);
	bk_log(BK_LOG_ERROR, "cluster %s: %s", s->config.cluster, why);
	return (BK_EINVAL);
}

enum bk_status
session_open(struct bk_loop *loop, const struct session_config *config,
    struct session **session)
{
	struct session *s = calloc(1, sizeof(*s));
	enum bk_status status;

	*session = NULL;
	if (s == NULL)
		return (BK_ENOMEM);
	s->loop = loop;
	s->config = *config;
	await_init(&s->connected);
	await_init(&s->registered);
	status = parse_cluster(s);
	if (status == BK_OK)
		status = connect_store(s);
	if (status == BK_OK)
		status = open_tree(s);
	if (status == BK_OK)
		status = learn_instance(s);
	if (status == BK_OK)
		*session = s;
	else if (status != BK_ECANCELED)
		session_close(s);
	return (status);
}

void
session_close(struct session *s)
{
	if (s == NULL)
		return;
	s->is_closing = true;
	if (s->registration != NULL)
		bk_registration_free(s->registration, NULL, NULL);
	bk_meta_close(s->meta);
	listed_free(s->listed);
	bk_cluster_uri_fini(&s->uri);
	free(s->instance);
	free(s);
}

const struct bk_tree *
session_tree(const struct session *s)
{
	return (&s->tree);
}

const char *
session_instance(const struct session *s)
{
	return (s->instance);
}

bool
session_is_local(const struct session *s)
{
	return (s->uri.kind == BK_CLUSTER_LOCAL);
}

const char *
session_store_dir(const struct session *s)
{
	return (session_is_local(s) ? s->uri.dir : NULL);
}

/* Each time the node stands, and when it was given up. */
static void
registration_state(void *arg, enum bk_status status)
{
	struct session *s = arg;

	if (s->is_closing)
		return;
	if (!s->registered.done) {
		await_done(&s->registered, status);
		return;
	}
	if (status == BK_OK)
		bk_log(BK_LOG_INFO, "registered");
	else if (status != BK_EEXIST)
		s->config.failed(s->config.arg, status);
}

static enum bk_status
begin_registration(struct session *s, const char *id,
    const struct bk_service_info *info, bool readonly, bool stays)
{
	struct bk_buf payload;
	struct bk_bytes bytes;
	enum bk_status status = BK_ENOMEM;

	bk_buf_init(&payload);
	if (bk_service_info_encode(info, &payload) == 0) {
		bytes = (struct bk_bytes){bk_buf_head(&payload),
		    bk_buf_len(&payload)};
		if (stays)
			s->listed = listed_new(&s->tree, id, bytes, readonly,
			    registration_state, s);
		else
			s->registration = bk_registration_new(&s->tree, id,
			    bytes, readonly, registration_state, s);
		if (s->listed != NULL || s->registration != NULL)
			status = BK_OK;
	}
	bk_buf_fini(&payload);
	return (status);
}

enum bk_status
session_register(struct session *s, const char *bookie_id,
    const struct bk_service_info *info, bool readonly, bool stays)
{
	enum bk_status status =
	    begin_registration(s, bookie_id, info, readonly, stays);

	if (status == BK_OK)
		status = await(&s->registered, s->loop);
	/* A predecessor's node lists us until ours takes its place. */
	if (status == BK_EEXIST)
		status = BK_OK;
	if (status != BK_OK && status != BK_ECANCELED)
		bk_log(BK_LOG_ERROR, "bookie %s: cannot register: %s",
		    bookie_id, bk_status_text(status));
	return (status);
}

void
session_mode(struct session *s, bool readonly)
{
	if (s->registration != NULL)
		bk_registration_mode(s->registration, readonly);
	if (s->listed != NULL)
		listed_mode(s->listed, readonly);
}

/* Whatever came of it: the end of the session removes what is left. */
static void
has_left(void *arg, enum bk_status status)
{
	struct session *s = arg;

	(void)status;
	s->left(s->left_arg);
}

void
session_leave(struct session *s, void (*done)(void *arg), void *arg)
{
	struct bk_registration *r = s->registration;

	s->left = done;
	s->left_arg = arg;
	s->registration = NULL;
	if (r != NULL)
		bk_registration_free(r, has_left, s);
	else if (bk_loop_later(s->loop, done, arg) == -1)
		done(arg);
}
