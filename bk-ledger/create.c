/*
 * create.c - bk-ledger create: an empty ledger for bk-add LEDGER, its id
 * printed; or a name with settings of its own.
 */
#include "bk-ledger/call.h"
#include "bk-ledger/command.h"

#include "client/writer.h"
#include "tool/common.h"
#include "tool/password.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>

static struct {
	int64_t ensemble, write, ack, id;
	const char *digest, *password_file;
	struct bk_opt_list properties;
	int64_t roll_size, roll_time;
	bool dry_run;
} opt = {.id = -1, .digest = "crc32c"};

/* "KEY=VALUE" options as custom metadata; the array is the caller's. */
static struct bk_custom *
parse_properties(void)
{
	struct bk_custom *c = calloc(opt.properties.n + 1, sizeof(*c));
	size_t i;

	for (i = 0; c != NULL && i < opt.properties.n; i++) {
		char *text = strdup(opt.properties.values[i]);
		char *eq = text == NULL ? NULL : strchr(text, '=');

		if (eq == NULL || eq == text)
			bk_usage("property '%s' is not KEY=VALUE",
			    opt.properties.values[i]);
		*eq = '\0';
		c[i].key = text;
		c[i].value = (uint8_t *)eq + 1;
		c[i].len = strlen(eq + 1);
	}
	return (c);
}

static void
free_properties(struct bk_custom *c)
{
	size_t i;

	for (i = 0; c != NULL && i < opt.properties.n; i++)
		free(c[i].key); /* the value lies behind it */
	free(c);
}

struct making {
	struct call_wait wait;
	struct bk_writer *writer;
	int64_t id;
};

static void
made_ledger(void *arg, enum bk_status status, struct bk_writer *w)
{
	struct making *m = arg;

	m->writer = w;
	call_done(&m->wait, status);
}

static void
ignore_acked(void *arg, int64_t last)
{
	(void)arg;
	(void)last;
}

static void
ignore_room(void *arg)
{
	(void)arg;
}

static void
ignore_failed(void *arg, enum bk_status status)
{
	(void)arg;
	(void)status;
}

static int
create_ledger(struct bk_session *s, struct bk_ledger_params *p)
{
	static const struct bk_writer_events events = {.acked = ignore_acked,
	    .room = ignore_room,
	    .failed = ignore_failed};
	struct making m = {.wait = {.session = s}};
	enum bk_status status;

	bk_writer_create(&s->client, p, &events, NULL, made_ledger, &m);
	if ((status = call_result(&m.wait)) != BK_OK)
		return (bk_session_fail(status, "create"));
	(void)printf("%" PRId64 "\n", bk_writer_ledger(m.writer));
	bk_writer_free(m.writer);
	return (EX_OK);
}

static void
made_name(void *arg, enum bk_status status, int64_t id)
{
	struct making *m = arg;

	m->id = id;
	call_done(&m->wait, status);
}

static int
create_name(struct bk_session *s, const char *name,
    const struct bk_ledger_params *p)
{
	struct making m = {.wait = {.session = s}};
	struct bk_chain chain;
	enum bk_status status;

	memset(&chain, 0, sizeof(chain));
	chain.state = BK_CHAIN_ENDED;
	chain.ensemble_size = p->ensemble_size;
	chain.write_quorum = p->write_quorum;
	chain.ack_quorum = p->ack_quorum;
	chain.roll_bytes = opt.roll_size;
	chain.roll_age_ms = opt.roll_time / BK_MS;
	bk_name_create(&s->tree, name, &chain, made_name, &m);
	if ((status = call_result(&m.wait)) != BK_OK)
		return (bk_session_fail(status, "%s", name));
	(void)printf("%s\n", name);
	return (EX_OK);
}

