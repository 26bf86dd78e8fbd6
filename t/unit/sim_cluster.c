/*
 * sim_cluster.c - whole clusters under every kind of fault at once: a writer,
 * recoveries and readers of one ledger, bookies that die and come back with or
 * without their unsynced tail, a network that loses, doubles and reorders, a
 * store that loses answers, processes that stand still. One seed is one
 * history; each is judged by the oracles of client-protocol.md 7.1.
 *
 *	sim_cluster [SEEDS [FIRST]]
 *
 * With one seed, what happens is told.
 */
#include "t/sim/sim_oracle.h"
#include "t/unit/tap.h"

#include <bsd/stdlib.h>
#include <stdlib.h>

#define SEEDS 300
#define RECOVERIES 3
#define READERS 3

/* Kinds of faults; each seed has some of them. */
enum {
	KILLS = 1 << 0,
	PAUSES = 1 << 1,
	NETWORK = 1 << 2,
	CUTS = 1 << 3,
	STORE = 1 << 4,
	MOODS = 1 << 5,
	RIVALS = 1 << 6,  /* recoveries while the writer lives */
	FREEZES = 1 << 7, /* processes stand still */
	CRASHES = 1 << 8, /* of client processes */
	ALL = (1 << 9) - 1,
};

struct story {
	struct sim_cluster *c;
	struct sim_oracle oracle;
	unsigned kinds;
	struct sim_writer writer;
	struct sim_recovery recoveries[RECOVERIES];
	struct sim_reader readers[READERS];
	int nrecoveries, nreaders;
	struct sim_event fault;
	int64_t gap;  /* between faults, at most */
	int64_t ends; /* time of the last one */
};

/* What may befall a bookie. */

static int
any_bookie(struct story *s)
{
	return ((int)sim_random(s->c->sim, (uint64_t)s->c->nbookies));
}

static void
kill_or_start(struct story *s)
{
	int b = any_bookie(s);

	if (!sim_bookie_running(s->c->bookies[b])) {
		sim_say(s->c, "b%d starts", b);
		sim_cluster_start(s->c, b);
		return;
	}
	sim_say(s->c, "b%d dies", b);
	sim_cluster_kill(s->c, b, sim_chance(s->c->sim, 500),
	    sim_chance(s->c->sim, 300));
}

static void
pause_bookie(struct story *s)
{
	int b = any_bookie(s);
	int64_t ns = sim_between(s->c->sim, BK_MS, 3 * BK_SECOND);

	sim_say(s->c, "b%d pauses for %d ms", b, (int)(ns / BK_MS));
	sim_bookie_pause(s->c->bookies[b], sim_now(s->c->sim) + ns);
}

static void
change_mood(struct story *s)
{
	int b = any_bookie(s);
	struct sim_bookie_mood *m = sim_bookie_mood(s->c->bookies[b]);
	struct sim *sim = s->c->sim;

	sim_say(s->c, "b%d has another mood", b);
	*m = (struct sim_bookie_mood){
	    .sync_min = 100 * 1000,
	    .sync_max = sim_between(sim, BK_MS, 100 * BK_MS),
	};
	switch (sim_random(sim, 6)) {
	case 0:
		m->readonly = true;
		break;
	case 1:
		m->busy = (unsigned)sim_random(sim, 500);
		break;
	case 2:
		m->broken = (unsigned)sim_random(sim, 100);
		break;
	case 3:
		m->deaf = (unsigned)sim_random(sim, 100);
		break;
	case 4:
		m->sync_max = sim_between(sim, BK_MS, 3 * BK_SECOND);
		break;
	default:
		break;
	}
}

/* What may befall the network and the store. */

static void
change_weather(struct story *s)
{
	struct sim_weather *w = sim_net_weather(s->c->net);
	struct sim *sim = s->c->sim;

	sim_say(s->c, "the weather changes");
	*w = (struct sim_weather){
	    .delay_min = 50 * 1000,
	    .delay_max = sim_between(sim, 50 * 1000, 20 * BK_MS),
	};
	if (sim_chance(sim, 300))
		w->drop = (unsigned)sim_random(sim, 50);
	if (sim_chance(sim, 300))
		w->twice = (unsigned)sim_random(sim, 200);
	if (sim_chance(sim, 300))
		w->reset = (unsigned)sim_random(sim, 30);
}

