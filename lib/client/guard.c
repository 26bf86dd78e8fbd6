/* guard.c - see guard.h. */
#include "client/guard.h"

#include <stdlib.h>

struct bk_guard *
bk_guard_new(void *owner)
{
	struct bk_guard *g;

	if ((g = malloc(sizeof(*g))) == NULL)
		return (NULL);
	g->owner = owner;
	g->refs = 1;
	return (g);
}

struct bk_guard *
bk_guard_hold(struct bk_guard *g)
{
	g->refs++;
	return (g);
}

void *
bk_guard_release(struct bk_guard *g)
{
	void *owner = g->owner;

	if (--g->refs == 0)
		free(g);
	return (owner);
}

void
bk_guard_drop(struct bk_guard *g)
{
	if (g == NULL)
		return;
	g->owner = NULL;
	(void)bk_guard_release(g);
}
