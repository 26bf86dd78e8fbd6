/* complain.c - one line for a flood of the same event. */
#include "bk-bookied/complain.h"

#include "env/env.h"

#include <inttypes.h>
#include <stdio.h>

#define QUIET (60 * BK_SECOND)

void
complain(struct complaint *k, int64_t now, enum bk_severity severity,
    const char *fmt, ...)
{
	char text[200];
	va_list ap;

	if (k->last != 0 && now - k->last < QUIET) {
		k->unsaid++;
		return;
	}
	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (k->unsaid > 0)
		bk_log(severity, "%s; %" PRIu64 " more since the last line",
		    text, k->unsaid);
	else
		bk_log(severity, "%s", text);
	k->last = now;
	k->unsaid = 0;
}
