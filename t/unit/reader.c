/*
 * reader.c - reading a ledger in a simulated cluster: opening, order, next
 * replica, digests, stale metadata, following a live writer.
 */
#include "t/sim/sim_actor.h"
#include "t/unit/tap.h"

#define MINUTE (60 * BK_SECOND)

struct world {
	struct sim_cluster *c;
	struct sim_writer a;
	struct sim_reader r;
};

static void
pass(struct world *w, int64_t ns)
{
	bool never = false;

	(void)sim_cluster_run(w->c, &never, ns);
}

/* A ledger of some entries, closed or not, and a reader for it. */
static void
begin(struct world *w, unsigned version, int e, int qw, int qa, int64_t entries,
    bool closed)
{
	memset(w, 0, sizeof(*w));
	w->c = sim_cluster_new(7, 6);
	w->a = (struct sim_writer){
	    .process = sim_process_new(w->c, version),
	    .params = {.ledger_id = -1,
		.ensemble_size = e,
		.write_quorum = qw,
		.ack_quorum = qa,
		.digest = BK_DIGEST_HMAC,
		.password = {(const uint8_t *)"pw", 2}},
	    .key = 4711,
	    .size_max = 500,
	    .entries = entries,
	    .close = closed,
	};
	sim_writer_start(&w->a);
	if (closed)
		(void)sim_cluster_run(w->c, &w->a.ended, MINUTE);
	else
		pass(w, BK_SECOND);
	w->r = (struct sim_reader){
	    .process = sim_process_new(w->c, version),
	    .writer = &w->a,
	    .ledger_id = w->a.ledger_id,
	};
}

static void
end(struct world *w, const char *what)
{
	is_str(w->c->fault, "", "%s: nothing to blame", what);
	sim_reader_stop(&w->r);
	sim_writer_stop(&w->a);
	sim_cluster_free(w->c);
}

static int
member(const struct world *w, int position)
{
	struct bk_ledger_meta m;
	int32_t version;
	int i;

	if (!sim_cluster_record(w->c, w->a.ledger_id, &m, &version))
		return (-1);
	i = sim_cluster_find(w->c, m.segments[0].bookies[position]);
	bk_ledger_meta_fini(&m);
	return (i);
}

static bool
read_all(struct world *w)
{
	sim_reader_start(&w->r);
	return (sim_cluster_run(w->c, &w->r.ended, MINUTE));
}

static void
closed_ledger(unsigned version, int e, int qw, int qa)
{
	struct world w;

	begin(&w, version, e, qw, qa, 2000, true);
	ok(read_all(&w), "%d/%d/%d, v%u is read", e, qw, qa, version);
	is_int(w.r.status, BK_OK, "without a fault");
	is_int(w.r.next, 2000, "to its end");
	ok(bk_reader_closed(w.r.r) && bk_reader_lac(w.r.r) == 1999,
	    "which is known");
	end(&w, "closed");
}

/* What is confirmed last, nobody tells with v2 until more comes. */
static void
open_ledger(unsigned version)
{
	struct world w;

	begin(&w, version, 3, 3, 2, 100, false);
	ok(read_all(&w) && w.r.status == BK_OK, "an open ledger, v%u, is read",
	    version);
	ok(!bk_reader_closed(w.r.r), "and known to be open");
	if (version == 3)
		is_int(w.r.next, 100, "with all that is confirmed");
	else
		ok(w.r.next < 100, "as far as known to be confirmed");
	sim_reader_stop(&w.r);
	w.r.unconfirmed = true;
	ok(read_all(&w) && w.r.status == BK_OK && w.r.next == 100,
	    "or, unconfirmed, as far as there is any");
	end(&w, "open");
}

static void
empty(void)
{
	struct world w;

	begin(&w, 3, 3, 3, 2, 0, false);
	ok(read_all(&w) && w.r.status == BK_OK && w.r.next == 0,
	    "an empty open ledger has nothing");
	is_int(bk_reader_lac(w.r.r), -1, "and no LAC");
	end(&w, "empty open");

	begin(&w, 3, 3, 3, 2, 0, true);
	ok(read_all(&w) && w.r.status == BK_OK && w.r.next == 0 &&
		bk_reader_closed(w.r.r),
	    "an empty closed one neither");
	end(&w, "empty closed");
}

static void
pausing(void)
{
	struct world w;

	begin(&w, 3, 4, 2, 2, 1000, true);
	w.r.pause_every = 7;
	ok(read_all(&w) && w.r.status == BK_OK && w.r.next == 1000,
	    "a reader that pauses gets all the same");
	end(&w, "pausing");
}

