/* cache.c - a few extents for each of some sets of ledgers. */
#include "bk-bookied/cache.h"

#include "bk-bookied/mix.h"

#include <sodium.h>
#include <stdlib.h>

#define SETS 32
#define WAYS 8 /* extents a set, the youngest first */

struct cache {
	struct mix_key mix;
	struct loaded *extents[SETS][WAYS];
};

struct cache *
cache_new(void)
{
	struct cache *c = calloc(1, sizeof(*c));

	if (c != NULL)
		randombytes_buf(&c->mix, sizeof(c->mix));
	return (c);
}

void
cache_free(struct cache *c)
{
	if (c == NULL)
		return;
	cache_empty(c);
	free(c);
}

static struct loaded **
set_of(struct cache *c, int64_t ledger_id)
{
	return (c->extents[mix_one(&c->mix, (uint64_t)ledger_id) % SETS]);
}

/* Move the extent at place i to the front. */
static void
refresh(struct loaded **set, unsigned i)
{
	struct loaded *x = set[i];

	for (; i > 0; i--)
		set[i] = set[i - 1];
	set[0] = x;
}

void
cache_put(struct cache *c, struct loaded *x)
{
	struct loaded **set = set_of(c, x->record.ledger_id);

	loaded_unref(set[WAYS - 1]);
	set[WAYS - 1] = x;
	x->users++;
	refresh(set, WAYS - 1);
}

struct loaded *
cache_find(struct cache *c, int64_t ledger_id, int64_t entry_id,
    struct bk_bytes *entry)
{
	struct loaded **set = set_of(c, ledger_id);
	struct loaded *x;

	for (unsigned i = 0; i < WAYS && (x = set[i]) != NULL; i++) {
		if (x->record.ledger_id != ledger_id ||
		    x->record.first > entry_id || x->record.last < entry_id)
			continue;
		*entry = extent_find(x->bytes, entry_id);
		if (entry->data == NULL)
			continue;
		refresh(set, i);
		return (x);
	}
	return (NULL);
}

void
cache_forget(struct cache *c, int64_t ledger_id)
{
	struct loaded **set = set_of(c, ledger_id);
	unsigned kept = 0;

	for (unsigned i = 0; i < WAYS && set[i] != NULL; i++) {
		if (set[i]->record.ledger_id == ledger_id)
			loaded_unref(set[i]);
		else
			set[kept++] = set[i];
	}
	while (kept < WAYS)
		set[kept++] = NULL;
}

void
cache_empty(struct cache *c)
{
	for (unsigned i = 0; i < SETS; i++)
		for (unsigned j = 0; j < WAYS; j++) {
			loaded_unref(c->extents[i][j]);
			c->extents[i][j] = NULL;
		}
}
