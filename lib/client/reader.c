/*
 * reader.c - a reader's life: opened without recovery, what it knows of the
 * ledger, its end (client-protocol.md 2.3). Reading is in reader_read.c and
 * reader_fetch.c, following in reader_wait.c.
 */
#include "client/reader.h"

#include "client/reader_impl.h"

#include <sodium.h>
#include <stdlib.h>

void
bk_reader_enter(struct bk_reader *r)
{
	r->calls++;
}

bool
bk_reader_leave(struct bk_reader *r)
{
	bool of_use = !r->freed;

	if (--r->calls == 0 && r->freed)
		free(r);
	return (of_use);
}

static void
tell_open(struct bk_reader *r)
{
	bk_reader_cb *cb = r->open_cb;
	void *arg = r->open_arg;
	enum bk_status status = r->open_status;

	r->open_cb = NULL;
	bk_lac_query_free(r->lac_query);
	r->lac_query = NULL;
	if (status == BK_OK) {
		cb(arg, BK_OK, r);
		return;
	}
	bk_reader_free(r);
	cb(arg, status, NULL);
}

/* What the user is told outside of an answer passes here, from the loop. */
static void
settle(void *arg)
{
	struct bk_reader *r = arg;

	bk_reader_enter(r);
	if (r->open_cb != NULL)
		tell_open(r);
	if (!r->freed)
		bk_range_settle(r);
	if (!r->freed)
		bk_follow_settle(r);
	(void)bk_reader_leave(r);
}

void
bk_reader_settle(struct bk_reader *r)
{
	r->c->env->ops->timer_set(r->settle, 0);
}

static void
opened(struct bk_reader *r, enum bk_status status)
{
	r->open_status = status;
	bk_reader_settle(r);
}

void
bk_reader_raise(struct bk_reader *r, int64_t lac)
{
	if (!r->closed && lac > r->lac)
		r->lac = lac;
}

static void
ticked(void *arg)
{
	struct bk_reader *r = arg;

	r->ticking = false;
	r->tick++;
	bk_range_tick(r);
	bk_reader_wind(r);
}

/* The ticker runs while entries are asked for. */
void
bk_reader_wind(struct bk_reader *r)
{
	if (r->ticking || !r->range.active || r->range.next == r->range.head)
		return;
	r->ticking = true;
	r->c->env->ops->timer_set(r->ticker, BK_READER_TICK);
}

static int
timers_new(struct bk_reader *r)
{
	struct bk_env *env = r->c->env;

	r->settle = env->ops->timer_new(env, settle, r);
	r->ticker = env->ops->timer_new(env, ticked, r);
	return (r->settle == NULL || r->ticker == NULL ? -1 : 0);
}

int
bk_reader_adopt(struct bk_reader *r, const struct bk_ledger_meta *m,
    int32_t version)
{
	struct bk_ledger_meta copy;

	if (version < r->version)
		return (0);
	if (version > r->version) {
		if (bk_ledger_meta_copy(&copy, m) != 0)
			return (-1);
		bk_ledger_meta_fini(&r->meta);
		r->meta = copy;
		r->version = version;
		r->ensemble_of = SIZE_MAX;
	}
	if (r->closed)
		return (0);
	if (m->state == BK_LEDGER_CLOSED) {
		r->closed = true;
		r->lac = m->last_entry;
		return (0);
	}
	/* All below the last key is confirmed by construction (9, D6). */
	bk_reader_raise(r, m->segments[m->nsegments - 1].first_entry - 1);
	return (0);
}

static void
lac_known(void *arg, enum bk_status status, const struct bk_lac_result *result)
{
	struct bk_reader *r = arg;

	if (status == BK_OK)
		bk_reader_raise(r, result->lac);
	opened(r, status);
}

static void
ask_lac(struct bk_reader *r)
{
	struct bk_lac_config config = {
	    .c = r->c,
	    .ledger_id = r->ledger_id,
	    .quorum = r->quorum,
	    .segment = &r->meta.segments[r->meta.nsegments - 1],
	    .digester = &r->digester,
	};

	r->lac_query = bk_lac_query_new(&config, lac_known, r);
	if (r->lac_query == NULL)
		opened(r, BK_ENOMEM);
}

static enum bk_status
accept_record(struct bk_reader *r, const struct bk_ledger_meta *m,
    int32_t version)
{
	struct bk_unlocked u;
	enum bk_status status;

	if ((status = bk_unlock(m, &r->credential, &u)) != BK_OK)
		return (status);
	r->quorum = u.quorum;
	r->digester = u.digester;
	sodium_memzero(u.key, sizeof(u.key));
	if (bk_reader_adopt(r, m, version) != 0)
		return (BK_ENOMEM);
	r->preferred =
	    (unsigned)bk_random_below(r->c->env, (uint64_t)m->ensemble_size);
	return (BK_OK);
}

static void
open_read(void *arg, enum bk_status status, const struct bk_ledger_meta *m,
    int32_t version)
{
	struct bk_reader *r = bk_guard_release(arg);

	if (r == NULL)
		return;
	if (status == BK_OK)
		status = accept_record(r, m, version);
	if (status != BK_OK || r->closed)
		opened(r, status);
	else
		ask_lac(r);
}

void
bk_reader_open(struct bk_client *c, int64_t ledger_id,
    const struct bk_password *password, bk_reader_cb *cb, void *arg)
{
	struct bk_reader *r;

	bk_client_defaults(c);
	if ((r = calloc(1, sizeof(*r))) == NULL) {
		cb(arg, BK_ENOMEM, NULL);
		return;
	}
	r->c = c;
	r->ledger_id = ledger_id;
	r->version = -1;
	r->lac = -1;
	r->ensemble_of = SIZE_MAX;
	r->open_cb = cb;
	r->open_arg = arg;
	bk_ledger_meta_init(&r->meta);
	if (bk_credential_init(&r->credential, password) != 0 ||
	    (r->guard = bk_guard_new(r)) == NULL || timers_new(r) != 0) {
		bk_reader_free(r);
		cb(arg, BK_ENOMEM, NULL);
		return;
	}
	bk_ledger_read(c->tree, ledger_id, BK_NO_WATCH, open_read,
	    bk_guard_hold(r->guard));
}

static void
free_timer(struct bk_reader *r, struct bk_timer *timer)
{
	if (timer != NULL)
		r->c->env->ops->timer_free(timer);
}

void
bk_reader_free(struct bk_reader *r)
{
	if (r == NULL)
		return;
	bk_range_stop(r);
	bk_follow_stop(r);
	bk_ones_free(r);
	bk_lac_query_free(r->lac_query);
	bk_ledger_watch_free(r->watch);
	bk_guard_drop(r->guard);
	free_timer(r, r->settle);
	free_timer(r, r->ticker);
	bk_replicas_free(r);
	bk_credential_fini(&r->credential);
	bk_ledger_meta_fini(&r->meta);
	r->freed = true;
	if (r->calls == 0)
		free(r);
}

int64_t
bk_reader_ledger(const struct bk_reader *r)
{
	return (r->ledger_id);
}

int64_t
bk_reader_lac(const struct bk_reader *r)
{
	return (r->lac);
}

bool
bk_reader_closed(const struct bk_reader *r)
{
	return (r->closed);
}

const struct bk_ledger_meta *
bk_reader_meta(const struct bk_reader *r)
{
	return (&r->meta);
}
