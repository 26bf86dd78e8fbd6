/* options.c - the option table of bk-read. */
#include "bk-read/read.h"

#include "tool/common.h"
#include "tool/opt.h"
#include "tool/password.h"

#include <stdlib.h>
#include <string.h>

static struct {
	const char *delim, *format, *range, *number, *cursor, *bookie, *wait;
	const char *password_file;
	bool null, framed, raw, json, follow, for_ever, verify, recover,
	    unconfirmed;
	int64_t count;
} given = {.count = -1};

static struct bk_opt table[] = {
    {'f', "follow", BK_OPT_FLAG, .value = &given.follow,
	.help = "wait for more until the writer is done"},
    {'F', "follow-name", BK_OPT_FLAG, .value = &given.for_ever,
	.help = "wait for more for ever"},
    {'n', "number", BK_OPT_TEXT, .value = &given.number, .arg = "[+]N",
	.help = "the last N entries; +N: all but the first N"},
    {'c', "count", BK_OPT_INT, .value = &given.count, .arg = "N",
	.help = "stop after N entries", .min = 0, .max = INT64_MAX},
    {0, "range", BK_OPT_TEXT, .value = &given.range, .arg = "FROM:TO",
	.help = "entries FROM to TO, counted from 0"},
    {'o', "format", BK_OPT_TEXT, .value = &given.format, .arg = "FORMAT",
	.help = "print of each: %l:%e %s\\n"},
    {'J', "json", BK_OPT_FLAG, .value = &given.json,
	.help = "one JSON object a line"},
    {'0', "null", BK_OPT_FLAG, .value = &given.null,
	.help = "end entries with NUL, not newline"},
    {'d', "delimiter", BK_OPT_TEXT, .value = &given.delim, .arg = "DELIM",
	.help = "end entries with DELIM: \\n \\t \\0 \\xNN"},
    {'r', "framed", BK_OPT_FLAG, .value = &given.framed,
	.help = "4 bytes of length before each entry"},
    {0, "raw", BK_OPT_FLAG, .value = &given.raw, .help = "the bytes alone"},
    {0, "cursor", BK_OPT_TEXT, .value = &given.cursor, .arg = "FILE",
	.help = "go on where the last run stopped"},
    {0, "wait", BK_OPT_OPTTEXT, .value = &given.wait, .arg = "TIME",
	.help = "wait for the name to appear"},
    {0, "verify", BK_OPT_FLAG, .value = &given.verify,
	.help = "compare all copies; exit 1 if they differ"},
    {0, "bookie", BK_OPT_TEXT, BK_OPT_HIDDEN, &given.bookie, .arg = "ID",
	.help = "read from this bookie only"},
    {0, "unconfirmed", BK_OPT_FLAG, BK_OPT_HIDDEN, &given.unconfirmed,
	.help = "also entries not yet confirmed"},
    {0, "recover", BK_OPT_FLAG, BK_OPT_HIDDEN, &given.recover,
	.help = "fence and close first"},
    {0, "password-file", BK_OPT_TEXT, BK_OPT_CONFIG | BK_OPT_HIDDEN,
	&given.password_file, .arg = "FILE",
	.help = "the ledger's password is in FILE", .env = "BK_PASSWORD_FILE"},
    BK_COMMON_OPTS,
    BK_OPT_END,
};

static const char *const examples[] = {
    "bk-read numbers | tail -1",
    "bk-read -f app | grep ERROR",
    "bk-read -J -n 3 numbers | jq -r .payload",
    NULL,
};

static const struct bk_program program = {
    .name = "bk-read",
    .usage = "[OPTION]... NAME|LEDGER...",
    .purpose = "Write entries to standard output.",
    .examples = examples,
    .opts = table,
};

static void
take_framing(struct options *o)
{
	struct bk_framing_spec *f = &o->framing;

	if (given.null + (given.delim != NULL) + given.framed + given.raw +
		given.json + (given.format != NULL) >
	    1)
		bk_usage("only one of -0, -d, -r, --raw, -J and -o");
	f->how = given.raw ? BK_FRAME_RAW :
	    given.framed   ? BK_FRAME_LENGTH :
			     BK_FRAME_DELIM;
	f->delim_len = 1;
	f->delim[0] = given.null ? '\0' : '\n';
	f->max = BK_PAYLOAD_MAX;
	if (given.delim != NULL &&
	    bk_delim_parse(given.delim, f->delim, &f->delim_len) == -1)
		bk_usage("option --delimiter: '%s' is not 1 to %d bytes",
		    given.delim, BK_DELIM_MAX);
	o->json = given.json;
	o->format = given.format;
}

/* "FROM:TO", either may be left out. */
static void
take_range(struct options *o)
{
	char text[64], *colon;

	o->from = 0;
	o->to = INT64_MAX;
	if (given.range == NULL)
		return;
	if (strlen(given.range) >= sizeof(text) ||
	    (colon = strchr(strcpy(text, given.range), ':')) == NULL)
		bk_usage("range '%s' is not FROM:TO", given.range);
	*colon++ = '\0';
	if ((text[0] != '\0' &&
		bk_parse_int(text, 0, INT64_MAX, &o->from) != 0) ||
	    (*colon != '\0' &&
		bk_parse_int(colon, 0, INT64_MAX, &o->to) != 0) ||
	    o->from > o->to)
		bk_usage("range '%s' is not FROM:TO", given.range);
}

static void
take_number(struct options *o)
{
	const char *n = given.number;

	o->last = -1;
	if (n == NULL)
		return;
	if (given.range != NULL)
		bk_usage("only one of -n and --range");
	if (bk_parse_int(n[0] == '+' ? n + 1 : n, 0, INT64_MAX,
		n[0] == '+' ? &o->from : &o->last) != 0)
		bk_usage("option --number: '%s' is not N or +N", n);
}

static void
take_wait(struct options *o)
{
	o->wait = given.wait != NULL;
	o->wait_for = BK_FOREVER;
	if (o->wait && given.wait[0] != '\0' &&
	    bk_parse_time(given.wait, &o->wait_for) != 0)
		bk_usage("option --wait: '%s' is not a time", given.wait);
}

static void
take_password(struct options *o)
{
	char failed[512];
	enum bk_status status = bk_password_read(given.password_file,
	    &o->password, &o->has_password, failed);

	if (status != BK_OK)
		exit(bk_session_fail(status, "%s", failed));
}

void
options_parse(struct options *o, int argc, char **argv)
{
	int first = bk_opt_parse(&program, argc, argv);

	memset(o, 0, sizeof(*o));
	if (first == argc)
		bk_usage("which name or ledger?");
	o->sources = argv + first;
	o->nsources = argc - first;
	take_framing(o);
	take_range(o);
	take_number(o);
	take_wait(o);
	take_password(o);
	o->follow = given.follow || given.for_ever;
	o->for_ever = given.for_ever;
	o->verify = given.verify;
	o->recover = given.recover;
	o->unconfirmed = given.unconfirmed;
	o->bookie = given.bookie;
	o->cursor = given.cursor;
	o->count = given.count;
	if (o->follow && o->nsources > 1)
		bk_usage("-f and -F follow one source");
	if (o->follow && o->verify)
		bk_usage("--verify does not follow");
}
