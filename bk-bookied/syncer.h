/*
 * syncer.h - write batches and sync them, one after the other: by a thread,
 * or by the caller when that is quicker (design/bookie.md 1).
 *
 * A batch that is still filling is offered at the end of each turn of the loop;
 * the thread takes it when it is free, and until then the loop may take it back
 * to go on filling.
 */
#ifndef BOOKIE_SYNCER_H
#define BOOKIE_SYNCER_H

#include "batch.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

struct segment;
struct syncer;

/* A batch and where it goes. */
struct slot {
	STAILQ_ENTRY(slot) link;
	struct batch batch;
	struct segment *segment; /* stays open until the batch is synced */
	uint64_t number;
	uint64_t offset;
	uint8_t *bytes; /* BATCH_MAX */
};

/* gap: ns between the starts of two syncs under load; synced: what
 * syncer_synced() says until more is. done() is called on the thread after each
 * batch, and after a failure. NULL with errno. */
struct syncer *syncer_new(int64_t gap, uint64_t synced, void (*done)(void *arg),
    void *arg);
/* Write what was pushed, end the thread. */
void syncer_stop(struct syncer *y);
void syncer_free(struct syncer *y);

/* A slot to fill; the syncer's again once it is written. NULL if there is no
 * memory. */
struct slot *syncer_slot(struct syncer *y);
/* Slots that are being filled or wait. */
size_t syncer_waiting(struct syncer *y);

/* Write this one, in the order of pushing. */
void syncer_push(struct syncer *y, struct slot *slot);
/* Write this one after all that were pushed, whenever it suits. */
void syncer_offer(struct syncer *y, struct slot *slot);
/* Whether the offered one is the caller's again; else it was taken. */
bool syncer_take_back(struct syncer *y, struct slot *slot);
/* Write and sync it here and now, if nothing else is being written and syncs
 * are quick of late; false if not. */
bool syncer_write_now(struct syncer *y, struct slot *slot);

/* Number of the last batch that is durable. Any thread. */
uint64_t syncer_synced(const struct syncer *y);
/* What failed, or NULL. Nothing is written after that. */
const char *syncer_error(struct syncer *y);
/* Whether a write waits for disk space. */
bool syncer_full(struct syncer *y);
void syncer_counts(struct syncer *y, uint64_t *batches, uint64_t *syncs);

#endif
