/* call_index.c - v2 calls by ledger, entry and operation. */
#include "loop/rpc_internal.h"

#include <stdlib.h>

#define BUCKETS_MIN ((size_t)64)

static struct bk_call_list *
bucket_of(const struct bk_call_index *index, int64_t ledger_id,
    int64_t entry_id, enum bk_op op)
{
	uint64_t h;

	/* The ids are ours: mixing is for spread, not against malice. */
	h = (uint64_t)ledger_id * UINT64_C(0x9e3779b97f4a7c15);
	h ^= (uint64_t)entry_id + (uint64_t)op;
	h *= UINT64_C(0x9e3779b97f4a7c15);
	return (&index->buckets[h >> 32 & (index->nbuckets - 1)]);
}

static void
insert(struct bk_call_index *index, struct bk_call *call)
{
	LIST_INSERT_HEAD(bucket_of(index, call->ledger_id, call->entry_id,
			     call->op),
	    call, by_key);
}

static int
grow(struct bk_call_index *index)
{
	struct bk_call_index bigger = *index;
	struct bk_call *call;

	bigger.nbuckets =
	    index->nbuckets == 0 ? BUCKETS_MIN : index->nbuckets * 2;
	bigger.buckets = calloc(bigger.nbuckets, sizeof(*bigger.buckets));
	if (bigger.buckets == NULL)
		return (-1);
	for (size_t i = 0; i < index->nbuckets; i++) {
		while ((call = LIST_FIRST(&index->buckets[i])) != NULL) {
			LIST_REMOVE(call, by_key);
			insert(&bigger, call);
		}
	}
	free(index->buckets);
	*index = bigger;
	return (0);
}

int
bk_index_add(struct bk_link *link, struct bk_call *call)
{
	struct bk_call_index *index = &link->index;

	if (index->n == index->nbuckets && grow(index) == -1)
		return (-1);
	insert(index, call);
	index->n++;
	call->index = link;
	return (0);
}

void
bk_index_remove(struct bk_call *call)
{
	if (call->index == NULL)
		return;
	LIST_REMOVE(call, by_key);
	call->index->index.n--;
	call->index = NULL;
}

struct bk_call *
bk_index_find(const struct bk_link *link, int64_t ledger_id, int64_t entry_id,
    enum bk_op op)
{
	struct bk_call *call;

	if (link->index.n == 0)
		return (NULL);
	call = LIST_FIRST(bucket_of(&link->index, ledger_id, entry_id, op));
	while (call != NULL &&
	    (call->ledger_id != ledger_id || call->entry_id != entry_id ||
		call->op != op))
		call = LIST_NEXT(call, by_key);
	return (call);
}

void
bk_index_fini(struct bk_call_index *index)
{
	free(index->buckets);
	*index = (struct bk_call_index){0};
}
