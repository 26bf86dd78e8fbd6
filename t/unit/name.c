/*
 * name.c - names in a simulated cluster: written again and again, rolled, taken
 * over, truncated, deleted; the holder's node over a lost session.
 */
#include "client/name.h"
#include "t/sim/sim_cluster.h"
#include "t/unit/tap.h"

#include <errno.h>

#define MINUTE (60 * BK_SECOND)

/* One who writes a name. */
struct author {
	struct sim_cluster *c;
	struct sim_process *p;
	struct bk_name_params params;
	struct bk_name_writer *w;
	enum bk_status open_status, end_status, failed_status;
	char holder[128];
	bool opened, closed, failed;
	int64_t acked_ledger, acked_entry, acked;
	int rooms;
};

static void
acked(void *arg, int64_t ledger_id, int64_t entry_id)
{
	struct author *a = arg;

	a->acked += ledger_id == a->acked_ledger ? entry_id - a->acked_entry :
						   entry_id + 1;
	a->acked_ledger = ledger_id;
	a->acked_entry = entry_id;
}

static void
room(void *arg)
{
	struct author *a = arg;

	a->rooms++;
}

static void
failed(void *arg, enum bk_status status)
{
	struct author *a = arg;

	a->failed = true;
	a->failed_status = status;
}

static const struct bk_name_events events = {.acked = acked,
    .room = room,
    .failed = failed};

static void
opened(void *arg, enum bk_status status, const char *holder,
    struct bk_name_writer *w)
{
	struct author *a = arg;

	a->opened = true;
	a->open_status = status;
	a->w = w;
	(void)snprintf(a->holder, sizeof(a->holder), "%s",
	    holder == NULL ? "" : holder);
}

static void
closed(void *arg, enum bk_status status)
{
	struct author *a = arg;

	a->closed = true;
	a->end_status = status;
}

static enum bk_status
author_open(struct author *a, struct sim_cluster *c, const char *name)
{
	struct bk_name_params params = a->params;

	a->c = c;
	if (a->p == NULL)
		a->p = sim_process_new(c, 3);
	a->opened = a->closed = a->failed = false;
	a->acked_ledger = a->acked_entry = -1;
	a->acked = 0;
	params.name = name;
	params.ledger.ledger_id = -1;
	params.ledger.ensemble_size = 2;
	params.ledger.write_quorum = 2;
	params.ledger.ack_quorum = 2;
	params.ledger.digest = BK_DIGEST_CRC32C;
	bk_name_writer_open(&a->p->client, &params, &events, a, opened, a);
	if (!sim_cluster_run(c, &a->opened, MINUTE))
		return (BK_ETIMEOUT);
	return (a->open_status);
}

/* Add n entries, waiting for room where there is none. */
static int
author_add(struct author *a, int n)
{
	int64_t ledger, entry;
	bool never = false;
	int i = 0, waits = 0;

	while (i < n && waits < 10000 && !a->failed) {
		if (bk_name_writer_add(a->w, "hello", 5, &ledger, &entry) ==
		    0) {
			i++;
			continue;
		}
		if (errno != EAGAIN)
			break;
		waits++;
		(void)sim_cluster_run(a->c, &never, BK_MS);
	}
	return (i);
}

static enum bk_status
author_close(struct author *a)
{
	bk_name_writer_close(a->w, closed, a);
	if (!sim_cluster_run(a->c, &a->closed, MINUTE))
		a->end_status = BK_ETIMEOUT;
	bk_name_writer_free(a->w);
	a->w = NULL;
	return (a->end_status);
}

/* What stands under a name: its ledgers, and entries in all. */
struct found {
	bool done;
	enum bk_status status;
	struct bk_name_reader *reader;
	struct bk_name_place place;
	int ledgers;
	int64_t entries;
	enum bk_chain_state state;
};

static void
found_reader(void *arg, enum bk_status status, struct bk_name_reader *r)
{
	struct found *f = arg;

	f->done = true;
	f->status = status;
	f->reader = r;
}

