/*
 * ledger_meta.c - ledger metadata against what Java wrote, what it reads, and
 * the worked examples of the specification.
 *
 * Where we read less than Java on purpose: quorums below 1, ensembles above
 * BK_ENSEMBLE_MAX, passwords above BK_PASSWORD_MAX and custom metadata above
 * BK_CUSTOM_MAX, a first entry below 0, an end below -1 or a length below 0 of
 * a closed ledger, a NUL in a text, a header version with a sign, and unknown
 * fields that are groups.
 */
#include "meta/ledger_meta.h"
#include "t/lib/golden.h"
#include "t/unit/tap.h"

#include <errno.h>
#include <stdlib.h>

static struct bk_bytes
text_bytes(const char *text)
{
	return ((struct bk_bytes){(const uint8_t *)text, strlen(text)});
}

static enum bk_status
decode_text(const char *text, struct bk_ledger_meta *m)
{
	const char *why;

	return (bk_ledger_meta_decode(text_bytes(text), m, &why));
}

/* Whether the record encodes to exactly these bytes. */
static void
encodes_to(const struct bk_ledger_meta *m, struct bk_bytes want,
    const char *what)
{
	struct bk_buf out;

	bk_buf_init(&out);
	is_int(bk_ledger_meta_encode(m, &out), 0, "%s can be written", what);
	is_mem(bk_buf_head(&out), bk_buf_len(&out), want.data, want.len,
	    "%s is written to the same bytes", what);
	bk_buf_fini(&out);
}

static const char *
digest_word(enum bk_digest_type type)
{
	static const char *const words[] = {"", "CRC32", "HMAC", "CRC32C",
	    "DUMMY"};

	return (words[type]);
}

/* A record as the readings of metadata.txt put it. */
static char *
reading_of(const struct bk_ledger_meta *m)
{
	struct bk_buf out;
	const char *id;
	char *text;

	bk_buf_init(&out);
	bk_buf_printf(&out,
	    "v%d %s Qw=%d E=%d Qa=%d length=%lld last=%lld "
	    "digest=%s",
	    m->format, bk_ledger_state_name(m->state), m->write_quorum,
	    m->ensemble_size, m->ack_quorum, (long long)m->length,
	    (long long)m->last_entry, digest_word(m->digest));
	for (size_t i = 0; i < m->nsegments; i++) {
		bk_buf_printf(&out,
		    " {%lld: ", (long long)m->segments[i].first_entry);
		for (int j = 0; j < m->ensemble_size; j++) {
			id = m->segments[i].bookies[j];
			bk_buf_printf(&out, "%s", j > 0 ? "," : "");
			if (strncmp(id, "127.0.0.1:328", 13) == 0)
				bk_buf_printf(&out, "b%s", id + 13);
			else
				bk_buf_printf(&out, "%s", id);
		}
		bk_buf_printf(&out, "}");
	}
	if (m->ncustom > 0)
		bk_buf_printf(&out, " custom=%zu", m->ncustom);
	if (m->has_ctime)
		bk_buf_printf(&out, " ctime=%lld", (long long)m->ctime_ms);
	bk_buf_printf(&out, " cToken=%lld", (long long)m->ctoken);
	text = strndup((char *)bk_buf_head(&out), bk_buf_len(&out));
	bk_buf_fini(&out);
	return (text);
}

/* One line "op path kind HEX # reading" of metadata.txt, if it is a ledger's
 * record. */
static bool
java_wrote(const char *line)
{
	char path[200], hex[4000] = "";
	struct bk_ledger_meta m;
	const char *why = NULL, *reading = strstr(line, " # ");
	struct bk_bytes data;
	uint8_t *bytes;
	char *ours;
	size_t len;

	if (sscanf(line, "%*s %199s %*s %3999s", path, hex) != 2 ||
	    strncmp(hex, "426f6f6b69654d657461", 20) != 0)
		return (false);
	bytes = golden_bytes(hex, &len);
	data = (struct bk_bytes){bytes, len};
	is_int(bk_ledger_meta_decode(data, &m, &why), BK_OK,
	    "%s as Java wrote it can be read", path);
	if (reading != NULL && reading[3] == 'v') {
		ours = reading_of(&m);
		is_str(ours, reading + 3, "%s says what was meant", path);
		free(ours);
	}
	encodes_to(&m, data, path);
	bk_ledger_meta_fini(&m);
	free(bytes);
	return (true);
}

