/*
 * reader_fetch.c - one entry from any replica (client-protocol.md 2.2): ask
 * one, on anything but a good entry the next, and after two silent seconds the
 * next one too. The first good answer wins.
 */
#include "client/reader_impl.h"
#include "client/telling.h"

#include <stdlib.h>
#include <string.h>

#define SPECULATE ((uint32_t)(2 * BK_SECOND / BK_READER_TICK))
#define DISTRUST ((uint32_t)(60 * BK_SECOND / BK_READER_TICK))

struct bk_replica *
bk_reader_replica(struct bk_reader *r, const char *id)
{
	struct bk_replica *rep;

	SLIST_FOREACH(rep, &r->replicas, link)
		if (strcmp(rep->id, id) == 0)
			return (rep);
	if ((rep = calloc(1, sizeof(*rep))) == NULL)
		return (NULL);
	if ((rep->id = strdup(id)) == NULL) {
		free(rep);
		return (NULL);
	}
	rep->peer = r->c->env->ops->peer(r->c->env, id);
	SLIST_INSERT_HEAD(&r->replicas, rep, link);
	return (rep);
}

void
bk_replicas_free(struct bk_reader *r)
{
	struct bk_replica *rep;

	while ((rep = SLIST_FIRST(&r->replicas)) != NULL) {
		SLIST_REMOVE_HEAD(&r->replicas, link);
		free(rep->id);
		free(rep);
	}
	free(r->ensemble);
}

struct bk_replica **
bk_reader_ensemble(struct bk_reader *r, int64_t entry_id)
{
	size_t segment = bk_ledger_meta_segment(&r->meta, entry_id);
	size_t i, e = (size_t)r->quorum.ensemble_size;

	if (segment == r->ensemble_of)
		return (r->ensemble);
	if (r->ensemble == NULL &&
	    (r->ensemble = calloc(e, sizeof(struct bk_replica *))) == NULL)
		return (NULL);
	r->ensemble_of = SIZE_MAX;
	for (i = 0; i < e; i++) {
		r->ensemble[i] =
		    bk_reader_replica(r, r->meta.segments[segment].bookies[i]);
		if (r->ensemble[i] == NULL)
			return (NULL);
	}
	r->ensemble_of = segment;
	return (r->ensemble);
}

static bool
doubtful(const struct bk_reader *r, const struct bk_replica *rep)
{
	const struct bk_candidates *c = &r->c->candidates;

	return (rep->peer == NULL ||
	    (rep->failing && r->tick - rep->failed < DISTRUST) ||
	    (c->known != NULL && !c->known(c->arg, rep->id)));
}

/*
 * The order to ask in: the write set's, but where every member has every entry
 * one member first for all of them, so that it reads its disk in order; those
 * in doubt last.
 */
static int
line_up(struct bk_fetch *f)
{
	struct bk_reader *r = f->reader;
	const struct bk_quorum *q = &r->quorum;
	struct bk_replica **ensemble = bk_reader_ensemble(r, f->entry_id);
	int64_t first = f->entry_id;
	int i, doubt;

	f->nasks = 0;
	if (ensemble == NULL)
		return (-1);
	if (q->ensemble_size == q->write_quorum)
		first = r->preferred;
	for (doubt = 0; doubt <= 1; doubt++) {
		for (i = 0; i < q->write_quorum; i++) {
			struct bk_replica *rep;

			rep = ensemble[bk_quorum_position(q, first, i)];
			if (doubtful(r, rep) == (doubt != 0))
				f->asks[f->nasks++].replica = rep;
		}
	}
	return (0);
}

static void
fail(struct bk_fetch *f, enum bk_status status)
{
	f->state = BK_FETCH_FAILED;
	f->status = bk_more_telling(f->status, status);
}

static void
forget_asks(struct bk_fetch *f)
{
	struct bk_env *env = f->reader->c->env;
	int i;

	for (i = 0; i < f->asked; i++) {
		if (f->asks[i].ticket != 0)
			env->ops->cancel(env, f->asks[i].ticket);
		f->asks[i].ticket = 0;
	}
	f->outstanding = 0;
}

/* Where all members have all entries: stay with the one that delivers. */
static void
prefer(struct bk_fetch *f, const struct bk_replica *rep)
{
	struct bk_reader *r = f->reader;
	struct bk_replica **ensemble;
	int i;

	if (rep == f->asks[0].replica ||
	    r->quorum.ensemble_size != r->quorum.write_quorum ||
	    (ensemble = bk_reader_ensemble(r, f->entry_id)) == NULL)
		return;
	for (i = 0; i < r->quorum.ensemble_size; i++)
		if (ensemble[i] == rep)
			r->preferred = (unsigned)i;
}