static void
found_place(void *arg, enum bk_status status, const struct bk_name_place *p)
{
	struct found *f = arg;

	f->done = true;
	f->status = status;
	if (status == BK_OK)
		f->place = *p;
}

static void
count_ledger(struct found *f, const struct sim_cluster *c)
{
	struct bk_ledger_meta m;
	int32_t version;

	f->ledgers++;
	if (sim_cluster_record(c, f->place.ledger_id, &m, &version)) {
		f->entries += m.last_entry + 1;
		bk_ledger_meta_fini(&m);
	}
}

static enum bk_status
look(struct found *f, struct sim_process *p, const char *name)
{
	uint64_t position = 0;

	memset(f, 0, sizeof(*f));
	bk_name_reader_open(&p->client, name, found_reader, f);
	(void)sim_cluster_run(p->cluster, &f->done, MINUTE);
	if (f->status != BK_OK)
		return (f->status);
	f->state = bk_name_reader_chain(f->reader)->state;
	for (;;) {
		f->done = false;
		bk_name_reader_at(f->reader, position, found_place, f);
		(void)sim_cluster_run(p->cluster, &f->done, MINUTE);
		if (f->status != BK_OK)
			break;
		count_ledger(f, p->cluster);
		position = f->place.position + 1;
	}
	bk_name_reader_free(f->reader);
	return (f->status == BK_ENOENTRY ? BK_OK : f->status);
}

static void
test_again_tomorrow(void)
{
	struct sim_cluster *c = sim_cluster_new(1, 3);
	struct author a = {0};
	struct found f;
	int day;

	for (day = 1; day <= 3; day++) {
		is_int(author_open(&a, c, "log"), BK_OK, "day %d: opened", day);
		is_int(author_add(&a, 10), 10, "ten entries");
		is_int(author_close(&a), BK_OK, "closed");
		is_int(a.acked, 10, "all acknowledged");
	}
	is_int(look(&f, a.p, "log"), BK_OK, "the name is there");
	ok(f.ledgers == 3 && f.entries == 30 && f.state == BK_CHAIN_ENDED,
	    "three ledgers, thirty entries, ended");
	is_int(look(&f, a.p, "other"), BK_ENOLEDGER, "another is not");
	sim_cluster_free(c);
}

static void
test_roll(void)
{
	struct sim_cluster *c = sim_cluster_new(2, 3);
	struct author a = {.params = {.roll_bytes = 100}};
	struct found f;

	is_int(author_open(&a, c, "log"), BK_OK, "a name that rolls");
	is_int(author_add(&a, 105), 105, "over the size, five times");
	is_int(author_close(&a), BK_OK, "closed");
	is_int(a.acked, 105, "all acknowledged, across ledgers");
	(void)look(&f, a.p, "log");
	ok(f.ledgers == 6 && f.entries == 105, "six ledgers have them");
	sim_cluster_free(c);
}

static void
test_two_authors(void)
{
	struct sim_cluster *c = sim_cluster_new(3, 3);
	struct author a = {0}, b = {0};
	struct found f;
	bool never = false;

	(void)author_open(&a, c, "log");
	(void)author_add(&a, 20);
	(void)sim_cluster_run(c, &never, BK_SECOND);
	is_int(author_open(&b, c, "log"), BK_EHELD,
	    "a name has one writer at a time");
	ok(b.holder[0] != '\0', "the other one is told who");
	b.params.fence = true;
	is_int(author_open(&b, c, "log"), BK_OK, "unless it takes over");
	(void)author_add(&b, 5);
	(void)author_add(&a, 50);
	(void)sim_cluster_run(c, &a.failed, MINUTE);
	ok(a.failed &&
		(a.failed_status == BK_EFENCED ||
		    a.failed_status == BK_ECLOSED),
	    "then the first is fenced: %s", bk_status_name(a.failed_status));
	is_int(a.acked, 20, "and acknowledges nothing more");
	(void)author_close(&a);
	is_int(author_close(&b), BK_OK, "the second closes");
	(void)look(&f, b.p, "log");
	ok(f.ledgers == 2 && f.entries >= 25 && f.state == BK_CHAIN_ENDED,
	    "nothing acknowledged is lost (%d entries)", (int)f.entries);
	sim_cluster_free(c);
}