static void
what_java_wrote(void)
{
	char **lines = golden_lines("peer/metadata.txt");
	int n = 0;

	for (char **line = lines; *line != NULL; line++)
		n += java_wrote(*line);
	is_int(n, 109, "records of ledgers in metadata.txt");
	golden_free(lines);
}

/* A record as Java's toString() has it. */
static char *
java_text_of(const struct bk_ledger_meta *m)
{
	struct bk_buf out;
	char *text;

	bk_buf_init(&out);
	bk_buf_printf(&out,
	    "formatVersion=%d, ensembleSize=%d, "
	    "writeQuorumSize=%d, ackQuorumSize=%d, state=%s",
	    m->format, m->ensemble_size, m->write_quorum, m->ack_quorum,
	    bk_ledger_state_name(m->state));
	if (m->state == BK_LEDGER_CLOSED)
		bk_buf_printf(&out, ", length=%lld, lastEntryId=%lld",
		    (long long)m->length, (long long)m->last_entry);
	if (m->has_password)
		bk_buf_printf(&out, ", digestType=%s", digest_word(m->digest));
	bk_buf_printf(&out, ", ensembles={%lld=[%s]}",
	    (long long)m->segments[0].first_entry, m->segments[0].bookies[0]);
	if (m->ncustom > 0)
		bk_buf_printf(&out, ", customMetadata={%s=base64:%.*s}",
		    m->custom[0].key, (int)m->custom[0].len,
		    (char *)m->custom[0].value);
	text = strndup((char *)bk_buf_head(&out), bk_buf_len(&out));
	bk_buf_fini(&out);
	return (text);
}

static void
java_reads(const char *name, const char *hex, const char *verdict)
{
	struct bk_ledger_meta m;
	enum bk_status status;
	const char *why = NULL;
	uint8_t *bytes;
	size_t len;
	char *ours;

	bytes = golden_bytes(hex, &len);
	status = bk_ledger_meta_decode((struct bk_bytes){bytes, len}, &m, &why);
	if (strcmp(verdict, "=> unreadable") == 0) {
		is_int(status, BK_EBADMETA, "%s: refused", name);
		ok(why != NULL, "%s: says why", name);
	} else if (is_int(status, BK_OK, "%s: read", name)) {
		ours = java_text_of(&m);
		is_str(ours, verdict + 3, "%s: as Java reads it", name);
		free(ours);
	}
	bk_ledger_meta_fini(&m);
	free(bytes);
}

static void
what_java_reads(void)
{
	char **lines = golden_lines("peer/metadata-reading.txt");
	char **line = lines;
	int n = 0;

	while (*line != NULL && strncmp(*line, "# ", 2) != 0)
		line++;
	for (; line[0] != NULL && line[1] != NULL; line += 3, n++)
		java_reads(line[0] + 2, line[1], line[2]);
	is_int(n, 37, "cases of metadata-reading.txt");
	golden_free(lines);
}

static const char *const first_three[] = {"10.0.0.1:3181", "10.0.0.2:3181",
    "bk-three"};

/* The ledger of the specification's examples. */
static void
example(struct bk_ledger_meta *m)
{
	bk_ledger_meta_init(m);
	m->ensemble_size = 3;
	m->write_quorum = 2;
	m->ack_quorum = 2;
	m->ctoken = INT64_C(0x0123456789abcdef);
	ok(bk_ledger_meta_set_password(m, "pw", 2) == 0 &&
		bk_ledger_meta_append(m, 0, first_three) == 0,
	    "the specification's example can be made");
}

#define EXAMPLE_HEAD "426f6f6b69654d65746164617461466f726d617456657273696f6e"

static const char example_a[] = EXAMPLE_HEAD
    "09330a 51 0802 1003 1800 20ffffffffffffffffff01 2801 322a"
    "0a0d31302e302e302e313a33313831 0a0d31302e302e302e323a33313831"
    "0a08626b2d7468726565 1000 3803 42027077 4802 60ef9bafcdf8acd19101";

static const char example_b[] = EXAMPLE_HEAD
    "09330a 6d 0802 1003 18b960 2063 2803"
    "322a 0a0d31302e302e302e313a33313831 0a0d31302e302e302e323a33313831"
    "0a08626b2d7468726565 1000"
    "322a 0a0d31302e302e302e313a33313831 0a0d31302e302e302e343a33313831"
    "0a08626b2d7468726565 1032 3803 42027077 4802 6000";

