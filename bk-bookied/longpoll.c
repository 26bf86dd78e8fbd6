/*
 * longpoll.c - who waits for which ledger, what wakes them, what they are
 * told.
 *
 * The store's word that a ledger moved only marks the ledger; at the end of
 * the turn each marked ledger is looked at once and its polls are answered. So
 * a batch of adds costs one look, and the store is never asked from inside its
 * own change.
 */
#include "bk-bookied/longpoll.h"
#include "bk-bookied/client.h"
#include "bk-bookied/request.h"

#include <stdlib.h>
#include <time.h>

#define HASH_NONFATAL_OOM 1
#include <uthash.h>

/* Nobody waits longer than this, whatever it asks for. */
#define WAIT_MAX_MS (INT64_C(24) * 3600 * 1000)

struct polled_ledger {
	int64_t id;
	struct poll_list polls;
	UT_hash_handle hh;
	TAILQ_ENTRY(polled_ledger) moved;
	bool is_moved;
	bool is_fenced; /* or gone: all its polls end */
};

struct longpoll {
	struct client *client;
	struct bk_request req;
	struct bk_timer *timer;
	struct polled_ledger *ledger; /* NULL: taken out, to be answered */
	TAILQ_ENTRY(longpoll) of_ledger;
	TAILQ_ENTRY(longpoll) of_client;
};

struct longpolls {
	struct bk_loop *loop;
	struct polled_ledger *ledgers; /* by id */
	TAILQ_HEAD(, polled_ledger) moved;
	struct poll_list due; /* linked by of_ledger */
	size_t count;
	bool is_scheduled;
};

struct longpolls *
longpolls_new(struct bk_loop *loop)
{
	struct longpolls *l = calloc(1, sizeof(*l));

	if (l == NULL)
		return (NULL);
	l->loop = loop;
	TAILQ_INIT(&l->moved);
	TAILQ_INIT(&l->due);
	return (l);
}

void
longpolls_free(struct longpolls *l)
{
	free(l);
}

size_t
longpolls_count(const struct longpolls *l)
{
	return (l->count);
}

static struct polled_ledger *
find_ledger(struct longpolls *l, int64_t id)
{
	struct polled_ledger *ledger;

	HASH_FIND(hh, l->ledgers, &id, sizeof(id), ledger);
	return (ledger);
}

static struct polled_ledger *
need_ledger(struct longpolls *l, int64_t id)
{
	struct polled_ledger *ledger = find_ledger(l, id);

	if (ledger != NULL)
		return (ledger);
	if ((ledger = calloc(1, sizeof(*ledger))) == NULL)
		return (NULL);
	ledger->id = id;
	TAILQ_INIT(&ledger->polls);
	HASH_ADD(hh, l->ledgers, id, sizeof(ledger->id), ledger);
	if (ledger->hh.tbl == NULL) {
		free(ledger);
		return (NULL);
	}
	return (ledger);
}

/* A ledger nobody waits for is forgotten. */
static void
drop_if_idle(struct longpolls *l, struct polled_ledger *ledger)
{
	if (!TAILQ_EMPTY(&ledger->polls))
		return;
	if (ledger->is_moved)
		TAILQ_REMOVE(&l->moved, ledger, moved);
	HASH_DELETE(hh, l->ledgers, ledger);
	free(ledger);
}

/* Unlink a poll from wherever it is and free it. */
static void
poll_free(struct longpolls *l, struct longpoll *p)
{
	if (p->ledger == NULL)
		TAILQ_REMOVE(&l->due, p, of_ledger);
	else {
		TAILQ_REMOVE(&p->ledger->polls, p, of_ledger);
		drop_if_idle(l, p->ledger);
	}
	TAILQ_REMOVE(&p->client->polls, p, of_client);
	bk_timer_free(p->timer);
	free(p);
	l->count--;
}

void
longpolls_drop(struct client *c)
{
	struct longpoll *p;

	while ((p = TAILQ_FIRST(&c->polls)) != NULL)
		poll_free(c->server->polls, p);
}

/* OK, or why there is nothing to wait for; absent only if that is sure. */
static enum bk_status
status_of(const struct store_ledger *ledger)
{
	enum bk_status absent = ledger->known ? BK_ENOENTRY : BK_ENOLEDGER;

	if (ledger->last_entry != -1 || ledger->has_explicit_lac)
		return (BK_OK);
	return (ledger->in_doubt ? BK_EUNKNOWNSTATE : absent);
}

static void
answer_empty(struct client *c, const struct bk_request *req,
    int64_t lac_time_ms)
{
	struct store_ledger ledger;
	struct bk_response resp;

	store_ledger(c->server->store, req->ledger_id, &ledger);
	if (status_of(&ledger) != BK_OK) {
		answer_status(c, req, status_of(&ledger), 0);
		return;
	}
	bk_response_to(req, BK_OK, &resp);
	resp.entry_id = -1;
	resp.present = BK_RESP_MAX_LAC;
	resp.max_lac = ledger.lac;
	if (lac_time_ms != 0) {
		resp.present |= BK_RESP_LAC_TIME;
		resp.lac_time_ms = lac_time_ms;
	}
	answer(c, &resp, 0);
}

/* The entry right after previous_lac was looked for. */
static void
hit(const struct fetch *f, struct store_entry *entry)
{
	struct client *c = f->client;
	struct store_ledger ledger;
	struct bk_response resp;

	if (entry->status != BK_OK) {
		if (entry->status == BK_EIO || entry->status == BK_ETOOMANY)
			answer_status(c, &f->req, entry->status, 0);
		else
			answer_empty(c, &f->req, f->lac_time_ms);
		store_entry_release(entry);
		return;
	}
	store_ledger(c->server->store, f->req.ledger_id, &ledger);
	bk_response_to(&f->req, BK_OK, &resp);
	resp.entry_id = f->entry_id;
	resp.present = BK_RESP_MAX_LAC;
	resp.max_lac = ledger.lac;
	if (f->lac_time_ms != 0) {
		resp.present |= BK_RESP_LAC_TIME;
		resp.lac_time_ms = f->lac_time_ms;
	}
	answer_entry(c, &resp, entry, answer_order(c, &f->req));
}

