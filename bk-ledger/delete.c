/*
 * delete.c - bk-ledger delete: ledgers and names. A ledger that a name holds
 * is refused (77) without --force: the name would lose entries in its middle.
 */
#include "bk-ledger/call.h"
#include "bk-ledger/command.h"
#include "bk-ledger/confirm.h"

#include "base/log.h"
#include "tool/common.h"

#include <stdio.h>
#include <string.h>
#include <sysexits.h>

static struct {
	bool dry_run, yes, force;
} opt;

static int
delete_ledger(struct bk_session *s, int64_t id)
{
	struct bk_ledger_meta m;
	enum bk_status status;
	const char *owner;
	int32_t version;

	if ((status = call_read(s, id, &m, &version)) != BK_OK)
		return (bk_session_fail(status, "ledger %lld", (long long)id));
	owner = call_owner(s, id, &m);
	bk_ledger_meta_fini(&m);
	if (owner != NULL && !opt.force) {
		bk_log(BK_LOG_ERROR,
		    "ledger %lld: %s holds it; --force "
		    "deletes it all the same",
		    (long long)id, owner);
		return (EX_NOPERM);
	}
	(void)printf("%lld\n", (long long)id);
	if (opt.dry_run)
		return (EX_OK);
	if ((status = call_remove(s, id)) != BK_OK)
		return (bk_session_fail(status, "ledger %lld", (long long)id));
	return (EX_OK);
}

static int
delete_name(struct bk_session *s, const char *name)
{
	struct call_wait w = {.session = s};
	struct bk_chain chain;
	enum bk_status status;

	if ((status = call_chain(s, name, &chain)) != BK_OK)
		return (bk_session_fail(status, "%s", name));
	(void)printf("%s\n", name);
	if (opt.dry_run)
		return (EX_OK);
	bk_name_delete(&s->client, name, call_done, &w);
	if ((status = call_result(&w)) == BK_EHELD)
		return (bk_session_fail(status, "%s: %s", name, chain.holder));
	if (status != BK_OK)
		return (bk_session_fail(status, "%s", name));
	return (EX_OK);
}

static int
delete_one(struct bk_session *s, const char *operand)
{
	struct target t = call_target(operand);

	return (
	    t.is_name ? delete_name(s, t.text) : delete_ledger(s, t.ledger_id));
}

/* "-": ids and names from standard input, one a line; what follows a tab is
 * passed over, so that "list | delete -y -" works. */
static int
delete_stdin(struct bk_session *s)
{
	char line[BK_NAME_MAX + 256];
	int status = EX_OK, code;

	while (fgets(line, sizeof(line), stdin) != NULL) {
		line[strcspn(line, "\t\n")] = '\0';
		if (line[0] == '\0')
			continue;
		code = delete_one(s, line);
		status = code != EX_OK ? code : status;
	}
	if (ferror(stdin))
		return (bk_session_fail(BK_ESYS, "standard input"));
	return (status);
}

int
command_delete(int argc, char **argv)
{
	static const char *const examples[] = {"bk-ledger delete numbers",
	    "bk-ledger delete -y 12 13",
	    "bk-ledger list --older 30d --orphans | bk-ledger delete -y -",
	    NULL};
	struct bk_opt opts[] = {
	    {'n', "dry-run", BK_OPT_FLAG, .value = &opt.dry_run,
		.help = "delete nothing, show what would go"},
	    {'y', "yes", BK_OPT_FLAG, .value = &opt.yes, .help = "do not ask"},
	    {0, "force", BK_OPT_FLAG, .value = &opt.force,
		.help = "also a ledger that a name holds"},
	    BK_COMMON_OPTS,
	    BK_OPT_END,
	};
	struct bk_program program = {.name = "bk-ledger",
	    .command = "delete",
	    .usage = "[-ny] [--force] LEDGER|NAME|-...",
	    .purpose = "delete ledgers and names",
	    .examples = examples,
	    .opts = opts};
	int i = bk_opt_parse(&program, argc, argv), status = EX_OK, code;
	struct bk_session *s;

	if (i == argc)
		bk_usage("which ledger or name?");
	confirm(opt.yes || opt.dry_run, "delete %s%s", argv[i],
	    argc - i > 1 ? " and more" : "");
	if ((s = call_open(CALL_STORE)) == NULL)
		return (call_nothing(argc - i, argv + i));
	for (; i < argc; i++) {
		code = strcmp(argv[i], "-") == 0 ? delete_stdin(s) :
						   delete_one(s, argv[i]);
		status = code != EX_OK ? code : status;
	}
	bk_session_close(s);
	code = bk_close_stdout();
	return (code != EX_OK ? code : status);
}
