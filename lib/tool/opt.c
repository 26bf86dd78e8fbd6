/* opt.c - options from the command line and the environment. */
#include "tool/opt.h"

#include "base/log.h"
#include "tool/common.h"
#include "tool/config.h"
#include "tool/opt_impl.h"

#include <assert.h>
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>
#include <unistd.h>

/* getopt_long(3) tells a long option apart from a letter by this. */
#define LONG_BASE 256

struct bk_opt *
bk_opt_find(const struct bk_program *p, const char *name)
{
	for (struct bk_opt *o = p->opts; o->name != NULL; o++)
		if (strcmp(o->name, name) == 0)
			return (o);
	return (NULL);
}

static struct bk_opt *
find_letter(const struct bk_program *p, int letter)
{
	for (struct bk_opt *o = p->opts; o->name != NULL; o++)
		if (o->letter == letter)
			return (o);
	return (NULL);
}

/* A flag in a config file may be given as such, or with a value. */
static int
set_flag(bool *value, const char *text)
{
	if (text == NULL || *text == '\0' || strcmp(text, "yes") == 0)
		*value = true;
	else if (strcmp(text, "no") == 0)
		*value = false;
	else
		return (-1);
	return (0);
}

static int
set_count(int *value, const char *text, bool again)
{
	int64_t n;

	if (text == NULL || *text == '\0') {
		*value = again ? *value + 1 : 1;
		return (0);
	}
	if (bk_parse_int(text, 0, 9, &n) == -1)
		return (-1);
	*value = (int)n;
	return (0);
}

/* The arrays of lists live as long as the program, as all values do. */
struct kept {
	struct kept *next;
	const char *values[];
};
static struct kept *kept;

static int
set_list(struct bk_opt_list *list, const char *text, bool again)
{
	size_t n = again ? list->n : 0;
	struct kept *k = malloc(sizeof(*k) + (n + 1) * sizeof(*k->values));

	if (k == NULL)
		err(EX_OSERR, "options");
	if (n > 0)
		memcpy(k->values, list->values, n * sizeof(*k->values));
	k->values[n] = text;
	k->next = kept;
	kept = k;
	list->values = k->values;
	list->n = n + 1;
	return (0);
}

/* The three kinds of numbers, with what to say when one is refused. */
static int
set_number(struct bk_opt *o, const char *text, const char **why)
{
	static _Thread_local char say[160];
	int64_t min = o->min, max = o->max, n;
	const char *form = o->kind == BK_OPT_SIZE ? "a size like 64k, 1M, 2G" :
	    o->kind == BK_OPT_TIME ? "a time like 100ms, 5s, 10m, 30d" :
				     "a number";
	int r;

	if (min == 0 && max == 0)
		max = INT64_MAX;
	if (o->kind == BK_OPT_INT)
		r = bk_parse_int(text, INT64_MIN, INT64_MAX, &n);
	else if (o->kind == BK_OPT_SIZE)
		r = bk_parse_size(text, &n);
	else
		r = bk_parse_time(text, &n);
	*why = say;
	if (r == -1)
		(void)snprintf(say, sizeof(say), "is not %s", form);
	else if (n < min)
		(void)snprintf(say, sizeof(say), "is less than %lld%s",
		    (long long)min, o->kind == BK_OPT_TIME ? " ns" : "");
	else if (n > max)
		(void)snprintf(say, sizeof(say), "is more than %lld%s",
		    (long long)max, o->kind == BK_OPT_TIME ? " ns" : "");
	else {
		*(int64_t *)o->value = n;
		return (0);
	}
	return (-1);
}

static int
set_value(struct bk_opt *o, const char *text, bool again, const char **why)
{
	switch (o->kind) {
	case BK_OPT_FLAG:
		*why = "is not yes or no";
		return (set_flag(o->value, text));
	case BK_OPT_COUNT:
		*why = "is not a number below 10";
		return (set_count(o->value, text, again));
	case BK_OPT_OPTTEXT:
		*(const char **)o->value = text != NULL ? text : "";
		return (0);
	case BK_OPT_TEXT:
		*(const char **)o->value = text;
		return (0);
	case BK_OPT_LIST:
		return (set_list(o->value, text, again));
	case BK_OPT_INT:
	case BK_OPT_SIZE:
	case BK_OPT_TIME:
		return (set_number(o, text, why));
	}
	return (-1);
}

int
bk_opt_set(struct bk_opt *o, const char *text, enum bk_opt_origin origin,
    const char *where, const char **why)
{
	if (o->origin > origin)
		return (0);
	if (set_value(o, text, o->origin == origin, why) == -1)
		return (-1);
	o->origin = origin;
	o->where = where;
	return (0);
}

