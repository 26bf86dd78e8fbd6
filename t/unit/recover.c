/*
 * recover.c - recovery of a ledger in a simulated cluster: what is kept, what
 * is absent, who must answer, two at once, members lost on the way
 * (client-protocol.md 3, 7.2).
 */
#include "quorum/quorum.h"
#include "t/sim/sim_actor.h"
#include "t/unit/tap.h"

#define MINUTE (60 * BK_SECOND)
#define KEY 99
#define SIZE 200

struct world {
	struct sim_cluster *c;
	struct sim_writer a;
	struct sim_recovery r;
};

static void
pass(struct world *w, int64_t ns)
{
	bool never = false;

	(void)sim_cluster_run(w->c, &never, ns);
}

/* A writer that has stopped without a close after some entries. */
static void
begin(struct world *w, int nbookies, int e, int qw, int qa, int64_t entries)
{
	memset(w, 0, sizeof(*w));
	w->c = sim_cluster_new(3, nbookies);
	w->a = (struct sim_writer){
	    .process = sim_process_new(w->c, 3),
	    .params = {.ledger_id = -1,
		.ensemble_size = e,
		.write_quorum = qw,
		.ack_quorum = qa,
		.digest = BK_DIGEST_CRC32,
		.password = {(const uint8_t *)"secret", 6}},
	    .key = KEY,
	    .size_max = SIZE,
	    .entries = entries,
	};
	sim_writer_start(&w->a);
	pass(w, BK_SECOND);
	w->r = (struct sim_recovery){
	    .process = sim_process_new(w->c, 3),
	    .ledger_id = w->a.ledger_id,
	};
}

static void
end(struct world *w, const char *what)
{
	is_str(w->c->fault, "", "%s: nothing to blame", what);
	sim_writer_stop(&w->a);
	sim_recovery_stop(&w->r);
	sim_cluster_free(w->c);
}

static bool
recovers(struct world *w)
{
	sim_recovery_start(&w->r);
	return (
	    sim_cluster_run(w->c, &w->r.ended, MINUTE) && w->r.status == BK_OK);
}

static int
member(const struct world *w, int position)
{
	struct bk_ledger_meta m;
	int32_t version;
	int i;

	if (!sim_cluster_record(w->c, w->a.ledger_id, &m, &version))
		return (-1);
	i = sim_cluster_find(w->c,
	    m.segments[m.nsegments - 1].bookies[position]);
	bk_ledger_meta_fini(&m);
	return (i);
}

static enum bk_ledger_state
state(const struct world *w)
{
	struct bk_ledger_meta m;
	enum bk_ledger_state s;
	int32_t version;

	if (!sim_cluster_record(w->c, w->a.ledger_id, &m, &version))
		return (BK_LEDGER_OPEN);
	s = m.state;
	bk_ledger_meta_fini(&m);
	return (s);
}

/* Entries up to the end with fewer than copies on their write set by the
 * record. */
static int
short_of(const struct world *w, int copies)
{
	struct bk_ledger_meta m;
	int32_t version;
	int64_t e;
	int wrong = 0;

	if (!sim_cluster_record(w->c, w->a.ledger_id, &m, &version))
		return (-1);
	for (e = 0; e <= m.last_entry; e++) {
		struct bk_quorum q = {m.ensemble_size, m.write_quorum,
		    m.ack_quorum};
		const struct bk_segment *s =
		    &m.segments[bk_ledger_meta_segment(&m, e)];
		struct bk_bytes entry;
		int i, n = 0;

		for (i = 0; i < m.write_quorum; i++) {
			const char *id =
			    s->bookies[bk_quorum_position(&q, e, i)];

			n += sim_bookie_holds(w->c->bookies
						  [sim_cluster_find(w->c, id)],
			    w->a.ledger_id, e, &entry);
		}
		wrong += n < copies;
	}
	bk_ledger_meta_fini(&m);
	return (wrong);
}

static void
plain(int e, int qw, int qa)
{
	struct world w;

	begin(&w, 5, e, qw, qa, 500);
	sim_writer_stop(&w.a);
	ok(recovers(&w), "%d/%d/%d: a ledger left open is recovered", e, qw,
	    qa);
	is_int(w.r.last_entry, 499, "with all its entries");
	is_int(w.r.length, sim_payload_sum(KEY, 499, SIZE), "and its length");
	is_int(state(&w), BK_LEDGER_CLOSED, "and closed");
	is_int(short_of(&w, qa), 0, "each entry at its quorum");
	ok(recovers(&w) && w.r.last_entry == 499,
	    "recovering it again is fine");
	end(&w, "plain");
}

