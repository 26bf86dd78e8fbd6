/*
 * writer.c - a ledger's writer in a simulated cluster: order of
 * acknowledgements, striping, lost members with and without spares, fences,
 * close.
 */
#include "t/sim/sim_actor.h"
#include "t/unit/tap.h"

#include <errno.h>
#include <stdlib.h>

#define MINUTE (60 * BK_SECOND)

struct world {
	struct sim_cluster *c;
	struct sim_process *p;
	struct sim_writer a;
};

static void
begin(struct world *w, int nbookies, int e, int qw, int qa)
{
	memset(w, 0, sizeof(*w));
	w->c = sim_cluster_new(1, nbookies);
	w->p = sim_process_new(w->c, 3);
	w->a = (struct sim_writer){
	    .process = w->p,
	    .params = {.ledger_id = -1,
		.ensemble_size = e,
		.write_quorum = qw,
		.ack_quorum = qa,
		.digest = BK_DIGEST_CRC32C,
		.password = {(const uint8_t *)"pw", 2}},
	    .key = 42,
	    .size_max = 300,
	};
}

static void
end(struct world *w, const char *what)
{
	is_str(w->c->fault, "", "%s: nothing to blame", what);
	sim_writer_stop(&w->a);
	sim_cluster_free(w->c);
}

/* Until everything asked for is acknowledged. */
static bool
all_acked(struct world *w, int64_t within)
{
	int64_t until = sim_now(w->c->sim) + within;
	bool never = false;

	while (w->a.acked + 1 < w->a.entries && !w->a.failed &&
	    sim_now(w->c->sim) < until)
		(void)sim_cluster_run(w->c, &never, BK_MS);
	return (w->a.acked + 1 == w->a.entries);
}

static void
pass(struct world *w, int64_t ns)
{
	bool never = false;

	(void)sim_cluster_run(w->c, &never, ns);
}

static int
holders(const struct world *w, int64_t entry_id)
{
	struct bk_bytes entry;
	int i, n = 0;

	for (i = 0; i < w->c->nbookies; i++)
		n += sim_bookie_holds(w->c->bookies[i], w->a.ledger_id,
		    entry_id, &entry);
	return (n);
}

/* The bookie at a position of the last segment. */
static int
member(const struct world *w, int position)
{
	const struct bk_ledger_meta *m = bk_writer_meta(w->a.w, NULL);

	return (sim_cluster_find(w->c,
	    m->segments[m->nsegments - 1].bookies[position]));
}

static void
plain(void)
{
	struct world w;
	struct bk_ledger_meta m;
	struct bk_entry_header h;
	struct bk_bytes entry = {NULL, 0}, payload;
	struct bk_digester d;
	uint8_t want[SIM_PAYLOAD_MAX];
	size_t len;
	int32_t version;

	begin(&w, 3, 3, 3, 2);
	w.a.entries = 1000;
	w.a.close = true;
	sim_writer_start(&w.a);
	ok(sim_cluster_run(w.c, &w.a.ended, MINUTE), "a ledger is written");
	is_int(w.a.close_status, BK_OK, "and closed");
	is_int(w.a.acked, 999, "all is acknowledged");
	ok(sim_cluster_record(w.c, w.a.ledger_id, &m, &version) &&
		m.state == BK_LEDGER_CLOSED && m.last_entry == 999,
	    "the record says so");
	is_int(m.length, sim_payload_sum(42, 999, 300), "with its length");
	bk_ledger_meta_fini(&m);
	is_int(holders(&w, 999), 3, "the last entry is on all three");
	(void)sim_bookie_holds(w.c->bookies[1], w.a.ledger_id, 500, &entry);
	(void)bk_digester_init(&d, BK_DIGEST_CRC32C, "pw", 2);
	is_int(bk_entry_verify(&d, entry, w.a.ledger_id, 500, &h, &payload),
	    BK_OK, "an entry carries its digest");
	len = sim_payload(42, 500, 300, want);
	is_mem(payload.data, payload.len, want, len, "and its payload");
	is_int(h.length, sim_payload_sum(42, 500, 300), "and the length");
	ok(h.lac >= -1 && h.lac < 500, "and a LAC below it");
	end(&w, "plain");
}

