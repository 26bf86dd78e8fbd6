/*
 * reader_wait.c - waiting for more (client-protocol.md 2.4).
 *
 * All members of the last segment are asked to answer as soon as their LAC is
 * above ours, since any one of them may be a member that the writer goes on
 * without. Each has at most one question; it stays out when the wait is over
 * and serves the next one. With v2 there is no such question: the last entry is
 * read again and again, at a growing pause.
 *
 * An answer that brings nothing, and early at that, is met by a pause: the
 * member does not wait, or was just fenced.
 *
 * What counts is a LAC in an entry or packet whose digest is good. An answer's
 * maxLAC is no more than a hint to go and look (trap 24). That the ledger has
 * ended is learnt from the metadata, which are watched.
 */
#include "client/reader_impl.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define POLL (10 * BK_SECOND)
#define PAUSE_FIRST (20 * BK_MS)
#define PAUSE_MAX (500 * BK_MS)

static void ask_all(struct bk_reader *r);

static void
drop_polls(struct bk_reader *r)
{
	struct bk_follow *w = &r->follow;
	int i;

	for (i = 0; i < w->npolls; i++)
		if (w->polls[i].ticket != 0)
			r->c->env->ops->cancel(r->c->env, w->polls[i].ticket);
	w->npolls = 0;
}

void
bk_follow_stop(struct bk_reader *r)
{
	struct bk_follow *w = &r->follow;

	drop_polls(r);
	free(w->polls);
	if (w->beat != NULL)
		r->c->env->ops->timer_free(w->beat);
	if (w->deadline != NULL)
		r->c->env->ops->timer_free(w->deadline);
	memset(w, 0, sizeof(*w));
}

static bool
satisfied(const struct bk_reader *r)
{
	return (r->closed || r->lac > r->follow.known || r->follow.deleted);
}

void
bk_follow_settle(struct bk_reader *r)
{
	struct bk_follow *w = &r->follow;
	enum bk_status status = BK_OK;

	if (!w->active || (!satisfied(r) && !w->over))
		return;
	if (!satisfied(r))
		status = BK_ETIMEOUT;
	else if (w->deleted && !r->closed && r->lac <= w->known)
		status = BK_ENOLEDGER;
	w->active = false;
	w->beating = false;
	r->c->env->ops->timer_stop(w->beat);
	r->c->env->ops->timer_stop(w->deadline);
	w->cb(w->arg, status);
}

static void
wake_if_satisfied(struct bk_reader *r)
{
	if (r->follow.active && satisfied(r))
		bk_reader_settle(r);
}

/* The next round of questions for those that could not keep one. */
static void
beat_later(struct bk_reader *r)
{
	struct bk_follow *w = &r->follow;

	if (!w->active || w->beating)
		return;
	w->beating = true;
	r->c->env->ops->timer_set(w->beat, w->pause);
	w->pause = w->pause * 2 < PAUSE_MAX ? w->pause * 2 : PAUSE_MAX;
}

static void
beat(void *arg)
{
	struct bk_reader *r = arg;
	int i;

	r->follow.beating = false;
	for (i = 0; i < r->follow.npolls; i++)
		r->follow.polls[i].later = false;
	ask_all(r);
}

static void
deadline(void *arg)
{
	struct bk_reader *r = arg;

	r->follow.over = true;
	bk_reader_settle(r);
}

static void answered(void *arg, const struct bk_response *resp);

static void
send(struct bk_poll *p, struct bk_request *req, int64_t timeout)
{
	struct bk_reader *r = p->reader;

	req->version = (uint8_t)r->c->wire_version;
	req->ledger_id = r->ledger_id;
	req->entry_id = -1;
	if (p->replica->peer != NULL)
		p->ticket = r->c->env->ops->send(r->c->env, p->replica->peer,
		    req, timeout, answered, p);
	if (p->ticket == 0) {
		p->later = true;
		beat_later(r);
	}
}

static void
ask(struct bk_poll *p)
{
	struct bk_reader *r = p->reader;
	struct bk_request req = {.op = BK_OP_READ};
	int64_t timeout = r->c->request_timeout;

	p->asking_lac = false;
	p->since = bk_now(r->c->env);
	if (r->c->wire_version != 2) {
		req.flags = BK_REQ_PREVIOUS_LAC | BK_REQ_TIMEOUT;
		req.previous_lac = p->seen > r->lac ? p->seen : r->lac;
		req.timeout_ms = POLL / BK_MS;
		timeout += POLL;
	}
	send(p, &req, timeout);
}

