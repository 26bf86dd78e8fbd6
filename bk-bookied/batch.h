/*
 * batch.h - the bytes of a journal batch (bk-disk(5)): a header and records,
 * padded to whole blocks. Pure: no I/O, no state but the caller's.
 *
 *	header, 64 bytes               record, 12 bytes and its payload
 *	 0  u32 magic                   0  u32 CRC32C of all that follows
 *	 4  u32 length, header included 4  u32 payload length
 *	 8  u64 epoch of the segment    8  u8 kind
 *	16  u64 number of the batch     9  u8 flags
 *	24  u64 place in the segment   10  u16 zero
 *	32  u32 count of records       12  payload
 *	36  u32 CRC32C of the records' checksums, in order
 *	40  zero
 *	56  u64 seal: keyed hash of bytes 0 to 55
 *
 * The seal is SipHash under the key of the segment's epoch. Whoever writes an
 * entry does not know that key, so no entry's bytes pass for a batch, and no
 * batch of an earlier use of the segment passes for one of this.
 */
#ifndef BOOKIE_BATCH_H
#define BOOKIE_BATCH_H

#include "base/buf.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	BATCH_BLOCK = 4096,
	BATCH_HEADER = 64,
	BATCH_RECORD = 12,           /* what a record adds to its payload */
	BATCH_MAX = 4 * 1024 * 1024, /* bytes of a batch, padding included */
	BATCH_KEY = 16,
};

/* A record longer than the room left is cut, and goes on as the first record
 * of the next batch. */
enum {
	BATCH_CONTINUES = 1,  /* begins in the batch before */
	BATCH_UNFINISHED = 2, /* goes on in the next batch */
};

/* Where a batch stands, and under which key. */
struct batch_place {
	uint64_t epoch;
	uint64_t number;
	uint64_t offset;
	const uint8_t *key; /* BATCH_KEY bytes */
};

/* A batch being filled. bytes is the caller's, BATCH_MAX of them. */
struct batch {
	uint8_t *bytes;
	size_t len;
	uint32_t records;
	uint32_t sum;
};

static inline size_t
batch_padded(size_t len)
{
	return ((len + BATCH_BLOCK - 1) & ~(size_t)(BATCH_BLOCK - 1));
}

void batch_init(struct batch *b, uint8_t *bytes);
/* Append a record. Its payload is left open at the returned place, to be
 * filled by the caller before batch_close_record(); the caller has checked that
 * BATCH_RECORD + len bytes are left. */
uint8_t *batch_open_record(struct batch *b, size_t len);
void batch_close_record(struct batch *b, size_t len, uint8_t kind,
    uint8_t flags);
/* Write header, seal and padding. Returns the padded length, which is what is
 * to be written. */
size_t batch_seal(struct batch *b, const struct batch_place *place);

enum batch_verdict {
	BATCH_VALID,
	BATCH_TORN, /* a header of this epoch and place, but not a whole batch */
	BATCH_NONE, /* nothing of this epoch */
};

struct batch_found {
	uint64_t number;
	size_t len; /* not padded */
	uint32_t records;
};

/* Length of the batch whose header is at bytes (BATCH_HEADER of them), if the
 * header is genuine and belongs at place (number is not looked at); else 0. */
size_t batch_length(const uint8_t *bytes, const struct batch_place *place);
/* Judge what is at place, of which len bytes are at hand (at least
 * BATCH_HEADER). *found is set if valid. */
enum batch_verdict batch_check(const uint8_t *bytes, size_t len,
    const struct batch_place *place, struct batch_found *found);

struct batch_record {
	uint8_t kind;
	uint8_t flags;
	struct bk_bytes payload;
};

/* The records of a valid batch one by one; c is begun over bytes
 * BATCH_HEADER to found.len. False at the end. */
bool batch_next(struct bk_cursor *c, struct batch_record *record);

#endif