static void
striped(void)
{
	struct world w;
	int64_t e;
	int wrong = 0;

	begin(&w, 5, 5, 3, 2);
	w.a.entries = 100;
	w.a.close = true;
	sim_writer_start(&w.a);
	ok(sim_cluster_run(w.c, &w.a.ended, MINUTE), "5/3/2 is written");
	for (e = 0; e < 100; e++) {
		struct bk_bytes entry;
		int i;

		for (i = 0; i < 5; i++) {
			bool in = (e % 5 + 0) % 5 == i ||
			    (e % 5 + 1) % 5 == i || (e % 5 + 2) % 5 == i;

			wrong += in !=
			    sim_bookie_holds(w.c->bookies[member(&w, i)],
				w.a.ledger_id, e, &entry);
		}
	}
	is_int(wrong, 0, "each entry lies on its write set and nowhere else");
	end(&w, "striped");
}

static void
refusals(void)
{
	struct world w;
	int64_t id;
	uint8_t *big;

	begin(&w, 2, 3, 3, 2);
	sim_writer_start(&w.a);
	ok(sim_cluster_run(w.c, &w.a.created, MINUTE) &&
		w.a.create_status == BK_ENOTENOUGH,
	    "two bookies are not enough for three");
	end(&w, "too few");

	begin(&w, 3, 2, 3, 2);
	sim_writer_start(&w.a);
	ok(sim_cluster_run(w.c, &w.a.created, MINUTE) &&
		w.a.create_status == BK_EINVAL,
	    "a write quorum above the ensemble makes no sense");
	end(&w, "nonsense");

	begin(&w, 3, 3, 3, 2);
	sim_writer_start(&w.a);
	(void)sim_cluster_run(w.c, &w.a.created, MINUTE);
	big = calloc(1, BK_PAYLOAD_MAX + 1);
	ok(bk_writer_add(w.a.w, big, BK_PAYLOAD_MAX + 1, &id) == -1 &&
		errno == EMSGSIZE,
	    "an entry over the limit is refused");
	is_int(bk_writer_pushed(w.a.w), -1, "and uses no id");
	ok(bk_writer_add(w.a.w, big, BK_PAYLOAD_MAX, &id) == 0 && id == 0,
	    "one at the limit is taken, whatever the window");
	free(big);
	end(&w, "too big");
}

static void
window(void)
{
	struct world w;

	begin(&w, 3, 3, 3, 2);
	w.p->client.window_entries = 10;
	w.a.entries = 500;
	sim_writer_start(&w.a);
	(void)sim_cluster_run(w.c, &w.a.created, MINUTE);
	is_int(bk_writer_pushed(w.a.w), 9, "no more than the window at once");
	ok(all_acked(&w, MINUTE), "room is told of, and all get through");
	end(&w, "window");
}

/* A member is killed; a spare is there. */
static void
spare(void)
{
	struct world w;
	const struct bk_ledger_meta *m;
	int victim;

	begin(&w, 4, 3, 3, 2);
	w.a.entries = 100;
	sim_writer_start(&w.a);
	ok(all_acked(&w, MINUTE), "a hundred entries");
	victim = member(&w, 1);
	sim_cluster_kill(w.c, victim, false, false);
	sim_writer_more(&w.a, 300);
	ok(all_acked(&w, MINUTE), "two hundred more, a member dead");
	pass(&w, BK_SECOND);
	is_int(w.a.replaced, 1, "it was replaced");
	is_str(w.a.lost, sim_bookie_id(w.c->bookies[victim]), "that one");
	m = bk_writer_meta(w.a.w, NULL);
	is_int(m->nsegments, 2, "in a second segment");
	is_int(m->segments[1].first_entry, 100, "from LAC + 1 on");
	is_int(holders(&w, 299), 3, "the spare has new entries");
	is_int(holders(&w, 100), 3, "and those that were in flight");
	w.a.close = true;
	sim_writer_more(&w.a, 301);
	ok(sim_cluster_run(w.c, &w.a.ended, MINUTE) &&
		w.a.close_status == BK_OK,
	    "and the ledger is closed");
	end(&w, "spare");
}

