/*
 * sim_bookie.c - see sim_bookie.h.
 *
 * Every change has a number in the journal. A sync that begins at number n
 * makes all up to n durable when it ends, and answers what waited for them. A
 * power cut chooses a number between the last durable one and the last one,
 * and takes back all above it.
 */
#include "t/sim/sim_bookie.h"

#include "sums/digest.h"

#include <bsd/sys/queue.h>
#include <stdlib.h>
#include <string.h>

struct stored {
	int64_t entry_id;
	uint64_t number;
	uint8_t *bytes;
	size_t len;
};

struct ledger {
	SLIST_ENTRY(ledger) link;
	int64_t ledger_id;
	uint64_t number; /* of its making */
	uint8_t key[64];
	size_t key_len;
	uint64_t fence; /* number, or 0 */
	int64_t lac;
	uint8_t packet[BK_LAC_PACKET_MAX];
	size_t packet_len;
	struct stored *entries; /* by id */
	size_t count, room;
};

/* An answer that waits for a sync. */
struct owed {
	TAILQ_ENTRY(owed) link;
	uint64_t number;
	struct sim_origin to;
	struct bk_response resp;
	uint8_t *body;
};

/* A long poll, or a request to a bookie that stands still. */
struct parked {
	LIST_ENTRY(parked) link;
	struct sim_bookie *bookie;
	struct sim_event event;
	struct sim_origin from;
	struct bk_request req;
	uint8_t *bytes;
	bool poll;
};

struct sim_bookie {
	struct sim *sim;
	struct sim_net *net;
	char *id;
	bool running;
	int64_t paused_until;
	struct sim_bookie_mood mood;
	SLIST_HEAD(, ledger) ledgers;
	uint64_t last, durable, syncing;
	struct sim_event sync;
	TAILQ_HEAD(, owed) owed;
	LIST_HEAD(, parked) parked;
	size_t adds;
};

static void serve(void *arg, const struct sim_origin *from,
    const struct bk_request *req);

struct sim_bookie *
sim_bookie_new(struct sim *s, struct sim_net *n, const char *id)
{
	struct sim_bookie *b = sim_need(calloc(1, sizeof(*b)));

	b->sim = s;
	b->net = n;
	b->id = sim_need(strdup(id));
	b->mood.sync_min = 200 * 1000;
	b->mood.sync_max = 200 * 1000;
	TAILQ_INIT(&b->owed);
	sim_bookie_start(b);
	return (b);
}

const char *
sim_bookie_id(const struct sim_bookie *b)
{
	return (b->id);
}

bool
sim_bookie_running(const struct sim_bookie *b)
{
	return (b->running);
}

struct sim_bookie_mood *
sim_bookie_mood(struct sim_bookie *b)
{
	return (&b->mood);
}

size_t
sim_bookie_adds(const struct sim_bookie *b)
{
	return (b->adds);
}

void
sim_bookie_pause(struct sim_bookie *b, int64_t until)
{
	b->paused_until = until;
}

/* What is stored. */

static struct ledger *
ledger_of(const struct sim_bookie *b, int64_t ledger_id)
{
	struct ledger *l;

	SLIST_FOREACH(l, &b->ledgers, link)
		if (l->ledger_id == ledger_id)
			return (l);
	return (NULL);
}

/* Where an entry is, or would be. */
static size_t
place(const struct ledger *l, int64_t entry_id)
{
	size_t low = 0, high = l->count;

	while (low < high) {
		size_t mid = (low + high) / 2;

		if (l->entries[mid].entry_id < entry_id)
			low = mid + 1;
		else
			high = mid;
	}
	return (low);
}

static struct stored *
entry_of(const struct ledger *l, int64_t entry_id)
{
	size_t i;

	if (l == NULL || l->count == 0)
		return (NULL);
	if (entry_id == -1)
		return (&l->entries[l->count - 1]);
	i = place(l, entry_id);
	if (i == l->count || l->entries[i].entry_id != entry_id)
		return (NULL);
	return (&l->entries[i]);
}

