/*
 * sim_env.c - see sim_env.h.
 *
 * A request is a struct request at its process until it is answered, timed out
 * or cancelled, and up to two struct frame on their way. An answer is a frame
 * back, for whatever process and ticket are still there then.
 */
#include "t/sim/sim_env.h"

#include <bsd/sys/queue.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct bk_timer {
	struct sim_event event;
	struct process *process;
	bk_timer_cb *cb;
	void *arg;
};

struct bk_peer {
	SLIST_ENTRY(bk_peer) link;
	struct process *process;
	struct site *site;
	bool cut;
	size_t queued;
};

struct request {
	LIST_ENTRY(request) link;
	struct process *process;
	struct bk_peer *peer;
	uint64_t ticket;
	struct sim_event event; /* its time-out, or a failure under way */
	enum bk_status status;  /* what the event tells */
	enum bk_op op;
	int64_t ledger_id, entry_id;
	bk_reply_cb *cb;
	void *arg;
};

struct process {
	struct bk_env env;
	LIST_ENTRY(process) link;
	struct sim_net *net;
	uint64_t id;
	unsigned version;
	uint64_t tickets;
	int64_t paused_until;
	size_t queue_max;
	LIST_HEAD(, request) requests;
	SLIST_HEAD(, bk_peer) peers;
};

/* Where a bookie listens, or not. */
struct site {
	SLIST_ENTRY(site) link;
	char *id;
	bool vanished;
	sim_serve_fn *serve;
	void *arg;
};

struct frame {
	LIST_ENTRY(frame) link;
	struct sim_event event;
	struct sim_net *net;
	struct site *site;
	uint64_t process;
	uint64_t ticket;
	bool answer;
	size_t len;
	uint8_t *bytes;
};

struct sim_net {
	struct sim *sim;
	struct sim_weather weather;
	uint64_t processes;
	LIST_HEAD(, process) living;
	SLIST_HEAD(, site) sites;
	LIST_HEAD(, frame) frames;
};

struct sim_net *
sim_net_new(struct sim *s)
{
	struct sim_net *n = sim_need(calloc(1, sizeof(*n)));

	n->sim = s;
	n->weather.delay_min = 100 * 1000;
	n->weather.delay_max = 100 * 1000;
	return (n);
}

static void
frame_free(struct frame *f)
{
	LIST_REMOVE(f, link);
	sim_event_stop(&f->event);
	free(f->bytes);
	free(f);
}

void
sim_net_free(struct sim_net *n)
{
	struct frame *f;
	struct site *site;

	while ((f = LIST_FIRST(&n->frames)) != NULL)
		frame_free(f);
	while ((site = SLIST_FIRST(&n->sites)) != NULL) {
		SLIST_REMOVE_HEAD(&n->sites, link);
		free(site->id);
		free(site);
	}
	free(n);
}

struct sim_weather *
sim_net_weather(struct sim_net *n)
{
	return (&n->weather);
}

static struct process *
process_of(struct sim_net *n, uint64_t id)
{
	struct process *p;

	LIST_FOREACH(p, &n->living, link)
		if (p->id == id)
			return (p);
	return (NULL);
}

static struct site *
site_of(struct sim_net *n, const char *id)
{
	struct site *site;

	SLIST_FOREACH(site, &n->sites, link)
		if (strcmp(site->id, id) == 0)
			return (site);
	site = sim_need(calloc(1, sizeof(*site)));
	site->id = sim_need(strdup(id));
	SLIST_INSERT_HEAD(&n->sites, site, link);
	return (site);
}

static struct bk_peer *
peer_of(struct process *p, struct site *site)
{
	struct bk_peer *peer;

	SLIST_FOREACH(peer, &p->peers, link)
		if (peer->site == site)
			return (peer);
	peer = sim_need(calloc(1, sizeof(*peer)));
	peer->process = p;
	peer->site = site;
	SLIST_INSERT_HEAD(&p->peers, peer, link);
	return (peer);
}

/* The end of a request. */

static void
answer(struct request *r, const struct bk_response *resp)
{
	bk_reply_cb *cb = r->cb;
	void *arg = r->arg;

	sim_mark(r->process->net->sim,
	    (uint64_t)resp->status << 48 ^ (uint64_t)r->entry_id);
	LIST_REMOVE(r, link);
	sim_event_stop(&r->event);
	free(r);
	cb(arg, resp);
}

/* A process that stands still sees nothing until it goes on. */
static bool
postponed(const struct process *p, struct sim_event *e)
{
	int64_t now = sim_now(p->net->sim);

	if (p->paused_until <= now)
		return (false);
	sim_event_set(p->net->sim, e, p->paused_until - now, e->fn, e->arg);
	return (true);
}

