/* progress.c - one line on standard error, twice a second. */
#include "bk-add/progress.h"

#include "tool/common.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PERIOD (500 * BK_MS)
#define PATIENCE BK_SECOND /* short runs say nothing */

struct progress {
	struct bk_timer *timer;
	const char *target;
	uint64_t nentries, shown;
	bool drawn;
};

static void
show(void *arg)
{
	struct progress *p = arg;

	if (p->nentries != p->shown)
		fprintf(stderr, "\r%s: %llu entries stored", p->target,
		    (unsigned long long)p->nentries);
	p->drawn |= p->nentries != p->shown;
	p->shown = p->nentries;
	bk_timer_set(p->timer, PERIOD);
}

struct progress *
progress_new(struct bk_loop *loop, const char *target)
{
	const char *term = getenv("TERM");
	struct progress *p;

	if (bk_common.quiet || !isatty(STDERR_FILENO) || term == NULL ||
	    strcmp(term, "dumb") == 0 || (p = calloc(1, sizeof(*p))) == NULL)
		return (NULL);
	p->target = target;
	if ((p->timer = bk_timer_new(loop, show, p)) == NULL) {
		free(p);
		return (NULL);
	}
	bk_timer_set(p->timer, PATIENCE);
	return (p);
}

void
progress_at(struct progress *p, uint64_t nentries)
{
	if (p != NULL)
		p->nentries = nentries;
}

void
progress_free(struct progress *p)
{
	if (p == NULL)
		return;
	if (p->drawn)
		fputs("\r\033[K", stderr);
	bk_timer_free(p->timer);
	free(p);
}