static const char example_text[] =
    "BookieMetadataFormatVersion\t2\n"
    "quorumSize: 2\nensembleSize: 3\nlength: 0\nlastEntryId: -1\n"
    "state: OPEN\nsegment {\n  ensembleMember: \"10.0.0.1:3181\"\n"
    "  ensembleMember: \"10.0.0.2:3181\"\n  ensembleMember: \"bk-three\"\n"
    "  firstEntryId: 0\n}\ndigestType: CRC32C\npassword: \"pw\"\n"
    "ackQuorumSize: 2\n";

static const char example_tail[] =
    "ctime: 1700000000000\n"
    "customMetadata {\n  key: \"app\"\n  value: \"\\303\\251x\"\n}\n";

static const char example_lines[] =
    "BookieMetadataFormatVersion\t1\n"
    "2\n3\n12345\n"
    "0\t10.0.0.1:3181\t10.0.0.2:3181\t10.0.0.3:3181\n"
    "50\t10.0.0.1:3181\t10.0.0.4:3181\t10.0.0.3:3181\n"
    "99\tCLOSED";

static void
is_example(const struct bk_ledger_meta *m, const char *hex, const char *what)
{
	size_t len;
	uint8_t *bytes = golden_bytes(hex, &len);

	encodes_to(m, (struct bk_bytes){bytes, len}, what);
	free(bytes);
}

static void
examples_in_bytes(void)
{
	const char *const second[] = {first_three[0], "10.0.0.4:3181",
	    first_three[2]};
	struct bk_ledger_meta m;

	example(&m);
	is_example(&m, example_a, "example A");
	ok(bk_ledger_meta_append(&m, 50, second) == 0, "a segment more");
	m.state = BK_LEDGER_CLOSED;
	m.last_entry = 99;
	m.length = 12345;
	m.ctoken = 0;
	is_example(&m, example_b, "example B");
	bk_ledger_meta_fini(&m);
}

static void
examples_in_text(void)
{
	struct bk_ledger_meta m;
	char longer[1000];

	example(&m);
	m.format = 2;
	encodes_to(&m, text_bytes(example_text), "example A in format 2");
	is_int(strlen(example_text), 276, "example A in format 2 is as long");
	m.has_ctime = true;
	m.ctime_ms = INT64_C(1700000000000);
	ok(bk_ledger_meta_set_custom(&m, "app", "\303\251x", 3) == 0,
	    "custom metadata can be set");
	(void)snprintf(longer, sizeof(longer), "%s%s", example_text,
	    example_tail);
	encodes_to(&m, text_bytes(longer), "a record with all there is");
	bk_ledger_meta_fini(&m);
	is_int(decode_text(longer, &m), BK_OK, "it is read back");
	is_int(m.ctime_ms, INT64_C(1700000000000), "with its ctime");
	is_mem(m.custom[0].value, m.custom[0].len, "\303\251x", 3,
	    "and its custom metadata");
	bk_ledger_meta_fini(&m);
}

static void
examples_in_lines(void)
{
	struct bk_ledger_meta m;

	is_int(strlen(example_lines), 138, "the example of format 1");
	is_int(decode_text(example_lines, &m), BK_OK, "it can be read");
	is_int(m.nsegments, 2, "it has two segments");
	is_int(m.ack_quorum, 2, "its ack quorum is its write quorum");
	is_int(m.last_entry, 99, "it ends at 99");
	is_str(m.segments[1].bookies[1], "10.0.0.4:3181", "its new bookie");
	ok(!m.has_password, "it has no password");
	encodes_to(&m, text_bytes(example_lines), "the example of format 1");
	bk_ledger_meta_fini(&m);
}

