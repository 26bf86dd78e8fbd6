/* bookie_list.c - cookies, registrations, answers. */
#include "bk-ledger/bookie_list.h"

#include "bk-ledger/call.h"

#include <bsd/string.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ASK_TIMEOUT BK_SECOND

struct gathering {
	struct call_wait wait;
	struct bk_session *session;
	struct bookie_list *list;
	size_t cap;
	size_t asked;
};

static struct bookie_item *
find_or_add(struct gathering *g, const char *id)
{
	struct bookie_list *l = g->list;
	struct bookie_item *b;
	size_t i;

	for (i = 0; i < l->n; i++)
		if (strcmp(l->item[i].id, id) == 0)
			return (&l->item[i]);
	if (l->n == g->cap) {
		g->cap = g->cap == 0 ? 16 : g->cap * 2;
		b = reallocarray(l->item, g->cap, sizeof(*b));
		if (b == NULL)
			return (NULL);
		l->item = b;
	}
	b = &l->item[l->n++];
	memset(b, 0, sizeof(*b));
	(void)strlcpy(b->id, id, sizeof(b->id));
	b->total = b->free = -1;
	return (b);
}

/* The list of cookies is the list of all bookies (metadata.md 6.1). */
static void
got_cookies(void *arg, enum bk_status status, const struct bk_meta_reply *r)
{
	struct gathering *g = arg;
	struct bookie_item *b;
	size_t i;

	for (i = 0; status == BK_OK && i < r->nchildren; i++) {
		if ((b = find_or_add(g, r->children[i])) == NULL)
			status = BK_ENOMEM;
		else
			b->has_cookie = true;
	}
	call_done(&g->wait, status == BK_ENONODE ? BK_OK : status);
}

static enum bk_status
gather_cookies(struct gathering *g)
{
	char path[BK_PATH_MAX + 1];

	if (snprintf(path, sizeof(path), "%s/cookies", g->session->tree.root) >=
	    (int)sizeof(path))
		return (BK_ETOOBIG);
	g->wait.done = false;
	bk_meta_children(g->session->meta, path, BK_NO_WATCH, got_cookies, g);
	return (call_result(&g->wait));
}

static void
take_address(struct bookie_item *b, const struct bk_service_info *info)
{
	const struct bk_endpoint *e;

	if (info == NULL || (e = bk_service_endpoint(info)) == NULL)
		return;
	b->pid = info->pid;
	if (strcmp(e->protocol, "bookie-unix") == 0)
		(void)snprintf(b->address, sizeof(b->address), "unix:%s",
		    e->host);
	else
		(void)snprintf(b->address, sizeof(b->address), "%s:%u", e->host,
		    (unsigned)e->port);
}

static enum bk_status
gather_registered(struct gathering *g)
{
	const struct bk_bookie_info *info;
	struct bookie_item *b;
	size_t i, n = bk_registry_count(g->session->registry);

	for (i = 0; i < n; i++) {
		info = bk_registry_at(g->session->registry, i);
		if ((b = find_or_add(g, info->id)) == NULL)
			return (BK_ENOMEM);
		b->registered = true;
		b->writable = info->writable;
		take_address(b, info->service);
	}
	return (BK_OK);
}

static int
by_id(const void *a, const void *b)
{
	return (strcmp(((const struct bookie_item *)a)->id,
	    ((const struct bookie_item *)b)->id));
}

/* Asking for space. */

struct question {
	struct gathering *gathering;
	struct bookie_item *bookie;
};

static void
got_info(void *arg, const struct bk_response *resp)
{
	struct question *q = arg;
	struct gathering *g = q->gathering;
	struct bookie_item *b = q->bookie;

	free(q);
	b->answered = resp->status == BK_OK;
	b->refused = resp->status == BK_EUNREACHABLE;
	if (b->answered && (resp->present & BK_RESP_TOTAL) != 0)
		b->total = resp->total_space;
	if (b->answered && (resp->present & BK_RESP_FREE) != 0)
		b->free = resp->free_space;
	if (--g->asked == 0)
		call_done(&g->wait, BK_OK);
}

static void
ask(struct gathering *g, struct bookie_item *b)
{
	struct bk_env *env = g->session->env;
	struct bk_request req = {.op = BK_OP_BOOKIE_INFO,
	    .version = 3,
	    .requested_info = BK_INFO_TOTAL | BK_INFO_FREE};
	struct bk_peer *peer = env->ops->peer(env, b->id);
	struct question *q = malloc(sizeof(*q));

	if (q == NULL || peer == NULL) {
		free(q);
		return;
	}
	q->gathering = g;
	q->bookie = b;
	if (env->ops->send(env, peer, &req, ASK_TIMEOUT, got_info, q) == 0)
		free(q);
	else
		g->asked++;
}

enum bk_status
bookie_list_read(struct bk_session *s, struct bookie_list *l)
{
	struct gathering g = {.wait = {.session = s}, .session = s, .list = l};
	enum bk_status status;
	size_t i;

	memset(l, 0, sizeof(*l));
	if ((status = gather_cookies(&g)) != BK_OK ||
	    (status = gather_registered(&g)) != BK_OK)
		return (status);
	qsort(l->item, l->n, sizeof(*l->item), by_id);
	g.wait.done = false;
	for (i = 0; i < l->n; i++)
		if (l->item[i].registered)
			ask(&g, &l->item[i]);
	return (g.asked == 0 ? BK_OK : call_result(&g.wait));
}

void
bookie_list_fini(struct bookie_list *l)
{
	free(l->item);
	memset(l, 0, sizeof(*l));
}

const char *
bookie_state(const struct bookie_item *b)
{
	if (!b->registered || b->refused)
		return ("down");
	return (b->answered ? "up" : "silent");
}
