/*
 * opt.h - one option table per program, from which parsing, --help, the
 * completion and the check against the man page come (cli.md 3.1).
 *
 * An option's value comes from, in this order: the command line, the
 * environment (where one is named), the config files (config.h), the built-in
 * default. bk-ledger config shows each value with its origin.
 */
#ifndef BK_OPT_H
#define BK_OPT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum bk_opt_kind {
	BK_OPT_FLAG,    /* bool */
	BK_OPT_COUNT,   /* int: -v -v */
	BK_OPT_TEXT,    /* const char * */
	BK_OPT_INT,     /* int64_t within min..max */
	BK_OPT_SIZE,    /* int64_t bytes: 64k 1M 2G */
	BK_OPT_TIME,    /* int64_t ns: 100ms 5s 10m 30d; bare = seconds */
	BK_OPT_OPTTEXT, /* const char *, value optional: --raw[=SIZE]; ""
	                   when given without; no letter */
	BK_OPT_LIST,    /* struct bk_opt_list: may be repeated */
};

struct bk_opt_list {
	const char **values;
	size_t n;
};

enum {
	BK_OPT_CONFIG = 1, /* may stand in a config file (settings.h) */
	BK_OPT_HIDDEN = 2, /* in the man page, not in --help */
};

/* From weakest to strongest. */
enum bk_opt_origin {
	BK_FROM_DEFAULT,
	BK_FROM_SYSTEM, /* /etc/bk/config */
	BK_FROM_USER,   /* $XDG_CONFIG_HOME/bk/config */
	BK_FROM_FILE,   /* -C FILE, BK_CONFIG */
	BK_FROM_ENV,
	BK_FROM_LINE,
};

struct bk_opt {
	char letter;      /* 0: none */
	const char *name; /* long name */
	enum bk_opt_kind kind;
	unsigned flags;
	void *value;      /* where it goes; holds the default before */
	const char *arg;  /* "N", "FILE", ... for help; NULL for flags */
	const char *help; /* what it does, short */
	const char *env;  /* environment variable, or NULL */
	int64_t min, max; /* INT, SIZE, TIME; both 0: not negative */
	enum bk_opt_origin origin; /* set by parsing */
	const char *where;         /* set by parsing: "/etc/bk/config:3" */
};

/* The end of a table. */
#define BK_OPT_END \
	{ \
		0 \
	}

struct bk_program {
	const char *name;
	const char *command;         /* subcommand ("list"), or NULL */
	const char *usage;           /* "[-0rw] [-d DELIM] NAME [FILE...]" */
	const char *purpose;         /* one line */
	const char *const *examples; /* three, NULL-terminated */
	struct bk_opt *opts;         /* table, ended by BK_OPT_END; ends in
	                        BK_COMMON_OPTS (common.h) */
};

/*
 * Parse. Operands are permuted to the end of argv; returns the index of the
 * first. Of two occurrences of an option the last counts.
 *
 * Never returns on: -h, --help and -V, --version (answer on stdout, exit 0, or
 * 74 when that cannot be written); usage errors (64); a config file that
 * cannot be read, or has an unknown name or a bad value (78, naming file and
 * line). Names the program to bk_log() and sets its level by -q and -v.
 */
int bk_opt_parse(const struct bk_program *p, int argc, char **argv);

/* Parse once more while the program runs, into a fresh table; argv is one that
 * bk_opt_parse() took. 0, or -1 after reporting what is wrong in a config file:
 * the values are then not to be used. */
int bk_opt_reload(const struct bk_program *p, int argc, char **argv);

/* Usage error: "prog: what" and "try 'prog --help'"; exits 64. */
void bk_usage(const char *fmt, ...)
    __attribute__((format(printf, 1, 2), noreturn));

/* Flush and close stdout with a check: 0, or EX_IOERR after saying so. For
 * every program to end with: a full disk shows here. */
int bk_close_stdout(void);

/* The option of that long name, or NULL. */
struct bk_opt *bk_opt_find(const struct bk_program *p, const char *name);

/* Set an option from text, unless a stronger origin has set it already; where
 * is kept by reference. 0, or -1 with *why: what values it takes. */
int bk_opt_set(struct bk_opt *o, const char *text, enum bk_opt_origin origin,
    const char *where, const char **why);

/* "64k", "1M", "2G" (powers of 1024); "100ms", "5s", "10m", "2h", "30d", bare
 * is seconds. Not negative. 0, or -1. */
int bk_parse_size(const char *text, int64_t *bytes);
int bk_parse_time(const char *text, int64_t *ns);
/* A decimal or 0x number within bounds; 0, or -1. */
int bk_parse_int(const char *text, int64_t min, int64_t max, int64_t *out);

#endif
