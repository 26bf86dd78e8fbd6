/*
 * opt.h - one option table per program, from which parsing, --help, the
 * completion and the check against the man page come (cli.md 3.1).
 *
 * An option's value comes from, in this order: the command line, the
 * environment (where one is named), the user's config file, /etc/bk/config,
 * the built-in default. bk-ledger config shows each value with its origin.
 */
#ifndef BK_OPT_H
#define BK_OPT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum bk_opt_kind {
	BK_OPT_FLAG,      /* bool */
	BK_OPT_COUNT,     /* int: -v -v */
	BK_OPT_TEXT,      /* const char * */
	BK_OPT_INT,       /* int64_t within min..max */
	BK_OPT_SIZE,      /* int64_t bytes: 64k 1M 2G */
	BK_OPT_TIME,      /* int64_t ns: 100ms 5s 10m 30d; bare = seconds */
	BK_OPT_OPTTEXT,   /* const char *, value optional: --raw[=SIZE]; "" when
	                     given without */
	BK_OPT_LIST,      /* struct bk_opt_list: may be repeated */
};

struct bk_opt_list {
	const char **values;
	size_t n;
};

enum { BK_OPT_CONFIG = 1, /* may stand in a config file */
	BK_OPT_HIDDEN = 2, /* in the man page, not in --help */
};

enum bk_opt_origin { BK_FROM_DEFAULT, BK_FROM_SYSTEM, BK_FROM_USER,
	BK_FROM_FILE, BK_FROM_ENV, BK_FROM_LINE };

struct bk_opt {
	char letter;            /* 0: none */
	const char *name;       /* long name */
	enum bk_opt_kind kind;
	unsigned flags;
	void *value;            /* where it goes; holds the default before */
	const char *arg;        /* "N", "FILE", ... for help */
	const char *help;       /* under 48 bytes */
	const char *env;        /* environment variable, or NULL */
	int64_t min, max;       /* BK_OPT_INT, SIZE, TIME; both 0: no bound */
	enum bk_opt_origin origin; /* set by parsing */
};

struct bk_program {
	const char *name;
	const char *usage;          /* "[-0rw] [-d DELIM] NAME [FILE...]" */
	const char *purpose;        /* one line */
	const char *const *examples;/* three, NULL-terminated */
	struct bk_opt *opts;        /* table, ended by name NULL */
};

/* Parse. Handles -h/--help and -V/--version (prints, closes stdout with a
 * check, exits 0 or 74) and usage errors (two lines on stderr, exits 64).
 * Operands are permuted to the end; returns the index of the first. Reads the
 * config files (unknown name there: exits 78 naming file and line). The common
 * options (-C, --cluster, -v, -q, ...) are merged in by the caller's table via
 * BK_COMMON_OPTS in tool/common.h. */
int bk_opt_parse(struct bk_program *p, int argc, char **argv);
/* Usage error: "prog: what" and "try 'prog --help'"; exits 64. */
void bk_usage(const char *fmt, ...)
    __attribute__((format(printf, 1, 2), noreturn));
/* Close stdout with a check: 0, or EX_IOERR after saying so. */
int bk_close_stdout(void);

/* "64k", "1M", "2G" (powers of 1024) and "100ms", "5s", "10m", "30d". 0 or
 * -1. */
int bk_parse_size(const char *text, int64_t *bytes);
int bk_parse_time(const char *text, int64_t *ns);
/* A decimal or 0x number within bounds; 0 or -1. */
int bk_parse_int(const char *text, int64_t min, int64_t max, int64_t *out);

#endif
