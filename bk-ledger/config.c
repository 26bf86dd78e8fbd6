/*
 * config.c - bk-ledger config: every setting there is, its value, and where it
 * comes from (cli.md 3.4).
 */
#include "bk-ledger/command.h"
#include "bk-ledger/out.h"

#include "tool/common.h"
#include "tool/config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>

static struct {
	struct out_style style;
} opt;

static const struct out_column columns[] = {
    {'n', "setting", false, false},
    {'v', "value", false, false},
    {'w', "origin", false, false},
    {'P', "programs", false, true},
};

/* The last value of a setting in one file. */
struct found {
	const char *name;
	char value[1024];
	char where[1024];
	bool set;
};

static int
take(void *arg, const char *name, const char *value, const char *where,
    const char **why)
{
	struct found *f = arg;

	(void)why;
	if (strcmp(name, f->name) != 0)
		return (0);
	(void)snprintf(f->value, sizeof(f->value), "%s", value);
	(void)snprintf(f->where, sizeof(f->where), "%s", where);
	f->set = true;
	return (0);
}

static const struct {
	const char *setting, *variable;
} variables[] = {
    {"cluster", "BK_CLUSTER"},
    {"password-file", "BK_PASSWORD_FILE"},
};

static const char *
variable_of(const char *setting)
{
	size_t i;

	for (i = 0; i < sizeof(variables) / sizeof(variables[0]); i++)
		if (strcmp(variables[i].setting, setting) == 0)
			return (variables[i].variable);
	return (NULL);
}

/* The user's file, or "" without a home. */
static void
user_file(char out[1024])
{
	const char *base = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");

	out[0] = '\0';
	if (base != NULL && base[0] == '/')
		(void)snprintf(out, 1024, "%s/bk/config", base);
	else if (home != NULL)
		(void)snprintf(out, 1024, "%s/.config/bk/config", home);
}

static void
look_in(const char *path, struct found *f)
{
	char why[1024];

	if (path[0] != '\0' &&
	    bk_config_read(path, take, f, why, sizeof(why)) != 0 &&
	    errno != ENOENT) {
		(void)fprintf(stderr, "bk-ledger: %s\n", why);
		exit(EX_CONFIG);
	}
}

static void
put_setting(struct out *o, const struct bk_setting *s)
{
	struct found f = {.name = s->name};
	const char *variable = variable_of(s->name), *v;
	char user[1024];

	if (bk_common.config != NULL) {
		look_in(bk_common.config, &f);
	} else {
		user_file(user);
		look_in(BK_CONFIG_SYSTEM, &f);
		look_in(user, &f);
	}
	out_text(o, 'n', s->name);
	if (strcmp(s->name, "cluster") == 0 && bk_common.cluster != NULL &&
	    (v = getenv("BK_CLUSTER")) != NULL &&
	    strcmp(v, bk_common.cluster) != 0) {
		out_text(o, 'v', bk_common.cluster);
		out_text(o, 'w', "command line");
	} else if (variable != NULL && (v = getenv(variable)) != NULL) {
		out_text(o, 'v', v);
		out_text(o, 'w', variable);
	} else {
		out_text(o, 'v', f.set ? f.value : s->builtin);
		out_text(o, 'w', f.set ? f.where : "built in");
	}
	out_text(o, 'P', s->programs);
	out_row(o);
}

int
command_config(int argc, char **argv)
{
	static const char *const examples[] = {"bk-ledger config",
	    "bk-ledger config -J | jq -r .setting",
	    "bk-ledger config -C ./config", NULL};
	struct bk_opt opts[] = {
	    OUT_OPTS(opt.style),
	    BK_COMMON_OPTS,
	    BK_OPT_END,
	};
	struct bk_program program = {.name = "bk-ledger",
	    .command = "config",
	    .usage = "[OPTION...]",
	    .purpose = "settings and where they come from",
	    .examples = examples,
	    .opts = opts};
	const struct bk_setting *s;
	struct out *o;

	if (bk_opt_parse(&program, argc, argv) != argc)
		bk_usage("config takes no operand");
	o = out_open(columns, sizeof(columns) / sizeof(columns[0]), &opt.style);
	for (s = bk_settings; s->name != NULL; s++)
		put_setting(o, s);
	return (out_close(o, EX_OK));
}
