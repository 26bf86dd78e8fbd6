/*
 * journal_batch.c - any bytes where a batch may stand, and damage to a batch
 * that is genuine: it is judged, and a valid one's records are walked.
 */
#include "bk-bookied/batch.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const uint8_t key[BATCH_KEY] = {1, 2, 3};

static void
walk(const uint8_t *bytes, const struct batch_found *found)
{
	struct batch_record record;
	struct bk_cursor c;
	uint32_t n = 0;

	bk_cursor_init(&c, bytes + BATCH_HEADER, found->len - BATCH_HEADER);
	while (batch_next(&c, &record))
		n++;
	if (n != found->records)
		abort();
}

/* The input is the record of a batch, of which the bytes named by its first
 * two are then turned over: only whole ones may pass. */
static void
damage(const uint8_t *data, size_t size, const struct batch_place *place)
{
	static uint8_t bytes[BATCH_MAX];
	struct batch_found found;
	struct batch b;
	size_t len, at;

	batch_init(&b, bytes);
	memcpy(batch_open_record(&b, size), data, size);
	batch_close_record(&b, size, 1, 0);
	len = batch_seal(&b, place);
	at = (size_t)(data[0] << 8 | data[1]) %
	    (BATCH_HEADER + BATCH_RECORD + size);
	if (batch_check(bytes, len, place, &found) != BATCH_VALID)
		abort();
	bytes[at] ^= 0x41;
	if (batch_check(bytes, len, place, &found) == BATCH_VALID)
		abort();
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct batch_place place = {1, 1, 2 * BATCH_BLOCK, key};
	struct batch_found found;

	if (size >= BATCH_HEADER &&
	    batch_check(data, size, &place, &found) == BATCH_VALID)
		walk(data, &found);
	if (size >= 2 && size < 65536)
		damage(data, size, &place);
	return (0);
}
