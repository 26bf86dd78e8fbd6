/*
 * show.c - bk-ledger show: one ledger or name in full, a line a property. Of a
 * ledger that is not closed the end is not known without asking bookies, so
 * none is shown.
 */
#include "bk-ledger/call.h"
#include "bk-ledger/command.h"
#include "bk-ledger/out.h"

#include "base/log.h"
#include "tool/common.h"
#include "tool/format.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>
#include <time.h>

static struct {
	bool json;
} opt;

static void
line(const char *name, const char *value)
{
	(void)printf("%s\t%s\n", name, value);
}

static void
number(const char *name, int64_t value)
{
	(void)printf("%s\t%" PRId64 "\n", name, value);
}

static void
timestamp(int64_t ms, char out[32])
{
	time_t t = (time_t)(ms / 1000);
	struct tm tm;

	if (gmtime_r(&t, &tm) == NULL ||
	    strftime(out, 32, "%Y-%m-%dT%H:%M:%SZ", &tm) == 0)
		out[0] = '\0';
}

/* Entry ids a segment covers: "0-99", "100-" while nothing ends it. */
static void
segment_range(const struct bk_ledger_meta *m, size_t i, char out[48])
{
	int64_t first = m->segments[i].first_entry, last = -1;

	if (i + 1 < m->nsegments)
		last = m->segments[i + 1].first_entry - 1;
	else if (m->state == BK_LEDGER_CLOSED)
		last = m->last_entry;
	else {
		(void)snprintf(out, 48, "%" PRId64 "-", first);
		return;
	}
	if (last < first)
		(void)snprintf(out, 48, "none");
	else
		(void)snprintf(out, 48, "%" PRId64 "-%" PRId64, first, last);
}

static void
print_segments(const struct bk_ledger_meta *m)
{
	char range[48];
	size_t i;
	int k;

	for (i = 0; i < m->nsegments; i++) {
		segment_range(m, i, range);
		(void)printf("segment\t%s\t", range);
		for (k = 0; k < m->ensemble_size; k++)
			(void)printf("%s%s", k == 0 ? "" : ",",
			    m->segments[i].bookies[k]);
		(void)printf("\n");
	}
}

/* Custom values are bytes: shown as they are when they are plain text. */
static void
print_custom(const struct bk_ledger_meta *m)
{
	struct bk_buf text;
	size_t i;

	for (i = 0; i < m->ncustom; i++) {
		struct bk_bytes v = {m->custom[i].value, m->custom[i].len};

		bk_buf_init(&text);
		if (bk_utf8_valid(v))
			(void)bk_json_string(&text, v);
		else
			(void)bk_put_base64(&text, v);
		(void)printf("property\t%s\t%.*s\n", m->custom[i].key,
		    (int)bk_buf_len(&text), (char *)bk_buf_head(&text));
		bk_buf_fini(&text);
	}
}

static void
print_ledger(int64_t id, const struct bk_ledger_meta *m, int32_t version,
    const char *name)
{
	char text[32];

	number("ledger", id);
	line("state", bk_ledger_state_name(m->state));
	if (m->state == BK_LEDGER_CLOSED) {
		number("last", m->last_entry);
		number("length", m->length);
	}
	if (name != NULL)
		line("name", name);
	(void)printf("quorum\t%d/%d/%d\n", m->ensemble_size, m->write_quorum,
	    m->ack_quorum);
	line("digest", bk_digest_name(m->digest));
	line("password", m->has_password && m->password_len > 0 ? "yes" : "no");
	if (m->has_ctime) {
		timestamp(m->ctime_ms, text);
		line("created", text);
	}
	number("format", m->format);
	number("version", version);
	print_segments(m);
	print_custom(m);
}

static void
json_text(const char *name, const char *value)
{
	struct bk_buf text;
	struct bk_bytes v = {(const uint8_t *)value, strlen(value)};

	bk_buf_init(&text);
	(void)bk_json_string(&text, v);
	(void)printf("\"%s\":%.*s", name, (int)bk_buf_len(&text),
	    (char *)bk_buf_head(&text));
	bk_buf_fini(&text);
}

static void
json_segments(const struct bk_ledger_meta *m)
{
	struct bk_buf text;
	size_t i;
	int k;

	(void)printf(",\"segments\":[");
	for (i = 0; i < m->nsegments; i++) {
		(void)printf("%s{\"first\":%" PRId64 ",\"bookies\":[",
		    i == 0 ? "" : ",", m->segments[i].first_entry);
		for (k = 0; k < m->ensemble_size; k++) {
			const char *b = m->segments[i].bookies[k];

			bk_buf_init(&text);
			(void)bk_json_string(&text,
			    (struct bk_bytes){(const uint8_t *)b, strlen(b)});
			(void)printf("%s%.*s", k == 0 ? "" : ",",
			    (int)bk_buf_len(&text), (char *)bk_buf_head(&text));
			bk_buf_fini(&text);
		}
		(void)printf("]}");
	}
	(void)printf("]");
}

