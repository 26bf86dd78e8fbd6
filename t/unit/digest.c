/*
 * digest.c - entries as real Java writers made them, all digest types, and
 * what verification refuses.
 */
#include "sums/digest.h"
#include "t/lib/golden.h"
#include "tap.h"

#include <stdlib.h>

/* The value behind "key=", up to a blank; to be freed. */
static char *
value(const char *line, const char *key)
{
	const char *p = strstr(line, key);

	if (p == NULL)
		return (NULL);
	p += strlen(key);
	return (strndup(p, strcspn(p, " ")));
}

static int64_t
number(const char *line, const char *key)
{
	char *text = value(line, key);
	int64_t v = text == NULL ? -2 : strtoll(text, NULL, 10);

	free(text);
	return (v);
}

static uint8_t *
bytes(const char *line, const char *key, size_t *len)
{
	char *text = value(line, key);
	uint8_t *b = golden_bytes(text, len);

	free(text);
	return (b);
}

static bool
same_entry(const struct bk_digester *d, int64_t ledger, const char *line)
{
	struct bk_entry_header h = {ledger, number(line, "E="),
				   number(line, " lac="),
				   number(line, "length=")},
			       got;
	size_t nbody, npacket, n;
	uint8_t *body = bytes(line, "body=", &nbody);
	uint8_t *packet = bytes(line, "packet=", &npacket);
	uint8_t head[BK_ENTRY_OVERHEAD_MAX];
	struct bk_bytes payload;
	bool same;

	n = bk_entry_seal(d, &h, (struct bk_bytes){body, nbody}, head);
	same = n + nbody == npacket && memcmp(head, packet, n) == 0 &&
	    memcmp(body, packet + n, nbody) == 0 &&
	    bk_entry_verify(d, (struct bk_bytes){packet, npacket}, ledger,
		h.entry_id, &got, &payload) == BK_OK &&
	    payload.len == nbody && got.length == h.length;
	free(body);
	free(packet);
	return (same);
}

/* "# ledger N password "P" masterKey HEX digest TYPE" */
static void
set_up(const char *line, int64_t *ledger, struct bk_digester *d)
{
	const char *p = strchr(line, '"') + 1;
	size_t npassword = strcspn(p, "\""), nkey;
	char *name = value(line, "digest ");
	uint8_t key[BK_KEY_SIZE], *want = bytes(line, "masterKey ", &nkey);
	enum bk_digest_type type = BK_DIGEST_DUMMY;

	*ledger = number(line, "ledger ");
	bk_master_key(p, npassword, key);
	ok(bk_digest_parse(name, &type) == 0 &&
		bk_digester_init(d, type, p, npassword) == 0 &&
		nkey == sizeof(key) && memcmp(key, want, nkey) == 0,
	    "ledger %d: master key as Java derives it", (int)*ledger);
	free(want);
	free(name);
}

static void
test_golden(void)
{
	char **lines = golden_lines("peer/entries-and-digests.txt");
	struct bk_digester d;
	int64_t ledger = -1;
	int i, entries = 0, wrong = 0;

	for (i = 0; lines[i] != NULL; i++) {
		if (strncmp(lines[i], "# ledger", 8) == 0 &&
		    strstr(lines[i], "digest ") != NULL) {
			set_up(lines[i], &ledger, &d);
		} else if (strncmp(lines[i], "E=", 2) == 0) {
			entries++;
			wrong += !same_entry(&d, ledger, lines[i]);
		}
	}
	ok(entries >= 20, "%d entries of Java writers were read", entries);
	is_int(wrong, 0, "each is what we would have written");
	golden_free(lines);
}

static void
test_refusals(enum bk_digest_type type)
{
	struct bk_entry_header h = {7, 3, 2, 100}, got;
	struct bk_digester d;
	struct bk_bytes payload;
	uint8_t entry[BK_ENTRY_OVERHEAD_MAX + 5];
	size_t n, i;
	int passed = 0;

	(void)bk_digester_init(&d, type, "pw", 2);
	n = bk_entry_seal(&d, &h,
	    (struct bk_bytes){(const uint8_t *)"hello", 5}, entry);
	memcpy(entry + n, "hello", 5);
	n += 5;
	for (i = 0; i < n * 8; i++) {
		entry[i / 8] ^= (uint8_t)(1 << i % 8);
		passed += bk_entry_verify(&d, (struct bk_bytes){entry, n}, 7, 3,
			      &got, &payload) == BK_OK;
		entry[i / 8] ^= (uint8_t)(1 << i % 8);
	}
	if (type != BK_DIGEST_DUMMY)
		is_int(passed, 0, "%s: no flipped bit passes",
		    bk_digest_name(type));
	ok(bk_entry_verify(&d, (struct bk_bytes){entry, n}, 8, 3, &got,
	       &payload) == BK_EDIGEST &&
		bk_entry_verify(&d, (struct bk_bytes){entry, n}, 7, 4, &got,
		    &payload) == BK_EDIGEST &&
		bk_entry_verify(&d, (struct bk_bytes){entry, n}, 7, -1, &got,
		    &payload) == BK_OK,
	    "%s: another ledger's or entry's is refused", bk_digest_name(type));
	is_int(bk_entry_verify(&d,
		   (struct bk_bytes){entry, BK_ENTRY_HEADER + d.size - 1}, 7, 3,
		   &got, &payload),
	    BK_EDIGEST, "%s: one cut inside its header is refused",
	    bk_digest_name(type));
}

/* Worked example 16. */
static void
test_lac_packets(void)
{
	static const struct {
		enum bk_digest_type type;
		const char *password, *hex;
	} cases[] = {
	    {BK_DIGEST_CRC32C, "", "b64e4ca2"},
	    {BK_DIGEST_CRC32, "", "00000000fbc05f16"},
	    {BK_DIGEST_HMAC, "secret",
		"cf212213f695a43077f9fe40f50e4d562960b577"},
	    {BK_DIGEST_DUMMY, "", "-"},
	};
	struct bk_digester d;
	uint8_t packet[BK_LAC_PACKET_MAX], *want;
	size_t i, n, len;
	int64_t lac;

	for (i = 0; i < 4; i++) {
		(void)bk_digester_init(&d, cases[i].type, cases[i].password,
		    strlen(cases[i].password));
		want = golden_bytes(cases[i].hex, &len);
		n = bk_lac_seal(&d, 1, 0, packet);
		is_mem(packet + 16, n - 16, want, len,
		    "%s: an explicit LAC is sealed as Java does",
		    bk_digest_name(cases[i].type));
		ok(bk_lac_verify(&d, (struct bk_bytes){packet, n}, 1, &lac) ==
			    BK_OK &&
			lac == 0 &&
			bk_lac_verify(&d, (struct bk_bytes){packet, n}, 2,
			    &lac) == BK_EDIGEST,
		    "and read back, for its ledger only");
		free(want);
	}
}

int
main(void)
{
	test_golden();
	test_refusals(BK_DIGEST_CRC32);
	test_refusals(BK_DIGEST_CRC32C);
	test_refusals(BK_DIGEST_HMAC);
	test_refusals(BK_DIGEST_DUMMY);
	test_lac_packets();
	return (tap_done());
}
