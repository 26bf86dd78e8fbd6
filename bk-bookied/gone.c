/* gone.c - a sorted array of removed ledgers. */
#include "bk-bookied/gone.h"

#include <stdlib.h>

int
gone_add(struct gone_table *t, const struct gone *item)
{
	size_t cap = t->cap == 0 ? 64 : t->cap * 2;
	struct gone *grown;

	if (t->n == t->cap) {
		grown = realloc(t->items, cap * sizeof(*grown));
		if (grown == NULL)
			return (-1);
		t->items = grown;
		t->cap = cap;
	}
	t->items[t->n++] = *item;
	return (0);
}

static int
by_ledger(const void *a, const void *b)
{
	const struct gone *x = a, *y = b;

	return (x->ledger_id < y->ledger_id ? -1 : x->ledger_id > y->ledger_id);
}

void
gone_sort(struct gone_table *t)
{
	if (t->n > 0)
		qsort(t->items, t->n, sizeof(*t->items), by_ledger);
}

const struct gone *
gone_find(const struct gone_table *t, int64_t ledger_id)
{
	struct gone key = {.ledger_id = ledger_id};

	if (t->n == 0)
		return (NULL);
	return (bsearch(&key, t->items, t->n, sizeof(key), by_ledger));
}

void
gone_fini(struct gone_table *t)
{
	free(t->items);
	*t = (struct gone_table){0};
}