static int
create(struct bk_session *s, const char *name)
{
	struct bk_ledger_params p;
	struct bk_custom *properties;
	bool has_password;
	char failed[512];
	enum bk_status status;
	int code = EX_OK;

	memset(&p, 0, sizeof(p));
	p.ledger_id = opt.id;
	p.ensemble_size = (int)opt.ensemble;
	p.write_quorum = (int)opt.write;
	p.ack_quorum = (int)opt.ack;
	bk_session_quorum(s, &p);
	if (bk_ledger_params_check(&p) != BK_OK)
		bk_usage("-E %d -W %d -A %d: needs %d >= E >= W >= A >= 1",
		    p.ensemble_size, p.write_quorum, p.ack_quorum,
		    BK_ENSEMBLE_MAX);
	if (bk_digest_parse(opt.digest, &p.digest) != 0)
		bk_usage("digest '%s': crc32c, crc32, hmac or dummy",
		    opt.digest);
	status = bk_password_read(opt.password_file, &p.password, &has_password,
	    failed);
	if (status != BK_OK)
		return (bk_session_fail(status, "%s", failed));
	p.custom = properties = parse_properties();
	p.ncustom = opt.properties.n;
	if (!opt.dry_run)
		code = name != NULL ? create_name(s, name, &p) :
				      create_ledger(s, &p);
	free_properties(properties);
	return (code);
}

int
command_create(int argc, char **argv)
{
	static const char *const examples[] = {"bk-ledger create",
	    "bk-ledger create -E 3 -W 3 -A 2 --digest hmac",
	    "bk-ledger create --roll-size 1G mylog", NULL};
	struct bk_opt opts[] = {
	    {'E', "ensemble", BK_OPT_INT, .value = &opt.ensemble, .arg = "N",
		.help = "bookies that hold a stretch", .min = 1,
		.max = BK_ENSEMBLE_MAX},
	    {'W', "write-quorum", BK_OPT_INT, .value = &opt.write, .arg = "N",
		.help = "copies of each entry", .min = 1,
		.max = BK_ENSEMBLE_MAX},
	    {'A', "ack-quorum", BK_OPT_INT, .value = &opt.ack, .arg = "N",
		.help = "copies that confirm it", .min = 1,
		.max = BK_ENSEMBLE_MAX},
	    {0, "digest", BK_OPT_TEXT, .value = &opt.digest, .arg = "TYPE",
		.help = "crc32c, crc32, hmac, dummy"},
	    BK_PASSWORD_OPT(opt.password_file),
	    {0, "property", BK_OPT_LIST, .value = &opt.properties,
		.arg = "KEY=VALUE", .help = "custom metadata"},
	    {0, "id", BK_OPT_INT, .value = &opt.id, .arg = "ID",
		.help = "this id instead of the next", .max = INT64_MAX},
	    {0, "roll-size", BK_OPT_SIZE, .value = &opt.roll_size,
		.arg = "SIZE", .help = "of a name: a new ledger after SIZE"},
	    {0, "roll-time", BK_OPT_TIME, .value = &opt.roll_time,
		.arg = "TIME", .help = "of a name: a new ledger after TIME"},
	    {'n', "dry-run", BK_OPT_FLAG, .value = &opt.dry_run,
		.help = "check only"},
	    BK_COMMON_OPTS,
	    BK_OPT_END,
	};
	struct bk_program program = {.name = "bk-ledger",
	    .command = "create",
	    .usage = "[OPTION...] [NAME]",
	    .purpose = "make an empty ledger, or a name",
	    .examples = examples,
	    .opts = opts};
	int i = bk_opt_parse(&program, argc, argv), status, code;
	struct bk_session *s;

	if (argc - i > 1)
		bk_usage("one name at a time");
	if (i < argc && !call_target(argv[i]).is_name)
		bk_usage("'%s': an id is given with --id", argv[i]);
	s = call_open(CALL_WRITES);
	status = create(s, i < argc ? argv[i] : NULL);
	bk_session_close(s);
	code = bk_close_stdout();
	return (code != EX_OK ? code : status);
}