bool
sim_bookie_holds(const struct sim_bookie *b, int64_t ledger_id,
    int64_t entry_id, struct bk_bytes *entry)
{
	const struct stored *s = entry_of(ledger_of(b, ledger_id), entry_id);

	if (s == NULL)
		return (false);
	*entry = (struct bk_bytes){s->bytes, s->len};
	return (true);
}

bool
sim_bookie_fenced(const struct sim_bookie *b, int64_t ledger_id)
{
	const struct ledger *l = ledger_of(b, ledger_id);

	return (l != NULL && l->fence != 0);
}

bool
sim_bookie_spoil(struct sim_bookie *b, int64_t ledger_id, int64_t entry_id)
{
	struct stored *s = entry_of(ledger_of(b, ledger_id), entry_id);

	if (s == NULL)
		return (false);
	s->bytes[s->len - 1] ^= 1;
	return (true);
}

void
sim_bookie_move(struct sim_bookie *from, struct sim_bookie *to,
    int64_t ledger_id)
{
	struct ledger *l = ledger_of(from, ledger_id);

	SLIST_REMOVE(&from->ledgers, l, ledger, link);
	SLIST_INSERT_HEAD(&to->ledgers, l, link);
}

static void
ledger_free(struct ledger *l)
{
	size_t i;

	for (i = 0; i < l->count; i++)
		free(l->entries[i].bytes);
	free(l->entries);
	free(l);
}

/* The ledger, made with this key if need be; NULL: another key. */
static struct ledger *
ledger_with_key(struct sim_bookie *b, const struct bk_request *req)
{
	struct ledger *l = ledger_of(b, req->ledger_id);

	if (l != NULL)
		return (l->key_len == req->master_key.len &&
			    memcmp(l->key, req->master_key.data, l->key_len) ==
				0 ?
			l :
			NULL);
	l = sim_need(calloc(1, sizeof(*l)));
	l->ledger_id = req->ledger_id;
	l->number = ++b->last;
	l->lac = -1;
	l->key_len = req->master_key.len;
	if (l->key_len > sizeof(l->key))
		abort();
	memcpy(l->key, req->master_key.data, l->key_len);
	SLIST_INSERT_HEAD(&b->ledgers, l, link);
	return (l);
}

/* The first copy stays, as in Java's sorted storage. */
static void
store(struct sim_bookie *b, struct ledger *l, int64_t entry_id,
    struct bk_bytes entry)
{
	size_t i = place(l, entry_id);

	b->last++;
	if (i < l->count && l->entries[i].entry_id == entry_id)
		return;
	if (l->count == l->room) {
		l->room = l->room * 2 + 16;
		l->entries = sim_need(
		    realloc(l->entries, l->room * sizeof(*l->entries)));
	}
	memmove(&l->entries[i + 1], &l->entries[i],
	    (l->count - i) * sizeof(*l->entries));
	l->count++;
	l->entries[i] = (struct stored){entry_id, b->last,
	    sim_need(malloc(entry.len + 1)), entry.len};
	memcpy(l->entries[i].bytes, entry.data, entry.len);
}

/* Answers. */

static void
tell(struct sim_bookie *b, const struct sim_origin *to,
    const struct bk_response *resp)
{
	struct sim_origin from_here = *to;

	from_here.bookie = b->id;
	if (!sim_chance(b->sim, b->mood.deaf))
		sim_net_answer(b->net, &from_here, resp);
}

static void
tell_status(struct sim_bookie *b, const struct sim_origin *to,
    const struct bk_request *req, enum bk_status status)
{
	struct bk_response resp;

	bk_response_to(req, status, &resp);
	tell(b, to, &resp);
}

static void synced(void *arg);

static void
sync_later(struct sim_bookie *b)
{
	if (b->sync.queued)
		return;
	b->syncing = b->last;
	sim_event_set(b->sim, &b->sync,
	    sim_between(b->sim, b->mood.sync_min, b->mood.sync_max), synced, b);
}

