/*
 * check.c - bk-ledger check: has every stretch of a ledger its copies? Each
 * bookie of a segment is asked for the first and last entry striped to it,
 * with --deep for every one, and each answer's digest is checked. What is
 * short of copies is printed with the bookies that lack it; exit status 1.
 */
#include "bk-ledger/call.h"
#include "bk-ledger/command.h"
#include "bk-ledger/out.h"

#include "client/reader.h"
#include "quorum/quorum.h"
#include "tool/common.h"
#include "tool/password.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sysexits.h>

#define DAMAGE 1 /* exit status: a clear "no" */

static struct {
	bool deep;
	struct out_style style;
} opt;

static const struct out_column columns[] = {
    {'n', "of", false, false},
    {'l', "ledger", false, false},
    {'r', "entries", false, false},
    {'k', "copies", false, false},
    {'b', "lacking", false, false},
};

/* What is looked at: one ledger, as part of what was asked for. */
struct checking {
	struct bk_session *session;
	struct out *out;
	const char *of;
	int64_t ledger_id;
	struct bk_reader *reader;
	const struct bk_ledger_meta *meta;
};

struct opening {
	struct call_wait wait;
	struct bk_reader *reader;
};

static void
opened(void *arg, enum bk_status status, struct bk_reader *r)
{
	struct opening *o = arg;

	o->reader = r;
	call_done(&o->wait, status);
}

static void
got_entry(void *arg, enum bk_status status, const struct bk_read_entry *e)
{
	(void)e;
	call_done(arg, status);
}

static bool
has_entry(const struct checking *c, const char *bookie, int64_t entry)
{
	struct call_wait w = {.session = c->session};

	bk_reader_read_from(c->reader, bookie, entry, got_entry, &w);
	return (call_result(&w) == BK_OK);
}

/* Whether the bookie at a position has what is striped to it of first..last. */
static bool
position_good(const struct checking *c, const struct bk_quorum *q,
    const char *bookie, int position, int64_t first, int64_t last)
{
	int64_t from = bk_quorum_first_on(q, position, first, last);
	int64_t to = bk_quorum_last_on(q, position, first, last);
	int64_t e;

	if (from < 0)
		return (true);
	if (bk_registry_find(c->session->registry, bookie) == NULL)
		return (false);
	if (!opt.deep)
		return (has_entry(c, bookie, from) &&
		    (to == from || has_entry(c, bookie, to)));
	for (e = from; e <= to; e++)
		if ((bk_quorum_write_set(q, e) >> position & 1) != 0 &&
		    !has_entry(c, bookie, e))
			return (false);
	return (true);
}

/* Copies of the entry that has fewest. */
static int
fewest_copies(const struct bk_quorum *q, uint64_t bad, int64_t first,
    int64_t last)
{
	int fewest = q->write_quorum, good;
	int64_t e;

	for (e = first; e <= last && e - first < q->ensemble_size; e++) {
		good = __builtin_popcountll(bk_quorum_write_set(q, e) & ~bad);
		fewest = good < fewest ? good : fewest;
	}
	return (fewest);
}

static void
report(struct checking *c, size_t segment, uint64_t bad,
    const struct bk_quorum *q, int64_t first, int64_t last)
{
	const struct bk_segment *s = &c->meta->segments[segment];
	struct bk_buf bookies;
	char text[64];
	int i;

	bk_buf_init(&bookies);
	for (i = 0; i < q->ensemble_size; i++)
		if ((bad >> i & 1) != 0)
			(void)bk_buf_printf(&bookies, "%s%s",
			    bk_buf_len(&bookies) > 0 ? "," : "", s->bookies[i]);
	(void)bk_buf_put(&bookies, "", 1);
	out_text(c->out, 'n', c->of);
	out_int(c->out, 'l', c->ledger_id);
	(void)snprintf(text, sizeof(text), "%" PRId64 "-%" PRId64, first, last);
	out_text(c->out, 'r', text);
	(void)snprintf(text, sizeof(text), "%d of %d copies",
	    fewest_copies(q, bad, first, last), q->write_quorum);
	out_text(c->out, 'k', text);
	out_text(c->out, 'b', (const char *)bk_buf_head(&bookies));
	bk_buf_fini(&bookies);
	out_row(c->out);
}