/* Nothing was confirmed in the segment: it is replaced, not added to. */
static void
replaced_in_place(void)
{
	struct world w;
	const struct bk_ledger_meta *m;

	begin(&w, 4, 3, 3, 3);
	sim_cluster_kill(w.c, 0, false, false);
	w.c->registration_lag = MINUTE;
	w.a.entries = 10;
	sim_writer_start(&w.a);
	while (!w.a.created)
		(void)sim_cluster_run(w.c, &w.a.created, BK_SECOND);
	ok(all_acked(&w, MINUTE), "a bookie dead from the start");
	m = bk_writer_meta(w.a.w, NULL);
	is_int(m->nsegments, 1, "leaves one segment");
	is_int(m->segments[0].first_entry, 0, "from 0");
	end(&w, "in place");
}

/* While the store is away, what has its quorum without the dead member goes on
 * being acknowledged. */
static void
no_stall(void)
{
	struct world w;

	begin(&w, 4, 3, 3, 2);
	w.a.entries = 100;
	sim_writer_start(&w.a);
	ok(all_acked(&w, MINUTE), "a hundred entries");
	w.c->meta_down = true;
	sim_cluster_kill(w.c, member(&w, 0), false, false);
	sim_writer_more(&w.a, 1000);
	ok(all_acked(&w, BK_SECOND), "the store down, no stall");
	is_int(w.a.replaced, 0, "and nothing replaced");
	w.c->meta_down = false;
	sim_writer_more(&w.a, 1001);
	ok(all_acked(&w, BK_SECOND), "the store back");
	while (w.a.replaced == 0 && !w.a.failed)
		(void)sim_cluster_run(w.c, &w.a.ended, BK_SECOND);
	is_int(w.a.replaced, 1, "the member is replaced");
	sim_writer_more(&w.a, 1100);
	ok(all_acked(&w, BK_SECOND), "and writing goes on");
	is_int(holders(&w, 1099), 3, "on three bookies");
	end(&w, "no stall");
}

/* No spare, but a quorum: one warning, on, and a new bookie is taken in. */
static void
without_spare(void)
{
	struct world w;
	int victim;

	begin(&w, 3, 3, 3, 2);
	w.a.entries = 100;
	sim_writer_start(&w.a);
	(void)all_acked(&w, MINUTE);
	victim = member(&w, 2);
	sim_cluster_kill(w.c, victim, false, false);
	sim_writer_more(&w.a, 3000);
	ok(all_acked(&w, MINUTE), "two of three are enough");
	is_int(w.a.without, 1, "with one warning");
	ok(w.c->needed > 0, "and a call for help");
	sim_cluster_start(w.c, victim);
	pass(&w, 5 * BK_SECOND);
	sim_writer_more(&w.a, 3100);
	ok(all_acked(&w, MINUTE), "the bookie is back");
	is_int(holders(&w, 3099), 3, "and used again");
	is_int(w.a.replaced, 0, "it is the same one");
	end(&w, "without spare");
}

/* No spare and no quorum: wait for the member, or fail. */
static void
no_quorum(void)
{
	struct world w;
	int victim;

	begin(&w, 2, 2, 2, 2);
	w.a.entries = 100;
	sim_writer_start(&w.a);
	(void)all_acked(&w, MINUTE);
	victim = member(&w, 0);
	sim_cluster_kill(w.c, victim, true, false);
	sim_writer_more(&w.a, 200);
	ok(!all_acked(&w, 5 * BK_SECOND), "one of two is not enough");
	sim_cluster_start(w.c, victim);
	ok(all_acked(&w, 5 * BK_SECOND), "but it comes back in time");
	is_int(holders(&w, 150), 2, "and gets what it missed");

	sim_cluster_kill(w.c, victim, true, false);
	w.a.close = true;
	sim_writer_more(&w.a, 300);
	ok(sim_cluster_run(w.c, &w.a.ended, 15 * BK_SECOND),
	    "dead for longer than that");
	is_int(w.a.failure, BK_EOUTCOME, "the outcome is unknown");
	is_int(w.a.close_status, BK_EOUTCOME, "and the close says so");
	is_int(w.a.acked, 199, "nothing more was acknowledged");
	end(&w, "no quorum");
}