static void
lost_members(void)
{
	struct world w;

	begin(&w, 3, 3, 3, 2, 1000, true);
	sim_cluster_kill(w.c, member(&w, 0), false, false);
	sim_cluster_kill(w.c, member(&w, 1), false, true);
	ok(read_all(&w) && w.r.status == BK_OK && w.r.next == 1000,
	    "one of three replicas is enough");
	sim_reader_stop(&w.r);
	sim_cluster_kill(w.c, member(&w, 2), false, false);
	ok(read_all(&w) && w.r.next == 0, "none is not");
	ok(w.r.status == BK_EUNREACHABLE || w.r.status == BK_ETIMEOUT,
	    "and that is no absence: %s", bk_status_name(w.r.status));
	end(&w, "lost members");
}

static void
silent_member(void)
{
	struct world w;
	int64_t began;

	begin(&w, 3, 3, 3, 2, 1000, true);
	sim_bookie_pause(w.c->bookies[member(&w, 0)],
	    sim_now(w.c->sim) + MINUTE);
	sim_bookie_pause(w.c->bookies[member(&w, 1)],
	    sim_now(w.c->sim) + MINUTE);
	began = sim_now(w.c->sim);
	ok(read_all(&w) && w.r.status == BK_OK && w.r.next == 1000,
	    "silent replicas are not waited for");
	ok(sim_now(w.c->sim) - began < 6 * BK_SECOND, "for long");
	end(&w, "silent");
}

static void
damage(void)
{
	struct world w;

	begin(&w, 3, 3, 3, 2, 100, true);
	(void)sim_bookie_spoil(w.c->bookies[member(&w, 0)], w.a.ledger_id, 50);
	(void)sim_bookie_spoil(w.c->bookies[member(&w, 1)], w.a.ledger_id, 50);
	ok(read_all(&w) && w.r.status == BK_OK && w.r.next == 100,
	    "a good copy among spoilt ones is found");
	sim_reader_stop(&w.r);
	(void)sim_bookie_spoil(w.c->bookies[member(&w, 2)], w.a.ledger_id, 50);
	ok(read_all(&w) && w.r.status == BK_EDIGEST && w.r.next == 50,
	    "without one it is EDIGEST, after all before it");
	end(&w, "damage");
}

/* The entries of one bookie move to another, as a repair does it. */
static enum bk_update
moved(void *arg, struct bk_ledger_meta *m, enum bk_status *status)
{
	const char *const *ids = arg;
	int i;

	*status = BK_ENOMEM;
	for (i = 0; i < 2; i++)
		if (bk_ledger_meta_replace(m, 0, i, ids[i]) != 0)
			return (BK_UPDATE_STOP);
	return (BK_UPDATE_WRITE);
}

static void
have_moved(void *arg, enum bk_status status, const struct bk_ledger_meta *m,
    int32_t version)
{
	(void)arg;
	(void)status;
	(void)m;
	(void)version;
}

/* All members of a segment are replaced under a reader; the record, read once
 * more, tells where the entries are now. */
static void
stale_metadata(void)
{
	struct world w;
	const char *ids[2];
	int old[2], i, n = 0;

	begin(&w, 3, 2, 2, 2, 20, true);
	w.r.hold = true;
	old[0] = member(&w, 0);
	old[1] = member(&w, 1);
	for (i = 0; n < 2; i++)
		if (i != old[0] && i != old[1])
			ids[n++] = sim_bookie_id(w.c->bookies[i]);
	sim_reader_start(&w.r);
	(void)sim_cluster_run(w.c, &w.r.opened, MINUTE);
	for (i = 0; i < 2; i++)
		sim_bookie_move(w.c->bookies[old[i]],
		    w.c->bookies[sim_cluster_find(w.c, ids[i])], w.a.ledger_id);
	bk_ledger_update(&w.a.process->tree, w.a.ledger_id, NULL, 0, moved,
	    have_moved, ids);
	pass(&w, BK_SECOND);
	sim_reader_go(&w.r);
	ok(sim_cluster_run(w.c, &w.r.ended, MINUTE) && w.r.status == BK_OK &&
		w.r.next == 20,
	    "a reader finds entries that moved away");
	end(&w, "stale");
}

static void
follow(unsigned version)
{
	struct world w;

	begin(&w, version, 3, 3, 2, 300, false);
	w.r.follow = true;
	sim_reader_start(&w.r);
	pass(&w, BK_SECOND);
	ok(!w.r.ended, "v%u: a follower waits for more", version);
	w.a.pace = 20 * BK_MS;
	w.a.burst = 3;
	sim_writer_more(&w.a, 600);
	pass(&w, BK_SECOND);
	ok(w.r.next > 400 && w.r.next < 600, "gets it as it comes: %d",
	    (int)w.r.next);
	sim_cluster_kill(w.c, member(&w, 1), false, false);
	pass(&w, BK_SECOND);
	w.a.close = true;
	sim_writer_more(&w.a, 700);
	ok(sim_cluster_run(w.c, &w.r.ended, MINUTE) && w.r.status == BK_OK,
	    "ends with the ledger, a member lost on the way");
	is_int(w.r.next, 700, "having seen all of it");
	is_int(w.a.close_status, BK_OK, "and the writer was not disturbed");
	end(&w, "follow");
}

