/*
 * adds.c - durable adds to running bookies, as many in flight as asked for;
 * then how many a second, and how long they took.
 *
 *	adds [-s SIZE] [-l LEDGERS] [-o OUTSTANDING] [-n ADDS] [-A ACKS]
 *	    [-v 2|3] [-b FIRST_LEDGER] [-R [-p N]] ADDRESS...
 *
 * Each add goes to all addresses ("host:port" or "unix:path") and counts when
 * ACKS of them have answered. Ledgers are written in turn, each from entry 0.
 * Prints one line: adds a second, p50, p99, p99.9 in microseconds. With -R it
 * reads instead: every entry that such a run has left, from each bookie, and
 * its digest is checked; prints reads a second. -p N makes it go through the
 * ledgers one after the other, N entries of each.
 */
#include "base/hist.h"
#include "loop/addr.h"
#include "loop/rpc.h"
#include "sums/digest.h"

#include <bsd/string.h>
#include <err.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BOOKIES_MAX 8
#define TIMEOUT (60 * BK_SECOND)
#define SLOTS_PER_OUTSTANDING 8 /* adds confirmed but not answered by all */

struct op {
	int64_t number; /* which add of the run */
	int64_t started;
	int answers, oks;
	bool counted;
	struct op *next_free;
};

static struct {
	size_t size;
	int64_t ledgers, outstanding, adds, first_ledger, per_ledger;
	int acks, version;
	bool read;
	int nbookies;
	const char *address[BOOKIES_MAX];
} opt = {.size = 128,
    .ledgers = 400,
    .outstanding = 2000,
    .adds = 1000000,
    .first_ledger = 1000,
    .acks = 1,
    .version = 3};

static struct {
	struct bk_loop *loop;
	struct bk_env *env;
	struct bk_peer *peer[BOOKIES_MAX];
	struct bk_digester digester;
	uint8_t key[BK_KEY_SIZE];
	uint8_t *entry;
	struct op *ops, *free;
	int64_t sent, confirmed, finished, in_flight;
	bool pumping, done;
	struct bk_hist latency;
} run;

static void pump(void *arg);

static int
resolve(void *arg, const char *id, struct bk_target *target)
{
	static char host[256];

	(void)arg;
	if (strncmp(id, "unix:", 5) == 0) {
		target->kind = BK_TARGET_UNIX;
		target->host = id + 5;
		return (0);
	}
	if (bk_addr_split(id, host, sizeof(host), &target->port) != 0)
		return (-1);
	target->kind = BK_TARGET_TCP;
	target->host = host;
	return (0);
}

static int64_t
ledger_of(int64_t number)
{
	return (opt.first_ledger +
	    (opt.per_ledger > 0 ? number / opt.per_ledger :
				  number % opt.ledgers));
}

static int64_t
entry_of(int64_t number)
{
	return (opt.per_ledger > 0 ? number % opt.per_ledger :
				     number / opt.ledgers);
}

static void
finish_one(struct op *op)
{
	op->next_free = run.free;
	run.free = op;
	if (++run.finished == opt.adds) {
		run.done = true;
		bk_loop_stop(run.loop);
	}
}

/* Gather the answers of one turn before sending more. */
static void
pump_later(void)
{
	if (run.pumping)
		return;
	run.pumping = true;
	if (bk_loop_later(run.loop, pump, NULL) != 0)
		errx(1, "out of memory");
}

static void
check_entry(const struct op *op, const struct bk_response *resp)
{
	struct bk_entry_header h;
	struct bk_bytes payload;

	if (resp->status == BK_OK &&
	    bk_entry_verify(&run.digester, resp->body, ledger_of(op->number),
		entry_of(op->number), &h, &payload) != BK_OK)
		errx(1, "ledger %lld entry %lld: digest",
		    (long long)ledger_of(op->number),
		    (long long)entry_of(op->number));
}

static void
answered(void *arg, const struct bk_response *resp)
{
	struct op *op = arg;

	if (resp->status != BK_OK)
		errx(1, "ledger %lld entry %lld: %s",
		    (long long)ledger_of(op->number),
		    (long long)entry_of(op->number),
		    bk_status_text(resp->status));
	if (opt.read)
		check_entry(op, resp);
	op->answers++;
	if (++op->oks >= opt.acks && !op->counted) {
		op->counted = true;
		run.confirmed++;
		run.in_flight--;
		bk_hist_add(&run.latency,
		    (uint64_t)(bk_clock_now() - op->started));
	}
	if (op->answers == opt.nbookies)
		finish_one(op);
	pump_later();
}