static struct sim_process *
any_process(struct story *s)
{
	struct sim_process *p =
	    &s->c->processes[sim_random(s->c->sim, (uint64_t)s->c->nprocesses)];

	return (p->living ? p : NULL);
}

static void
cut_or_join(struct story *s)
{
	struct sim_process *p = any_process(s);
	int b = any_bookie(s);
	bool cut = sim_chance(s->c->sim, 400);

	if (p != NULL) {
		sim_say(s->c, "a process and b%d are %s", b,
		    cut ? "cut apart" : "joined");
		sim_env_cut(p->env, sim_bookie_id(s->c->bookies[b]), cut);
	}
}

static void
upset_store(struct story *s)
{
	struct sim_cluster *c = s->c;
	struct sim_process *p;

	sim_say(c, "the store is upset");
	c->meta_down = sim_chance(c->sim, 150);
	c->lose_request = (unsigned)sim_random(c->sim, 200);
	c->lose_answer = (unsigned)sim_random(c->sim, 200);
	c->meta_delay_max = sim_between(c->sim, BK_MS, 200 * BK_MS);
	if (sim_chance(c->sim, 200) && (p = any_process(s)) != NULL)
		mem_client_expire(p->tree.meta);
}

static void
freeze(struct story *s)
{
	struct sim_process *p = any_process(s);
	int64_t ns = sim_between(s->c->sim, BK_MS, 6 * BK_SECOND);

	if (p == NULL)
		return;
	sim_say(s->c, "a process stands still for %d ms", (int)(ns / BK_MS));
	sim_process_pause(p, ns, sim_between(s->c->sim, 0, 2 * BK_SECOND));
}

/* Who else comes and goes. */

static void
rival(struct story *s)
{
	struct sim_recovery *r;

	if (s->nrecoveries == RECOVERIES || !s->writer.created ||
	    s->writer.ledger_id < 0 || sim_chance(s->c->sim, 900))
		return;
	r = &s->recoveries[s->nrecoveries++];
	sim_say(s->c, "a recovery begins");
	r->process = sim_process_new(s->c, sim_chance(s->c->sim, 500) ? 3 : 2);
	r->ledger_id = s->writer.ledger_id;
	sim_recovery_start(r);
}

static void
come_to_read(struct story *s)
{
	struct sim_reader *r;

	if (s->nreaders == READERS || !s->writer.created ||
	    s->writer.ledger_id < 0)
		return;
	r = &s->readers[s->nreaders++];
	sim_say(s->c, "a reader comes");
	r->process = sim_process_new(s->c, sim_chance(s->c->sim, 700) ? 3 : 2);
	r->writer = &s->writer;
	r->ledger_id = s->writer.ledger_id;
	r->follow = sim_chance(s->c->sim, 700);
	r->pause_every = (int)sim_random(s->c->sim, 20);
	sim_reader_start(r);
}

static void
crash(struct story *s)
{
	uint64_t who = sim_random(s->c->sim, 6);

	if (who == 0 && s->writer.created && !s->writer.ended &&
	    sim_chance(s->c->sim, 200)) {
		sim_say(s->c, "the writer crashes");
		sim_writer_stop(&s->writer);
	} else if (who > 0 && s->nrecoveries > 0) {
		struct sim_recovery *r =
		    &s->recoveries[who % (unsigned)s->nrecoveries];

		if (r->rec == NULL)
			return;
		sim_say(s->c, "a recovery crashes");
		sim_recovery_stop(r);
	}
}

static void
something_happens(struct story *s)
{
	static void (*const faults[])(struct story *) = {kill_or_start,
	    pause_bookie, change_weather, cut_or_join, upset_store, change_mood,
	    rival, freeze, crash};
	size_t kind = sim_random(s->c->sim, sizeof(faults) / sizeof(faults[0]));

	if (sim_chance(s->c->sim, 150))
		come_to_read(s);
	else if ((s->kinds >> kind & 1) != 0)
		faults[kind](s);
}

static void
fault(void *arg)
{
	struct story *s = arg;
	struct sim *sim = s->c->sim;

	if (sim_now(sim) > s->ends)
		return;
	something_happens(s);
	sim_event_set(sim, &s->fault, sim_between(sim, 0, s->gap), fault, s);
}

/* The course of a story. */

