/*
 * extent.h - an extent: entries of one ledger, together in a log, with a table
 * of their ids and places and checksums over all of it (bk-disk(5)). At most
 * EXTENT_MAX bytes, unless it holds a single entry.
 */
#ifndef BOOKIE_EXTENT_H
#define BOOKIE_EXTENT_H

#include "base/buf.h"
#include "bk-bookied/record.h"
#include "sums/digest.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define EXTENT_MAX 65536
#define EXTENT_HEAD 48
#define EXTENT_SLOT 8 /* of the table, one an entry */
#define EXTENT_TAIL 4
/* The largest there can be: one entry of BK_ENTRY_MAX bytes. */
#define EXTENT_LIMIT (EXTENT_HEAD + EXTENT_SLOT + BK_ENTRY_MAX + EXTENT_TAIL)

/* One entry that goes into an extent. */
struct extent_item {
	int64_t entry_id;
	struct bk_bytes bytes;
};

/* How many of the items, from the first on, go into one extent, 1 or more if n
 * is; its size. */
size_t extent_fit(const struct extent_item *items, size_t n, size_t *size);
/* Write an extent of exactly these items, whose ids rise; record tells ledger,
 * log and offset and gets the rest. The checksums start from seed. */
void extent_encode(const struct extent_item *items, size_t n, uint32_t seed,
    uint8_t *out, size_t size, struct record *record);

/* Read the head of an extent at record's log and offset, unchecked but for
 * plausible sizes: false if there is none. */
bool extent_peek(const uint8_t head[EXTENT_HEAD], struct record *record);
/* Bytes of head and table. */
size_t extent_table_size(const struct record *record);
/* Check an extent against its record: its head and table, of which the bytes
 * must be here, or all of it. True if every byte is as written. */
bool extent_check_table(struct bk_bytes extent, uint32_t seed,
    const struct record *record);
bool extent_check(struct bk_bytes extent, uint32_t seed,
    const struct record *record);

/* The entry with this id in a checked extent; data NULL if it is not there. */
struct bk_bytes extent_find(struct bk_bytes extent, int64_t entry_id);
/* Id of the i-th of its entries; head and table will do. */
int64_t extent_id(struct bk_bytes extent, uint32_t i);

#endif