static void
make_request(int64_t number, struct bk_request *req)
{
	int64_t entry_id = entry_of(number);
	struct bk_entry_header h = {ledger_of(number), entry_id, entry_id - 1,
	    (entry_id + 1) * (int64_t)opt.size};
	struct bk_bytes payload = {run.entry + BK_ENTRY_OVERHEAD_MAX, opt.size};
	size_t overhead = BK_ENTRY_HEADER + run.digester.size;
	uint8_t *start = run.entry + BK_ENTRY_OVERHEAD_MAX - overhead;

	memset(req, 0, sizeof(*req));
	req->version = (uint8_t)opt.version;
	req->ledger_id = h.ledger_id;
	req->entry_id = entry_id;
	if (opt.read) {
		req->op = BK_OP_READ;
		return;
	}
	(void)bk_entry_seal(&run.digester, &h, payload, start);
	req->op = BK_OP_ADD;
	req->flags = BK_REQ_KEY;
	req->master_key = (struct bk_bytes){run.key, sizeof(run.key)};
	req->body = (struct bk_bytes){start, overhead + opt.size};
}

static void
pump(void *arg)
{
	int64_t now = bk_clock_now();
	struct bk_request req;
	struct op *op;
	int i;

	(void)arg;
	run.pumping = false;
	while (run.in_flight < opt.outstanding && run.sent < opt.adds &&
	    run.free != NULL) {
		op = run.free;
		run.free = op->next_free;
		*op = (struct op){.number = run.sent++, .started = now};
		run.in_flight++;
		make_request(op->number, &req);
		for (i = 0; i < opt.nbookies; i++)
			if (run.env->ops->send(run.env, run.peer[i], &req,
				TIMEOUT, answered, op) == 0)
				err(1, "%s", opt.address[i]);
	}
}

static void
parse(int argc, char **argv)
{
	int c;

	while ((c = getopt(argc, argv, "s:l:o:n:A:v:b:p:R")) != -1) {
		switch (c) {
		case 's':
			opt.size = strtoul(optarg, NULL, 10);
			break;
		case 'l':
			opt.ledgers = atoll(optarg);
			break;
		case 'o':
			opt.outstanding = atoll(optarg);
			break;
		case 'n':
			opt.adds = atoll(optarg);
			break;
		case 'A':
			opt.acks = atoi(optarg);
			break;
		case 'v':
			opt.version = atoi(optarg);
			break;
		case 'b':
			opt.first_ledger = atoll(optarg);
			break;
		case 'p':
			opt.per_ledger = atoll(optarg);
			break;
		case 'R':
			opt.read = true;
			break;
		default:
			exit(64);
		}
	}
	for (; optind < argc && opt.nbookies < BOOKIES_MAX; optind++)
		opt.address[opt.nbookies++] = argv[optind];
	if (opt.nbookies == 0)
		errx(64, "no address");
	if (opt.read)
		opt.acks = opt.nbookies;
}

static void
prepare(void)
{
	struct bk_rpc_config config = {.version = (unsigned)opt.version,
	    .connect_timeout = 5 * BK_SECOND,
	    .out_max = SIZE_MAX};
	int64_t i, slots = opt.outstanding * SLOTS_PER_OUTSTANDING;

	run.loop = bk_loop_new();
	run.env = run.loop == NULL ?
	    NULL :
	    bk_rpc_new(run.loop, &config, resolve, NULL);
	run.ops = calloc((size_t)slots, sizeof(*run.ops));
	run.entry = calloc(1, BK_ENTRY_OVERHEAD_MAX + opt.size);
	if (run.env == NULL || run.ops == NULL || run.entry == NULL)
		err(1, "prepare");
	for (i = 0; i < slots; i++) {
		run.ops[i].next_free = run.free;
		run.free = &run.ops[i];
	}
	for (i = 0; i < opt.nbookies; i++)
		run.peer[i] = run.env->ops->peer(run.env, opt.address[i]);
	bk_master_key("", 0, run.key);
	(void)bk_digester_init(&run.digester, BK_DIGEST_CRC32C, "", 0);
}

static double
micro(double share)
{
	return ((double)bk_hist_quantile(&run.latency, share) / 1e3);
}

int
main(int argc, char **argv)
{
	int64_t start;
	double seconds;

	parse(argc, argv);
	prepare();
	start = bk_clock_now();
	pump(NULL);
	if (!bk_loop_run_until(run.loop, &run.done, BK_FOREVER))
		err(1, "loop");
	seconds = (double)(bk_clock_now() - start) / (double)BK_SECOND;
	printf("%.0f %.1f %.1f %.1f\n", (double)opt.adds / seconds, micro(0.5),
	    micro(0.99), micro(0.999));
	return (0);
}
