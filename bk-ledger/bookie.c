/*
 * bookie.c - bk-ledger bookie ID: one bookie, with its cookie; and the removal
 * of a cookie whose bookie is gone for good (repair only: without its cookie a
 * bookie does not start again).
 */
#include "bk-ledger/bookie_list.h"
#include "bk-ledger/call.h"
#include "bk-ledger/command.h"
#include "bk-ledger/confirm.h"

#include "base/log.h"
#include "tool/common.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>

#define COOKIE_MAX 65536

static struct {
	const char *cookie;
	bool yes, dry_run;
} opt;

static int
cookie_path(const struct bk_session *s, const char *id, char *path)
{
	int n =
	    snprintf(path, BK_PATH_MAX + 1, "%s/cookies/%s", s->tree.root, id);

	return (n <= BK_PATH_MAX ? 0 : -1);
}

static int
show_cookie(struct bk_session *s, const char *id)
{
	char path[BK_PATH_MAX + 1];
	static char text[COOKIE_MAX];
	enum bk_status status;

	if (cookie_path(s, id, path) != 0)
		return (bk_session_fail(BK_ETOOBIG, "bookie %s", id));
	if ((status = call_get(s, path, text, sizeof(text))) != BK_OK)
		return (bk_session_fail(status, "bookie %s: cookie", id));
	(void)fputs(text, stdout);
	return (EX_OK);
}

static void
removed(void *arg, enum bk_status status, const struct bk_meta_reply *r)
{
	(void)r;
	call_done(arg, status);
}

static int
delete_cookie(struct bk_session *s, const char *id)
{
	struct call_wait w = {.session = s};
	char path[BK_PATH_MAX + 1];

	if (bk_registry_find(s->registry, id) != NULL) {
		bk_log(BK_LOG_ERROR, "bookie %s: it is running", id);
		return (EX_NOPERM);
	}
	if (cookie_path(s, id, path) != 0)
		return (bk_session_fail(BK_ETOOBIG, "bookie %s", id));
	confirm(opt.yes || opt.dry_run,
	    "delete the cookie of %s, which then cannot start again", id);
	if (opt.dry_run)
		return (show_cookie(s, id));
	bk_meta_remove(s->meta, path, BK_ANY_VERSION, removed, &w);
	if (call_result(&w) != BK_OK)
		return (bk_session_fail(w.status, "bookie %s: cookie", id));
	return (EX_OK);
}

static int
show_bookie(struct bk_session *s, const char *id)
{
	struct bookie_list l;
	const struct bookie_item *b;
	enum bk_status status = bookie_list_read(s, &l);
	size_t i;

	if (status != BK_OK)
		return (bk_session_fail(status, "bookies"));
	for (i = 0; i < l.n && strcmp(l.item[i].id, id) != 0; i++)
		;
	if (i == l.n) {
		bookie_list_fini(&l);
		bk_log(BK_LOG_ERROR, "bookie %s: no such bookie", id);
		return (EX_NOINPUT);
	}
	b = &l.item[i];
	(void)printf("bookie\t%s\nstate\t%s\n", b->id, bookie_state(b));
	if (b->registered)
		(void)printf("mode\t%s\naddress\t%s\n",
		    b->writable ? "writable" : "read-only", b->address);
	if (b->pid > 0)
		(void)printf("pid\t%" PRId64 "\n", b->pid);
	if (b->answered)
		(void)printf("free\t%" PRId64 "\ntotal\t%" PRId64 "\n", b->free,
		    b->total);
	(void)printf("cookie\t%s\n", b->has_cookie ? "yes" : "no");
	bookie_list_fini(&l);
	return (EX_OK);
}

static int
run(struct bk_session *s, const char *id)
{
	if (opt.cookie == NULL)
		return (show_bookie(s, id));
	if (strcmp(opt.cookie, "show") == 0)
		return (show_cookie(s, id));
	return (delete_cookie(s, id));
}

int
command_bookie(int argc, char **argv)
{
	static const char *const examples[] = {"bk-ledger bookie b1",
	    "bk-ledger bookie --cookie show b1",
	    "bk-ledger bookie --cookie delete -y lost:3181", NULL};
	struct bk_opt opts[] = {
	    {0, "cookie", BK_OPT_TEXT, .value = &opt.cookie,
		.arg = "show|delete", .help = "its cookie in the store"},
	    {'n', "dry-run", BK_OPT_FLAG, .value = &opt.dry_run,
		.help = "delete nothing, show what would go"},
	    {'y', "yes", BK_OPT_FLAG, .value = &opt.yes, .help = "do not ask"},
	    BK_COMMON_OPTS,
	    BK_OPT_END,
	};
	struct bk_program program = {.name = "bk-ledger",
	    .command = "bookie",
	    .usage = "[OPTION...] BOOKIE",
	    .purpose = "look at one bookie",
	    .examples = examples,
	    .opts = opts};
	int i = bk_opt_parse(&program, argc, argv), status, code;
	struct bk_session *s;

	if (argc - i != 1)
		bk_usage("which bookie?");
	if (opt.cookie != NULL && strcmp(opt.cookie, "show") != 0 &&
	    strcmp(opt.cookie, "delete") != 0)
		bk_usage("--cookie '%s': show or delete", opt.cookie);
	if (!bk_bookie_id_valid(argv[i]))
		bk_usage("'%s' is no bookie's id", argv[i]);
	if ((s = call_open(CALL_BOOKIES)) == NULL)
		return (call_nothing(argc - i, argv + i));
	status = run(s, argv[i]);
	bk_session_close(s);
	code = bk_close_stdout();
	return (code != EX_OK ? code : status);
}
