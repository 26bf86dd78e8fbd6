/*
 * list.c - bk-ledger list: every ledger, or those of a name, one a line; with
 * --names the names.
 */
#include "bk-ledger/call.h"
#include "bk-ledger/command.h"
#include "bk-ledger/out.h"

#include "base/log.h"
#include "tool/common.h"

#include <stdlib.h>
#include <string.h>
#include <sysexits.h>
#include <time.h>

#define CHUNK 256 /* ledgers read at once */

static struct {
	bool open, closed, names, orphans;
	const char *bookie;
	int64_t older;
	struct out_style style;
} opt;

static const struct out_column columns[] = {
    {'l', "ledger", false, false},
    {'S', "state", false, false},
    {'e', "last", false, false},
    {'L', "length", true, false},
    {'n', "name", false, false},
    {'E', "ensemble", false, true},
    {'W', "write", false, true},
    {'A', "ack", false, true},
    {'d', "digest", false, true},
    {'c', "created", false, true},
    {'b', "bookies", false, true},
};

static const struct out_column name_columns[] = {
    {'n', "name", false, false},
    {'S', "state", false, false},
    {'N', "ledgers", false, false},
    {'h', "holder", false, false},
};

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

/* One ledger of a chunk, as it was read. */
struct item {
	int64_t id;
	enum bk_status status;
	struct bk_ledger_meta meta;
	struct chunk *chunk;
};

struct chunk {
	struct item item[CHUNK];
	size_t n, answered;
	bool done;
};

static void
item_read(void *arg, enum bk_status status, const struct bk_ledger_meta *m,
    int32_t version)
{
	struct item *it = arg;
	struct chunk *c = it->chunk;

	(void)version;
	it->status = status;
	if (status == BK_OK && bk_ledger_meta_copy(&it->meta, m) != 0)
		it->status = BK_ENOMEM;
	c->done = ++c->answered == c->n;
}

static int64_t
age_ns(const struct bk_ledger_meta *m)
{
	struct timespec ts;
	int64_t now_ms;

	(void)clock_gettime(CLOCK_REALTIME, &ts);
	now_ms = (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
	return ((now_ms - m->ctime_ms) * BK_MS);
}

static bool
wanted(struct bk_session *s, const struct bk_ledger_meta *m)
{
	if (opt.open && m->state == BK_LEDGER_CLOSED)
		return (false);
	if (opt.closed && m->state != BK_LEDGER_CLOSED)
		return (false);
	if (opt.bookie != NULL && !bk_ledger_meta_names(m, opt.bookie))
		return (false);
	if (opt.older > 0 && (!m->has_ctime || age_ns(m) < opt.older))
		return (false);
	if (opt.orphans &&
	    (call_chain_id(m) < 0 ||
		call_chain_name(s, call_chain_id(m)) != NULL))
		return (false);
	return (true);
}

/* Bookies of the last segment, joined by commas. */
static void
put_bookies(struct out *o, const struct bk_ledger_meta *m)
{
	const struct bk_segment *last = &m->segments[m->nsegments - 1];
	struct bk_buf text;
	int i;

	bk_buf_init(&text);
	for (i = 0; i < m->ensemble_size; i++)
		(void)bk_buf_printf(&text, "%s%s", i == 0 ? "" : ",",
		    last->bookies[i]);
	(void)bk_buf_put(&text, "", 1);
	out_text(o, 'b', (const char *)bk_buf_head(&text));
	bk_buf_fini(&text);
}

static void
put_created(struct out *o, const struct bk_ledger_meta *m)
{
	time_t t = (time_t)(m->ctime_ms / 1000);
	char text[32];
	struct tm tm;

	if (!m->has_ctime || gmtime_r(&t, &tm) == NULL)
		return;
	(void)strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &tm);
	out_text(o, 'c', text);
}

static void
put_ledger(struct bk_session *s, struct out *o, const struct item *it)
{
	const struct bk_ledger_meta *m = &it->meta;
	const char *name = NULL;

	if (call_chain_id(m) >= 0)
		name = call_chain_name(s, call_chain_id(m));
	out_int(o, 'l', it->id);
	out_text(o, 'S', bk_ledger_state_name(m->state));
	if (m->state == BK_LEDGER_CLOSED) {
		out_int(o, 'e', m->last_entry);
		out_int(o, 'L', m->length);
	}
	if (name != NULL)
		out_text(o, 'n', name);
	out_int(o, 'E', m->ensemble_size);
	out_int(o, 'W', m->write_quorum);
	out_int(o, 'A', m->ack_quorum);
	out_text(o, 'd', bk_digest_name(m->digest));
	put_created(o, m);
	put_bookies(o, m);
	out_row(o);
}

/* Read up to CHUNK ledgers together, print them in order. A ledger deleted
 * meanwhile is passed over; an unreadable one is said and remembered. */
static int
list_chunk(struct bk_session *s, struct out *o, struct chunk *c)
{
	int status = EX_OK;
	size_t i;

	for (i = 0; i < c->n; i++)
		bk_ledger_read(&s->tree, c->item[i].id, BK_NO_WATCH, item_read,
		    &c->item[i]);
	if (c->n > 0)
		(void)bk_loop_run_until(s->loop, &c->done, BK_FOREVER);
	for (i = 0; i < c->n; i++) {
		struct item *it = &c->item[i];

		if (it->status == BK_OK) {
			if (wanted(s, &it->meta))
				put_ledger(s, o, it);
			bk_ledger_meta_fini(&it->meta);
		} else if (it->status != BK_ENOLEDGER) {
			status = bk_session_fail(it->status, "ledger %lld",
			    (long long)it->id);
		}
	}
	return (status);
}

