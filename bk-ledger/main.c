/* main.c - the table of subcommands. */
#include "bk-ledger/command.h"

#include "base/log.h"
#include "tool/common.h"
#include "tool/opt.h"

#include <stdio.h>
#include <string.h>
#include <sysexits.h>

struct command {
	const char *name;
	const char *help;
	int (*run)(int argc, char **argv);
};

static const struct command commands[] = {
    {"list", "ledgers, or those of a name", command_list},
    {"show", "one ledger or name in full", command_show},
    {"create", "an empty ledger, or a name with its settings", command_create},
    {"close", "end a ledger or name whose writer is gone", command_close},
    {"recover", "the same: fence, find the end, close", command_recover},
    {"truncate", "drop the oldest ledgers of a name", command_truncate},
    {"delete", "ledgers or names", command_delete},
    {"check", "copies, and their digests", command_check},
    {"bookies", "who stores", command_bookies},
    {"bookie", "one bookie's registration and cookie", command_bookie},
    {"cluster", "show the cluster, or make one", command_cluster},
    {"dump", "metadata as text", command_dump},
    {"load", "metadata from text", command_load},
    {"metrics", "figures in Prometheus' text format", command_metrics},
    {"config", "settings and where they come from", command_config},
};

#define NCOMMANDS (sizeof(commands) / sizeof(commands[0]))

static const char *const examples[] = {
    "bk-ledger list",
    "bk-ledger show numbers",
    "bk-ledger delete -y 12",
    NULL,
};

static void
print_commands(void)
{
	size_t i;

	(void)printf(
	    "usage: bk-ledger COMMAND [OPTION...] [OPERAND...]\n"
	    "Everything about ledgers, names and bookies but adding and "
	    "reading.\n");
	for (i = 0; i < NCOMMANDS; i++)
		(void)printf("  %-10s%s\n", commands[i].name, commands[i].help);
	(void)printf("'bk-ledger COMMAND --help' tells more.\n");
	for (i = 0; examples[i] != NULL; i++)
		(void)printf("  $ %s\n", examples[i]);
}

/* Options before the command: only those that ask about the program. */
static int
no_command(int argc, char **argv)
{
	struct bk_opt opts[] = {BK_COMMON_OPTS, BK_OPT_END};
	struct bk_program program = {.name = "bk-ledger",
	    .usage = "COMMAND [OPTION...] [OPERAND...]",
	    .purpose = "look after ledgers, names and bookies",
	    .examples = examples,
	    .opts = opts};

	if (argc > 1 &&
	    (strcmp(argv[1], "-h") == 0 || strcmp(argv[1], "--help") == 0)) {
		print_commands();
		return (bk_close_stdout());
	}
	(void)bk_opt_parse(&program, argc, argv);
	bk_usage("no command");
}

int
main(int argc, char **argv)
{
	size_t i;

	bk_log_init("bk-ledger", BK_LOG_WARNING, false);
	if (argc < 2 || argv[1][0] == '-')
		return (no_command(argc, argv));
	for (i = 0; i < NCOMMANDS; i++)
		if (strcmp(argv[1], commands[i].name) == 0)
			return (commands[i].run(argc - 1, argv + 1));
	bk_usage("'%s' is no command", argv[1]);
}