/* Answer once all that has been written so far is durable. */
static void
tell_when_synced(struct sim_bookie *b, const struct sim_origin *to,
    const struct bk_response *resp)
{
	struct owed *o = sim_need(calloc(1, sizeof(*o)));

	o->number = b->last;
	o->to = *to;
	o->resp = *resp;
	if (resp->body.len > 0) {
		o->body = sim_need(malloc(resp->body.len));
		memcpy(o->body, resp->body.data, resp->body.len);
		o->resp.body.data = o->body;
	}
	TAILQ_INSERT_TAIL(&b->owed, o, link);
	sync_later(b);
}

static void
owed_free(struct sim_bookie *b, struct owed *o)
{
	TAILQ_REMOVE(&b->owed, o, link);
	free(o->body);
	free(o);
}

static void
synced(void *arg)
{
	struct sim_bookie *b = arg;
	struct owed *o;

	if (b->paused_until > sim_now(b->sim)) {
		sim_event_set(b->sim, &b->sync,
		    b->paused_until - sim_now(b->sim), synced, b);
		return;
	}
	b->durable = b->syncing;
	while ((o = TAILQ_FIRST(&b->owed)) != NULL && o->number <= b->durable) {
		tell(b, &o->to, &o->resp);
		owed_free(b, o);
	}
	if (o != NULL)
		sync_later(b);
}

/* Long polls. */

static struct parked *
park(struct sim_bookie *b, const struct sim_origin *from,
    const struct bk_request *req)
{
	struct parked *p = sim_need(calloc(1, sizeof(*p)));
	size_t key = req->master_key.len, body = req->body.len;

	p->bookie = b;
	p->from = *from;
	p->req = *req;
	p->bytes = sim_need(malloc(key + body + 1));
	if (key > 0)
		memcpy(p->bytes, req->master_key.data, key);
	if (body > 0)
		memcpy(p->bytes + key, req->body.data, body);
	p->req.master_key.data = p->bytes;
	p->req.body.data = p->bytes + key;
	LIST_INSERT_HEAD(&b->parked, p, link);
	return (p);
}

static void
parked_free(struct parked *p)
{
	LIST_REMOVE(p, link);
	sim_event_stop(&p->event);
	free(p->bytes);
	free(p);
}

static void
answer_read(struct sim_bookie *b, const struct sim_origin *from,
    const struct bk_request *req)
{
	struct ledger *l = ledger_of(b, req->ledger_id);
	const struct stored *s = entry_of(l, req->entry_id);
	struct bk_response resp;

	bk_response_to(req, BK_OK, &resp);
	if (l == NULL) {
		resp.status = BK_ENOLEDGER;
	} else if (s == NULL) {
		resp.status = BK_ENOENTRY;
	} else {
		resp.body = (struct bk_bytes){s->bytes, s->len};
		resp.present |= BK_RESP_BODY;
	}
	if (l != NULL && (req->flags & BK_REQ_FENCE) == 0 &&
	    req->version == 3) {
		resp.max_lac = l->lac;
		resp.present |= BK_RESP_MAX_LAC;
	}
	if (l != NULL && (req->flags & BK_REQ_FENCE) != 0)
		tell_when_synced(b, from, &resp);
	else
		tell(b, from, &resp);
}

static void
poll_over(void *arg)
{
	struct parked *p = arg;

	answer_read(p->bookie, &p->from, &p->req);
	parked_free(p);
}

/* Wake those who wait for a higher LAC; all when fenced. */
static void
wake(struct sim_bookie *b, const struct ledger *l, bool all)
{
	struct parked *p, *next;

	LIST_FOREACH_SAFE(p, &b->parked, link, next)
		if (p->poll && p->req.ledger_id == l->ledger_id &&
		    (all || l->lac > p->req.previous_lac))
			poll_over(p);
}

static void
raise_lac(struct sim_bookie *b, struct ledger *l, int64_t lac)
{
	if (lac <= l->lac)
		return;
	l->lac = lac;
	wake(b, l, false);
}

/* Requests. */

