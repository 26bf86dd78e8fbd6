/* pick.c - choice of bookies: a preference only, never a promise. */
#include "client/pick.h"

#include "quorum/quorum.h"

#include <string.h>

#include <bsd/string.h>

#define CANDIDATES_MAX 1024
#define SHUN_WHOLLY BK_SECOND
#define SHUN_IF_POSSIBLE (60 * BK_SECOND)

static uint64_t
below(void *arg, uint64_t bound)
{
	return (bk_random_below(arg, bound));
}

static struct bk_shunned *
find(struct bk_client *c, const char *id)
{
	size_t i;

	for (i = 0; i < c->nshunned; i++)
		if (strcmp(c->shunned[i].id, id) == 0)
			return (&c->shunned[i]);
	return (NULL);
}

void
bk_pick_shun(struct bk_client *c, const char *id)
{
	struct bk_shunned *s = find(c, id);
	size_t i;

	if (s == NULL && c->nshunned < BK_SHUNNED_MAX)
		s = &c->shunned[c->nshunned++];
	if (s == NULL) {
		s = &c->shunned[0];
		for (i = 1; i < c->nshunned; i++)
			if (c->shunned[i].since < s->since)
				s = &c->shunned[i];
	}
	(void)strlcpy(s->id, id, sizeof(s->id)); /* cut: only less shunned */
	s->since = bk_now(c->env);
}

void
bk_pick_pardon(struct bk_client *c, const char *id)
{
	struct bk_shunned *s = find(c, id);

	if (s != NULL)
		*s = c->shunned[--c->nshunned];
}

/* Choose among the candidates that have not failed within grace. */
static size_t
choose(struct bk_client *c, const char *const *all, size_t count, int64_t grace,
    const char *const *exclude, size_t nexclude, size_t n, const char **out)
{
	const char *fit[CANDIDATES_MAX];
	size_t chosen[BK_ENSEMBLE_MAX];
	size_t i, found, nfit = 0;

	for (i = 0; i < count; i++) {
		const struct bk_shunned *s = find(c, all[i]);

		if (s == NULL || bk_now(c->env) - s->since >= grace)
			fit[nfit++] = all[i];
	}
	found = bk_ensemble_choose(fit, nfit, exclude, nexclude, n, below,
	    c->env, chosen);
	for (i = 0; i < found; i++)
		out[i] = fit[chosen[i]];
	return (found);
}

size_t
bk_pick(struct bk_client *c, const char *const *exclude, size_t nexclude,
    size_t n, bool spare, const char **out)
{
	const char *all[CANDIDATES_MAX];
	const char *taken[2 * BK_ENSEMBLE_MAX];
	size_t count, found;

	if (n > BK_ENSEMBLE_MAX || nexclude > BK_ENSEMBLE_MAX)
		return (0);
	count = c->candidates.writable(c->candidates.arg, all, CANDIDATES_MAX);
	if (count > CANDIDATES_MAX)
		count = CANDIDATES_MAX;
	found =
	    choose(c, all, count, SHUN_IF_POSSIBLE, exclude, nexclude, n, out);
	if (found == n)
		return (found);
	if (nexclude > 0)
		memcpy(taken, exclude, nexclude * sizeof(*taken));
	memcpy(taken + nexclude, out, found * sizeof(*taken));
	return (found +
	    choose(c, all, count, spare ? SHUN_WHOLLY : 0, taken,
		nexclude + found, n - found, out + found));
}