static void
have(struct bk_fetch *f, struct bk_replica *rep, struct bk_bytes entry)
{
	forget_asks(f);
	prefer(f, rep);
	rep->failing = false;
	rep->good = f->reader->tick;
	f->from = rep;
	f->state = BK_FETCH_HAVE;
	bk_reader_raise(f->reader, f->header.lac);
	bk_range_have(f, entry);
}

static bool ask_next(struct bk_fetch *f);

/* A negative is normal on one replica, and no fault of the bookie. */
static void
answered(void *arg, const struct bk_response *resp)
{
	struct bk_ask *ask = arg;
	struct bk_fetch *f = ask->fetch;
	struct bk_reader *r = f->reader;
	enum bk_status status = resp->status;

	ask->ticket = 0;
	f->outstanding--;
	if (status == BK_OK)
		status = bk_entry_verify(&r->digester, resp->body, r->ledger_id,
		    f->entry_id, &f->header, &f->payload);
	if (status == BK_OK) {
		have(f, ask->replica, resp->body);
		return;
	}
	f->status = bk_more_telling(f->status, status);
	if (!bk_status_negative(status)) {
		ask->replica->failing = true;
		ask->replica->failed = r->tick;
	}
	if (f->outstanding > 0 || ask_next(f) || f->asked < f->nasks)
		return;
	f->state = BK_FETCH_FAILED;
	bk_range_failed(f);
}

/* Whether one more was asked. */
static bool
ask_next(struct bk_fetch *f)
{
	struct bk_reader *r = f->reader;
	struct bk_request req = {
	    .op = BK_OP_READ,
	    .version = (uint8_t)r->c->wire_version,
	    .ledger_id = r->ledger_id,
	    .entry_id = f->entry_id,
	};

	while (f->asked < f->nasks) {
		struct bk_ask *ask = &f->asks[f->asked];

		ask->fetch = f;
		if (ask->replica->peer != NULL) {
			ask->ticket =
			    r->c->env->ops->send(r->c->env, ask->replica->peer,
				&req, r->c->request_timeout, answered, ask);
			if (ask->ticket == 0)
				return (false); /* full: at the next tick */
			f->asked++;
			f->outstanding++;
			f->tick = r->tick;
			return (true);
		}
		f->status = bk_more_telling(f->status, BK_EUNREACHABLE);
		f->asked++;
	}
	return (false);
}

void
bk_fetch_start(struct bk_fetch *f, int64_t entry_id, struct bk_replica *only)
{
	f->state = BK_FETCH_ASKING;
	f->entry_id = entry_id;
	f->status = BK_OK;
	f->asked = 0;
	f->outstanding = 0;
	f->tick = f->reader->tick;
	if (only != NULL) {
		f->asks[0].replica = only;
		f->nasks = 1;
	} else if (line_up(f) != 0) {
		fail(f, BK_ENOMEM);
		return;
	}
	if (!ask_next(f) && f->asked == f->nasks)
		fail(f, BK_EUNREACHABLE);
}

/* A replica that delivers is only busy with what was asked before. */
void
bk_fetch_tick(struct bk_fetch *f)
{
	uint32_t now = f->reader->tick;
	const struct bk_replica *rep;

	if (f->state != BK_FETCH_ASKING || f->asked == f->nasks)
		return;
	if (f->outstanding > 0) {
		rep = f->asks[f->asked - 1].replica;
		if (now - f->tick < SPECULATE || now - rep->good < SPECULATE)
			return;
	}
	if (!ask_next(f) && f->outstanding == 0 && f->asked == f->nasks)
		f->state = BK_FETCH_FAILED;
}

bool
bk_fetch_moved(struct bk_fetch *f)
{
	struct bk_reader *r = f->reader;
	struct bk_replica **ensemble = bk_reader_ensemble(r, f->entry_id);
	int i, j;

	if (ensemble == NULL)
		return (false);
	for (i = 0; i < r->quorum.write_quorum; i++) {
		struct bk_replica *rep =
		    ensemble[bk_quorum_position(&r->quorum, f->entry_id, i)];

		for (j = 0; j < f->nasks && f->asks[j].replica != rep; j++)
			;
		if (j == f->nasks)
			return (true);
	}
	return (false);
}

void
bk_fetch_drop(struct bk_fetch *f)
{
	forget_asks(f);
	free(f->copy);
	f->copy = NULL;
}
