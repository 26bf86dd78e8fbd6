/*
 * close.c - bk-ledger close and recover: end a ledger, or the last one of a
 * name, whose writer is gone. Both fence, find the end, close; a ledger closed
 * already is left as it is.
 */
#include "bk-ledger/call.h"
#include "bk-ledger/command.h"

#include "client/hold.h"
#include "tool/common.h"
#include "tool/password.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>

static struct {
	bool dry_run, fence;
	const char *password_file;
	struct bk_password password;
	bool has_password;
} opt;

static int
close_ledger(struct bk_session *s, int64_t id)
{
	struct bk_ledger_meta m;
	enum bk_status status;
	int64_t last = -1, length = 0;
	int32_t version;

	if (opt.dry_run) {
		if ((status = call_read(s, id, &m, &version)) != BK_OK)
			return (bk_session_fail(status, "ledger %lld",
			    (long long)id));
		(void)printf("%" PRId64 "\t%s\n", id,
		    bk_ledger_state_name(m.state));
		bk_ledger_meta_fini(&m);
		return (EX_OK);
	}
	status = call_recover(s, id, opt.has_password ? &opt.password : NULL,
	    &last, &length);
	if (status != BK_OK)
		return (bk_session_fail(status, "ledger %lld", (long long)id));
	(void)printf("%" PRId64 "\tCLOSED\t%" PRId64 "\t%" PRId64 "\n", id,
	    last, length);
	return (EX_OK);
}

/* Taking hold of the name, so that no writer comes in between. */
struct taking {
	struct call_wait wait;
	char holder[128];
};

static void
taken(void *arg, enum bk_status status, const char *holder)
{
	struct taking *t = arg;

	if (holder != NULL)
		(void)snprintf(t->holder, sizeof(t->holder), "%s", holder);
	call_done(&t->wait, status);
}

static int
end_name(struct bk_session *s, struct bk_hold *hold, const char *name)
{
	const struct bk_chain_at *at = bk_hold_chain(hold);
	struct call_wait w = {.session = s};
	int code = EX_OK;

	if (at->chain.count > at->chain.first && at->last_page.n > 0)
		code =
		    close_ledger(s, at->last_page.ledgers[at->last_page.n - 1]);
	bk_hold_release(hold, code == EX_OK, call_done, &w);
	if (call_result(&w) != BK_OK && code == EX_OK)
		code = bk_session_fail(w.status, "%s", name);
	return (code);
}

static int
close_name(struct bk_session *s, const char *name)
{
	struct taking t = {.wait = {.session = s}};
	struct bk_chain chain;
	struct bk_hold *hold;
	enum bk_status status;
	int code;

	if ((status = call_chain(s, name, &chain)) != BK_OK)
		return (bk_session_fail(status, "%s", name));
	if (opt.dry_run) {
		(void)printf("%s\t%s\n", name,
		    chain.state == BK_CHAIN_WRITING ? "writing" : "ended");
		return (EX_OK);
	}
	hold = bk_hold_open(&s->client, name, &chain, opt.fence, taken, &t);
	if (hold == NULL)
		return (bk_session_fail(BK_ENOMEM, "%s", name));
	if ((status = call_result(&t.wait)) == BK_OK)
		code = end_name(s, hold, name);
	else if (status == BK_EHELD)
		code = bk_session_fail(status, "%s: %s", name, t.holder);
	else
		code = bk_session_fail(status, "%s", name);
	bk_hold_free(hold);
	return (code);
}

static void
read_password(void)
{
	char failed[512];
	enum bk_status status = bk_password_read(opt.password_file,
	    &opt.password, &opt.has_password, failed);

	if (status != BK_OK)
		exit(bk_session_fail(status, "%s", failed));
}

static int
run(const struct bk_program *program, int argc, char **argv)
{
	int i = bk_opt_parse(program, argc, argv), status = EX_OK, code;
	struct bk_session *s;

	if (i == argc)
		bk_usage("which ledger or name?");
	read_password();
	if ((s = call_open(CALL_ANSWERS)) == NULL)
		return (call_nothing(argc - i, argv + i));
	for (; i < argc; i++) {
		struct target t = call_target(argv[i]);

		code = t.is_name ? close_name(s, t.text) :
				   close_ledger(s, t.ledger_id);
		status = code != EX_OK ? code : status;
	}
	bk_session_close(s);
	code = bk_close_stdout();
	return (code != EX_OK ? code : status);
}

static struct bk_opt options[] = {
    {'n', "dry-run", BK_OPT_FLAG, .value = &opt.dry_run,
	.help = "change nothing, show the state"},
    {0, "fence", BK_OPT_FLAG, .value = &opt.fence,
	.help = "also a name whose writer lives"},
    BK_PASSWORD_OPT(opt.password_file),
    BK_COMMON_OPTS,
    BK_OPT_END,
};

int
command_close(int argc, char **argv)
{
	static const char *const examples[] = {"bk-ledger close 12",
	    "bk-ledger close numbers", "bk-ledger close --fence numbers", NULL};
	struct bk_program program = {.name = "bk-ledger",
	    .command = "close",
	    .usage = "[OPTION...] LEDGER|NAME...",
	    .purpose = "end what has lost its writer",
	    .examples = examples,
	    .opts = options};

	return (run(&program, argc, argv));
}

int
command_recover(int argc, char **argv)
{
	static const char *const examples[] = {"bk-ledger recover 12",
	    "bk-ledger recover -n 12",
	    "bk-ledger list --open -o '%l\\n' | xargs bk-ledger recover", NULL};
	struct bk_program program = {.name = "bk-ledger",
	    .command = "recover",
	    .usage = "[OPTION...] LEDGER|NAME...",
	    .purpose = "fence, find the end, close",
	    .examples = examples,
	    .opts = options};

	return (run(&program, argc, argv));
}