/* Waited enough: say what there is. lac_time_ms is when the LAC rose, 0 if it
 * is not what ended the wait. */
static void
answer_poll(struct client *c, const struct bk_request *req, int64_t lac_time_ms)
{
	struct fetch f = {
	    .client = c,
	    .req = *req,
	    .lac_time_ms = lac_time_ms,
	    .done = hit,
	};
	struct store_ledger ledger;

	store_ledger(c->server->store, req->ledger_id, &ledger);
	if ((req->flags & BK_REQ_PIGGYBACK) == 0)
		read_and_answer(c, req, 0);
	else if (!ledger.known || ledger.lac <= req->previous_lac)
		answer_empty(c, req, 0);
	else {
		f.entry_id = req->previous_lac < 0 ? 0 : req->previous_lac + 1;
		fetch(&f);
	}
}

/* Answer one poll and forget it. */
static void
poll_finish(struct longpolls *l, struct longpoll *p, int64_t lac_time_ms)
{
	struct client *c = p->client;
	struct bk_request req = p->req;

	poll_free(l, p);
	answer_poll(c, &req, lac_time_ms);
}

static void
poll_timed_out(void *arg)
{
	struct longpoll *p = arg;

	poll_finish(p->client->server->polls, p, 0);
}

static int64_t
wall_clock_ms(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_REALTIME, &t);
	return ((int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000);
}

/* Take the polls out that a move of their ledger ends. */
static void
wake_ledger(struct longpolls *l, struct polled_ledger *ledger)
{
	struct longpoll *p, *next;
	struct store_ledger now;
	struct store *store;

	p = TAILQ_FIRST(&ledger->polls);
	store = p->client->server->store;
	store_ledger(store, ledger->id, &now);
	for (; p != NULL; p = next) {
		next = TAILQ_NEXT(p, of_ledger);
		if (!ledger->is_fenced && now.lac <= p->req.previous_lac)
			continue;
		TAILQ_REMOVE(&ledger->polls, p, of_ledger);
		TAILQ_INSERT_TAIL(&l->due, p, of_ledger);
		p->ledger = NULL;
	}
	ledger->is_fenced = false;
	drop_if_idle(l, ledger);
}

static void
wake_moved(void *arg)
{
	struct longpolls *l = arg;
	struct polled_ledger *ledger;
	struct longpoll *p;
	int64_t now_ms = wall_clock_ms();

	l->is_scheduled = false;
	while ((ledger = TAILQ_FIRST(&l->moved)) != NULL) {
		TAILQ_REMOVE(&l->moved, ledger, moved);
		ledger->is_moved = false;
		wake_ledger(l, ledger);
	}
	while ((p = TAILQ_FIRST(&l->due)) != NULL)
		poll_finish(l, p, now_ms);
}

void
longpolls_moved(struct longpolls *l, int64_t ledger_id, bool fenced, bool gone)
{
	struct polled_ledger *ledger;

	if (l->count == 0 || (ledger = find_ledger(l, ledger_id)) == NULL)
		return;
	if (fenced || gone)
		ledger->is_fenced = true;
	if (!ledger->is_moved) {
		ledger->is_moved = true;
		TAILQ_INSERT_TAIL(&l->moved, ledger, moved);
	}
	/* Should the loop refuse, the polls end with their time. */
	if (!l->is_scheduled && bk_loop_later(l->loop, wake_moved, l) == 0)
		l->is_scheduled = true;
}

/* Put a poll under its ledger. -1 when out of memory. */
static int
poll_wait(struct longpolls *l, struct client *c, const struct bk_request *req)
{
	struct longpoll *p = calloc(1, sizeof(*p));
	int64_t ms =
	    req->timeout_ms < WAIT_MAX_MS ? req->timeout_ms : WAIT_MAX_MS;

	if (p == NULL)
		return (-1);
	p->client = c;
	p->req = *req;
	p->timer = bk_timer_new(l->loop, poll_timed_out, p);
	if (p->timer == NULL ||
	    (p->ledger = need_ledger(l, req->ledger_id)) == NULL) {
		bk_timer_free(p->timer);
		free(p);
		return (-1);
	}
	bk_timer_set(p->timer, ms * BK_MS);
	TAILQ_INSERT_TAIL(&p->ledger->polls, p, of_ledger);
	TAILQ_INSERT_TAIL(&c->polls, p, of_client);
	l->count++;
	return (0);
}

void
longpoll_read(struct client *c, const struct bk_request *req)
{
	struct longpolls *l = c->server->polls;
	bool waits = (req->flags & BK_REQ_TIMEOUT) != 0 && req->timeout_ms > 0;
	struct store_ledger ledger;

	store_ledger(c->server->store, req->ledger_id, &ledger);
	if (!ledger.known)
		answer_status(c, req, status_of(&ledger), 0);
	else if ((req->flags & BK_REQ_PIGGYBACK) != 0 && req->entry_id != -1)
		answer_status(c, req, BK_EBADREQ, 0);
	else if (!waits || ledger.lac > req->previous_lac)
		answer_poll(c, req, 0);
	else if (l->count >= LONGPOLL_MAX)
		answer_status(c, req, BK_ETOOMANY, 0);
	else if (poll_wait(l, c, req) == -1)
		client_break(c, "out of memory");
}
