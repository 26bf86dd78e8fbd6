/*
 * truncate.c - bk-ledger truncate: drop the oldest ledgers of a name, never
 * the last one. Whole ledgers go: --before L:E keeps the ledger that has the
 * entry.
 */
#include "bk-ledger/call.h"
#include "bk-ledger/command.h"
#include "bk-ledger/confirm.h"

#include "base/log.h"
#include "tool/common.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>
#include <time.h>

static struct {
	bool dry_run, yes;
	const char *before;
	int64_t older, size, count;
} opt = {.size = -1, .count = -1};

static int64_t
wall_clock_ms(void)
{
	struct timespec ts;

	(void)clock_gettime(CLOCK_REALTIME, &ts);
	return ((int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000);
}

/* The ledger of "L" or "L:E". */
static int64_t
before_ledger(void)
{
	char text[64];
	int64_t id, entry;
	char *colon;

	(void)snprintf(text, sizeof(text), "%s", opt.before);
	if ((colon = strchr(text, ':')) != NULL)
		*colon++ = '\0';
	if (bk_parse_int(text, 0, INT64_MAX, &id) != 0 ||
	    (colon != NULL && bk_parse_int(colon, 0, INT64_MAX, &entry) != 0))
		bk_usage("'%s' is not LEDGER or LEDGER:ENTRY", opt.before);
	return (id);
}

/* How many of the places go by --before; -1 when the ledger is not there. */
static int
count_before(const struct bk_name_place *places, size_t n, size_t *drop)
{
	int64_t id = before_ledger();
	size_t i;

	for (i = 0; i < n && places[i].ledger_id != id; i++)
		;
	if (i == n)
		return (-1);
	*drop = i > *drop ? i : *drop;
	return (0);
}

/* By age a ledger goes when the next one was begun before the limit: then all
 * of its entries are older. By size and count the newest ones stay. */
static enum bk_status
count_kept(struct bk_session *s, const struct bk_name_place *places, size_t n,
    size_t *drop)
{
	int64_t limit_ms = wall_clock_ms() - opt.older / BK_MS, kept = 0;
	struct bk_ledger_meta m;
	enum bk_status status;
	int32_t version;
	size_t i;

	for (i = n; i-- > 0;) {
		status = call_read(s, places[i].ledger_id, &m, &version);
		if (status == BK_ENOLEDGER)
			continue;
		if (status != BK_OK)
			return (status);
		kept += m.length;
		if ((opt.older > 0 && m.has_ctime && m.ctime_ms < limit_ms &&
			i > *drop) ||
		    (opt.size >= 0 && kept >= opt.size && i > *drop))
			*drop = i;
		bk_ledger_meta_fini(&m);
	}
	if (opt.count >= 0 && n > (size_t)opt.count &&
	    n - (size_t)opt.count > *drop)
		*drop = n - (size_t)opt.count;
	return (BK_OK);
}

static int
truncate_name(struct bk_session *s, const char *name)
{
	struct call_wait w = {.session = s};
	struct bk_name_place *places;
	enum bk_status status;
	size_t n, i, drop = 0;

	if ((status = call_places(s, name, &places, &n)) != BK_OK)
		return (bk_session_fail(status, "%s", name));
	if (opt.before != NULL && count_before(places, n, &drop) != 0) {
		free(places);
		return (
		    bk_session_fail(BK_ENOLEDGER, "%s: %s", name, opt.before));
	}
	status = count_kept(s, places, n, &drop);
	if (drop >= n)
		drop = n > 0 ? n - 1 : 0;
	for (i = 0; status == BK_OK && i < drop; i++)
		(void)printf("%lld\n", (long long)places[i].ledger_id);
	if (status == BK_OK && drop > 0 && !opt.dry_run) {
		bk_name_truncate(&s->client, name, places[drop].position,
		    call_done, &w);
		status = call_result(&w);
	}
	free(places);
	return (status == BK_OK ? EX_OK : bk_session_fail(status, "%s", name));
}

int
command_truncate(int argc, char **argv)
{
	static const char *const examples[] =
	    {"bk-ledger truncate --before 17:0 mylog",
		"bk-ledger truncate -y --older 30d mylog",
		"bk-ledger truncate -n --size 10G mylog", NULL};
	struct bk_opt opts[] = {
	    {0, "before", BK_OPT_TEXT, .value = &opt.before, .arg = "L[:E]",
		.help = "ledgers before this one"},
	    {0, "older", BK_OPT_TIME, .value = &opt.older, .arg = "TIME",
		.help = "ledgers whose entries are all older"},
	    {0, "size", BK_OPT_SIZE, .value = &opt.size, .arg = "SIZE",
		.help = "all but the newest SIZE bytes"},
	    {0, "count", BK_OPT_INT, .value = &opt.count, .arg = "N",
		.help = "all but the newest N ledgers", .max = INT64_MAX},
	    {'n', "dry-run", BK_OPT_FLAG, .value = &opt.dry_run,
		.help = "drop nothing, show what would go"},
	    {'y', "yes", BK_OPT_FLAG, .value = &opt.yes, .help = "do not ask"},
	    BK_COMMON_OPTS,
	    BK_OPT_END,
	};
	struct bk_program program = {.name = "bk-ledger",
	    .command = "truncate",
	    .usage = "[OPTION...] NAME...",
	    .purpose = "drop the oldest ledgers of a name",
	    .examples = examples,
	    .opts = opts};
	int i = bk_opt_parse(&program, argc, argv), status = EX_OK, code;
	struct bk_session *s;

	if (i == argc)
		bk_usage("which name?");
	if (opt.before == NULL && opt.older == 0 && opt.size < 0 &&
	    opt.count < 0)
		bk_usage("how far? --before, --older, --size or --count");
	confirm(opt.yes || opt.dry_run, "truncate %s%s", argv[i],
	    argc - i > 1 ? " and more" : "");
	if ((s = call_open(CALL_STORE)) == NULL)
		return (call_nothing(argc - i, argv + i));
	for (; i < argc; i++) {
		if (!call_target(argv[i]).is_name)
			bk_usage("'%s' is no name", argv[i]);
		code = truncate_name(s, argv[i]);
		status = code != EX_OK ? code : status;
	}
	bk_session_close(s);
	code = bk_close_stdout();
	return (code != EX_OK ? code : status);
}
