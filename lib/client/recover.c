/*
 * recover.c - the course of a recovery (client-protocol.md 3.1):
 *
 *	mark   compare-and-set OPEN -> IN_RECOVERY; no writer can change the
 *	       ensemble any more
 *	fence  all members of the last segment; learn their highest LAC
 *	read   forward from LAC + 1 until an entry is absent   recover_read.c
 *	add    what was found, back to an ack quorum           recover_add.c
 *	close  compare-and-set IN_RECOVERY -> CLOSED           recover_close.c
 *
 * Metadata are written by the first and the last step only. A try that fails
 * in between leaves nothing behind but the mark and harmless copies; if more
 * bookies might help, it starts over after a pause, with nothing remembered.
 */
#include "client/recover_impl.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define PAUSE (250 * BK_MS)

const struct bk_segment *
bk_recover_last(const struct bk_recovery *rec)
{
	return (&rec->meta.segments[rec->meta.nsegments - 1]);
}

void
bk_recover_step(struct bk_recovery *rec)
{
	rec->c->env->ops->timer_set(rec->step, 0);
}

void
bk_recover_fail(struct bk_recovery *rec, enum bk_status status)
{
	if (rec->failure == BK_OK)
		rec->failure = status;
	bk_recover_step(rec);
}

/* Forget this try. */
static void
reset(struct bk_recovery *rec)
{
	struct bk_env *env = rec->c->env;

	env->ops->timer_stop(rec->step);
	bk_recover_read_stop(rec);
	bk_recover_add_stop(rec);
	bk_lac_query_free(rec->fence);
	rec->fence = NULL;
	if (rec->length_ticket != 0)
		env->ops->cancel(env, rec->length_ticket);
	rec->length_ticket = 0;
	rec->length_asked = 0;
	bk_ledger_meta_fini(&rec->meta);
	rec->phase = BK_RECOVER_MARK;
	rec->failure = BK_OK;
}

static void
dispose(struct bk_recovery *rec)
{
	struct bk_timer *const timers[] = {rec->begin, rec->step, rec->ticker,
	    rec->grace};
	size_t i;

	for (i = 0; i < sizeof(timers) / sizeof(timers[0]); i++)
		if (timers[i] != NULL)
			rec->c->env->ops->timer_free(timers[i]);
	bk_guard_drop(rec->guard);
	bk_credential_fini(&rec->credential);
	free(rec);
}

void
bk_recover_finish(struct bk_recovery *rec, enum bk_status status,
    int64_t last_entry, int64_t length)
{
	bk_recover_cb *cb = rec->cb;
	void *arg = rec->arg;

	reset(rec);
	dispose(rec);
	cb(arg, status, last_entry, length);
}

void
bk_recover_abort(struct bk_recovery *rec)
{
	if (rec == NULL)
		return;
	reset(rec);
	dispose(rec);
}

static bool
worth_another(enum bk_status status)
{
	switch (status) {
	case BK_EUNDECIDED:
	case BK_ENOTENOUGH:
	case BK_ETIMEOUT:
		return (true);
	default:
		return (false);
	}
}

static void
give_up_or_try_again(struct bk_recovery *rec)
{
	struct bk_candidates *candidates = &rec->c->candidates;
	enum bk_status status = rec->failure;

	if (!worth_another(status) || bk_now(rec->c->env) >= rec->deadline) {
		bk_recover_finish(rec, status, -1, 0);
		return;
	}
	reset(rec);
	if (candidates->need != NULL)
		candidates->need(candidates->arg);
	rec->c->env->ops->timer_set(rec->begin, PAUSE);
}

/* LAC0: everything below the last key is confirmed by construction. */
static void
start_reading(struct bk_recovery *rec)
{
	int64_t floor = bk_recover_last(rec)->first_entry - 1;

	rec->lac0 = rec->found.lac > floor ? rec->found.lac : floor;
	rec->phase = BK_RECOVER_READ;
	if (bk_recover_add_start(rec) != 0 || bk_recover_read_start(rec) != 0)
		bk_recover_fail(rec, BK_ENOMEM);
	else
		bk_recover_read_go_on(rec);
}

static void
step(void *arg)
{
	struct bk_recovery *rec = arg;

	if (rec->failure != BK_OK) {
		give_up_or_try_again(rec);
		return;
	}
	switch (rec->phase) {
	case BK_RECOVER_FENCED:
		start_reading(rec);
		break;
	case BK_RECOVER_READ:
		bk_recover_add_mend(rec);
		bk_recover_read_go_on(rec);
		break;
	case BK_RECOVER_ADD:
		bk_recover_add_mend(rec);
		if (bk_recover_add_done(rec))
			bk_recover_close(rec);
		break;
	case BK_RECOVER_LENGTH:
		bk_recover_ask_length(rec);
		break;
	default:
		break;
	}
}