static void
gave_up(void *arg)
{
	struct request *r = arg;
	struct bk_response resp = {
	    .status = r->status,
	    .op = r->op,
	    .ledger_id = r->ledger_id,
	    .entry_id = r->entry_id,
	};

	if (!postponed(r->process, &r->event))
		answer(r, &resp);
}

static int64_t
delay(struct sim_net *n)
{
	return (
	    sim_between(n->sim, n->weather.delay_min, n->weather.delay_max));
}

static void
refuse(struct request *r)
{
	r->status = BK_EUNREACHABLE;
	sim_event_set(r->process->net->sim, &r->event, delay(r->process->net),
	    gave_up, r);
}

static struct request *
request_of(struct process *p, uint64_t ticket)
{
	struct request *r;

	LIST_FOREACH(r, &p->requests, link)
		if (r->ticket == ticket)
			return (r);
	return (NULL);
}

/* Frames. */

static void
deliver_answer(struct frame *f)
{
	struct process *p = process_of(f->net, f->process);
	struct request *r = p != NULL ? request_of(p, f->ticket) : NULL;
	struct bk_response resp;
	uint8_t *bytes;

	if (p != NULL && postponed(p, &f->event))
		return;
	bytes = f->bytes;
	f->bytes = NULL;
	if (r != NULL && !peer_of(p, f->site)->cut &&
	    bk_response_decode(bytes + 4, f->len - 4, &resp) == BK_OK) {
		/* What a v2 answer or a failed one does not repeat. */
		resp.op = r->op;
		resp.ledger_id = r->ledger_id;
		frame_free(f);
		answer(r, &resp);
	} else {
		frame_free(f);
	}
	free(bytes);
}

static void
deliver_request(struct frame *f)
{
	struct sim_net *n = f->net;
	struct process *p = process_of(n, f->process);
	struct sim_origin from = {f->process, f->ticket, f->site->id};
	struct site *site = f->site;
	struct bk_request req;
	struct request *r;

	if (p != NULL)
		peer_of(p, site)->queued -= f->len;
	if (p != NULL && peer_of(p, site)->cut) {
		frame_free(f);
		return;
	}
	if (site->serve != NULL &&
	    bk_request_decode(f->bytes + 4, f->len - 4, &req) == BK_OK) {
		site->serve(site->arg, &from, &req);
	} else if (!site->vanished && p != NULL) {
		r = request_of(p, f->ticket);
		if (r != NULL)
			refuse(r);
	}
	frame_free(f);
}

static void
arrive(void *arg)
{
	struct frame *f = arg;

	if (f->answer)
		deliver_answer(f);
	else
		deliver_request(f);
}

/* Put bytes on the way, or not. */
static void
post(struct sim_net *n, struct frame about, const struct bk_buf *b)
{
	int copies = 1 + sim_chance(n->sim, n->weather.twice);

	if (sim_chance(n->sim, n->weather.drop))
		copies--;
	for (; copies > 0; copies--) {
		struct frame *f = sim_need(malloc(sizeof(*f)));
		struct process *p = process_of(n, about.process);

		*f = about;
		f->net = n;
		f->len = bk_buf_len(b);
		f->bytes = sim_need(malloc(f->len));
		memcpy(f->bytes, bk_buf_head(b), f->len);
		LIST_INSERT_HEAD(&n->frames, f, link);
		if (!f->answer && p != NULL)
			peer_of(p, f->site)->queued += f->len;
		sim_event_set(n->sim, &f->event, delay(n), arrive, f);
	}
}

/* Bookies. */

void
sim_net_listen(struct sim_net *n, const char *id, sim_serve_fn *serve,
    void *arg)
{
	struct site *site = site_of(n, id);

	site->vanished = false;
	site->serve = serve;
	site->arg = arg;
}

void
sim_net_vanish(struct sim_net *n, const char *id)
{
	struct site *site = site_of(n, id);

	site->vanished = true;
	site->serve = NULL;
}

void
sim_net_break(struct sim_net *n, const char *id)
{
	struct process *p;
	struct request *r;

	LIST_FOREACH(p, &n->living, link)
		LIST_FOREACH(r, &p->requests, link)
			if (strcmp(r->peer->site->id, id) == 0)
				refuse(r);
}

void
sim_net_answer(struct sim_net *n, const struct sim_origin *to,
    const struct bk_response *resp)
{
	struct frame about = {
	    .site = site_of(n, to->bookie),
	    .process = to->process,
	    .ticket = to->ticket,
	    .answer = true,
	};
	struct bk_buf b;

	bk_buf_init(&b);
	if (bk_response_encode(resp, &b) == 0)
		post(n, about, &b);
	bk_buf_fini(&b);
}

/* The env. */

static int64_t
env_now(struct bk_env *env)
{
	return (sim_now(((struct process *)env)->net->sim));
}

static void
env_random(struct bk_env *env, void *out, size_t len)
{
	struct sim *s = ((struct process *)env)->net->sim;
	uint8_t *byte = out;

	while (len-- > 0)
		*byte++ = (uint8_t)sim_random(s, 256);
}

