/*
 * recover_read.c - reading forward until an entry is absent (client-protocol.md
 * 3.1 step 5, 3.4).
 *
 * Every read carries the fence flag and the key, so that a member which could
 * not be reached before is fenced before it denies. Replicas are those of the
 * ensemble as of IN_RECOVERY, never ones chosen since. One is asked first; when
 * it does not have the entry, or is silent, all others. Entries are looked for
 * ahead, but judged in order, and nothing above the first absent one counts.
 *
 * Only explicit denials make an entry absent. Once there are enough of them,
 * members that have not answered yet get a little time for a positive answer;
 * either verdict is safe.
 */
#include "client/recover_impl.h"

#include <stdlib.h>
#include <string.h>

#define WINDOW 64
#define WINDOW_BYTES ((size_t)16 * 1024 * 1024)
#define SPECULATE (2 * BK_SECOND)
#define GRACE (300 * BK_MS)

static struct bk_recover_fetch *
slot(const struct bk_recovery *rec, int64_t entry_id)
{
	return (&rec->ring[entry_id % WINDOW]);
}

int
bk_recover_read_start(struct bk_recovery *rec)
{
	size_t e = (size_t)rec->ledger.quorum.ensemble_size;
	size_t qw = (size_t)rec->ledger.quorum.write_quorum, i;
	struct bk_env *env = rec->c->env;

	rec->ring = calloc(WINDOW, sizeof(*rec->ring));
	rec->asks = calloc(WINDOW * qw, sizeof(*rec->asks));
	rec->peers = calloc(e, sizeof(struct bk_peer *));
	if (rec->ring == NULL || rec->asks == NULL || rec->peers == NULL)
		return (-1);
	for (i = 0; i < WINDOW; i++) {
		rec->ring[i].rec = rec;
		rec->ring[i].asks = rec->asks + i * qw;
	}
	for (i = 0; i < e; i++)
		rec->peers[i] =
		    env->ops->peer(env, bk_recover_last(rec)->bookies[i]);
	rec->head = rec->next = rec->lac0 + 1;
	rec->silent = 0;
	rec->estimate = WINDOW_BYTES / 8;
	rec->grace_for = -1;
	return (0);
}

static void
cancel_asks(struct bk_recover_fetch *f)
{
	struct bk_env *env = f->rec->c->env;
	int i;

	for (i = 0; i < f->asked; i++) {
		if (f->asks[i].ticket != 0)
			env->ops->cancel(env, f->asks[i].ticket);
		f->asks[i].ticket = 0;
	}
}

void
bk_recover_read_stop(struct bk_recovery *rec)
{
	int64_t e;

	for (e = rec->head; rec->ring != NULL && e < rec->next; e++) {
		cancel_asks(slot(rec, e));
		free(slot(rec, e)->entry);
	}
	rec->head = rec->next = 0;
	free(rec->ring);
	free(rec->asks);
	free(rec->peers);
	rec->ring = NULL;
	rec->asks = NULL;
	rec->peers = NULL;
	rec->c->env->ops->timer_stop(rec->ticker);
	rec->c->env->ops->timer_stop(rec->grace);
	rec->ticking = false;
}

/* Take a good entry: the same payload and length field, our own LAC. The LAC
 * stays what it was at the start, so that none that a slower recovery might
 * not keep gets about (9, D5). */
static int
keep(struct bk_recover_fetch *f, const struct bk_entry_header *found,
    struct bk_bytes payload)
{
	struct bk_recovery *rec = f->rec;
	size_t head = BK_ENTRY_HEADER + rec->ledger.digester.size;
	struct bk_entry_header h = *found;

	h.lac = rec->lac0;
	if ((f->entry = malloc(head + payload.len)) == NULL)
		return (-1);
	if (payload.len > 0)
		memcpy(f->entry + head, payload.data, payload.len);
	bk_entry_seal(&rec->ledger.digester, &h,
	    (struct bk_bytes){f->entry + head, payload.len}, f->entry);
	f->len = head + payload.len;
	f->payload = payload.len;
	f->length = h.length;
	return (0);
}

static void ask_others(struct bk_recover_fetch *f);

static void
judge(struct bk_recover_fetch *f)
{
	struct bk_recovery *rec = f->rec;

	f->verdict = bk_quorum_verdict(&rec->ledger.quorum, f->positive,
	    f->negative, f->answered);
	if (f->verdict == BK_VERDICT_PRESENT)
		cancel_asks(f);
	bk_recover_step(rec);
}

static void
note(struct bk_recover_fetch *f, int position, enum bk_status status)
{
	f->answered++;
	if (status == BK_OK)
		f->positive++;
	else if (bk_status_negative(status))
		f->negative++;
	else
		f->rec->silent |= UINT64_C(1) << position;
	judge(f);
}

static void
answered(void *arg, const struct bk_response *resp)
{
	struct bk_recover_ask *ask = arg;
	struct bk_recover_fetch *f = ask->fetch;
	struct bk_recovery *rec = f->rec;
	enum bk_status status = resp->status;
	struct bk_entry_header h;
	struct bk_bytes payload;

	ask->ticket = 0;
	if (status == BK_EUA) {
		bk_recover_fail(rec, BK_EUA);
		return;
	}
	if (status == BK_OK)
		status = bk_entry_verify(&rec->ledger.digester, resp->body,
		    rec->ledger_id, f->entry_id, &h, &payload);
	if (status == BK_OK && keep(f, &h, payload) != 0) {
		bk_recover_fail(rec, BK_ENOMEM);
		return;
	}
	note(f, ask->position, status);
	if (status != BK_OK)
		ask_others(f);
}