static void
empty(void)
{
	struct world w;

	begin(&w, 3, 3, 3, 2, 0);
	sim_writer_stop(&w.a);
	ok(recovers(&w) && w.r.last_entry == -1 && w.r.length == 0,
	    "a ledger without entries is closed as empty");
	end(&w, "empty");
}

/* Writer stopped, all known to be confirmed: nothing is re-added, and the
 * length is exact all the same (D7). */
static void
nothing_to_add(void)
{
	struct world w;

	begin(&w, 3, 3, 3, 2, 100);
	pass(&w, BK_SECOND);
	sim_writer_stop(&w.a);
	ok(recovers(&w) && w.r.last_entry == 99, "all confirmed");
	is_int(w.r.length, sim_payload_sum(KEY, 99, SIZE), "exact length");
	end(&w, "nothing to add");
}

static void
password(void)
{
	struct world w;

	begin(&w, 3, 3, 3, 2, 10);
	w.r.with_password = true;
	w.r.password = (struct bk_password){(const uint8_t *)"wrong", 5};
	ok(!recovers(&w) && w.r.status == BK_EUA, "a wrong password is told");
	is_int(state(&w), BK_LEDGER_OPEN, "before anything is changed");
	ok(!sim_bookie_fenced(w.c->bookies[0], w.a.ledger_id), "or fenced");
	w.r.password = (struct bk_password){(const uint8_t *)"secret", 6};
	ok(recovers(&w), "the right one opens");
	w.r.ledger_id = 777;
	ok(!recovers(&w) && w.r.status == BK_ENOLEDGER, "no such ledger");
	end(&w, "password");
}

/* Members dead at the time: who must be there depends on the quorum. */
static void
dead_members(int e, int qw, int qa, int dead, bool may)
{
	struct world w;
	int i;

	begin(&w, e, e, qw, qa, 200);
	sim_writer_stop(&w.a);
	for (i = 0; i < dead; i++)
		sim_cluster_kill(w.c, member(&w, i), true, i % 2 == 0);
	if (may) {
		ok(recovers(&w) && w.r.last_entry == 199,
		    "%d/%d/%d with %d dead: recovered", e, qw, qa, dead);
		is_int(short_of(&w, qa), 0, "each entry at its quorum");
	} else {
		ok(!recovers(&w) &&
			(w.r.status == BK_EUNDECIDED ||
			    w.r.status == BK_ENOTENOUGH),
		    "%d/%d/%d with %d dead: not to be had (%s)", e, qw, qa,
		    dead, bk_status_name(w.r.status));
		is_int(state(&w), BK_LEDGER_IN_RECOVERY, "and left as it is");
		for (i = 0; i < e; i++)
			if (!sim_bookie_running(w.c->bookies[i]))
				sim_cluster_start(w.c, i);
		ok(recovers(&w) && w.r.last_entry == 199,
		    "until they are back");
	}
	end(&w, "dead members");
}

/* A member that takes connections and never answers. */
static void
zombie(void)
{
	struct world w;

	begin(&w, 3, 3, 3, 2, 100);
	sim_writer_stop(&w.a);
	sim_bookie_pause(w.c->bookies[member(&w, 0)],
	    sim_now(w.c->sim) + 10 * MINUTE);
	ok(recovers(&w) && w.r.last_entry == 99,
	    "a member that never answers is not waited for");
	end(&w, "zombie");
}

/* An entry that one member alone has is kept; a damaged one is no absence. */
static void
lone_copy(void)
{
	struct world w;
	int i, first;

	begin(&w, 3, 3, 3, 2, 10);
	first = member(&w, 0);
	for (i = 0; i < 3; i++)
		if (i != first)
			sim_bookie_mood(w.c->bookies[i])->broken = 1000;
	sim_writer_more(&w.a, 11);
	pass(&w, 100 * BK_MS);
	sim_writer_stop(&w.a);
	for (i = 0; i < 3; i++)
		sim_bookie_mood(w.c->bookies[i])->broken = 0;
	ok(recovers(&w) && w.r.last_entry == 10, "a lone copy is kept");
	is_int(short_of(&w, 2), 0, "and brought to its quorum");
	end(&w, "lone copy");

	begin(&w, 3, 3, 3, 2, 10);
	sim_writer_stop(&w.a);
	sim_cluster_kill(w.c, member(&w, 0), false, false);
	(void)sim_bookie_spoil(w.c->bookies[member(&w, 1)], w.a.ledger_id, 9);
	ok(recovers(&w) && w.r.last_entry == 9,
	    "a spoilt copy and a dead member: the last one serves");
	end(&w, "spoilt");

	begin(&w, 3, 3, 3, 2, 10);
	sim_writer_stop(&w.a);
	sim_cluster_kill(w.c, member(&w, 0), false, false);
	(void)sim_bookie_spoil(w.c->bookies[member(&w, 1)], w.a.ledger_id, 5);
	(void)sim_bookie_spoil(w.c->bookies[member(&w, 2)], w.a.ledger_id, 5);
	w.r.process->client.replace_timeout = BK_SECOND;
	(void)recovers(&w);
	ok(w.r.status == BK_OK ? w.r.last_entry == 9 :
				 w.r.status == BK_EUNDECIDED,
	    "no good copy of a confirmed one: never cut off before it (%s)",
	    bk_status_name(w.r.status));
	end(&w, "spoilt twice");
}

