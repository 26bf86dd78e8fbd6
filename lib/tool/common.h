/*
 * common.h - the options all programs share, the same letter with the same
 * meaning everywhere (cli.md 3.1). The last lines of each option table:
 *
 *	struct bk_opt opts[] = {
 *	    {'0', "null", BK_OPT_FLAG, .value = &null, ...},
 *	    BK_COMMON_OPTS,
 *	    BK_OPT_END,
 *	};
 */
#ifndef BK_COMMON_H
#define BK_COMMON_H

#include "tool/opt.h"

struct bk_common {
	const char *config;    /* -C: read in place of the usual files */
	const char *cluster;   /* NULL: the local one */
	const char *auth_file; /* ZooKeeper digest, or NULL */
	bool quiet;
	int verbose;
	bool help, version, complete;
};

extern struct bk_common bk_common;

/* clang-format off */
#define BK_COMMON_OPTS \
	{'C', "config", BK_OPT_TEXT, .value = &bk_common.config, \
	    .arg = "FILE", .help = "read settings from FILE only", \
	    .env = "BK_CONFIG"}, \
	{0, "cluster", BK_OPT_TEXT, BK_OPT_CONFIG, \
	    .value = &bk_common.cluster, .arg = "URI", \
	    .help = "zk://HOST,.../ROOT or local:DIR", .env = "BK_CLUSTER"}, \
	{0, "auth-file", BK_OPT_TEXT, BK_OPT_CONFIG | BK_OPT_HIDDEN, \
	    .value = &bk_common.auth_file, .arg = "FILE", \
	    .help = "ZooKeeper digest USER:PASSWORD in FILE"}, \
	{'q', "quiet", BK_OPT_FLAG, .value = &bk_common.quiet, \
	    .help = "errors only"}, \
	{'v', "verbose", BK_OPT_COUNT, .value = &bk_common.verbose, \
	    .help = "say more; -vv for all"}, \
	{'h', "help", BK_OPT_FLAG, BK_OPT_HIDDEN, .value = &bk_common.help, \
	    .help = "this text"}, \
	{'V', "version", BK_OPT_FLAG, BK_OPT_HIDDEN, \
	    .value = &bk_common.version, .help = "version and formats"}, \
	{0, "complete", BK_OPT_FLAG, BK_OPT_HIDDEN, \
	    .value = &bk_common.complete, .help = "words for completion"}
/* clang-format on */

#endif
