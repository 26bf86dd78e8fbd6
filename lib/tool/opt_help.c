/* opt_help.c - what a program says about itself: help, version, usage errors,
 * words for completion. */
#include "base/log.h"
#include "tool/common.h"
#include "tool/opt_impl.h"
#include "version.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>

#define NAME_MAX_BYTES 64

static const struct bk_program *program;

void
bk_opt_help_init(const struct bk_program *p)
{
	program = p;
}

/* "bk-ledger list" */
static void
print_name(FILE *out, const struct bk_program *p)
{
	fprintf(out, "%s%s%s", p->name, p->command != NULL ? " " : "",
	    p->command != NULL ? p->command : "");
}

void
bk_usage(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	bk_vlog(BK_LOG_ERROR, fmt, ap);
	va_end(ap);
	if (program != NULL) {
		fputs("try '", stderr);
		print_name(stderr, program);
		fputs(" --help'\n", stderr);
	}
	exit(EX_USAGE);
}

int
bk_close_stdout(void)
{
	/* Closed from the start is fine as long as nothing is to be said. */
	if (fflush(stdout) == 0 && !ferror(stdout) &&
	    (fclose(stdout) == 0 || errno == EBADF))
		return (0);
	bk_log(BK_LOG_ERROR, "standard output: %s", strerror(errno));
	return (EX_IOERR);
}

static void
print_option(const struct bk_opt *o)
{
	char left[NAME_MAX_BYTES];
	bool optional = o->kind == BK_OPT_OPTTEXT;

	(void)snprintf(left, sizeof(left), "--%s%s%s%s", o->name,
	    optional           ? "[=" :
		o->arg != NULL ? " " :
				 "",
	    o->arg != NULL ? o->arg : "", optional ? "]" : "");
	if (o->letter != 0)
		printf("  -%c, %-22s %s\n", o->letter, left, o->help);
	else
		printf("      %-22s %s\n", left, o->help);
}

void
bk_opt_help(const struct bk_program *p)
{
	fputs("usage: ", stdout);
	print_name(stdout, p);
	printf(" %s\n%s\n", p->usage, p->purpose);
	for (const struct bk_opt *o = p->opts; o->name != NULL; o++)
		if ((o->flags & BK_OPT_HIDDEN) == 0)
			print_option(o);
	printf("All options: man %s. Examples:\n", p->name);
	for (const char *const *e = p->examples; *e != NULL; e++)
		printf("  %s\n", *e);
	exit(bk_close_stdout());
}

/* Which way the digest of most entries is computed. */
static const char *
crc_path(void)
{
#if defined(__x86_64__) || defined(__i386__)
	if (__builtin_cpu_supports("pclmul"))
		return ("ISA-L, pclmul");
	if (__builtin_cpu_supports("sse4.2"))
		return ("ISA-L, sse4.2");
#endif
	return ("ISA-L");
}

void
bk_opt_version(const struct bk_program *p)
{
	printf("%s %s\nbookie protocols 2 and 3; ledger metadata 1 to 3; "
	       "crc32c by %s\n",
	    p->name, BK_VERSION, crc_path());
	exit(bk_close_stdout());
}

/* No option for people. */
static bool
is_internal(const struct bk_opt *o)
{
	return (o->value == &bk_common.complete);
}

/* One option a line: the word to type, and what its value is. */
void
bk_opt_complete(const struct bk_program *p)
{
	for (const struct bk_opt *o = p->opts; o->name != NULL; o++) {
		const char *arg = o->arg != NULL ? o->arg : "";
		const char *mark = o->kind == BK_OPT_OPTTEXT ? "?" : "";

		if (is_internal(o))
			continue;
		printf("--%s\t%s%s\n", o->name, arg, mark);
		if (o->letter != 0)
			printf("-%c\t%s\n", o->letter, arg);
	}
	exit(bk_close_stdout());
}

/* Edit distance of two short texts. */
static size_t
distance(const char *a, const char *b)
{
	size_t row[NAME_MAX_BYTES + 1], na = strlen(a), nb = strlen(b);
	size_t corner, above;

	if (na >= NAME_MAX_BYTES || nb >= NAME_MAX_BYTES)
		return (NAME_MAX_BYTES);
	for (size_t j = 0; j <= nb; j++)
		row[j] = j;
	for (size_t i = 1; i <= na; i++) {
		corner = row[0]++;
		for (size_t j = 1; j <= nb; j++) {
			above = row[j];
			row[j] = corner + (a[i - 1] != b[j - 1]);
			if (row[j] > above + 1)
				row[j] = above + 1;
			if (row[j] > row[j - 1] + 1)
				row[j] = row[j - 1] + 1;
			corner = above;
		}
	}
	return (row[nb]);
}

const struct bk_opt *
bk_opt_nearest(const struct bk_program *p, const char *text)
{
	const struct bk_opt *best = NULL;
	size_t least = strlen(text) / 3 + 2, d;

	for (const struct bk_opt *o = p->opts; o->name != NULL; o++) {
		d = distance(text, o->name);
		if (d < least && !is_internal(o)) {
			least = d;
			best = o;
		}
	}
	return (best);
}