static void
json_ledger(int64_t id, const struct bk_ledger_meta *m, int32_t version,
    const char *name)
{
	char text[32];

	(void)printf("{\"ledger\":%" PRId64 ",", id);
	json_text("state", bk_ledger_state_name(m->state));
	if (m->state == BK_LEDGER_CLOSED)
		(void)printf(",\"last\":%" PRId64 ",\"length\":%" PRId64,
		    m->last_entry, m->length);
	if (name != NULL) {
		(void)printf(",");
		json_text("name", name);
	}
	(void)printf(",\"ensemble\":%d,\"write\":%d,\"ack\":%d,",
	    m->ensemble_size, m->write_quorum, m->ack_quorum);
	json_text("digest", bk_digest_name(m->digest));
	if (m->has_ctime) {
		timestamp(m->ctime_ms, text);
		(void)printf(",");
		json_text("created", text);
		(void)printf(",\"ts\":%" PRId64, m->ctime_ms);
	}
	(void)printf(",\"format\":%d,\"version\":%d", m->format, version);
	json_segments(m);
	(void)printf("}\n");
}

static int
show_ledger(struct bk_session *s, int64_t id)
{
	struct bk_ledger_meta m;
	enum bk_status status;
	const char *name;
	int32_t version;

	if ((status = call_read(s, id, &m, &version)) != BK_OK)
		return (bk_session_fail(status, "ledger %lld", (long long)id));
	name = call_chain_id(&m) < 0 ? NULL :
				       call_chain_name(s, call_chain_id(&m));
	if (opt.json)
		json_ledger(id, &m, version, name);
	else
		print_ledger(id, &m, version, name);
	bk_ledger_meta_fini(&m);
	return (EX_OK);
}

static void
print_name(const char *name, const struct bk_chain *c,
    const struct bk_name_place *places, size_t n)
{
	size_t i;

	line("name", name);
	number("chain", c->id);
	line("state", c->state == BK_CHAIN_WRITING ? "writing" : "ended");
	if (c->holder[0] != '\0')
		line("holder", c->holder);
	if (c->ensemble_size > 0)
		(void)printf("quorum\t%d/%d/%d\n", c->ensemble_size,
		    c->write_quorum, c->ack_quorum);
	number("roll-size", c->roll_bytes);
	number("roll-time", c->roll_age_ms / 1000);
	for (i = 0; i < n; i++)
		(void)printf("ledger\t%" PRIu64 "\t%" PRId64 "\n",
		    places[i].position, places[i].ledger_id);
}

static void
json_name(const char *name, const struct bk_chain *c,
    const struct bk_name_place *places, size_t n)
{
	size_t i;

	(void)printf("{");
	json_text("name", name);
	(void)printf(",\"chain\":%" PRId64 ",", c->id);
	json_text("state", c->state == BK_CHAIN_WRITING ? "writing" : "ended");
	(void)printf(",");
	json_text("holder", c->holder);
	(void)printf(",\"ensemble\":%d,\"write\":%d,\"ack\":%d,"
		     "\"roll_size\":%" PRId64 ",\"roll_time_ms\":%" PRId64
		     ",\"first\":%" PRIu64 ",\"ledgers\":[",
	    c->ensemble_size, c->write_quorum, c->ack_quorum, c->roll_bytes,
	    c->roll_age_ms, c->first);
	for (i = 0; i < n; i++)
		(void)printf("%s%" PRId64, i == 0 ? "" : ",",
		    places[i].ledger_id);
	(void)printf("]}\n");
}

static int
show_name(struct bk_session *s, const char *name)
{
	struct bk_name_place *places;
	struct bk_chain chain;
	enum bk_status status;
	size_t n;

	if ((status = call_chain(s, name, &chain)) != BK_OK ||
	    (status = call_places(s, name, &places, &n)) != BK_OK)
		return (bk_session_fail(status, "%s", name));
	if (opt.json)
		json_name(name, &chain, places, n);
	else
		print_name(name, &chain, places, n);
	free(places);
	return (EX_OK);
}

int
command_show(int argc, char **argv)
{
	static const char *const examples[] = {"bk-ledger show 12",
	    "bk-ledger show numbers", "bk-ledger show -J numbers | jq .ledgers",
	    NULL};
	struct bk_opt opts[] = {
	    {'J', "json", BK_OPT_FLAG, .value = &opt.json,
		.help = "one JSON object a line"},
	    BK_COMMON_OPTS,
	    BK_OPT_END,
	};
	struct bk_program program = {.name = "bk-ledger",
	    .command = "show",
	    .usage = "[-J] LEDGER|NAME...",
	    .purpose = "show a ledger or name in full",
	    .examples = examples,
	    .opts = opts};
	int i = bk_opt_parse(&program, argc, argv), status = EX_OK, code;
	struct bk_session *s;

	if (i == argc)
		bk_usage("which ledger or name?");
	if ((s = call_open(CALL_STORE)) == NULL)
		return (call_nothing(argc - i, argv + i));
	for (; i < argc; i++) {
		struct target t = call_target(argv[i]);

		code = t.is_name ? show_name(s, t.text) :
				   show_ledger(s, t.ledger_id);
		status = code != EX_OK ? code : status;
	}
	bk_session_close(s);
	code = bk_close_stdout();
	return (code != EX_OK ? code : status);
}