/* Format 2 read in ways that nobody writes. */
static void
text_is_read_freely(void)
{
	static const char head[] = "BookieMetadataFormatVersion\t2\n";
	static const struct {
		const char *body;
		bool good;
	} cases[] = {
	    {"quorumSize:1 ensembleSize:1 length:0 state:1 "
	     "segment<ensembleMember:'a' firstEntryId:0>",
		true},
	    {"quorumSize:1;ensembleSize:0x1,length:00;state:OPEN;"
	     "segment:[{ensembleMember:['a'] firstEntryId:0}]",
		true},
	    {"# all of it\nquorumSize:1#1\nensembleSize:1 length:0 state:OPEN"
	     "\v segment\f{ensembleMember:\"\\x61\" \"\\142\" firstEntryId:0}",
		true},
	    {"quorumSize:2 quorumSize:1 ensembleSize:1 length:0 state:OPEN "
	     "segment{ensembleMember:'a' firstEntryId:0}",
		true},
	    {"quorumSize:1 ensembleSize:1 state:OPEN "
	     "segment{ensembleMember:'a' firstEntryId:0}",
		false},
	    {"quorumSize:1 ensembleSize:1 length:0 state:OPEN "
	     "segment{ensembleMember:'a'}",
		false},
	    {"quorumSize:1 ensembleSize:1 length:0 state:OPEN "
	     "segment{ensembleMember:'a' firstEntryId:0",
		false},
	    {"quorumSize 1 ensembleSize:1 length:0 state:OPEN "
	     "segment{ensembleMember:'a' firstEntryId:0}",
		false},
	    {"quorumSize:1 ensembleSize:1 length:0 state:SHUT "
	     "segment{ensembleMember:'a' firstEntryId:0}",
		false},
	    {"quorumSize:1 ensembleSize:1 length:0 state:7 "
	     "segment{ensembleMember:'a' firstEntryId:0}",
		false},
	    {"quorumSize:1 ensembleSize:1 length:9223372036854775808 "
	     "state:OPEN segment{ensembleMember:'a' firstEntryId:0}",
		false},
	    {"quorumSize:4294967297 ensembleSize:1 length:0 state:OPEN "
	     "segment{ensembleMember:'a' firstEntryId:0}",
		false},
	    {"quorumSize:1 ensembleSize:1 length:0 state:OPEN "
	     "segment{ensembleMember:'a\n' firstEntryId:0}",
		false},
	    {"quorumSize:1 ensembleSize:1 length:0 state:OPEN "
	     "segment{ensembleMember:'a\\q' firstEntryId:0}",
		false},
	    {"quorumSize:1 ensembleSize:1 length:0 state:OPEN "
	     "segment{ensembleMember:'a\\000' firstEntryId:0}",
		false},
	    {"quorumSize:1 ensembleSize:1 length:0 state:OPEN "
	     "segment{ensembleMember:'a\\",
		false},
	    {"quorumSize:1 ensembleSize:1 length:0 state:OPEN "
	     "segment:[{ensembleMember:'a' firstEntryId:0}",
		false},
	};
	struct bk_ledger_meta m;
	char text[600];

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		(void)snprintf(text, sizeof(text), "%s%s", head, cases[i].body);
		is_int(decode_text(text, &m),
		    cases[i].good ? BK_OK : BK_EBADMETA, "format 2, case %zu",
		    i);
		bk_ledger_meta_fini(&m);
	}
}

static void
lines_that_are_refused(void)
{
	static const char *const bodies[] = {
	    "",
	    "1\n1\n",
	    "1\n1\n0\n",
	    "0\n1\n0\n0\ta\n",
	    "1\n65\n0\n0\ta\n",
	    "x\n1\n0\n0\ta\n",
	    "1\n1\n0\n\n",
	    "1\n1\n0\n0\n",
	    "1\n1\n0\n0\ta\tb\n",
	    "1\n2\n0\n0\ta\n",
	    "1\n1\n0\n0\t\n",
	    "1\n1\n0\n0\ta\n0\tb\n",
	    "1\n1\n0\nzero\ta\n",
	    "1\n1\n-5\n0\ta\n3\tCLOSED\n",
	};
	struct bk_ledger_meta m;
	char text[200];

	for (size_t i = 0; i < sizeof(bodies) / sizeof(*bodies); i++) {
		(void)snprintf(text, sizeof(text),
		    "BookieMetadataFormatVersion\t1\n%s", bodies[i]);
		is_int(decode_text(text, &m), BK_EBADMETA,
		    "format 1, case %zu: refused", i);
		bk_ledger_meta_fini(&m);
	}
}

static void
headers_that_are_refused(void)
{
	static const char *const texts[] = {
	    "",
	    "BookieMetadataFormatVersion",
	    "BookieMetadataFormatVersion\t",
	    "BookieMetadataFormatVersion\t\n",
	    "BookieMetadataFormatVersion\t3",
	    "BookieMetadataFormatVersion\t3\n",
	    "BookieMetadataFormatVersion\t-1\n",
	    "BookieMetadataFormatVersion\t0000000003\n",
	    "BookieMetadataFormatVersion 3\n",
	};
	struct bk_ledger_meta m;

	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		is_int(decode_text(texts[i], &m), BK_EBADMETA,
		    "header %zu: refused", i);
		bk_ledger_meta_fini(&m);
	}
	is_int(bk_ledger_meta_decode((struct bk_bytes){NULL, 0}, &m, NULL),
	    BK_EBADMETA, "no bytes: refused");
	bk_ledger_meta_fini(&m);
}