static void
ask_for_proof(struct bk_poll *p)
{
	struct bk_request req = {.op = BK_OP_READ_LAC};

	p->asking_lac = true;
	send(p, &req, p->reader->c->request_timeout);
}

static bool
good(const struct bk_response *resp)
{
	return (resp->status == BK_OK ||
	    (resp->status == BK_EIO &&
		(resp->present & BK_RESP_LAC_BODY) != 0));
}

static void
answered(void *arg, const struct bk_response *resp)
{
	struct bk_poll *p = arg;
	struct bk_reader *r = p->reader;
	bool hinted = (resp->present & BK_RESP_MAX_LAC) != 0;
	bool proof = p->asking_lac, more;
	enum bk_status digest;

	p->ticket = 0;
	if (good(resp))
		bk_reader_raise(r,
		    bk_lac_of(resp, &r->digester, r->ledger_id, &digest, NULL));
	more = hinted && resp->max_lac > p->seen && resp->max_lac > r->lac;
	if (hinted && resp->max_lac > p->seen)
		p->seen = resp->max_lac;
	if (more && !proof && !r->closed) {
		ask_for_proof(p);
		return;
	}
	wake_if_satisfied(r);
	if (!r->follow.active || satisfied(r))
		return;
	if (good(resp) && bk_now(r->c->env) - p->since >= POLL / 2) {
		ask(p);
	} else {
		p->later = true;
		beat_later(r);
	}
}

/* Questions to all members of what is the last segment now. */
static int
aim(struct bk_reader *r)
{
	struct bk_follow *w = &r->follow;
	const struct bk_segment *last =
	    &r->meta.segments[r->meta.nsegments - 1];
	int i;

	if (w->npolls > 0 && w->version == r->version)
		return (0);
	drop_polls(r);
	for (i = 0; i < r->quorum.ensemble_size; i++) {
		struct bk_poll *p = &w->polls[i];

		*p = (struct bk_poll){.reader = r, .seen = -1};
		p->replica = bk_reader_replica(r, last->bookies[i]);
		if (p->replica == NULL)
			return (-1);
	}
	w->npolls = r->quorum.ensemble_size;
	w->version = r->version;
	return (0);
}

static void
ask_all(struct bk_reader *r)
{
	struct bk_follow *w = &r->follow;
	int i;

	if (!w->active || satisfied(r))
		return;
	if (aim(r) != 0) {
		beat_later(r);
		return;
	}
	for (i = 0; i < w->npolls; i++)
		if (w->polls[i].ticket == 0 && !w->polls[i].later)
			ask(&w->polls[i]);
}

static void
watched(void *arg, enum bk_status status, const struct bk_ledger_meta *m,
    int32_t version)
{
	struct bk_reader *r = arg;

	if (status == BK_ENOLEDGER)
		r->follow.deleted = true;
	else if (status == BK_OK && bk_reader_adopt(r, m, version) != 0)
		return; /* out of memory: as good as not seen yet */
	wake_if_satisfied(r);
	ask_all(r);
}

static int
prepare(struct bk_reader *r)
{
	struct bk_follow *w = &r->follow;
	struct bk_env *env = r->c->env;

	if (w->polls == NULL)
		w->polls =
		    calloc((size_t)r->quorum.ensemble_size, sizeof(*w->polls));
	if (w->beat == NULL)
		w->beat = env->ops->timer_new(env, beat, r);
	if (w->deadline == NULL)
		w->deadline = env->ops->timer_new(env, deadline, r);
	if (r->watch == NULL)
		r->watch = bk_ledger_watch_new(r->c, r->ledger_id, watched, r);
	return (w->polls == NULL || w->beat == NULL || w->deadline == NULL ||
		    r->watch == NULL ?
		-1 :
		0);
}

void
bk_reader_wait(struct bk_reader *r, int64_t known, int64_t timeout_ns,
    bk_done_cb *cb, void *arg)
{
	struct bk_follow *w = &r->follow;

	assert(!w->active);
	if (prepare(r) != 0) {
		cb(arg, BK_ENOMEM);
		return;
	}
	w->active = true;
	w->over = false;
	w->known = known;
	w->cb = cb;
	w->arg = arg;
	w->pause = PAUSE_FIRST;
	if (satisfied(r)) {
		bk_reader_settle(r);
		return;
	}
	if (timeout_ns != BK_FOREVER)
		r->c->env->ops->timer_set(w->deadline, timeout_ns);
	beat(r);
}
