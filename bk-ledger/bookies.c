/* bookies.c - bk-ledger bookies: who stores, one a line. */
#include "bk-ledger/bookie_list.h"
#include "bk-ledger/call.h"
#include "bk-ledger/command.h"
#include "bk-ledger/out.h"

#include "base/log.h"
#include "tool/common.h"

#include <stdlib.h>
#include <string.h>
#include <sysexits.h>

static struct {
	struct out_style style;
} opt;

static const struct out_column columns[] = {
    {'i', "bookie", false, false},
    {'s', "state", false, false},
    {'m', "mode", false, false},
    {'f', "free", true, false},
    {'T', "total", true, true},
    {'a', "address", false, true},
    {'p', "pid", false, true},
};

static void
put_bookie(struct out *o, const struct bookie_item *b)
{
	out_text(o, 'i', b->id);
	out_text(o, 's', bookie_state(b));
	out_text(o, 'm',
	    !b->registered  ? "" :
		b->writable ? "writable" :
			      "read-only");
	if (b->free >= 0)
		out_int(o, 'f', b->free);
	if (b->total >= 0)
		out_int(o, 'T', b->total);
	out_text(o, 'a', b->address);
	if (b->pid > 0)
		out_int(o, 'p', b->pid);
	out_row(o);
}

static bool
named(const char *id, char **names, int n)
{
	int i;

	for (i = 0; i < n; i++)
		if (strcmp(id, names[i]) == 0)
			return (true);
	return (n == 0);
}

static int
report_missing(const struct bookie_list *l, const char *name)
{
	size_t i;

	for (i = 0; i < l->n; i++)
		if (strcmp(l->item[i].id, name) == 0)
			return (EX_OK);
	bk_log(BK_LOG_ERROR, "bookie %s: no such bookie", name);
	return (EX_NOINPUT);
}

static int
list(struct bk_session *s, char **names, int n)
{
	struct bookie_list l;
	enum bk_status got = bookie_list_read(s, &l);
	struct out *o;
	int i, status = EX_OK, code;
	size_t k;

	if (got != BK_OK)
		return (bk_session_fail(got, "bookies"));
	o = out_open(columns, sizeof(columns) / sizeof(columns[0]), &opt.style);
	for (k = 0; k < l.n; k++)
		if (named(l.item[k].id, names, n))
			put_bookie(o, &l.item[k]);
	for (i = 0; i < n; i++)
		if ((code = report_missing(&l, names[i])) != EX_OK)
			status = code;
	bookie_list_fini(&l);
	return (out_close(o, status));
}

int
command_bookies(int argc, char **argv)
{
	static const char *const examples[] = {"bk-ledger bookies --human",
	    "bk-ledger bookies -J | jq -r .address",
	    "bk-ledger bookies -o '%p\\n' b2 | xargs kill", NULL};
	struct bk_opt opts[] = {
	    OUT_OPTS(opt.style),
	    BK_COMMON_OPTS,
	    BK_OPT_END,
	};
	struct bk_program program = {.name = "bk-ledger",
	    .command = "bookies",
	    .usage = "[OPTION...] [BOOKIE...]",
	    .purpose = "list bookies, one a line",
	    .examples = examples,
	    .opts = opts};
	int i = bk_opt_parse(&program, argc, argv), status;
	struct bk_session *s = call_open(CALL_BOOKIES);

	if (s == NULL)
		return (call_nothing(argc - i, argv + i));
	status = list(s, argv + i, argc - i);
	bk_session_close(s);
	return (status);
}