/* A slow member is replaced, a slow machine is not. */
static void
slow(void)
{
	struct world w;
	int i;

	begin(&w, 4, 3, 3, 2);
	w.a.entries = 100;
	sim_writer_start(&w.a);
	(void)all_acked(&w, MINUTE);
	for (i = 0; i < 4; i++)
		sim_bookie_pause(w.c->bookies[i],
		    sim_now(w.c->sim) + 4 * BK_SECOND);
	sim_writer_more(&w.a, 200);
	ok(all_acked(&w, 6 * BK_SECOND), "all bookies pause for 4 s");
	is_int(w.a.replaced, 0, "and nobody is replaced");

	sim_bookie_pause(w.c->bookies[member(&w, 1)],
	    sim_now(w.c->sim) + 20 * BK_SECOND);
	sim_writer_more(&w.a, 300);
	ok(all_acked(&w, BK_SECOND), "one of them pauses");
	pass(&w, 3 * BK_SECOND);
	is_int(w.a.replaced, 1, "and is replaced");
	end(&w, "slow");

	begin(&w, 3, 2, 2, 2);
	w.a.entries = 10;
	sim_writer_start(&w.a);
	(void)all_acked(&w, MINUTE);
	sim_bookie_pause(w.c->bookies[member(&w, 1)],
	    sim_now(w.c->sim) + MINUTE);
	sim_writer_more(&w.a, 20);
	ok(all_acked(&w, 3 * BK_SECOND), "a slow one of Qa = Qw, too");
	end(&w, "slow, all needed");
}

static void
overload(void)
{
	struct world w;

	begin(&w, 4, 3, 3, 3);
	sim_bookie_mood(w.c->bookies[0])->busy = 300;
	sim_bookie_mood(w.c->bookies[1])->busy = 300;
	w.a.entries = 500;
	w.p->client.window_entries = 50;
	sim_writer_start(&w.a);
	(void)sim_cluster_run(w.c, &w.a.created, MINUTE);
	ok(all_acked(&w, MINUTE), "bookies that are busy now and then");
	is_int(w.a.replaced, 0, "are asked again, not replaced");
	end(&w, "overload");
}

/* A stalled member must not pile up memory. */
static void
bounded(void)
{
	struct world w;

	begin(&w, 3, 3, 3, 2);
	w.p->client.peer_bytes = 20000;
	w.p->client.request_timeout = 1000 * BK_SECOND;
	w.a.entries = 10;
	sim_writer_start(&w.a);
	(void)all_acked(&w, MINUTE);
	sim_bookie_pause(w.c->bookies[member(&w, 0)],
	    sim_now(w.c->sim) + 30 * BK_SECOND);
	sim_writer_more(&w.a, 5000);
	ok(all_acked(&w, 20 * BK_SECOND), "a stalled member with Qa < Qw");
	is_int(w.a.without, 1, "is dropped at its bound");
	end(&w, "bounded");
}

static void
read_only(void)
{
	struct world w;

	begin(&w, 4, 3, 3, 2);
	w.a.entries = 100;
	sim_writer_start(&w.a);
	(void)all_acked(&w, MINUTE);
	sim_bookie_mood(w.c->bookies[member(&w, 0)])->readonly = true;
	sim_writer_more(&w.a, 200);
	ok(all_acked(&w, MINUTE), "a member turns read-only");
	pass(&w, BK_SECOND);
	is_int(w.a.replaced, 1, "and is replaced");
	end(&w, "read-only");
}

/* Two members at once, then one that survived. */
static void
two_at_once(void)
{
	struct world w;
	struct bk_ledger_meta m;
	int32_t version;
	int64_t e;
	int bad = 0;

	begin(&w, 6, 3, 3, 2);
	w.a.entries = 200;
	sim_writer_start(&w.a);
	(void)sim_cluster_run(w.c, &w.a.created, MINUTE);
	sim_cluster_kill(w.c, member(&w, 0), true, false);
	sim_cluster_kill(w.c, member(&w, 1), true, true);
	ok(all_acked(&w, MINUTE), "two members die in a burst");
	ok(sim_cluster_record(w.c, w.a.ledger_id, &m, &version), "a record");
	for (e = 0; e <= w.a.acked; e++) {
		struct bk_bytes entry;
		const struct bk_segment *s =
		    &m.segments[bk_ledger_meta_segment(&m, e)];
		int i, n = 0;

		for (i = 0; i < 3; i++)
			n += sim_bookie_holds(w.c->bookies[sim_cluster_find(w.c,
						  s->bookies[i])],
			    w.a.ledger_id, e, &entry);
		bad += n < 2;
	}
	bk_ledger_meta_fini(&m);
	is_int(bad, 0, "each acknowledged entry has Qa copies on members");
	end(&w, "two at once");
}