static void
done(void *arg, enum bk_status status)
{
	struct found *f = arg;

	f->done = true;
	f->status = status;
}

static void
test_truncate_and_delete(void)
{
	struct sim_cluster *c = sim_cluster_new(4, 3);
	struct author a = {0};
	struct found f;
	int i;

	for (i = 0; i < 4; i++) {
		(void)author_open(&a, c, "log");
		(void)author_add(&a, i + 1);
		(void)author_close(&a);
	}
	memset(&f, 0, sizeof(f));
	bk_name_truncate(&a.p->client, "log", 2, done, &f);
	(void)sim_cluster_run(c, &f.done, MINUTE);
	is_int(f.status, BK_OK, "truncated");
	(void)look(&f, a.p, "log");
	ok(f.ledgers == 2 && f.entries == 3 + 4, "the newer two are left");
	memset(&f, 0, sizeof(f));
	bk_name_truncate(&a.p->client, "log", 99, done, &f);
	(void)sim_cluster_run(c, &f.done, MINUTE);
	(void)look(&f, a.p, "log");
	ok(f.ledgers == 1 && f.entries == 4, "the last one never goes");

	(void)author_open(&a, c, "log");
	memset(&f, 0, sizeof(f));
	bk_name_delete(&a.p->client, "log", done, &f);
	(void)sim_cluster_run(c, &f.done, MINUTE);
	is_int(f.status, BK_EHELD, "what is being written is not deleted");
	(void)author_close(&a);
	memset(&f, 0, sizeof(f));
	bk_name_delete(&a.p->client, "log", done, &f);
	(void)sim_cluster_run(c, &f.done, MINUTE);
	is_int(f.status, BK_OK, "deleted");
	is_int(look(&f, a.p, "log"), BK_ENOLEDGER, "gone");
	is_int(author_open(&a, c, "log"), BK_OK, "and free again");
	(void)author_close(&a);
	(void)look(&f, a.p, "log");
	is_int(f.ledgers, 1, "with nothing of before");
	sim_cluster_free(c);
}

static void
test_lost_session(void)
{
	struct sim_cluster *c = sim_cluster_new(5, 3);
	struct author a = {.params = {.roll_bytes = 50}}, b = {0};
	struct found f;
	bool never = false;

	(void)author_open(&a, c, "log");
	(void)author_add(&a, 5);
	mem_client_expire(a.p->tree.meta);
	(void)sim_cluster_run(c, &never, 10 * BK_SECOND);
	is_int(author_open(&b, c, "log"), BK_EHELD,
	    "a writer that lost its session holds its name again");
	is_int(author_add(&a, 20), 20, "and goes on, over a roll");
	is_int(author_close(&a), BK_OK, "to a clean end");
	(void)look(&f, a.p, "log");
	ok(f.entries == 25 && f.state == BK_CHAIN_ENDED, "with all of it");
	sim_cluster_free(c);
}

/* Lost answers of the store, at any step. */
static void
test_lost_answers(void)
{
	struct sim_cluster *c;
	struct author a;
	struct found f;
	int seed, right = 0;

	for (seed = 1; seed <= 40; seed++) {
		c = sim_cluster_new((uint64_t)seed, 3);
		c->lose_answer = c->lose_request = 100;
		memset(&a, 0, sizeof(a));
		a.params.roll_bytes = 50;
		if (author_open(&a, c, "log") == BK_OK) {
			(void)author_add(&a, 30);
			(void)author_close(&a);
			c->lose_answer = c->lose_request = 0;
			right += look(&f, a.p, "log") == BK_OK &&
			    f.entries >= a.acked;
		}
		sim_cluster_free(c);
	}
	is_int(right, 40,
	    "with a tenth of the store's answers lost, every "
	    "acknowledged entry is under the name");
}

int
main(void)
{
	test_again_tomorrow();
	test_roll();
	test_two_authors();
	test_truncate_and_delete();
	test_lost_session();
	test_lost_answers();
	return (tap_done());
}
