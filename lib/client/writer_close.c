/*
 * writer_close.c - a clean end (client-protocol.md 1.10): wait for what is in
 * flight, then one compare-and-set from OPEN to CLOSED. Whatever else is found
 * there stays as it is (9, D2). The user is told once the members that have
 * not answered yet did so, or a second later: a program that ends right after
 * the close shall not take their copies with it.
 */
#include "client/writer_impl.h"

#define LINGER ((uint32_t)(BK_SECOND / BK_PIPE_TICK))

static enum bk_update
decide(void *arg, struct bk_ledger_meta *m, enum bk_status *status)
{
	const struct bk_guard *g = arg;
	const struct bk_writer *w = g->owner;

	*status = BK_ECANCELED;
	if (w == NULL || w->status != BK_OK)
		return (BK_UPDATE_STOP);
	/* Our own lost answer, or a recovery that found the same. */
	if (m->state == BK_LEDGER_CLOSED && m->last_entry == bk_writer_lac(w) &&
	    m->length == bk_writer_length(w))
		return (BK_UPDATE_DONE);
	if ((*status = bk_writer_judge(w, m)) != BK_OK)
		return (BK_UPDATE_STOP);
	m->state = BK_LEDGER_CLOSED;
	m->last_entry = bk_writer_lac(w);
	m->length = bk_writer_length(w);
	m->ctoken = 0;
	return (BK_UPDATE_WRITE);
}

static void
done(void *arg, enum bk_status status, const struct bk_ledger_meta *m,
    int32_t version)
{
	struct bk_writer *w = bk_guard_release(arg);

	if (w == NULL || w->status != BK_OK)
		return;
	w->close_running = false;
	if (status == BK_OK) {
		bk_writer_adopt_meta(w, m, version);
		w->closed = true;
		w->closed_at = w->pipe.tick;
		bk_writer_close_step(w);
	} else {
		bk_writer_fail(w, status);
	}
}

static void
linger(struct bk_writer *w)
{
	if (w->pipe.tail < w->pipe.next &&
	    w->pipe.tick - w->closed_at <= LINGER)
		return;
	bk_pipe_stop(&w->pipe);
	w->close_ended = true;
	w->close_status = BK_OK;
	bk_writer_settle(w);
}

/* An ensemble change whose call is under way comes first; one whose outcome is
 * unknown need not, since the close reads the record and sets it by version. */
void
bk_writer_close_step(struct bk_writer *w)
{
	if (!w->closing || w->close_running || w->close_ended ||
	    w->status != BK_OK)
		return;
	if (w->closed) {
		linger(w);
		return;
	}
	if (bk_pipe_pending(&w->pipe) > 0 || w->change.running)
		return;
	w->close_running = true;
	bk_ledger_update(w->c->tree, w->ledger_id,
	    w->change.unknown ? NULL : &w->meta, w->version, decide, done,
	    bk_guard_hold(w->guard));
}

void
bk_writer_close(struct bk_writer *w, bk_done_cb *cb, void *arg)
{
	w->close_cb = cb;
	w->close_arg = arg;
	w->closing = true;
	if (w->status != BK_OK) {
		w->close_ended = true;
		w->close_status = w->status;
		bk_writer_settle(w);
		return;
	}
	bk_writer_close_step(w);
}