static void
set_out(struct story *s, uint64_t seed)
{
	struct sim *sim;
	struct sim_writer *w = &s->writer;
	static const enum bk_digest_type digests[] = {BK_DIGEST_CRC32,
	    BK_DIGEST_HMAC, BK_DIGEST_CRC32C, BK_DIGEST_CRC32C};
	int e, qw, qa, n;

	memset(s, 0, sizeof(*s));
	s->c = sim_cluster_new(seed, 3 + (int)(seed % 5));
	sim = s->c->sim;
	sim_oracle_init(&s->oracle, s->c);
	s->c->registration_lag = sim_between(sim, 0, 3 * BK_SECOND);
	s->kinds = (unsigned)sim_random(sim, ALL + 1);
	n = s->c->nbookies;
	e = 1 + (int)sim_random(sim, n > 5 ? 5 : (uint64_t)n);
	qw = 1 + (int)sim_random(sim, (uint64_t)e);
	qa = 1 + (int)sim_random(sim, (uint64_t)qw);
	*w = (struct sim_writer){
	    .process = sim_process_new(s->c, sim_chance(sim, 700) ? 3 : 2),
	    .params = {.ledger_id = -1,
		.ensemble_size = e,
		.write_quorum = qw,
		.ack_quorum = qa,
		.digest = digests[sim_random(sim, 4)],
		.password = {(const uint8_t *)"pw", sim_random(sim, 3)}},
	    .key = seed,
	    .size_max = (size_t)sim_between(sim, 0, 300),
	    .entries = sim_between(sim, 0, 1000),
	    .close = sim_chance(sim, 700),
	};
	s->gap = sim_between(sim, 10 * BK_MS, 400 * BK_MS);
	s->ends = sim_now(sim) + sim_between(sim, BK_SECOND, 15 * BK_SECOND);
	w->burst = 1 + (int)sim_random(sim, 20);
	if (sim_chance(sim, 900))
		w->pace = sim_between(sim, BK_MS,
		    (s->ends - sim_now(sim)) * w->burst / (w->entries + 1) +
			2 * BK_MS);
	w->process->client.window_entries = 1 + sim_random(sim, 100);
	if (sim_chance(sim, 300))
		w->process->client.peer_bytes = 1000 + sim_random(sim, 20000);
	if (sim_chance(sim, 300))
		sim_env_queue_max(w->process->env, 2000);
	sim_say(s->c, "%d bookies, %d/%d/%d, %d entries, faults 0x%x", n, e, qw,
	    qa, (int)w->entries, s->kinds);
}

static void
heal(struct story *s)
{
	struct sim_cluster *c = s->c;
	int i, b;

	sim_say(c, "all is well again");
	s->writer.pace = 0;
	*sim_net_weather(c->net) = (struct sim_weather){.delay_min = 100 * 1000,
	    .delay_max = 100 * 1000};
	c->meta_down = false;
	c->lose_request = c->lose_answer = 0;
	c->meta_delay_max = c->meta_delay_min;
	for (b = 0; b < c->nbookies; b++) {
		*sim_bookie_mood(c->bookies[b]) =
		    (struct sim_bookie_mood){.sync_min = 200 * 1000,
			.sync_max = 200 * 1000};
		sim_bookie_pause(c->bookies[b], 0);
		sim_cluster_start(c, b);
		for (i = 0; i < c->nprocesses; i++)
			if (c->processes[i].living)
				sim_env_cut(c->processes[i].env,
				    sim_bookie_id(c->bookies[b]), false);
	}
}

static void
wait_for(struct story *s, const bool *ended, int64_t ns, const char *who)
{
	if (s->c->fault[0] == '\0' && !sim_cluster_run(s->c, ended, ns))
		sim_blame(s->c, "I15: %s does not end", who);
}

/* The last recovery, which must succeed. */
static void
close_ledger(struct story *s, struct sim_recovery *last)
{
	*last = (struct sim_recovery){
	    .process = sim_process_new(s->c, 3),
	    .ledger_id = s->writer.ledger_id,
	};
	sim_recovery_start(last);
	wait_for(s, &last->ended, 60 * BK_SECOND, "the last recovery");
	if (last->ended && last->status != BK_OK)
		sim_blame(s->c, "I16: the last recovery: %s",
		    bk_status_name(last->status));
}

