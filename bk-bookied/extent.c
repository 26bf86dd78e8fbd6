/*
 * extent.c - extents to bytes and back.
 *
 *   0 magic    4 sum of head (from 8) and table   8 ledger   16 first
 *  24 span    28 LAC gap    32 log    36 offset    40 length   44 count
 *  48 table: per entry its id less the first, and its place in the extent;
 *     then the entries, then the sum of the entries in the last 4 bytes.
 *
 * 8 to 47 are the index record of the extent, as it is.
 */
#include "bk-bookied/extent.h"

#include "bk-bookied/mix.h"

#include <string.h>

#define MAGIC 0x424b7831U /* "BKx1" */
#define SUM_AT 4
#define RECORD_AT 8
#define LAC_AT 16 /* in an entry */

static const uint8_t *
slot_at(struct bk_bytes extent, uint32_t i)
{
	return (extent.data + EXTENT_HEAD + (size_t)i * EXTENT_SLOT);
}

size_t
extent_fit(const struct extent_item *items, size_t n, size_t *size)
{
	size_t total = EXTENT_HEAD + EXTENT_TAIL;
	size_t more;
	size_t i;

	for (i = 0; i < n; i++) {
		more = EXTENT_SLOT + items[i].bytes.len;
		if (i > 0 &&
		    (total + more > EXTENT_MAX ||
			items[i].entry_id - items[0].entry_id >
			    RECORD_SPAN_MAX))
			break;
		total += more;
	}
	*size = total;
	return (i);
}

/* The greatest LAC in the headers of these entries, -1 if none. */
static int64_t
greatest_lac(const struct extent_item *items, size_t n)
{
	int64_t greatest = -1;
	int64_t lac;

	for (size_t i = 0; i < n; i++) {
		lac = (int64_t)bk_be64_get(items[i].bytes.data + LAC_AT);
		if (lac > greatest)
			greatest = lac;
	}
	return (greatest);
}

void
extent_encode(const struct extent_item *items, size_t n, uint32_t seed,
    uint8_t *out, size_t size, struct record *record)
{
	size_t at = EXTENT_HEAD + n * EXTENT_SLOT;
	size_t data = at;
	uint8_t *slot = out + EXTENT_HEAD;

	record->first = items[0].entry_id;
	record->last = items[n - 1].entry_id;
	record->lac = greatest_lac(items, n);
	record->length = (uint32_t)size;
	record->count = (uint32_t)n;
	bk_be32_put(out, MAGIC);
	record_encode(record, out + RECORD_AT);
	for (size_t i = 0; i < n; i++, slot += EXTENT_SLOT) {
		bk_be32_put(slot,
		    (uint32_t)(items[i].entry_id - record->first));
		bk_be32_put(slot + 4, (uint32_t)at);
		memcpy(out + at, items[i].bytes.data, items[i].bytes.len);
		at += items[i].bytes.len;
	}
	bk_be32_put(out + SUM_AT,
	    mix_sum(seed, out + RECORD_AT, data - RECORD_AT));
	bk_be32_put(out + at, mix_sum(seed, out + data, at - data));
}

bool
extent_peek(const uint8_t head[EXTENT_HEAD], struct record *record)
{
	struct record found;

	if (bk_be32_get(head) != MAGIC ||
	    !record_decode(head + RECORD_AT, &found))
		return (false);
	if (found.log != record->log || found.offset != record->offset ||
	    found.length > EXTENT_LIMIT ||
	    (found.count > 1 && found.length > EXTENT_MAX) ||
	    found.length < extent_table_size(&found) + EXTENT_TAIL)
		return (false);
	*record = found;
	return (true);
}

size_t
extent_table_size(const struct record *record)
{
	return (EXTENT_HEAD + (size_t)record->count * EXTENT_SLOT);
}

static uint32_t
place_at(struct bk_bytes extent, uint32_t i)
{
	return (bk_be32_get(slot_at(extent, i) + 4));
}

/* Whether ids and places rise, within the extent. */
static bool
is_table_sound(struct bk_bytes extent, const struct record *record)
{
	uint32_t place = (uint32_t)extent_table_size(record);
	int64_t last = -1;

	for (uint32_t i = 0; i < record->count; i++) {
		if (bk_be32_get(slot_at(extent, i)) <= last ||
		    place_at(extent, i) < place)
			return (false);
		last = bk_be32_get(slot_at(extent, i));
		place = place_at(extent, i);
	}
	return (place <= record->length - EXTENT_TAIL);
}

bool
extent_check_table(struct bk_bytes extent, uint32_t seed,
    const struct record *record)
{
	size_t size = extent_table_size(record);
	uint8_t expected[RECORD_SIZE];

	record_encode(record, expected);
	return (extent.len >= size && bk_be32_get(extent.data) == MAGIC &&
	    memcmp(extent.data + RECORD_AT, expected, RECORD_SIZE) == 0 &&
	    bk_be32_get(extent.data + SUM_AT) ==
		mix_sum(seed, extent.data + RECORD_AT, size - RECORD_AT) &&
	    is_table_sound(extent, record));
}

bool
extent_check(struct bk_bytes extent, uint32_t seed, const struct record *record)
{
	size_t begin = extent_table_size(record);
	size_t end = extent.len - EXTENT_TAIL;

	return (extent.len == record->length &&
	    extent_check_table(extent, seed, record) &&
	    bk_be32_get(extent.data + end) ==
		mix_sum(seed, extent.data + begin, end - begin));
}

static uint32_t
count_of(struct bk_bytes extent)
{
	return (bk_be32_get(extent.data + RECORD_AT + RECORD_SIZE - 4));
}

static int64_t
first_of(struct bk_bytes extent)
{
	return ((int64_t)bk_be64_get(extent.data + RECORD_AT + 8));
}

int64_t
extent_id(struct bk_bytes extent, uint32_t i)
{
	return (first_of(extent) + bk_be32_get(slot_at(extent, i)));
}

struct bk_bytes
extent_find(struct bk_bytes extent, int64_t entry_id)
{
	uint32_t n = count_of(extent);
	uint32_t low = 0, high = n;
	size_t begin, end;
	uint32_t middle;

	while (low < high) {
		middle = low + (high - low) / 2;
		if (extent_id(extent, middle) < entry_id)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == n || extent_id(extent, low) != entry_id)
		return ((struct bk_bytes){0});
	begin = place_at(extent, low);
	end =
	    low + 1 < n ? place_at(extent, low + 1) : extent.len - EXTENT_TAIL;
	return ((struct bk_bytes){extent.data + begin, end - begin});
}