static void
changing_a_record(void)
{
	const char *const other[] = {"x", "y", "z"};
	struct bk_ledger_meta m, copy;

	example(&m);
	ok(bk_ledger_meta_append(&m, 0, other) == -1 && errno == EINVAL,
	    "a segment must start above the last");
	ok(bk_ledger_meta_append(&m, 50, other) == 0 &&
		bk_ledger_meta_append(&m, 60, other) == 0,
	    "two more segments");
	is_int(bk_ledger_meta_segment(&m, 0), 0, "entry 0 is in the first");
	is_int(bk_ledger_meta_segment(&m, 49), 0, "so is 49");
	is_int(bk_ledger_meta_segment(&m, 50), 1, "50 is in the second");
	is_int(bk_ledger_meta_segment(&m, 59), 1, "so is 59");
	is_int(bk_ledger_meta_segment(&m, INT64_MAX), 2, "the last goes on");
	ok(bk_ledger_meta_set_custom(&m, "k", "old", 3) == 0 &&
		bk_ledger_meta_set_custom(&m, "k", "", 0) == 0,
	    "custom metadata is set twice");
	is_int(m.ncustom, 1, "a key stands once");
	is_int(bk_ledger_meta_custom(&m, "k")->len, 0, "with its last value");
	ok(bk_ledger_meta_custom(&m, "none") == NULL, "an unknown key");
	is_int(bk_ledger_meta_copy(&copy, &m), 0, "a record is copied");
	ok(bk_ledger_meta_replace(&copy, 2, 1, "w") == 0,
	    "a bookie of the copy is replaced");
	ok(bk_ledger_meta_names(&copy, "w") && !bk_ledger_meta_names(&m, "w"),
	    "only the copy names the new one");
	ok(bk_ledger_meta_names(&m, "bk-three"), "both name the others");
	bk_ledger_meta_fini(&copy);
	bk_ledger_meta_fini(&m);
}

static void
limits(void)
{
	static const uint8_t password[BK_PASSWORD_MAX + 1];
	struct bk_ledger_meta m;
	struct bk_buf out;
	char key[16];
	int rc = 0;

	bk_ledger_meta_init(&m);
	ok(bk_ledger_meta_set_password(&m, password, sizeof(password)) == -1 &&
		errno == E2BIG,
	    "a password of %zu bytes is too long", sizeof(password));
	for (int i = 0; i < BK_CUSTOM_MAX && rc == 0; i++) {
		(void)snprintf(key, sizeof(key), "%d", i);
		rc = bk_ledger_meta_set_custom(&m, key, key, strlen(key));
	}
	is_int(rc, 0, "%d pairs fit", BK_CUSTOM_MAX);
	ok(bk_ledger_meta_set_custom(&m, "more", "", 0) == -1 && errno == E2BIG,
	    "one more does not");
	m.format = 4;
	bk_buf_init(&out);
	ok(bk_ledger_meta_encode(&m, &out) == -1 && errno == EINVAL &&
		bk_buf_len(&out) == 0,
	    "an unknown format is not written");
	bk_buf_fini(&out);
	bk_ledger_meta_fini(&m);
}

static void
bookie_ids(void)
{
	static const struct {
		const char *id;
		bool valid, narrow;
	} cases[] = {
	    {"10.0.0.1:3181", true, true},
	    {"bk-three", true, true},
	    {"free_form-1", true, true},
	    {"a;b<c=d>e?f@g[h\\i]j^k", true, false},
	    {".", true, false},
	    {"..", true, false},
	    {"read-only", true, true},
	    {"", false, false},
	    {"readonly", false, false},
	    {"ReadOnly", false, false},
	    {"a/b", false, false},
	    {"a,b", false, false},
	    {"a b", false, false},
	    {"a+b", false, false},
	    {"a#b", false, false},
	    {"a%b", false, false},
	    {"a`b", false, false},
	    {"b\303\251", false, false},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		ok(bk_bookie_id_valid(cases[i].id) == cases[i].valid,
		    "\"%s\": read as a bookie's id, or not", cases[i].id);
		ok(bk_bookie_id_narrow(cases[i].id) == cases[i].narrow,
		    "\"%s\": written as one, or not", cases[i].id);
	}
}

int
main(void)
{
	what_java_wrote();
	what_java_reads();
	examples_in_bytes();
	examples_in_text();
	examples_in_lines();
	text_is_read_freely();
	lines_that_are_refused();
	headers_that_are_refused();
	changing_a_record();
	limits();
	bookie_ids();
	return (tap_done());
}