/* The re-adds need a spare, and the old member is back for the next try. */
static void
spare(void)
{
	struct world w;

	begin(&w, 5, 3, 3, 2, 300);
	sim_writer_stop(&w.a);
	sim_cluster_kill(w.c, member(&w, 1), false, false);
	ok(recovers(&w) && w.r.last_entry == 299, "a member is replaced");
	is_int(short_of(&w, 2), 0, "each entry at its quorum, by the record");
	end(&w, "spare");
}

static void
killed_and_again(void)
{
	struct world w;
	int64_t steps;
	int tries = 0;

	begin(&w, 5, 3, 3, 2, 300);
	sim_writer_stop(&w.a);
	for (steps = BK_MS / 2; tries < 20; steps += BK_MS / 4, tries++) {
		sim_recovery_start(&w.r);
		pass(&w, steps);
		if (w.r.ended)
			break;
		sim_recovery_stop(&w.r);
	}
	ok(tries > 3, "a recovery killed %d times at rising lengths", tries);
	ok(recovers(&w) && w.r.last_entry == 299, "comes to its end at last");
	end(&w, "killed");
}

static void
two_at_once(void)
{
	struct world w;
	struct sim_recovery other;
	int64_t head;

	for (head = 0; head < 12; head++) {
		begin(&w, 5, 3, 3, 2, 100);
		sim_writer_stop(&w.a);
		other = w.r;
		other.process = sim_process_new(w.c, 3);
		sim_recovery_start(&other);
		pass(&w, head * BK_MS / 2);
		(void)recovers(&w);
		(void)sim_cluster_run(w.c, &other.ended, MINUTE);
		ok(w.r.status == BK_OK && other.status == BK_OK &&
			w.r.last_entry == 99 && other.last_entry == 99 &&
			w.r.length == other.length,
		    "two recoveries agree, one %d steps ahead", (int)head);
		end(&w, "two at once");
	}
}

/* The last segment is empty: nothing before it is read again (#2615). */
static void
empty_segment(void)
{
	struct world w;
	struct bk_ledger_meta m;
	int32_t version;
	int first;

	begin(&w, 5, 3, 3, 3, 100);
	first = member(&w, 0);
	sim_cluster_kill(w.c, first, false, false);
	sim_writer_more(&w.a, 101);
	while (member(&w, 0) == first)
		pass(&w, BK_MS / 10);
	sim_writer_stop(&w.a);
	ok(sim_cluster_record(w.c, w.a.ledger_id, &m, &version) &&
		m.nsegments == 2 && m.segments[1].first_entry == 100,
	    "a writer stops right after a change");
	bk_ledger_meta_fini(&m);
	ok(recovers(&w) && w.r.last_entry >= 99, "nothing confirmed is lost");
	is_int(w.r.length, sim_payload_sum(KEY, w.r.last_entry, SIZE),
	    "the length is exact");
	end(&w, "empty segment");
}

int
main(void)
{
	plain(3, 3, 2);
	plain(5, 3, 2);
	plain(4, 2, 2);
	plain(1, 1, 1);
	plain(2, 2, 1);
	empty();
	nothing_to_add();
	password();
	dead_members(3, 3, 2, 1, true);
	dead_members(3, 3, 3, 1, false);
	dead_members(2, 2, 2, 1, false);
	dead_members(3, 3, 2, 2, false);
	dead_members(2, 2, 1, 1, false);
	zombie();
	lone_copy();
	spare();
	killed_and_again();
	two_at_once();
	empty_segment();
	return (tap_done());
}