static struct bk_timer *
env_timer_new(struct bk_env *env, bk_timer_cb *cb, void *arg)
{
	struct bk_timer *t = sim_need(calloc(1, sizeof(*t)));

	t->process = (struct process *)env;
	t->cb = cb;
	t->arg = arg;
	return (t);
}

static void
timer_due(void *arg)
{
	struct bk_timer *t = arg;

	if (!postponed(t->process, &t->event))
		t->cb(t->arg);
}

static void
env_timer_set(struct bk_timer *t, int64_t delay_ns)
{
	sim_event_set(t->process->net->sim, &t->event, delay_ns, timer_due, t);
}

static void
env_timer_stop(struct bk_timer *t)
{
	sim_event_stop(&t->event);
}

static void
env_timer_free(struct bk_timer *t)
{
	sim_event_stop(&t->event);
	free(t);
}

static struct bk_peer *
env_peer(struct bk_env *env, const char *id)
{
	struct process *p = (struct process *)env;

	return (peer_of(p, site_of(p->net, id)));
}

static uint64_t
env_send(struct bk_env *env, struct bk_peer *peer, const struct bk_request *req,
    int64_t timeout_ns, bk_reply_cb *cb, void *arg)
{
	struct process *p = (struct process *)env;
	struct bk_request copy = *req;
	struct frame about = {
	    .site = peer->site,
	    .process = p->id,
	    .ticket = ++p->tickets,
	};
	struct request *r;
	struct bk_buf b;

	copy.txn_id = about.ticket;
	if (copy.version == 0)
		copy.version = (uint8_t)p->version;
	bk_buf_init(&b);
	if (bk_request_encode(&copy, &b) != 0) {
		bk_buf_fini(&b);
		return (0);
	}
	if (p->queue_max > 0 && peer->queued + bk_buf_len(&b) > p->queue_max) {
		bk_buf_fini(&b);
		errno = EAGAIN;
		return (0);
	}
	r = sim_need(calloc(1, sizeof(*r)));
	*r = (struct request){
	    .process = p,
	    .peer = peer,
	    .ticket = about.ticket,
	    .status = BK_ETIMEOUT,
	    .op = req->op,
	    .ledger_id = req->ledger_id,
	    .entry_id = req->entry_id,
	    .cb = cb,
	    .arg = arg,
	};
	LIST_INSERT_HEAD(&p->requests, r, link);
	sim_event_set(p->net->sim, &r->event, timeout_ns, gave_up, r);
	post(p->net, about, &b);
	if (sim_chance(p->net->sim, p->net->weather.reset))
		refuse(r);
	bk_buf_fini(&b);
	return (r->ticket);
}

static void
env_cancel(struct bk_env *env, uint64_t ticket)
{
	struct request *r = request_of((struct process *)env, ticket);

	if (r == NULL)
		return;
	LIST_REMOVE(r, link);
	sim_event_stop(&r->event);
	free(r);
}

static size_t
env_queued(struct bk_env *env, struct bk_peer *peer)
{
	(void)env;
	return (peer->queued);
}

static const char *
env_peer_id(struct bk_peer *peer)
{
	return (peer->site->id);
}

static const struct bk_env_ops ops = {
    .now = env_now,
    .random = env_random,
    .timer_new = env_timer_new,
    .timer_set = env_timer_set,
    .timer_stop = env_timer_stop,
    .timer_free = env_timer_free,
    .peer = env_peer,
    .send = env_send,
    .cancel = env_cancel,
    .queued = env_queued,
    .peer_id = env_peer_id,
};

struct bk_env *
sim_env_new(struct sim_net *n, unsigned version)
{
	struct process *p = sim_need(calloc(1, sizeof(*p)));

	p->env.ops = &ops;
	p->net = n;
	p->id = ++n->processes;
	p->version = version;
	LIST_INSERT_HEAD(&n->living, p, link);
	return (&p->env);
}

void
sim_env_free(struct bk_env *env)
{
	struct process *p = (struct process *)env;
	struct bk_peer *peer;
	struct request *r;

	while ((r = LIST_FIRST(&p->requests)) != NULL)
		env_cancel(env, r->ticket);
	while ((peer = SLIST_FIRST(&p->peers)) != NULL) {
		SLIST_REMOVE_HEAD(&p->peers, link);
		free(peer);
	}
	LIST_REMOVE(p, link);
	free(p);
}

void
sim_env_pause(struct bk_env *env, int64_t until)
{
	((struct process *)env)->paused_until = until;
}

void
sim_env_cut(struct bk_env *env, const char *id, bool cut)
{
	env_peer(env, id)->cut = cut;
}

void
sim_env_queue_max(struct bk_env *env, size_t bytes)
{
	((struct process *)env)->queue_max = bytes;
}
