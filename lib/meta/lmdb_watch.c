/*
 * lmdb_watch.c - what others do in the embedded store: changes that watches
 * wait for, sessions whose process is gone.
 *
 * inotify tells at once, when there is one. In any case a tick looks at LMDB's
 * last transaction, ten times a second while there are watches.
 */
#include "meta/meta_lmdb.h"

#include "base/log.h"

#define TICK_WATCHING (100 * BK_MS)
#define TICK_IDLE (5 * BK_SECOND)
#define TICK_SESSION BK_SECOND
#define SWEEP_INTERVAL (5 * BK_SECOND)
#define CHECK_INTERVAL (60 * BK_SECOND)
/* The lock goes after the close is told: at once, or on a busy machine some
 * time later. */
#define PROBE_FIRST BK_MS
#define PROBE_LAST BK_SECOND
/* Ticks after which a commit that cannot be seen has a dead writer. */
#define COVERED_TICKS 2

bool
bk_lmdb_wants_session(const struct meta_lmdb *m)
{
	return (!m->read_only && m->session.id == 0 &&
	    (m->session_due == 0 || bk_clock_now() >= m->session_due));
}

void
bk_lmdb_collect(struct meta_lmdb *m, struct bk_lmdb_txn *tx)
{
	if (m->watches.n > 0 && tx->state.zxid > m->seen)
		(void)bk_lmdb_fire(tx, m->seen, &m->watches);
	if (tx->state.zxid > m->seen)
		m->seen = tx->state.zxid;
}

void
bk_lmdb_look(struct meta_lmdb *m)
{
	struct bk_lmdb_txn tx;

	if (m->watches.n == 0)
		return;
	if (bk_lmdb_begin(&tx, m->store, false) == BK_OK) {
		bk_lmdb_collect(m, &tx);
		bk_lmdb_abort(&tx);
	}
	bk_meta_enter(&m->q);
	bk_lmdb_deliver_events(m);
	bk_meta_leave(&m->q);
}

/* A writer killed at the very end of its commit leaves it durable but not to
 * be seen until somebody else begins to write (15.5). */

static size_t
last_txn(struct meta_lmdb *m)
{
	MDB_envinfo info;

	return (
	    mdb_env_info(m->store->env, &info) == 0 ? info.me_last_txnid : 0);
}

static size_t
visible_txn(struct meta_lmdb *m)
{
	MDB_txn *txn;
	size_t id;

	if (mdb_txn_begin(m->store->env, NULL, MDB_RDONLY, &txn) != 0)
		return (SIZE_MAX);
	id = mdb_txn_id(txn);
	mdb_txn_abort(txn);
	return (id);
}

void
bk_lmdb_uncover(struct meta_lmdb *m)
{
	MDB_txn *txn;

	/* Whoever has the lock is about to end his commit. */
	if (last_txn(m) <= visible_txn(m) || !bk_lmdb_try_lock(m->store))
		return;
	if (mdb_txn_begin(m->store->env, NULL, 0, &txn) == 0)
		mdb_txn_abort(txn);
	bk_lmdb_unlock(m->store);
}

static void
look_for_changes(struct meta_lmdb *m)
{
	size_t last = last_txn(m);

	if (last == m->last_txn && m->covered == 0)
		return;
	if (last <= visible_txn(m)) {
		m->covered = 0;
		m->last_txn = last;
	} else if (++m->covered > COVERED_TICKS) {
		bk_lmdb_uncover(m);
	}
	bk_lmdb_look(m);
}

/* Sessions. */

static void
sweep(struct meta_lmdb *m)
{
	struct bk_lmdb_txn tx;

	if (bk_lmdb_begin(&tx, m->store, false) != BK_OK)
		return;
	if (bk_lmdb_any_dead(&tx))
		m->reap = true;
	bk_lmdb_abort(&tx);
	if (m->reap)
		bk_lmdb_schedule(m);
}

static void
probe(void *arg)
{
	struct meta_lmdb *m = arg;

	sweep(m);
	if (m->reap || m->probe_delay > PROBE_LAST)
		return;
	bk_timer_set(m->probe, m->probe_delay);
	m->probe_delay *= 2;
}

static void
somebody_died(void *arg)
{
	struct meta_lmdb *m = arg;

	m->probe_delay = PROBE_FIRST;
	probe(m);
}

static void
somebody_wrote(void *arg)
{
	bk_lmdb_look(arg);
}

/* The tick. */

static void
set_tick(struct meta_lmdb *m)
{
	int64_t delay = TICK_IDLE;

	if (m->watches.n > 0)
		delay = TICK_WATCHING;
	else if (!m->read_only && m->session.id == 0)
		delay = TICK_SESSION;
	bk_timer_set(m->tick, delay);
}

static void
tick(void *arg)
{
	struct meta_lmdb *m = arg;
	int64_t now = bk_clock_now();
	int dead;

	bk_meta_enter(&m->q);
	if (now >= m->sweep_due) {
		m->sweep_due = now + SWEEP_INTERVAL;
		sweep(m);
	}
	if (now >= m->check_due) {
		m->check_due = now + CHECK_INTERVAL;
		(void)mdb_reader_check(m->store->env, &dead);
		bk_lmdb_sweep_files(m->store);
	}
	if (bk_lmdb_wants_session(m) && m->failed == BK_OK)
		bk_lmdb_schedule(m);
	if (m->watches.n > 0)
		look_for_changes(m);
	if (!m->q.closed)
		set_tick(m);
	bk_meta_leave(&m->q);
}

enum bk_status
bk_lmdb_watch_start(struct meta_lmdb *m, const char **why)
{
	int64_t now = bk_clock_now();
	struct bk_lmdb_txn tx;
	enum bk_status status;

	m->tick = bk_timer_new(m->q.loop, tick, m);
	m->probe = bk_timer_new(m->q.loop, probe, m);
	if (m->tick == NULL || m->probe == NULL)
		return (BK_ENOMEM);
	status = bk_lmdb_begin(&tx, m->store, false);
	if (status != BK_OK) {
		*why = bk_status_text(status);
		return (status);
	}
	if (bk_lmdb_foreign(&tx)) {
		*why = "the store is used from another pid namespace";
		status = BK_ECONFIG;
	}
	m->seen = tx.state.zxid;
	m->reap = bk_lmdb_any_dead(&tx);
	bk_lmdb_abort(&tx);
	m->sweep_due = now + SWEEP_INTERVAL;
	m->check_due = now + CHECK_INTERVAL;
	set_tick(m);
	return (status);
}

void
bk_lmdb_watch_begin(struct meta_lmdb *m)
{
	if (m->notice == NULL && !m->no_notice) {
		m->notice = bk_lmdb_notice_new(m->q.loop, m->store,
		    somebody_wrote, somebody_died, m);
		m->no_notice = m->notice == NULL;
		sweep(m); /* who died before this was not told */
	}
	if (m->watches.n == 0)
		bk_timer_set(m->tick, TICK_WATCHING);
}

void
bk_lmdb_watch_end(struct meta_lmdb *m)
{
	bk_lmdb_notice_free(m->notice);
	bk_timer_free(m->tick);
	bk_timer_free(m->probe);
	m->notice = NULL;
	m->tick = m->probe = NULL;
}