static int
list_ids(struct bk_session *s, const int64_t *ids, size_t n)
{
	struct out *o = out_open(columns, COUNT(columns), &opt.style);
	struct chunk *c = malloc(sizeof(*c));
	int status = c == NULL ? bk_session_fail(BK_ENOMEM, "list") : EX_OK;
	size_t i, k;

	for (i = 0; c != NULL && i < n; i += c->n) {
		memset(c, 0, sizeof(*c));
		c->n = n - i < CHUNK ? n - i : CHUNK;
		for (k = 0; k < c->n; k++) {
			c->item[k].id = ids[i + k];
			c->item[k].chunk = c;
		}
		k = (size_t)list_chunk(s, o, c);
		status = k != EX_OK ? (int)k : status;
	}
	free(c);
	return (out_close(o, status));
}

static int
list_all(struct bk_session *s)
{
	enum bk_status status;
	int64_t *ids;
	size_t n;
	int code;

	if ((status = call_walk(s, &ids, &n)) != BK_OK)
		code = bk_session_fail(status, "list");
	else
		code = list_ids(s, ids, n);
	free(ids);
	return (code);
}

static int
list_name(struct bk_session *s, const char *name)
{
	struct bk_name_place *places;
	enum bk_status status;
	int64_t *ids;
	size_t i, n;
	int code;

	if ((status = call_places(s, name, &places, &n)) != BK_OK)
		return (bk_session_fail(status, "%s", name));
	if ((ids = calloc(n + 1, sizeof(*ids))) == NULL) {
		free(places);
		return (bk_session_fail(BK_ENOMEM, "%s", name));
	}
	for (i = 0; i < n; i++)
		ids[i] = places[i].ledger_id;
	code = list_ids(s, ids, n);
	free(ids);
	free(places);
	return (code);
}

struct name_list {
	struct call_wait wait;
	char **names;
	size_t n;
};

static void
got_names(void *arg, enum bk_status status, const char *const *names, size_t n)
{
	struct name_list *l = arg;

	l->names = calloc(n + 1, sizeof(*l->names));
	for (; l->names != NULL && l->n < n; l->n++)
		l->names[l->n] = strdup(names[l->n]);
	call_done(&l->wait, l->names == NULL ? BK_ENOMEM : status);
}

static const char *
chain_state(const struct bk_chain *c)
{
	return (c->state == BK_CHAIN_WRITING ? "writing" : "ended");
}

static int
list_names(struct bk_session *s)
{
	struct name_list l = {.wait = {.session = s}};
	struct bk_chain chain;
	struct out *o;
	size_t i;

	bk_names_list(&s->client, got_names, &l);
	if (call_result(&l.wait) != BK_OK)
		return (bk_session_fail(l.wait.status, "names"));
	o = out_open(name_columns, COUNT(name_columns), &opt.style);
	for (i = 0; i < l.n; i++) {
		if (call_chain(s, l.names[i], &chain) == BK_OK) {
			out_text(o, 'n', l.names[i]);
			out_text(o, 'S', chain_state(&chain));
			out_int(o, 'N', (int64_t)(chain.count - chain.first));
			out_text(o, 'h', chain.holder);
			out_row(o);
		}
		free(l.names[i]);
	}
	free(l.names);
	return (out_close(o, EX_OK));
}

int
command_list(int argc, char **argv)
{
	static const char *const examples[] = {"bk-ledger list",
	    "bk-ledger list --open --bookie b1", "bk-ledger list -J numbers",
	    NULL};
	struct bk_opt opts[] = {
	    {0, "open", BK_OPT_FLAG, .value = &opt.open,
		.help = "only what is not closed"},
	    {0, "closed", BK_OPT_FLAG, .value = &opt.closed,
		.help = "only what is closed"},
	    {0, "bookie", BK_OPT_TEXT, .value = &opt.bookie, .arg = "ID",
		.help = "only what this bookie stores"},
	    {0, "older", BK_OPT_TIME, .value = &opt.older, .arg = "TIME",
		.help = "only what was made before that"},
	    {0, "orphans", BK_OPT_FLAG, .value = &opt.orphans,
		.help = "only what a name has lost"},
	    {0, "names", BK_OPT_FLAG, .value = &opt.names,
		.help = "names instead of ledgers"},
	    OUT_OPTS(opt.style),
	    BK_COMMON_OPTS,
	    BK_OPT_END,
	};
	struct bk_program program = {.name = "bk-ledger",
	    .command = "list",
	    .usage = "[OPTION...] [NAME]",
	    .purpose = "list ledgers, one a line",
	    .examples = examples,
	    .opts = opts};
	struct bk_session *s;
	int i = bk_opt_parse(&program, argc, argv), status;

	if (argc - i > 1)
		bk_usage("one name at a time");
	if (i < argc && !call_target(argv[i]).is_name)
		bk_usage("'%s' is no name", argv[i]);
	if ((s = call_open(CALL_STORE)) == NULL)
		return (call_nothing(argc - i, argv + i));
	if (opt.names)
		status = list_names(s);
	else if (i == argc)
		status = list_all(s);
	else
		status = list_name(s, argv[i]);
	bk_session_close(s);
	return (status);
}
