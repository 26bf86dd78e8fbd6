/*
 * recover_close.c - the end of a recovery: one compare-and-set from IN_RECOVERY
 * to CLOSED, with the ensembles changed on the way (client-protocol.md 3.1 step
 * 9, 3.2, 3.5, 3.8). Whoever comes second adopts what the first one wrote.
 */
#include "client/recover_impl.h"

#include <string.h>

#define PAUSE (250 * BK_MS)

static int64_t
last_entry(const struct bk_recovery *rec)
{
	return (rec->pipe.next - 1);
}

static enum bk_status
apply(const struct bk_recovery *rec, struct bk_ledger_meta *m,
    const struct bk_segment *s)
{
	size_t last = m->nsegments - 1;
	int i;

	if (s->first_entry > last_entry(rec))
		return (BK_OK); /* nothing lies in it */
	if (s->first_entry < m->segments[last].first_entry)
		return (BK_EBADMETA);
	if (s->first_entry > m->segments[last].first_entry)
		return (bk_ledger_meta_append(m, s->first_entry,
			    (const char *const *)s->bookies) == 0 ?
			BK_OK :
			BK_ENOMEM);
	for (i = 0; i < m->ensemble_size; i++)
		if (strcmp(m->segments[last].bookies[i], s->bookies[i]) != 0 &&
		    bk_ledger_meta_replace(m, last, i, s->bookies[i]) != 0)
			return (BK_ENOMEM);
	return (BK_OK);
}

static enum bk_update
decide(void *arg, struct bk_ledger_meta *m, enum bk_status *status)
{
	const struct bk_guard *g = arg;
	const struct bk_recovery *rec = g->owner;
	size_t i;

	*status = BK_ECANCELED;
	if (rec == NULL)
		return (BK_UPDATE_STOP);
	if (m->state == BK_LEDGER_CLOSED)
		return (BK_UPDATE_DONE);
	*status = BK_EBADMETA;
	if (m->state != BK_LEDGER_IN_RECOVERY || m->nsegments == 0 ||
	    m->ensemble_size != rec->ledger.quorum.ensemble_size)
		return (BK_UPDATE_STOP);
	for (i = 0; i < rec->nchanged; i++)
		if ((*status = apply(rec, m, &rec->changed[i])) != BK_OK)
			return (BK_UPDATE_STOP);
	m->state = BK_LEDGER_CLOSED;
	m->last_entry = last_entry(rec);
	m->length = rec->length;
	return (BK_UPDATE_WRITE);
}

static void
closed(void *arg, enum bk_status status, const struct bk_ledger_meta *m,
    int32_t version)
{
	struct bk_recovery *rec = bk_guard_release(arg);

	(void)version;
	if (rec == NULL)
		return;
	if (status == BK_OK)
		bk_recover_finish(rec, BK_OK, m->last_entry, m->length);
	else
		bk_recover_finish(rec, status, -1, 0);
}

static void
write_end(struct bk_recovery *rec)
{
	rec->phase = BK_RECOVER_CLOSE;
	bk_ledger_update(rec->c->tree, rec->ledger_id, NULL, 0, decide, closed,
	    bk_guard_hold(rec->guard));
}

static void
length_answered(void *arg, const struct bk_response *resp)
{
	struct bk_recovery *rec = arg;
	struct bk_entry_header h;
	struct bk_bytes payload;

	rec->length_ticket = 0;
	if (resp->status != BK_OK ||
	    bk_entry_verify(&rec->ledger.digester, resp->body, rec->ledger_id,
		rec->lac0, &h, &payload) != BK_OK) {
		bk_recover_ask_length(rec);
		return;
	}
	rec->length = h.length;
	write_end(rec);
}

/* The next replica of entry LAC0, which may lie in an earlier segment. When
 * none can be had in time, the length stays the one that Java would write. */
void
bk_recover_ask_length(struct bk_recovery *rec)
{
	const struct bk_quorum *q = &rec->ledger.quorum;
	const struct bk_segment *s =
	    &rec->meta.segments[bk_ledger_meta_segment(&rec->meta, rec->lac0)];
	struct bk_env *env = rec->c->env;
	struct bk_request req = {
	    .op = BK_OP_READ,
	    .version = (uint8_t)rec->c->wire_version,
	    .ledger_id = rec->ledger_id,
	    .entry_id = rec->lac0,
	};

	if (rec->length_ticket != 0)
		return;
	while (rec->length_asked < q->write_quorum) {
		int position =
		    bk_quorum_position(q, rec->lac0, rec->length_asked++);
		struct bk_peer *peer =
		    env->ops->peer(env, s->bookies[position]);

		if (peer == NULL)
			continue;
		rec->length_ticket = env->ops->send(env, peer, &req,
		    rec->c->request_timeout, length_answered, rec);
		if (rec->length_ticket != 0)
			return;
	}
	if (bk_now(env) >= rec->length_deadline) {
		write_end(rec);
		return;
	}
	rec->length_asked = 0;
	env->ops->timer_set(rec->step, PAUSE);
}

/* The length belongs to the last entry kept; if that is LAC0, it was not
 * re-added and has to be looked at (9, D7). */
void
bk_recover_close(struct bk_recovery *rec)
{
	bool added = last_entry(rec) > rec->lac0;

	if (!added)
		rec->length = rec->lac0 < 0 ? 0 : rec->found.length;
	if (added || rec->lac0 < 0 || rec->found.entry_id == rec->lac0) {
		write_end(rec);
		return;
	}
	rec->phase = BK_RECOVER_LENGTH;
	rec->length_deadline = bk_now(rec->c->env) + rec->c->replace_timeout;
	bk_recover_ask_length(rec);
}
