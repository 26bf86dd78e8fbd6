/* options.c - the option table of bk-bookied. */
#include "bk-bookied/options.h"

#include "env/env.h"
#include "tool/common.h"

#include <limits.h>
#include <string.h>

#define MIB (INT64_C(1024) * 1024)

static const char *const examples[] = {
    "bk-bookied --local 3",
    "bk-bookied --cluster zk://zk1/ledgers --data /srv/bk",
    "bk-bookied -C /etc/bk/config --journal /nvme/bk --data /srv/bk",
    NULL,
};

static const struct options defaults = {
    .memory = 64 * MIB,
    .journal_size = 64 * MIB,
    .ballast = -1,
    .gc_interval = -1,
    .max_connections = 10000,
    .session_timeout = 10 * BK_SECOND,
    .ready_fd = -1,
};

/* Kept for parsing once more. */
static int argument_count;
static char **arguments;

/* Parse into o, which has its defaults: at start, or once more. What usage
 * errors refer to lives on. */
static int
parse(struct options *o, bool again)
{
	static struct bk_opt opts[48];
	static const struct bk_program program = {
	    .name = "bk-bookied",
	    .usage = "[-t] [--local N] [--data DIR]... [OPTION]...",
	    .purpose = "Serve a bookie: keep entries of ledgers.",
	    .examples = examples,
	    .opts = opts,
	};
	const struct bk_opt table[] = {
	    {0, "journal", BK_OPT_LIST, BK_OPT_CONFIG, &o->journal,
		.arg = "DIR", .help = "directory of the journal (repeatable)"},
	    {0, "data", BK_OPT_LIST, BK_OPT_CONFIG, &o->data, .arg = "DIR",
		.help = "directory of entries (repeatable)"},
	    {0, "listen", BK_OPT_LIST, BK_OPT_CONFIG, &o->listen, .arg = "ADDR",
		.help = "HOST:PORT or unix:PATH (repeatable; 3181)"},
	    {0, "advertise", BK_OPT_TEXT, BK_OPT_CONFIG, &o->advertise,
		.arg = "HOST:PORT", .help = "address that clients are told"},
	    {0, "id", BK_OPT_TEXT, BK_OPT_CONFIG, &o->id, .arg = "ID",
		.help = "bookie id (the advertised address)"},
	    {0, "rack", BK_OPT_TEXT, BK_OPT_CONFIG | BK_OPT_HIDDEN, &o->rack,
		.arg = "PATH", .help = "network location, for placement"},
	    {0, "memory", BK_OPT_SIZE, BK_OPT_CONFIG, &o->memory, .arg = "SIZE",
		.help = "entries kept in memory (64M)", .min = MIB,
		.max = INT64_MAX},
	    {0, "journal-size", BK_OPT_SIZE, BK_OPT_CONFIG | BK_OPT_HIDDEN,
		&o->journal_size, .arg = "SIZE",
		.help = "size a journal file grows to", .min = MIB,
		.max = INT64_MAX},
	    {0, "ballast", BK_OPT_SIZE, BK_OPT_CONFIG | BK_OPT_HIDDEN,
		&o->ballast, .arg = "SIZE",
		.help = "space set aside per data directory"},
	    {0, "gc-interval", BK_OPT_TIME, BK_OPT_CONFIG | BK_OPT_HIDDEN,
		&o->gc_interval, .arg = "TIME",
		.help = "between looks for deleted ledgers", .min = BK_MS,
		.max = INT64_MAX},
	    {0, "max-connections", BK_OPT_INT, BK_OPT_CONFIG | BK_OPT_HIDDEN,
		&o->max_connections, .arg = "N",
		.help = "connections at a time", .min = 1, .max = INT_MAX},
	    {0, "session-timeout", BK_OPT_TIME, BK_OPT_CONFIG | BK_OPT_HIDDEN,
		&o->session_timeout, .arg = "TIME",
		.help = "of the ZooKeeper session", .min = BK_SECOND,
		.max = 3600 * BK_SECOND},
	    {0, "read-only", BK_OPT_FLAG, BK_OPT_CONFIG, &o->read_only,
		.help = "take no new entries"},
	    {0, "accept-damage", BK_OPT_FLAG, BK_OPT_HIDDEN, &o->accept_damage,
		.help = "start over a damaged journal"},
	    {0, "idle-exit", BK_OPT_TIME, BK_OPT_CONFIG, &o->idle_exit,
		.arg = "TIME", .help = "leave when unused that long",
		.min = BK_MS, .max = INT64_MAX},
	    {0, "stay-listed", BK_OPT_FLAG, BK_OPT_CONFIG | BK_OPT_HIDDEN,
		&o->stay_listed, .help = "remain in the bookie list when idle"},
	    {0, "local", BK_OPT_INT, 0, &o->local, .arg = "N",
		.help = "N bookies on this machine, to try out", .min = 1,
		.max = 99},
	    {'t', "test", BK_OPT_FLAG, 0, &o->test,
		.help = "test the configuration and exit"},
	    {'u', "user", BK_OPT_TEXT, BK_OPT_CONFIG, &o->user,
		.arg = "USER[:GROUP]", .help = "run as, once bound"},
	    {0, "daemon", BK_OPT_FLAG, 0, &o->daemon,
		.help = "go to the background once ready"},
	    {0, "pidfile", BK_OPT_TEXT, BK_OPT_CONFIG | BK_OPT_HIDDEN,
		&o->pidfile, .arg = "FILE",
		.help = "keep the process id in FILE, locked"},
	    {0, "ready-fd", BK_OPT_INT, 0, &o->ready_fd, .arg = "FD",
		.help = "newline to FD when ready", .min = 0, .max = INT_MAX},
	    {0, "ports-file", BK_OPT_TEXT, BK_OPT_CONFIG | BK_OPT_HIDDEN,
		&o->ports_file, .arg = "FILE",
		.help = "write the bound addresses to FILE"},
	    {0, "log-time", BK_OPT_FLAG, BK_OPT_CONFIG | BK_OPT_HIDDEN,
		&o->log_time, .help = "date and time in each log line"},
	    {0, "syslog", BK_OPT_FLAG, BK_OPT_CONFIG | BK_OPT_HIDDEN,
		&o->syslog, .help = "log to syslog"},
	    BK_COMMON_OPTS,
	    BK_OPT_END,
	};
	int first;

	_Static_assert(sizeof(table) <= sizeof(opts), "more options");
	memcpy(opts, table, sizeof(table));
	if (again)
		return (bk_opt_reload(&program, argument_count, arguments));
	first = bk_opt_parse(&program, argument_count, arguments);
	if (first < argument_count)
		bk_usage("unexpected operand '%s'", arguments[first]);
	return (0);
}

void
options_parse(struct options *o, int argc, char **argv)
{
	argument_count = argc;
	arguments = argv;
	*o = defaults;
	(void)parse(o, false);
}

int
options_reload(struct options *o)
{
	*o = defaults;
	return (parse(o, true));
}
