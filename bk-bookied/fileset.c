/* fileset.c - sets of index files. */
#include "bk-bookied/fileset.h"

#include <stdbool.h>
#include <stdlib.h>

static struct fileset *
fileset_empty(size_t max)
{
	struct fileset *set;

	set = calloc(1, sizeof(*set) + max * sizeof(struct index *));
	if (set != NULL)
		set->users = 1;
	return (set);
}

struct fileset *
fileset_new(struct index *const *files, size_t n)
{
	struct fileset *set = fileset_empty(n);

	if (set == NULL)
		return (NULL);
	for (size_t i = 0; i < n; i++)
		set->files[set->n++] = index_ref(files[i]);
	return (set);
}

struct fileset *
fileset_ref(struct fileset *set)
{
	atomic_fetch_add(&set->users, 1);
	return (set);
}

void
fileset_unref(struct fileset *set)
{
	if (set == NULL || atomic_fetch_sub(&set->users, 1) > 1)
		return;
	for (size_t i = 0; i < set->n; i++)
		index_unref(set->files[i]);
	free(set);
}

static bool
is_covered(const struct index *old, const struct index *file)
{
	return (index_low(old) >= index_low(file) &&
	    index_high(old) <= index_high(file));
}

struct fileset *
fileset_with(const struct fileset *set, struct index *file)
{
	struct fileset *with = fileset_empty(set->n + 1);
	size_t i = 0;

	if (with == NULL)
		return (NULL);
	while (i < set->n && index_low(set->files[i]) > index_high(file))
		with->files[with->n++] = index_ref(set->files[i++]);
	with->files[with->n++] = index_ref(file);
	for (; i < set->n; i++)
		if (!is_covered(set->files[i], file))
			with->files[with->n++] = index_ref(set->files[i]);
	return (with);
}

int
fileset_find(const struct fileset *set, int64_t ledger_id, int64_t first,
    int64_t last, uint32_t floor, bool may_wait, struct records *found,
    struct index_damage *damage)
{
	for (size_t i = 0; i < set->n; i++)
		if (index_find(set->files[i], ledger_id, first, last, floor,
			may_wait, found, damage) == -1)
			return (-1);
	return (0);
}
