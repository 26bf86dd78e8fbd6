/* digest.c - entries sealed and verified; keys from passwords. */
#include "sums/digest.h"

#include <isa-l/crc.h>
#include <sha.h>
#include <sodium.h>
#include <string.h>
#include <strings.h>

#define HMAC_BLOCK 64

static const struct {
	enum bk_digest_type type;
	const char *name;
	size_t size;
} kinds[] = {
    {BK_DIGEST_CRC32, "crc32", 8},
    {BK_DIGEST_HMAC, "hmac", 20},
    {BK_DIGEST_CRC32C, "crc32c", 4},
    {BK_DIGEST_DUMMY, "dummy", 0},
};

#define NKINDS (sizeof(kinds) / sizeof(kinds[0]))

int
bk_digest_parse(const char *name, enum bk_digest_type *type)
{
	size_t i;

	if (strcasecmp(name, "mac") == 0)
		name = "hmac";
	for (i = 0; i < NKINDS; i++) {
		if (strcasecmp(name, kinds[i].name) == 0) {
			*type = kinds[i].type;
			return (0);
		}
	}
	return (-1);
}

const char *
bk_digest_name(enum bk_digest_type type)
{
	size_t i;

	for (i = 0; i < NKINDS; i++)
		if (kinds[i].type == type)
			return (kinds[i].name);
	return ("unknown");
}

/* SHA1(prefix ++ password), bookie-protocol.md 4.3. */
static void
derive_key(const char *prefix, const void *password, size_t len,
    uint8_t key[BK_KEY_SIZE])
{
	SHA1_CTX ctx;

	SHA1Init(&ctx);
	SHA1Update(&ctx, (const uint8_t *)prefix, strlen(prefix));
	if (len > 0)
		SHA1Update(&ctx, password, len);
	SHA1Final(key, &ctx);
}

void
bk_master_key(const void *password, size_t len, uint8_t key[BK_KEY_SIZE])
{
	derive_key("ledger", password, len, key);
}

int
bk_digester_init(struct bk_digester *d, enum bk_digest_type type,
    const void *password, size_t len)
{
	size_t i;

	memset(d, 0, sizeof(*d));
	for (i = 0; i < NKINDS && kinds[i].type != type; i++)
		;
	if (i == NKINDS)
		return (-1);
	d->type = type;
	d->size = kinds[i].size;
	if (type == BK_DIGEST_HMAC)
		derive_key("mac", password, len, d->mac_key);
	return (0);
}

/* HMAC-SHA1 (RFC 2104) over head ++ tail; the key is shorter than a block. */
static void
hmac_sha1(const uint8_t key[BK_KEY_SIZE], struct bk_bytes head,
    struct bk_bytes tail, uint8_t out[BK_KEY_SIZE])
{
	uint8_t pad[HMAC_BLOCK], inner[BK_KEY_SIZE];
	SHA1_CTX ctx;
	size_t i;

	memset(pad, 0x36, sizeof(pad));
	for (i = 0; i < BK_KEY_SIZE; i++)
		pad[i] ^= key[i];
	SHA1Init(&ctx);
	SHA1Update(&ctx, pad, sizeof(pad));
	SHA1Update(&ctx, head.data, head.len);
	if (tail.len > 0)
		SHA1Update(&ctx, tail.data, tail.len);
	SHA1Final(inner, &ctx);
	for (i = 0; i < sizeof(pad); i++)
		pad[i] ^= 0x36 ^ 0x5c;
	SHA1Init(&ctx);
	SHA1Update(&ctx, pad, sizeof(pad));
	SHA1Update(&ctx, inner, sizeof(inner));
	SHA1Final(out, &ctx);
}

/* ISA-L's iSCSI polynomial leaves initial and final inversion to the caller. */
static uint32_t
crc32c(struct bk_bytes head, struct bk_bytes tail)
{
	uint32_t crc;

	/* The library's signature lacks const; it does not write. */
	crc = crc32_iscsi((unsigned char *)(uintptr_t)head.data, (int)head.len,
	    0xffffffff);
	crc = crc32_iscsi((unsigned char *)(uintptr_t)tail.data, (int)tail.len,
	    crc);
	return (~crc);
}