/* A writer that is gone: the follower sees the end that a recovery makes. */
static void
follow_recovery(void)
{
	struct world w;
	struct sim_recovery rec = {.ledger_id = -1};

	begin(&w, 3, 3, 3, 2, 300, false);
	w.r.follow = true;
	sim_reader_start(&w.r);
	pass(&w, BK_SECOND);
	sim_writer_stop(&w.a);
	rec.process = sim_process_new(w.c, 3);
	rec.ledger_id = w.a.ledger_id;
	sim_recovery_start(&rec);
	ok(sim_cluster_run(w.c, &w.r.ended, MINUTE) && w.r.status == BK_OK,
	    "a recovery ends the wait");
	is_int(w.r.next, 300, "all that was written is there");
	end(&w, "follow recovery");
}

static void
timed_out(void *arg, enum bk_status status)
{
	*(enum bk_status *)arg = status;
}

static void
wait_times_out(void)
{
	struct world w;
	enum bk_status status = BK_OK;
	int64_t began;

	begin(&w, 3, 3, 3, 2, 10, false);
	(void)read_all(&w);
	began = sim_now(w.c->sim);
	bk_reader_wait(w.r.r, 100, 2 * BK_SECOND, timed_out, &status);
	while (status == BK_OK)
		pass(&w, 10 * BK_MS);
	is_int(status, BK_ETIMEOUT, "a wait ends at its time");
	ok(sim_now(w.c->sim) - began >= 2 * BK_SECOND, "not before");
	end(&w, "wait");
}

static void
opened(void *arg, enum bk_status status, struct bk_reader *r)
{
	*(enum bk_status *)arg = status;
	bk_reader_free(r);
}

static enum bk_status
open_with(struct world *w, int64_t ledger_id, const char *password)
{
	struct bk_password pw = {(const uint8_t *)password, strlen(password)};
	enum bk_status status = BK_NSTATUS;

	bk_reader_open(&w->r.process->client, ledger_id, &pw, opened, &status);
	while (status == BK_NSTATUS)
		pass(w, BK_MS);
	return (status);
}

static void
refusals(void)
{
	struct world w;

	begin(&w, 3, 3, 3, 2, 10, true);
	is_int(open_with(&w, w.a.ledger_id, "pw"), BK_OK, "right password");
	is_int(open_with(&w, w.a.ledger_id, "px"), BK_EUA, "wrong password");
	is_int(open_with(&w, w.a.ledger_id, ""), BK_EUA, "no password");
	is_int(open_with(&w, 12345, ""), BK_ENOLEDGER, "no such ledger");
	end(&w, "refusals");
}

struct one {
	bool done;
	enum bk_status status;
	size_t len;
};

static void
have_one(void *arg, enum bk_status status, const struct bk_read_entry *entry)
{
	struct one *o = arg;

	o->done = true;
	o->status = status;
	o->len = entry->payload.len;
}

static void
one_bookie(void)
{
	struct world w;
	struct one o = {false, BK_OK, 0};
	const char *id;
	int i, holder = 0, other = 0;
	uint8_t payload[SIM_PAYLOAD_MAX];
	struct bk_bytes entry;

	begin(&w, 3, 4, 2, 2, 10, true);
	(void)read_all(&w);
	for (i = 0; i < 4; i++) {
		if (sim_bookie_holds(w.c->bookies[member(&w, i)], w.a.ledger_id,
			5, &entry))
			holder = member(&w, i);
		else
			other = member(&w, i);
	}
	id = sim_bookie_id(w.c->bookies[holder]);
	bk_reader_read_from(w.r.r, id, 5, have_one, &o);
	(void)sim_cluster_run(w.c, &o.done, MINUTE);
	ok(o.status == BK_OK && o.len == sim_payload(w.a.key, 5, 500, payload),
	    "one bookie is asked for its copy");
	o.done = false;
	id = sim_bookie_id(w.c->bookies[other]);
	bk_reader_read_from(w.r.r, id, 5, have_one, &o);
	(void)sim_cluster_run(w.c, &o.done, MINUTE);
	is_int(o.status, BK_ENOENTRY, "and one that has none says so");
	sim_reader_stop(&w.r);
	w.r.bookie = id;
	ok(read_all(&w) && w.r.status == BK_ENOENTRY,
	    "a read from it alone ends at its first gap");
	end(&w, "one bookie");
}

int
main(void)
{
	closed_ledger(3, 3, 3, 2);
	closed_ledger(3, 5, 3, 2);
	closed_ledger(3, 1, 1, 1);
	closed_ledger(2, 3, 2, 2);
	open_ledger(3);
	open_ledger(2);
	empty();
	pausing();
	lost_members();
	silent_member();
	damage();
	stale_metadata();
	follow(3);
	follow(2);
	follow_recovery();
	wait_times_out();
	refusals();
	one_bookie();
	return (tap_done());
}
