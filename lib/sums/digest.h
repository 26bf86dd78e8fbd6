/*
 * digest.h - the bytes of an entry: header, digest, payload; keys derived from
 * the password; the explicit-LAC packet (bookie-protocol.md section 4).
 *
 *   0  ledger id   8  entry id   16  LAC   24  length   32  digest   payload
 *
 * Pure functions; nothing here does I/O.
 */
#ifndef BK_DIGEST_H
#define BK_DIGEST_H

#include "base/buf.h"
#include "base/status.h"

#include <stddef.h>
#include <stdint.h>

/* Numbers as in ledger metadata. */
enum bk_digest_type {
	BK_DIGEST_CRC32 = 1,
	BK_DIGEST_HMAC = 2,
	BK_DIGEST_CRC32C = 3,
	BK_DIGEST_DUMMY = 4,
};

#define BK_KEY_SIZE 20     /* a master key or MAC key, SHA-1 */
#define BK_ENTRY_HEADER 32 /* bytes before the digest */
#define BK_DIGEST_MAX 20   /* the widest digest */
#define BK_ENTRY_OVERHEAD_MAX (BK_ENTRY_HEADER + BK_DIGEST_MAX)
#define BK_LAC_PACKET_MAX (16 + BK_DIGEST_MAX)
#define BK_FRAME_MAX 5242880 /* default limit of L + 4 (1.1) */
/* What a v3 read answer needs around an entry at most, so that an entry that
 * was taken can also be read back within BK_FRAME_MAX (design/bookie.md 8). */
#define BK_READ_ANSWER_OVERHEAD 80
#define BK_ENTRY_MAX (BK_FRAME_MAX - BK_READ_ANSWER_OVERHEAD)
/* The largest payload a client may put into one entry, any digest. */
#define BK_PAYLOAD_MAX (BK_ENTRY_MAX - BK_ENTRY_OVERHEAD_MAX)

/* How entries of one ledger are made and checked. Plain data, copyable. */
struct bk_digester {
	enum bk_digest_type type;
	size_t size;                  /* of the digest: 8, 20, 4 or 0 */
	uint8_t mac_key[BK_KEY_SIZE]; /* HMAC only */
};

/* The fields of an entry's header. */
struct bk_entry_header {
	int64_t ledger_id;
	int64_t entry_id;
	int64_t lac;
	int64_t length; /* payload bytes of entries 0 up to this one */
};

/* "crc32c", "crc32", "hmac" or "mac", "dummy"; case ignored. 0, or -1. */
int bk_digest_parse(const char *name, enum bk_digest_type *type);
const char *bk_digest_name(enum bk_digest_type type);

/* SHA1("ledger" ++ password): what bookies compare (4.3). */
void bk_master_key(const void *password, size_t len, uint8_t key[BK_KEY_SIZE]);

/* Set up for a digest type and password; -1 for an unknown type. */
int bk_digester_init(struct bk_digester *d, enum bk_digest_type type,
    const void *password, size_t len);

/* Write header and digest of an entry to out, which has room for
 * BK_ENTRY_HEADER + d->size bytes; the payload follows it unchanged on wire
 * and disk. Returns the bytes written. */
size_t bk_entry_seal(const struct bk_digester *d,
    const struct bk_entry_header *h, struct bk_bytes payload, uint8_t *out);

/* Read the header of a stored entry, unchecked; -1 if shorter than 32. */
int bk_entry_header_get(struct bk_bytes entry, struct bk_entry_header *h);

/* Check a stored entry: size, digest, ledger id, entry id (skipped when
 * entry_id is -1). BK_OK fills header and payload (a slice of entry);
 * BK_EDIGEST otherwise. Constant-time for HMAC. */
enum bk_status bk_entry_verify(const struct bk_digester *d,
    struct bk_bytes entry, int64_t ledger_id, int64_t entry_id,
    struct bk_entry_header *h, struct bk_bytes *payload);

/* Explicit-LAC packet (4.5): make, returns its size; check, BK_OK or
 * BK_EDIGEST. */
size_t bk_lac_seal(const struct bk_digester *d, int64_t ledger_id, int64_t lac,
    uint8_t out[BK_LAC_PACKET_MAX]);
enum bk_status bk_lac_verify(const struct bk_digester *d,
    struct bk_bytes packet, int64_t ledger_id, int64_t *lac);

#endif