static uint32_t
crc32(struct bk_bytes head, struct bk_bytes tail)
{
	return (crc32_gzip_refl(crc32_gzip_refl(0, head.data, head.len),
	    tail.data, tail.len));
}

/* Digest of head ++ tail, d->size bytes to out. */
static void
compute(const struct bk_digester *d, struct bk_bytes head, struct bk_bytes tail,
    uint8_t out[BK_DIGEST_MAX])
{
	switch (d->type) {
	case BK_DIGEST_CRC32C:
		bk_be32_put(out, crc32c(head, tail));
		break;
	case BK_DIGEST_CRC32:
		bk_be64_put(out, crc32(head, tail));
		break;
	case BK_DIGEST_HMAC:
		hmac_sha1(d->mac_key, head, tail, out);
		break;
	case BK_DIGEST_DUMMY:
		break;
	}
}

static bool
matches(const struct bk_digester *d, struct bk_bytes head, struct bk_bytes tail,
    const uint8_t *digest)
{
	uint8_t want[BK_DIGEST_MAX];

	compute(d, head, tail, want);
	return (sodium_memcmp(want, digest, d->size) == 0);
}

size_t
bk_entry_seal(const struct bk_digester *d, const struct bk_entry_header *h,
    struct bk_bytes payload, uint8_t *out)
{
	bk_be64_put(out, (uint64_t)h->ledger_id);
	bk_be64_put(out + 8, (uint64_t)h->entry_id);
	bk_be64_put(out + 16, (uint64_t)h->lac);
	bk_be64_put(out + 24, (uint64_t)h->length);
	compute(d, (struct bk_bytes){out, BK_ENTRY_HEADER}, payload,
	    out + BK_ENTRY_HEADER);
	return (BK_ENTRY_HEADER + d->size);
}

int
bk_entry_header_get(struct bk_bytes entry, struct bk_entry_header *h)
{
	if (entry.len < BK_ENTRY_HEADER)
		return (-1);
	h->ledger_id = (int64_t)bk_be64_get(entry.data);
	h->entry_id = (int64_t)bk_be64_get(entry.data + 8);
	h->lac = (int64_t)bk_be64_get(entry.data + 16);
	h->length = (int64_t)bk_be64_get(entry.data + 24);
	return (0);
}

enum bk_status
bk_entry_verify(const struct bk_digester *d, struct bk_bytes entry,
    int64_t ledger_id, int64_t entry_id, struct bk_entry_header *h,
    struct bk_bytes *payload)
{
	size_t overhead = BK_ENTRY_HEADER + d->size;
	struct bk_bytes head = {entry.data, BK_ENTRY_HEADER};

	if (entry.len < overhead || bk_entry_header_get(entry, h) != 0)
		return (BK_EDIGEST);
	payload->data = entry.data + overhead;
	payload->len = entry.len - overhead;
	if (!matches(d, head, *payload, entry.data + BK_ENTRY_HEADER))
		return (BK_EDIGEST);
	if (h->ledger_id != ledger_id ||
	    (entry_id != -1 && h->entry_id != entry_id))
		return (BK_EDIGEST);
	return (BK_OK);
}

size_t
bk_lac_seal(const struct bk_digester *d, int64_t ledger_id, int64_t lac,
    uint8_t out[BK_LAC_PACKET_MAX])
{
	bk_be64_put(out, (uint64_t)ledger_id);
	bk_be64_put(out + 8, (uint64_t)lac);
	compute(d, (struct bk_bytes){out, 16}, (struct bk_bytes){out, 0},
	    out + 16);
	return (16 + d->size);
}

enum bk_status
bk_lac_verify(const struct bk_digester *d, struct bk_bytes packet,
    int64_t ledger_id, int64_t *lac)
{
	struct bk_bytes head = {packet.data, 16};

	if (packet.len != 16 + d->size ||
	    !matches(d, head, (struct bk_bytes){packet.data, 0},
		packet.data + 16) ||
	    (int64_t)bk_be64_get(packet.data) != ledger_id)
		return (BK_EDIGEST);
	*lac = (int64_t)bk_be64_get(packet.data + 8);
	return (BK_OK);
}
