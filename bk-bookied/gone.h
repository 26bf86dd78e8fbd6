/*
 * gone.h - which ledgers were removed, as a table for the writer thread.
 */
#ifndef BOOKIE_GONE_H
#define BOOKIE_GONE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct gone {
	int64_t ledger_id;
	uint32_t floor; /* its extents in lower logs are not its own */
	bool is_over;   /* nothing of it needs to be remembered */
};

struct gone_table {
	struct gone *items;
	size_t n, cap;
};

/* -1 when out of memory. */
int gone_add(struct gone_table *t, const struct gone *item);
/* After the last gone_add(), before the first look-up. */
void gone_sort(struct gone_table *t);
/* The ledger's entry, or NULL. */
const struct gone *gone_find(const struct gone_table *t, int64_t ledger_id);
void gone_fini(struct gone_table *t);

#endif