static void
add(struct sim_bookie *b, const struct sim_origin *from,
    const struct bk_request *req)
{
	bool recovery = (req->flags & BK_REQ_RECOVERY) != 0;
	struct bk_entry_header h;
	struct bk_response resp;
	struct ledger *l;

	if (b->mood.readonly && (req->flags & BK_REQ_HIGH_PRIORITY) == 0) {
		tell_status(b, from, req, BK_EREADONLY);
		return;
	}
	if (bk_entry_header_get(req->body, &h) != 0) {
		tell_status(b, from, req, BK_EBADREQ);
		return;
	}
	if ((l = ledger_with_key(b, req)) == NULL) {
		tell_status(b, from, req, BK_EUA);
		return;
	}
	if (l->fence != 0 && !recovery) {
		tell_status(b, from, req, BK_EFENCED);
		return;
	}
	b->adds++;
	store(b, l, req->entry_id, req->body);
	raise_lac(b, l, h.lac);
	bk_response_to(req, BK_OK, &resp);
	tell_when_synced(b, from, &resp);
}

static bool
fence(struct sim_bookie *b, const struct sim_origin *from,
    const struct bk_request *req)
{
	struct ledger *l;

	if ((req->flags & BK_REQ_KEY) == 0 ||
	    (l = ledger_with_key(b, req)) == NULL) {
		tell_status(b, from, req, BK_EUA);
		return (false);
	}
	if (l->fence == 0) {
		l->fence = ++b->last;
		wake(b, l, true);
	}
	return (true);
}

static void
read_entry(struct sim_bookie *b, const struct sim_origin *from,
    const struct bk_request *req)
{
	const struct ledger *l;
	struct parked *p;

	if ((req->flags & BK_REQ_FENCE) != 0) {
		if (fence(b, from, req))
			answer_read(b, from, req);
		return;
	}
	l = ledger_of(b, req->ledger_id);
	if (l == NULL || (req->flags & BK_REQ_PREVIOUS_LAC) == 0 ||
	    (req->flags & BK_REQ_TIMEOUT) == 0 || req->timeout_ms <= 0 ||
	    l->lac > req->previous_lac) {
		answer_read(b, from, req);
		return;
	}
	p = park(b, from, req);
	p->poll = true;
	sim_event_set(b->sim, &p->event, req->timeout_ms * BK_MS, poll_over, p);
}

static void
read_lac(struct sim_bookie *b, const struct sim_origin *from,
    const struct bk_request *req)
{
	const struct ledger *l = ledger_of(b, req->ledger_id);
	const struct stored *s = entry_of(l, -1);
	struct bk_response resp;

	bk_response_to(req, BK_ENOENTRY, &resp);
	if (s != NULL) {
		resp.status = BK_OK;
		resp.body = (struct bk_bytes){s->bytes, s->len};
		resp.present |= BK_RESP_BODY;
	}
	if (l != NULL && l->packet_len > 0) {
		if (s == NULL)
			resp.status = BK_EIO;
		resp.lac_body = (struct bk_bytes){l->packet, l->packet_len};
		resp.present |= BK_RESP_LAC_BODY;
	}
	tell(b, from, &resp);
}

static void
write_lac(struct sim_bookie *b, const struct sim_origin *from,
    const struct bk_request *req)
{
	struct ledger *l = ledger_with_key(b, req);
	struct bk_response resp;

	if (l == NULL || req->body.len < 16 ||
	    req->body.len > sizeof(l->packet)) {
		tell_status(b, from, req, l == NULL ? BK_EUA : BK_EBADREQ);
		return;
	}
	b->last++;
	memcpy(l->packet, req->body.data, req->body.len);
	l->packet_len = req->body.len;
	raise_lac(b, l, (int64_t)bk_be64_get(l->packet + 8));
	bk_response_to(req, BK_OK, &resp);
	tell_when_synced(b, from, &resp);
}