static void
ask_next(struct bk_recover_fetch *f)
{
	struct bk_recovery *rec = f->rec;
	struct bk_recover_ask *ask = &f->asks[f->asked++];
	struct bk_peer *peer = rec->peers[ask->position];
	struct bk_request req = {
	    .op = BK_OP_READ,
	    .version = (uint8_t)rec->c->wire_version,
	    .flags = BK_REQ_FENCE | BK_REQ_KEY | BK_REQ_HIGH_PRIORITY,
	    .ledger_id = rec->ledger_id,
	    .entry_id = f->entry_id,
	    .master_key = {rec->ledger.key, sizeof(rec->ledger.key)},
	};

	f->tick = rec->tick;
	if (peer != NULL)
		ask->ticket = rec->c->env->ops->send(rec->c->env, peer, &req,
		    rec->c->request_timeout, answered, ask);
	if (ask->ticket == 0)
		note(f, ask->position, BK_EUNREACHABLE);
}

static void
ask_others(struct bk_recover_fetch *f)
{
	while (
	    f->positive == 0 && f->asked < f->rec->ledger.quorum.write_quorum)
		ask_next(f);
}

/* The order of the write set, those that were silent before last. */
static void
start(struct bk_recovery *rec, int64_t entry_id)
{
	struct bk_recover_fetch *f = slot(rec, entry_id);
	const struct bk_quorum *q = &rec->ledger.quorum;
	int i, n = 0, silent;

	*f = (struct bk_recover_fetch){
	    .rec = rec,
	    .entry_id = entry_id,
	    .verdict = BK_VERDICT_OPEN,
	    .asks = f->asks,
	};
	for (silent = 0; silent <= 1; silent++) {
		for (i = 0; i < q->write_quorum; i++) {
			int position = bk_quorum_position(q, entry_id, i);

			if ((int)(rec->silent >> position & 1) == silent)
				f->asks[n++] =
				    (struct bk_recover_ask){.fetch = f,
					.position = position};
		}
	}
	ask_next(f);
	if (f->asks[0].ticket == 0)
		ask_others(f);
}

/* What is read and not yet re-added must fit into memory. */
static bool
may_read_on(const struct bk_recovery *rec)
{
	size_t n = WINDOW_BYTES / rec->estimate;

	if (n > WINDOW)
		n = WINDOW;
	return (rec->next == rec->head ||
	    ((size_t)(rec->next - rec->head) < n &&
		rec->pipe.bytes < WINDOW_BYTES &&
		bk_pipe_pending(&rec->pipe) < rec->c->window_entries));
}

static void
wind(struct bk_recovery *rec)
{
	if (rec->ticking || rec->head == rec->next)
		return;
	rec->ticking = true;
	rec->c->env->ops->timer_set(rec->ticker, BK_RECOVER_TICK);
}

static void
read_ahead(struct bk_recovery *rec)
{
	while (may_read_on(rec))
		start(rec, rec->next++);
	wind(rec);
}

/* The entry at head goes back to its quorum. */
static void
take_head(struct bk_recovery *rec, struct bk_recover_fetch *f)
{
	size_t fading = rec->estimate - rec->estimate / 16;

	rec->estimate = f->len > fading ? f->len : fading;
	rec->length = f->length;
	if (bk_pipe_push(&rec->pipe, f->entry, f->len, f->payload) != 0) {
		bk_recover_fail(rec, BK_ENOMEM);
		return;
	}
	f->entry = NULL;
	rec->head++;
}

/* Enough denials: but those who were asked and are not known to be silent get
 * their time. */
static bool
absent_for_good(struct bk_recovery *rec, const struct bk_recover_fetch *f)
{
	if (f->answered >= rec->ledger.quorum.write_quorum)
		return (true);
	if (rec->grace_for != f->entry_id) {
		rec->grace_for = f->entry_id;
		rec->grace_over = false;
		rec->c->env->ops->timer_set(rec->grace, GRACE);
	}
	return (rec->grace_over);
}

void
bk_recover_grace_over(void *arg)
{
	struct bk_recovery *rec = arg;

	rec->grace_over = true;
	bk_recover_step(rec);
}

void
bk_recover_read_go_on(struct bk_recovery *rec)
{
	while (rec->failure == BK_OK && rec->head < rec->next) {
		struct bk_recover_fetch *f = slot(rec, rec->head);

		switch (f->verdict) {
		case BK_VERDICT_PRESENT:
			take_head(rec, f);
			continue;
		case BK_VERDICT_ABSENT:
			if (!absent_for_good(rec, f))
				return;
			bk_recover_read_stop(rec);
			rec->phase = BK_RECOVER_ADD;
			bk_recover_step(rec);
			return;
		case BK_VERDICT_UNDECIDED:
			bk_recover_fail(rec, BK_EUNDECIDED);
			return;
		case BK_VERDICT_OPEN:
			break;
		}
		break;
	}
	if (rec->failure == BK_OK)
		read_ahead(rec);
}

/* A silent replica is not waited for. */
void
bk_recover_ticked(void *arg)
{
	struct bk_recovery *rec = arg;
	int64_t e, patience = rec->c->request_timeout / 2;

	if (patience > SPECULATE)
		patience = SPECULATE;
	rec->ticking = false;
	rec->tick++;
	for (e = rec->head; e < rec->next; e++) {
		struct bk_recover_fetch *f = slot(rec, e);

		if (f->verdict != BK_VERDICT_OPEN ||
		    (rec->tick - f->tick) * BK_RECOVER_TICK < patience)
			continue;
		rec->silent |= UINT64_C(1) << f->asks[0].position;
		ask_others(f);
	}
	wind(rec);
}
