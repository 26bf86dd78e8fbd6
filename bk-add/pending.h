/* pending.h - entries on their way, in the order of the input. */
#ifndef ADD_PENDING_H
#define ADD_PENDING_H

#include "bk-add/input.h"

struct pending_entry {
	int64_t ledger_id;
	int64_t entry_id;
	size_t source;
	uint64_t number;
	size_t len; /* of the payload */
	bool ended;
};

struct pending;

/* keep: the payloads too. NULL when out of memory. */
struct pending *pending_new(bool keep);
void pending_free(struct pending *p);
/* 0, or -1 when out of memory. */
int pending_push(struct pending *p, const struct input_entry *e,
    int64_t ledger_id, int64_t entry_id);
/* The oldest one, or NULL; its payload, if they are kept. Valid until the next
 * push. */
const struct pending_entry *pending_first(const struct pending *p);
struct bk_bytes pending_payload(const struct pending *p);
void pending_pop(struct pending *p);

#endif