/* Everyone who was told an end was told the same. */
static void
compare_ends(struct story *s, const struct sim_recovery *last)
{
	int i;

	for (i = 0; i < s->nrecoveries; i++) {
		const struct sim_recovery *r = &s->recoveries[i];

		if (r->ended && r->status == BK_OK && r->process != NULL &&
		    r->rec == NULL && r->last_entry != 0 &&
		    (r->last_entry != last->last_entry ||
			r->length != last->length))
			sim_blame(s->c, "I6: two ends");
	}
	for (i = 0; i < s->nreaders; i++) {
		const struct sim_reader *r = &s->readers[i];

		if (r->next - 1 > last->last_entry || r->lac > last->last_entry)
			sim_blame(s->c, "I8: a reader was beyond the end");
		if (r->follow && r->ended && r->status == BK_OK &&
		    r->next != last->last_entry + 1)
			sim_blame(s->c, "I3: a follower missed the end");
	}
}

static void
read_back(struct story *s, const struct sim_recovery *last)
{
	struct sim_reader r = {
	    .process = last->process,
	    .writer = &s->writer,
	    .ledger_id = s->writer.ledger_id,
	};

	sim_reader_start(&r);
	wait_for(s, &r.ended, 60 * BK_SECOND, "the last reader");
	if (r.ended && (r.status != BK_OK || r.next != last->last_entry + 1))
		sim_blame(s->c, "I1: read back to %d of %d: %s", (int)r.next,
		    (int)last->last_entry + 1, bk_status_name(r.status));
	sim_reader_stop(&r);
}

static void
wait_for_all(struct story *s)
{
	int i;

	wait_for(s, &s->writer.created, 60 * BK_SECOND, "the creation");
	if (s->writer.close)
		wait_for(s, &s->writer.ended, 200 * BK_SECOND, "the writer");
	for (i = 0; i < s->nrecoveries; i++)
		wait_for(s, &s->recoveries[i].ended, 60 * BK_SECOND,
		    "a recovery");
}

static void
finish(struct story *s)
{
	struct sim_recovery last = {.ledger_id = -1};
	int i;

	wait_for_all(s);
	if (s->writer.ledger_id >= 0 && s->c->fault[0] == '\0') {
		close_ledger(s, &last);
		for (i = 0; i < s->nreaders; i++)
			wait_for(s, &s->readers[i].ended, 60 * BK_SECOND,
			    "a reader");
	}
	if (s->writer.ledger_id >= 0 && s->c->fault[0] == '\0') {
		compare_ends(s, &last);
		read_back(s, &last);
		sim_oracle_judge(&s->oracle, &s->writer);
	}
	for (i = 0; i < s->nreaders; i++)
		sim_reader_stop(&s->readers[i]);
	for (i = 0; i < s->nrecoveries; i++)
		sim_recovery_stop(&s->recoveries[i]);
	sim_recovery_stop(&last);
	sim_writer_stop(&s->writer);
	sim_event_stop(&s->fault);
	sim_oracle_fini(&s->oracle);
}

/* Run a seed; its history, and in fault what does not hold. */
static uint64_t
run(uint64_t seed, bool loud, char fault_text[200])
{
	struct story s;
	uint64_t history;
	bool never = false;

	set_out(&s, seed);
	s.c->loud = loud;
	sim_writer_start(&s.writer);
	fault(&s);
	(void)sim_run(s.c->sim, &never, s.ends);
	heal(&s);
	finish(&s);
	history = sim_history(s.c->sim);
	memcpy(fault_text, s.c->fault, sizeof(s.c->fault));
	sim_cluster_free(s.c);
	return (history);
}

int
main(int argc, char **argv)
{
	uint64_t seeds = SEEDS, first = 1, seed, failed = 0;
	char text[200];

	if (argc > 1)
		seeds = (uint64_t)strtonum(argv[1], 1, INT64_MAX, NULL);
	if (argc > 2)
		first = (uint64_t)strtonum(argv[2], 0, INT64_MAX, NULL);
	for (seed = first; seed < first + seeds; seed++) {
		(void)run(seed, seeds == 1, text);
		if (text[0] == '\0')
			continue;
		failed++;
		ok(false, "seed %" PRIu64 ": %s", seed, text);
		printf("# again: sim_cluster 1 %" PRIu64 "\n", seed);
	}
	ok(failed == 0, "%" PRIu64 " seeds from %" PRIu64 " hold", seeds,
	    first);
	ok(run(first, false, text) == run(first, false, text),
	    "a seed is one history");
	return (tap_done());
}