static const struct option *
long_options(const struct bk_program *p)
{
	struct option *options;
	size_t n = 0;

	while (p->opts[n].name != NULL)
		n++;
	options = calloc(n + 1, sizeof(*options));
	if (options == NULL)
		err(EX_OSERR, "options");
	for (size_t i = 0; i < n; i++) {
		const struct bk_opt *o = &p->opts[i];

		assert((o->flags & BK_OPT_CONFIG) == 0 ||
		    bk_setting_find(o->name) != NULL);
		options[i].name = o->name;
		options[i].val = LONG_BASE + (int)i;
		options[i].has_arg = o->kind == BK_OPT_OPTTEXT ?
		    optional_argument :
		    o->arg != NULL ? required_argument :
				     no_argument;
	}
	return (options);
}

/* ":" first: a missing value is told apart from an unknown option. */
static void
short_options(const struct bk_program *p, char text[2 * 256 + 2])
{
	size_t n = 0;

	text[n++] = ':';
	for (const struct bk_opt *o = p->opts; o->name != NULL; o++) {
		if (o->letter == 0)
			continue;
		text[n++] = o->letter;
		if (o->arg != NULL)
			text[n++] = ':';
	}
	text[n] = '\0';
}

static void __attribute__((noreturn))
unknown_option(const struct bk_program *p, const char *arg, int letter)
{
	const struct bk_opt *near;
	char name[64];

	if (letter != 0 && letter < LONG_BASE)
		bk_usage("unknown option -%c", letter);
	if (letter >= LONG_BASE)
		bk_usage("option --%s takes no value",
		    p->opts[letter - LONG_BASE].name);
	(void)snprintf(name, sizeof(name), "%s", arg + strspn(arg, "-"));
	name[strcspn(name, "=")] = '\0';
	near = bk_opt_nearest(p, name);
	if (near != NULL)
		bk_usage("unknown option --%s; did you mean --%s?", name,
		    near->name);
	bk_usage("unknown option --%s", name);
}

static void __attribute__((noreturn))
missing_value(const struct bk_program *p, int c)
{
	if (c >= LONG_BASE)
		bk_usage("option --%s needs a value: %s",
		    p->opts[c - LONG_BASE].name, p->opts[c - LONG_BASE].arg);
	bk_usage("option -%c needs a value: %s", c, find_letter(p, c)->arg);
}

static void
take_line(const struct bk_program *p, int argc, char **argv)
{
	const struct option *options = long_options(p);
	char letters[2 * 256 + 2];
	const char *why;
	struct bk_opt *o;
	int c;

	short_options(p, letters);
	opterr = 0;
	optind = 0; /* begin anew, also after another program's table */
	while ((c = getopt_long(argc, argv, letters, options, NULL)) != -1) {
		if (c == '?')
			unknown_option(p, argv[optind - 1], optopt);
		if (c == ':')
			missing_value(p, optopt);
		o = c >= LONG_BASE ? &p->opts[c - LONG_BASE] :
				     find_letter(p, c);
		if (bk_opt_set(o, optarg, BK_FROM_LINE, "command line", &why) ==
		    -1)
			bk_usage("option --%s: '%s' %s", o->name,
			    optarg != NULL ? optarg : "", why);
	}
	free((void *)(uintptr_t)options);
}

static void
take_environment(const struct bk_program *p)
{
	const char *text, *why;

	for (struct bk_opt *o = p->opts; o->name != NULL; o++) {
		text = o->env != NULL ? getenv(o->env) : NULL;
		if (text == NULL || *text == '\0')
			continue;
		if (bk_opt_set(o, text, BK_FROM_ENV, o->env, &why) == -1)
			bk_usage("%s: '%s' %s", o->env, text, why);
	}
}

/* A standard descriptor that is closed must not become another file's: what
 * stands in for it refuses what it is for, as a closed one does. */
static void
hold_standard_descriptors(void)
{
	static const int refusing[] = {O_WRONLY, O_RDONLY, O_RDONLY};

	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		if (fcntl(fd, F_GETFD) == -1 && errno == EBADF &&
		    open("/dev/null", refusing[fd]) == -1)
			err(EX_OSERR, "/dev/null");
}

int
bk_opt_parse(const struct bk_program *p, int argc, char **argv)
{
	int operands;

	hold_standard_descriptors();
	bk_log_init(p->name, BK_LOG_WARNING, false);
	bk_opt_help_init(p);
	take_line(p, argc, argv);
	operands = optind;
	if (bk_common.help)
		bk_opt_help(p);
	if (bk_common.version)
		bk_opt_version(p);
	if (bk_common.complete)
		bk_opt_complete(p);
	take_environment(p);
	if (bk_config_apply(p) == -1)
		exit(EX_CONFIG);
	bk_log_level(bk_common.verbose > 1 ? BK_LOG_DEBUG :
		bk_common.verbose == 1     ? BK_LOG_INFO :
		bk_common.quiet            ? BK_LOG_ERROR :
					     BK_LOG_WARNING);
	return (operands);
}

int
bk_opt_reload(const struct bk_program *p, int argc, char **argv)
{
	take_line(p, argc, argv);
	take_environment(p);
	return (bk_config_apply(p));
}