static int
check_segment(struct checking *c, size_t i)
{
	const struct bk_ledger_meta *m = c->meta;
	const struct bk_quorum q = {m->ensemble_size, m->write_quorum,
	    m->ack_quorum};
	int64_t first = m->segments[i].first_entry;
	int64_t last = i + 1 < m->nsegments ?
	    m->segments[i + 1].first_entry - 1 :
	    bk_reader_lac(c->reader);
	uint64_t bad = 0;
	int k;

	for (k = 0; k < m->ensemble_size; k++)
		if (!position_good(c, &q, m->segments[i].bookies[k], k, first,
			last))
			bad |= UINT64_C(1) << k;
	if (bad == 0)
		return (EX_OK);
	report(c, i, bad, &q, first, last);
	return (DAMAGE);
}

static int
check_ledger(struct bk_session *s, struct out *out, const char *of,
    int64_t ledger_id)
{
	struct checking c = {.session = s,
	    .out = out,
	    .of = of,
	    .ledger_id = ledger_id};
	struct opening o = {.wait = {.session = s}};
	enum bk_status status;
	int code = EX_OK;
	size_t i;

	bk_reader_open(&s->client, ledger_id, NULL, opened, &o);
	if ((status = call_result(&o.wait)) == BK_ENOLEDGER)
		return (EX_OK); /* deleted meanwhile */
	if (status != BK_OK)
		return (bk_session_fail(status, "ledger %lld",
		    (long long)ledger_id));
	c.reader = o.reader;
	c.meta = bk_reader_meta(o.reader);
	for (i = 0; i < c.meta->nsegments; i++)
		if (check_segment(&c, i) != EX_OK)
			code = DAMAGE;
	bk_reader_free(o.reader);
	return (code);
}

static int
check_name(struct bk_session *s, struct out *out, const char *name)
{
	struct bk_name_place *places;
	enum bk_status status;
	int code = EX_OK, one;
	size_t i, n;

	if ((status = call_places(s, name, &places, &n)) != BK_OK)
		return (bk_session_fail(status, "%s", name));
	for (i = 0; i < n; i++) {
		one = check_ledger(s, out, name, places[i].ledger_id);
		code = one != EX_OK ? one : code;
	}
	free(places);
	return (code);
}

static int
check_one(struct bk_session *s, struct out *out, const char *operand)
{
	struct target t = call_target(operand);
	struct bk_ledger_meta m;
	enum bk_status status;
	int32_t version;

	if (t.is_name)
		return (check_name(s, out, t.text));
	if ((status = call_read(s, t.ledger_id, &m, &version)) != BK_OK)
		return (bk_session_fail(status, "ledger %s", operand));
	bk_ledger_meta_fini(&m);
	return (check_ledger(s, out, operand, t.ledger_id));
}

static int
check_all(struct bk_session *s, struct out *out)
{
	char of[24];
	int64_t *ids;
	size_t i, n;
	enum bk_status status = call_walk(s, &ids, &n);
	int code = EX_OK, one;

	if (status != BK_OK)
		code = bk_session_fail(status, "check");
	for (i = 0; status == BK_OK && i < n; i++) {
		(void)snprintf(of, sizeof(of), "%" PRId64, ids[i]);
		one = check_ledger(s, out, of, ids[i]);
		code = one != EX_OK ? one : code;
	}
	free(ids);
	return (code);
}

int
command_check(int argc, char **argv)
{
	static const char *const examples[] = {"bk-ledger check",
	    "bk-ledger check numbers", "bk-ledger check --deep 12", NULL};
	struct bk_opt opts[] = {
	    {0, "deep", BK_OPT_FLAG, .value = &opt.deep,
		.help = "read every entry from every bookie"},
	    OUT_OPTS(opt.style),
	    BK_COMMON_OPTS,
	    BK_OPT_END,
	};
	struct bk_program program = {.name = "bk-ledger",
	    .command = "check",
	    .usage = "[OPTION...] [LEDGER|NAME...]",
	    .purpose = "find what is short of copies; exit 1 if anything is",
	    .examples = examples,
	    .opts = opts};
	int i = bk_opt_parse(&program, argc, argv), status = EX_OK, code;
	struct bk_session *s = call_open(CALL_BOOKIES);
	struct out *out;

	if (s == NULL)
		return (call_nothing(argc - i, argv + i));
	out =
	    out_open(columns, sizeof(columns) / sizeof(columns[0]), &opt.style);

	if (i == argc)
		status = check_all(s, out);
	for (; i < argc; i++) {
		code = check_one(s, out, argv[i]);
		status = code != EX_OK ? code : status;
	}
	bk_session_close(s);
	return (out_close(out, status));
}
