/* batch.c - put a journal batch together, and judge one that is found. */
#include "batch.h"

#include <assert.h>
#include <isa-l/crc.h>
#include <sodium.h>
#include <string.h>

#define MAGIC 0x626b4a31 /* "bkJ1" */
#define SEALED (BATCH_HEADER - crypto_shorthash_BYTES)

static_assert(BATCH_KEY == crypto_shorthash_KEYBYTES, "SipHash's key");

static uint32_t
crc32c(const uint8_t *data, size_t len, uint32_t crc)
{
	/* The function wants a plain pointer and an int, and writes nothing. */
	return (~crc32_iscsi((unsigned char *)(uintptr_t)data, (int)len, ~crc));
}

void
batch_init(struct batch *b, uint8_t *bytes)
{
	b->bytes = bytes;
	b->len = BATCH_HEADER;
	b->records = 0;
	b->sum = 0;
}

uint8_t *
batch_open_record(struct batch *b, size_t len)
{
	assert(len <= BATCH_MAX - BATCH_RECORD - b->len);
	return (b->bytes + b->len + BATCH_RECORD);
}

void
batch_close_record(struct batch *b, size_t len, uint8_t kind, uint8_t flags)
{
	uint8_t *p = b->bytes + b->len;

	bk_be32_put(p + 4, (uint32_t)len);
	p[8] = kind;
	p[9] = flags;
	bk_be16_put(p + 10, 0);
	bk_be32_put(p, crc32c(p + 4, BATCH_RECORD - 4 + len, 0));
	b->sum = crc32c(p, 4, b->sum);
	b->records++;
	b->len += BATCH_RECORD + len;
}

static void
seal_of(const uint8_t *header, const uint8_t *key,
    uint8_t seal[crypto_shorthash_BYTES])
{
	(void)crypto_shorthash(seal, header, SEALED, key);
}

size_t
batch_seal(struct batch *b, const struct batch_place *place)
{
	size_t padded = batch_padded(b->len);
	uint8_t *p = b->bytes;

	memset(p, 0, BATCH_HEADER);
	bk_be32_put(p, MAGIC);
	bk_be32_put(p + 4, (uint32_t)b->len);
	bk_be64_put(p + 8, place->epoch);
	bk_be64_put(p + 16, place->number);
	bk_be64_put(p + 24, place->offset);
	bk_be32_put(p + 32, b->records);
	bk_be32_put(p + 36, b->sum);
	seal_of(p, place->key, p + SEALED);
	memset(p + b->len, 0, padded - b->len);
	return (padded);
}

size_t
batch_length(const uint8_t *p, const struct batch_place *place)
{
	uint8_t seal[crypto_shorthash_BYTES];
	size_t len = bk_be32_get(p + 4);

	if (bk_be32_get(p) != MAGIC || bk_be64_get(p + 8) != place->epoch ||
	    bk_be64_get(p + 24) != place->offset)
		return (0);
	if (len < BATCH_HEADER || len > BATCH_MAX)
		return (0);
	seal_of(p, place->key, seal);
	return (sodium_memcmp(seal, p + SEALED, sizeof(seal)) == 0 ? len : 0);
}

/* Whether the block is the beginning of a batch of this epoch and place, true
 * or not. */
static bool
looks_like(const uint8_t *p, const struct batch_place *place)
{
	return (bk_be32_get(p) == MAGIC && bk_be64_get(p + 8) == place->epoch &&
	    bk_be64_get(p + 24) == place->offset);
}

/* Take the next record; its checksum is at data[-BATCH_RECORD]. */
static bool
take(struct bk_cursor *c, struct batch_record *record)
{
	struct bk_bytes head = bk_cursor_bytes(c, BATCH_RECORD);

	if (head.len == 0)
		return (false);
	record->kind = head.data[8];
	record->flags = head.data[9];
	record->payload = bk_cursor_bytes(c, bk_be32_get(head.data + 4));
	return (!c->failed);
}

static bool
records_hold(const uint8_t *bytes, size_t len, uint32_t count, uint32_t sum)
{
	struct batch_record record;
	struct bk_cursor c;
	uint32_t got = 0;

	bk_cursor_init(&c, bytes + BATCH_HEADER, len - BATCH_HEADER);
	for (; count > 0 && take(&c, &record); count--) {
		const uint8_t *head = record.payload.data - BATCH_RECORD;
		size_t covered = BATCH_RECORD - 4 + record.payload.len;

		if (bk_be32_get(head) != crc32c(head + 4, covered, 0))
			return (false);
		got = crc32c(head, 4, got);
	}
	return (count == 0 && bk_cursor_done(&c) && got == sum);
}

enum batch_verdict
batch_check(const uint8_t *bytes, size_t len, const struct batch_place *place,
    struct batch_found *found)
{
	size_t whole = batch_length(bytes, place);
	uint32_t records = bk_be32_get(bytes + 32);
	uint32_t sum = bk_be32_get(bytes + 36);

	if (whole == 0)
		return (looks_like(bytes, place) ? BATCH_TORN : BATCH_NONE);
	if (whole > len || !records_hold(bytes, whole, records, sum))
		return (BATCH_TORN);
	found->number = bk_be64_get(bytes + 16);
	found->len = whole;
	found->records = records;
	return (BATCH_VALID);
}

bool
batch_next(struct bk_cursor *c, struct batch_record *record)
{
	return (bk_cursor_left(c) > 0 && take(c, record));
}