static void
handle(struct sim_bookie *b, const struct sim_origin *from,
    const struct bk_request *req)
{
	if (sim_chance(b->sim, b->mood.busy)) {
		tell_status(b, from, req, BK_ETOOMANY);
		return;
	}
	if (sim_chance(b->sim, b->mood.broken)) {
		tell_status(b, from, req, BK_EIO);
		return;
	}
	switch (req->op) {
	case BK_OP_ADD:
		add(b, from, req);
		break;
	case BK_OP_READ:
		read_entry(b, from, req);
		break;
	case BK_OP_READ_LAC:
		read_lac(b, from, req);
		break;
	case BK_OP_WRITE_LAC:
		write_lac(b, from, req);
		break;
	default:
		tell_status(b, from, req, BK_EBADREQ);
		break;
	}
}

static void
pause_over(void *arg)
{
	struct parked *p = arg;
	struct sim_bookie *b = p->bookie;
	int64_t now = sim_now(b->sim);

	if (b->paused_until > now) {
		sim_event_set(b->sim, &p->event, b->paused_until - now,
		    pause_over, p);
		return;
	}
	handle(b, &p->from, &p->req);
	parked_free(p);
}

static void
serve(void *arg, const struct sim_origin *from, const struct bk_request *req)
{
	struct sim_bookie *b = arg;
	int64_t now = sim_now(b->sim);
	struct parked *p;

	if (b->paused_until <= now) {
		handle(b, from, req);
		return;
	}
	p = park(b, from, req);
	sim_event_set(b->sim, &p->event, b->paused_until - now, pause_over, p);
}

/* Coming and going. */

void
sim_bookie_start(struct sim_bookie *b)
{
	b->running = true;
	b->paused_until = 0;
	sim_net_listen(b->net, b->id, serve, b);
}

/* Take back what has a number above cut. */
static void
roll_back(struct sim_bookie *b, uint64_t cut)
{
	struct ledger *l, *next;
	size_t i, kept;

	SLIST_FOREACH_SAFE(l, &b->ledgers, link, next) {
		if (l->number > cut) {
			SLIST_REMOVE(&b->ledgers, l, ledger, link);
			ledger_free(l);
			continue;
		}
		if (l->fence > cut)
			l->fence = 0;
		for (i = kept = 0; i < l->count; i++) {
			if (l->entries[i].number > cut)
				free(l->entries[i].bytes);
			else
				l->entries[kept++] = l->entries[i];
		}
		l->count = kept;
	}
	b->last = cut;
}

/* The LAC is known from the entries, after a restart. */
static void
forget_lacs(struct sim_bookie *b)
{
	struct bk_entry_header h;
	struct ledger *l;
	size_t i;

	SLIST_FOREACH(l, &b->ledgers, link) {
		l->lac = -1;
		l->packet_len = 0;
		for (i = 0; i < l->count; i++)
			if (bk_entry_header_get((struct bk_bytes){l->entries[i]
								      .bytes,
						    l->entries[i].len},
				&h) == 0 &&
			    h.lac > l->lac)
				l->lac = h.lac;
	}
}

static void
drop_work(struct sim_bookie *b)
{
	struct parked *p;
	struct owed *o;

	while ((p = LIST_FIRST(&b->parked)) != NULL)
		parked_free(p);
	while ((o = TAILQ_FIRST(&b->owed)) != NULL)
		owed_free(b, o);
	sim_event_stop(&b->sync);
}

void
sim_bookie_kill(struct sim_bookie *b, bool lose, bool silent)
{
	if (!b->running)
		return;
	b->running = false;
	drop_work(b);
	if (lose)
		roll_back(b,
		    b->durable + sim_random(b->sim, b->last - b->durable + 1));
	b->durable = b->last;
	forget_lacs(b);
	if (silent) {
		sim_net_vanish(b->net, b->id);
	} else {
		sim_net_listen(b->net, b->id, NULL, NULL);
		sim_net_break(b->net, b->id);
	}
}

void
sim_bookie_free(struct sim_bookie *b)
{
	struct ledger *l;

	drop_work(b);
	while ((l = SLIST_FIRST(&b->ledgers)) != NULL) {
		SLIST_REMOVE_HEAD(&b->ledgers, link);
		ledger_free(l);
	}
	free(b->id);
	free(b);
}