static void
fenced(void *arg, enum bk_status status, const struct bk_lac_result *result)
{
	struct bk_recovery *rec = arg;

	switch (status) {
	case BK_OK:
		rec->found = *result;
		rec->phase = BK_RECOVER_FENCED;
		bk_recover_step(rec);
		break;
	case BK_EUA:
	case BK_ETLS:
	case BK_ESASL:
		bk_recover_fail(rec, status);
		break;
	default:
		bk_recover_fail(rec, BK_EUNDECIDED);
		break;
	}
}

static void
fence(struct bk_recovery *rec)
{
	struct bk_lac_config config = {
	    .c = rec->c,
	    .ledger_id = rec->ledger_id,
	    .quorum = rec->ledger.quorum,
	    .segment = bk_recover_last(rec),
	    .digester = &rec->ledger.digester,
	    .fence_key = rec->ledger.key,
	};

	rec->phase = BK_RECOVER_FENCE;
	if ((rec->fence = bk_lac_query_new(&config, fenced, rec)) == NULL)
		bk_recover_fail(rec, BK_ENOMEM);
}

/* The password is checked before anything is changed. */
static enum bk_update
mark(void *arg, struct bk_ledger_meta *m, enum bk_status *status)
{
	const struct bk_guard *g = arg;
	struct bk_recovery *rec = g->owner;

	*status = BK_ECANCELED;
	if (rec == NULL)
		return (BK_UPDATE_STOP);
	*status = bk_unlock(m, &rec->credential, &rec->ledger);
	if (*status != BK_OK)
		return (BK_UPDATE_STOP);
	if (m->state != BK_LEDGER_OPEN)
		return (BK_UPDATE_DONE);
	m->state = BK_LEDGER_IN_RECOVERY;
	return (BK_UPDATE_WRITE);
}

static void
marked(void *arg, enum bk_status status, const struct bk_ledger_meta *m,
    int32_t version)
{
	struct bk_recovery *rec = bk_guard_release(arg);

	(void)version;
	if (rec == NULL)
		return;
	if (status != BK_OK) {
		bk_recover_finish(rec, status, -1, 0);
	} else if (m->state == BK_LEDGER_CLOSED) {
		bk_recover_finish(rec, BK_OK, m->last_entry, m->length);
	} else if (bk_ledger_meta_copy(&rec->meta, m) != 0) {
		bk_ledger_meta_init(&rec->meta);
		bk_recover_fail(rec, BK_ENOMEM);
	} else {
		fence(rec);
	}
}

static void
begin(void *arg)
{
	struct bk_recovery *rec = arg;

	bk_ledger_update(rec->c->tree, rec->ledger_id, NULL, 0, mark, marked,
	    bk_guard_hold(rec->guard));
}

static int
timers_new(struct bk_recovery *rec)
{
	struct bk_env *env = rec->c->env;

	rec->begin = env->ops->timer_new(env, begin, rec);
	rec->step = env->ops->timer_new(env, step, rec);
	rec->ticker = env->ops->timer_new(env, bk_recover_ticked, rec);
	rec->grace = env->ops->timer_new(env, bk_recover_grace_over, rec);
	return (rec->begin == NULL || rec->step == NULL ||
		    rec->ticker == NULL || rec->grace == NULL ?
		-1 :
		0);
}

struct bk_recovery *
bk_recover(struct bk_client *c, int64_t ledger_id,
    const struct bk_password *password, bk_recover_cb *cb, void *arg)
{
	struct bk_recovery *rec;

	bk_client_defaults(c);
	if ((rec = calloc(1, sizeof(*rec))) == NULL)
		return (NULL);
	rec->c = c;
	rec->ledger_id = ledger_id;
	rec->cb = cb;
	rec->arg = arg;
	rec->deadline = bk_now(c->env) + c->replace_timeout;
	bk_ledger_meta_init(&rec->meta);
	if (bk_credential_init(&rec->credential, password) != 0 ||
	    (rec->guard = bk_guard_new(rec)) == NULL || timers_new(rec) != 0) {
		dispose(rec);
		errno = ENOMEM;
		return (NULL);
	}
	c->env->ops->timer_set(rec->begin, 0);
	return (rec);
}