static void
fenced(void)
{
	struct world w;
	struct sim_recovery r = {.ledger_id = -1};

	begin(&w, 3, 3, 3, 2);
	w.a.entries = 100;
	w.a.close = true;
	w.a.pace = 10 * BK_MS;
	w.a.burst = 1;
	sim_writer_start(&w.a);
	(void)sim_cluster_run(w.c, &w.a.ended, 500 * BK_MS);
	r.process = sim_process_new(w.c, 3);
	r.ledger_id = w.a.ledger_id;
	sim_recovery_start(&r);
	ok(sim_cluster_run(w.c, &r.ended, MINUTE) && r.status == BK_OK,
	    "a ledger is recovered under its writer");
	ok(sim_cluster_run(w.c, &w.a.ended, MINUTE), "the writer stops");
	ok(w.a.failure == BK_EFENCED || w.a.failure == BK_ECLOSED, "as fenced");
	is_int(w.a.close_status, w.a.failure, "its close says the same");
	ok(w.a.acked <= r.last_entry, "what it acknowledged is kept");
	end(&w, "fenced");
}

/* Only the bookies tell a writer that cannot reach the store. */
static void
fenced_out_of_touch(void)
{
	struct world w;
	struct sim_recovery r = {.ledger_id = -1};

	begin(&w, 3, 3, 3, 2);
	w.a.entries = 10;
	sim_writer_start(&w.a);
	(void)all_acked(&w, MINUTE);
	mem_client_cut(w.p->tree.meta);
	r.process = sim_process_new(w.c, 3);
	r.ledger_id = w.a.ledger_id;
	sim_recovery_start(&r);
	ok(sim_cluster_run(w.c, &r.ended, MINUTE) && r.status == BK_OK &&
		r.last_entry == 9,
	    "recovered while the writer is idle and out of touch");
	w.a.close = true;
	sim_writer_more(&w.a, 20);
	ok(sim_cluster_run(w.c, &w.a.ended, MINUTE) &&
		w.a.failure == BK_EFENCED,
	    "its next add is fenced");
	is_int(w.a.acked, 9, "and not acknowledged");
	mem_client_heal(w.p->tree.meta);
	end(&w, "out of touch");
}

static void
deleted(void)
{
	struct world w;
	char path[BK_PATH_MAX + 1];

	begin(&w, 3, 3, 3, 2);
	w.a.entries = 10;
	sim_writer_start(&w.a);
	(void)all_acked(&w, MINUTE);
	(void)bk_ledger_path(&w.p->tree, w.a.ledger_id, path);
	mem_remove(w.c->store, path);
	w.a.close = true;
	(void)sim_cluster_run(w.c, &w.a.failed, MINUTE);
	is_int(w.a.failure, BK_ENOLEDGER, "a deleted ledger stops its writer");
	end(&w, "deleted");
}

/* The answer to the closing write is lost: it was ours all the same. */
static void
lost_answers(void)
{
	struct world w;

	begin(&w, 4, 3, 3, 2);
	w.a.entries = 300;
	w.a.close = true;
	w.c->lose_answer = 400;
	sim_writer_start(&w.a);
	(void)sim_cluster_run(w.c, &w.a.created, MINUTE);
	is_int(w.a.create_status, BK_OK, "created, answers being lost");
	sim_cluster_kill(w.c, member(&w, 0), false, false);
	ok(sim_cluster_run(w.c, &w.a.ended, MINUTE), "written and closed");
	is_int(w.a.close_status, BK_OK, "all writes were recognised as ours");
	end(&w, "lost answers");
}

int
main(void)
{
	plain();
	striped();
	refusals();
	window();
	spare();
	replaced_in_place();
	no_stall();
	without_spare();
	no_quorum();
	slow();
	overload();
	bounded();
	read_only();
	two_at_once();
	fenced();
	fenced_out_of_touch();
	deleted();
	lost_answers();
	return (tap_done());
}
