/* options.c - the option table of bk-add. */
#include "bk-add/options.h"

#include "base/log.h"
#include "meta/chain.h"
#include "tool/common.h"
#include "tool/opt.h"
#include "tool/password.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>

#define CHUNK_MAX (4 << 20)
#define WINDOW_ENTRIES_MAX 1000000
#define TOKENS "lesSRn"

static struct {
	const char *message, *delim, *raw, *format, *unacked, *window;
	const char *digest, *password_file;
	bool null, framed, whole, split, skip_empty, tee, dry_run, fence;
	int64_t ensemble, write_quorum, ack_quorum, roll_size, roll_time;
} given;

static struct bk_opt table[] = {
    {'m', "message", BK_OPT_TEXT, .value = &given.message, .arg = "TEXT",
	.help = "store TEXT; standard input is left alone"},
    {'0', "null", BK_OPT_FLAG, .value = &given.null,
	.help = "entries end in NUL, not newline"},
    {'d', "delimiter", BK_OPT_TEXT, .value = &given.delim, .arg = "DELIM",
	.help = "entries end in DELIM: \\n \\t \\0 \\xNN"},
    {'r', "framed", BK_OPT_FLAG, .value = &given.framed,
	.help = "4 bytes of length before each entry"},
    {'w', "whole", BK_OPT_FLAG, .value = &given.whole,
	.help = "each FILE, or all of the input, is one entry"},
    {0, "raw", BK_OPT_OPTTEXT, .value = &given.raw, .arg = "SIZE",
	.help = "any bytes, in chunks as they come"},
    {'o', "format", BK_OPT_TEXT, .value = &given.format, .arg = "FORMAT",
	.help = "print for each stored entry: %l:%e %s\\n"},
    {'T', "tee", BK_OPT_FLAG, .value = &given.tee,
	.help = "copy entries to standard output, once stored"},
    {0, "unacked", BK_OPT_TEXT, .value = &given.unacked, .arg = "FILE",
	.help = "what was not stored goes to FILE"},
    {'n', "dry-run", BK_OPT_FLAG, .value = &given.dry_run,
	.help = "count, show the bookies, store nothing"},
    {0, "fence", BK_OPT_FLAG, .value = &given.fence,
	.help = "take the name over from its writer"},
    {'E', "ensemble", BK_OPT_INT, BK_OPT_CONFIG, &given.ensemble, .arg = "N",
	.help = "bookies of a ledger", .min = 1, .max = BK_ENSEMBLE_MAX},
    {'W', "write-quorum", BK_OPT_INT, BK_OPT_CONFIG | BK_OPT_HIDDEN,
	&given.write_quorum, .arg = "N", .help = "copies of an entry", .min = 1,
	.max = BK_ENSEMBLE_MAX},
    {'A', "ack-quorum", BK_OPT_INT, BK_OPT_CONFIG | BK_OPT_HIDDEN,
	&given.ack_quorum, .arg = "N", .help = "copies to wait for", .min = 1,
	.max = BK_ENSEMBLE_MAX},
    {0, "digest", BK_OPT_TEXT, BK_OPT_CONFIG | BK_OPT_HIDDEN, &given.digest,
	.arg = "NAME", .help = "crc32c, crc32, hmac or dummy"},
    {0, "split", BK_OPT_FLAG, BK_OPT_HIDDEN, &given.split,
	.help = "cut what is over the limit of an entry"},
    {0, "skip-empty", BK_OPT_FLAG, BK_OPT_HIDDEN, &given.skip_empty,
	.help = "store no empty entries"},
    {0, "roll-size", BK_OPT_SIZE, BK_OPT_CONFIG | BK_OPT_HIDDEN,
	&given.roll_size, .arg = "SIZE", .help = "ledger size to roll at",
	.min = 1, .max = INT64_MAX},
    {0, "roll-time", BK_OPT_TIME, BK_OPT_CONFIG | BK_OPT_HIDDEN,
	&given.roll_time, .arg = "TIME", .help = "ledger age to roll at",
	.min = BK_SECOND, .max = INT64_MAX},
    {0, "window", BK_OPT_TEXT, BK_OPT_CONFIG | BK_OPT_HIDDEN, &given.window,
	.arg = "N[,BYTES]", .help = "entries and bytes in flight"},
    {0, "password-file", BK_OPT_TEXT, BK_OPT_CONFIG | BK_OPT_HIDDEN,
	&given.password_file, .arg = "FILE",
	.help = "the ledger's password is in FILE", .env = "BK_PASSWORD_FILE"},
    BK_COMMON_OPTS,
    BK_OPT_END,
};

