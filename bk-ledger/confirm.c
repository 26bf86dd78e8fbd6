/* confirm.c - one question. */
#include "bk-ledger/confirm.h"

#include "tool/opt.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

void
confirm(bool yes, const char *fmt, ...)
{
	char what[512], answer[16];
	va_list ap;

	if (yes)
		return;
	va_start(ap, fmt);
	(void)vsnprintf(what, sizeof(what), fmt, ap);
	va_end(ap);
	if (!isatty(STDIN_FILENO) || !isatty(STDERR_FILENO))
		bk_usage("%s: no terminal to ask, give -y", what);
	(void)fprintf(stderr, "%s? [y/N] ", what);
	if (fgets(answer, sizeof(answer), stdin) == NULL ||
	    (answer[0] != 'y' && answer[0] != 'Y'))
		exit(1);
}