static const char *const examples[] = {
    "seq 1 1000 | bk-add numbers",
    "tail -F app.log | bk-add -o '%e %s\\n' app",
    "find . -print0 | bk-add -0 paths",
    NULL,
};

static const struct bk_program program = {
    .name = "bk-add",
    .usage = "[OPTION]... NAME|LEDGER [FILE]...",
    .purpose = "Store lines of input as entries of a replicated ledger.",
    .examples = examples,
    .opts = table,
};

static void
take_delimiter(struct bk_framing_spec *f)
{
	f->how = BK_FRAME_DELIM;
	f->delim_len = 1;
	f->delim[0] = given.null ? '\0' : '\n';
	if (given.delim != NULL &&
	    bk_delim_parse(given.delim, f->delim, &f->delim_len) == -1)
		bk_usage("option --delimiter: '%s' is not 1 to %d bytes, "
			 "with \\n \\t \\r \\0 \\\\ \\xNN",
		    given.delim, BK_DELIM_MAX);
}

static void
take_chunk(struct bk_framing_spec *f)
{
	int64_t size = BK_CHUNK;

	f->how = BK_FRAME_RAW;
	if (*given.raw != '\0' &&
	    (bk_parse_size(given.raw, &size) == -1 || size < 1 ||
		size > CHUNK_MAX))
		bk_usage("option --raw: '%s' is not a size from 1 to 4M",
		    given.raw);
	f->chunk = (size_t)size;
}

static void
take_framing(struct bk_framing_spec *f)
{
	int ways = given.null + (given.delim != NULL) + given.framed +
	    given.whole + (given.raw != NULL);

	if (ways > 1)
		bk_usage("only one of -0, -d, -r, -w and --raw");
	f->max = BK_PAYLOAD_MAX;
	f->split = given.split;
	f->skip_empty = given.skip_empty;
	if (given.raw != NULL)
		take_chunk(f);
	else if (given.framed)
		f->how = BK_FRAME_LENGTH;
	else if (given.whole || given.message != NULL)
		f->how = BK_FRAME_WHOLE;
	else
		take_delimiter(f);
}

static void
take_output(struct options *o)
{
	const char *why;

	if (given.tee && given.format != NULL)
		bk_usage("only one of -o and -T");
	o->tee = given.tee;
	o->unacked = given.unacked;
	if (given.format != NULL) {
		o->format = bk_format_parse(given.format, TOKENS, &why);
		if (o->format == NULL)
			bk_usage("option --format: %s", why);
	}
	o->keep = o->tee || o->unacked != NULL ||
	    (o->format != NULL && bk_format_uses(o->format, 's'));
}

static void
take_window(struct options *o)
{
	char text[32];
	const char *comma;
	int64_t n, bytes = 0;
	size_t len;

	if (given.window == NULL)
		return;
	comma = strchr(given.window, ',');
	len = strcspn(given.window, ",");
	(void)snprintf(text, sizeof(text), "%.*s", (int)(len < 31 ? len : 31),
	    given.window);
	if (bk_parse_int(text, 1, WINDOW_ENTRIES_MAX, &n) == -1 ||
	    (comma != NULL &&
		(bk_parse_size(comma + 1, &bytes) == -1 || bytes < 1)))
		bk_usage("option --window: '%s' is not N or N,BYTES",
		    given.window);
	o->window_entries = (size_t)n;
	o->window_bytes = (size_t)bytes;
}

/* Sizes given one by one make sense together only with those not given; the
 * session knows them. */
static void
take_quorum(struct bk_ledger_params *p)
{
	p->ensemble_size = (int)given.ensemble;
	p->write_quorum = (int)given.write_quorum;
	p->ack_quorum = (int)given.ack_quorum;
	if (p->ensemble_size != 0 && p->write_quorum > p->ensemble_size)
		bk_usage("write quorum %d is more than ensemble %d",
		    p->write_quorum, p->ensemble_size);
	if (p->write_quorum != 0 && p->ack_quorum > p->write_quorum)
		bk_usage("ack quorum %d is more than write quorum %d",
		    p->ack_quorum, p->write_quorum);
	if (p->ensemble_size != 0 && p->ack_quorum > p->ensemble_size)
		bk_usage("ack quorum %d is more than ensemble %d",
		    p->ack_quorum, p->ensemble_size);
}

static void
take_params(struct bk_ledger_params *p)
{
	char failed[512];
	enum bk_status status;
	bool got;

	p->ledger_id = -1;
	take_quorum(p);
	p->digest = BK_DIGEST_CRC32C;
	if (given.digest != NULL &&
	    bk_digest_parse(given.digest, &p->digest) == -1)
		bk_usage("option --digest: '%s' is not crc32c, crc32, hmac or "
			 "dummy",
		    given.digest);
	status =
	    bk_password_read(given.password_file, &p->password, &got, failed);
	if (status == BK_OK)
		return;
	bk_log(BK_LOG_ERROR, "password file %s: %s", failed,
	    status == BK_ESYS ? strerror(errno) : bk_status_text(status));
	exit(status == BK_ESYS ? EX_NOINPUT : bk_status_exit(status));
}

/* A number is a ledger's id, a word is a name. */
static void
take_target(struct options *o, const char *target)
{
	o->target = target;
	if (isdigit((unsigned char)*target) &&
	    bk_parse_int(target, 0, INT64_MAX, &o->ledger_id) == 0)
		return;
	o->is_name = true;
	if (!bk_name_valid(target))
		bk_usage("'%s' is neither a name nor a ledger id", target);
}

/* A file's settings are for new ledgers; what the line says must be possible. */
static void
check_fixed(const struct options *o)
{
	static const char *const fixed[] = {"ensemble", "write-quorum",
	    "ack-quorum", "digest", "roll-size", "roll-time"};

	for (size_t i = 0; i < sizeof(fixed) / sizeof(*fixed); i++)
		if (bk_opt_find(&program, fixed[i])->origin == BK_FROM_LINE)
			bk_usage("--%s: ledger %s is made already", fixed[i],
			    o->target);
}

static void
check(const struct options *o)
{
	if (o->message != NULL && o->nfiles > 0)
		bk_usage("-m and FILE: only one of them");
	if (o->unacked != NULL && given.whole && o->nfiles > 1)
		bk_usage("--unacked takes no more than one FILE with -w");
	if (o->is_name)
		return;
	if (o->fence)
		bk_usage("--fence is for names; a ledger has one writer only");
	check_fixed(o);
}

void
options_parse(struct options *o, int argc, char **argv)
{
	int first = bk_opt_parse(&program, argc, argv);

	memset(o, 0, sizeof(*o));
	if (first == argc)
		bk_usage("a name or a ledger id is needed");
	take_target(o, argv[first]);
	o->files = (const char *const *)(argv + first + 1);
	o->nfiles = (size_t)(argc - first - 1);
	o->message = given.message;
	o->fence = given.fence;
	o->dry_run = given.dry_run;
	o->roll_size = given.roll_size;
	o->roll_time = given.roll_time;
	take_framing(&o->framing);
	take_output(o);
	take_window(o);
	take_params(&o->params);
	check(o);
}

void
options_fini(struct options *o)
{
	bk_format_free(o->format);
}
