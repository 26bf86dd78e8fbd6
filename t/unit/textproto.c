/*
 * textproto.c - protobuf's text form: what Java wrote of the small messages of
 * replication, and what a reader must take. Ledger metadata and cookies have
 * tests of their own.
 */
#include "meta/textproto.h"
#include "meta/ledger.pb-c.h"
#include "t/lib/golden.h"
#include "t/unit/tap.h"

#include <stdlib.h>

static struct bk_bytes
text_bytes(const char *text)
{
	return ((struct bk_bytes){(const uint8_t *)text, strlen(text)});
}

static void
encodes_to(const ProtobufCMessage *m, struct bk_bytes want, const char *what)
{
	struct bk_buf out;

	bk_buf_init(&out);
	is_int(bk_text_encode(m, &out), 0, "%s can be written", what);
	is_mem(bk_buf_head(&out), bk_buf_len(&out), want.data, want.len,
	    "%s is written to the same bytes", what);
	bk_buf_fini(&out);
}

/* Which message a node below underreplication holds; NULL: none in text. */
static const ProtobufCMessageDescriptor *
type_of(const char *path)
{
	if (strstr(path, "/LAYOUT") != NULL)
		return (&bk__ledger_rereplication_layout_format__descriptor);
	if (strstr(path, "/locks/") != NULL)
		return (&bk__lock_data_format__descriptor);
	if (strstr(path, "/auditorelection") != NULL)
		return (&bk__auditor_vote_format__descriptor);
	if (strstr(path, "/urL") != NULL)
		return (&bk__underreplicated_ledger_format__descriptor);
	return (NULL);
}

static void
what_java_wrote(void)
{
	char **lines = golden_lines("peer/metadata.txt"), path[200], hex[1000];
	const ProtobufCMessageDescriptor *type;
	ProtobufCMessage *m;
	struct bk_bytes text;
	uint8_t *bytes;
	size_t n = 0;

	for (char **line = lines; *line != NULL; line++) {
		if (strstr(*line, "/underreplication/") == NULL ||
		    sscanf(*line, "%*s %199s %*s %999[0-9a-f]", path, hex) !=
			2 ||
		    (type = type_of(path)) == NULL)
			continue;
		bytes = golden_bytes(hex, &text.len);
		text.data = bytes;
		if (is_int(bk_text_decode(text, type, &m, NULL), BK_OK,
			"%s can be read", path)) {
			encodes_to(m, text, path);
			protobuf_c_message_free_unpacked(m, NULL);
		}
		free(bytes);
		n++;
	}
	is_int(n, 9, "texts of replication in metadata.txt");
	golden_free(lines);
}

static void
the_examples(void)
{
	static const struct {
		const char *text;
		const ProtobufCMessageDescriptor *type;
		size_t len;
	} cases[] = {
	    {"type: \"BASIC\"\nversion: 1\n",
		&bk__ledger_rereplication_layout_format__descriptor, 25},
	    {"bookieId: \"bk1.example.com\"\n",
		&bk__lock_data_format__descriptor, 28},
	    {"bookieId: \"10.0.0.1:3181\"\n",
		&bk__auditor_vote_format__descriptor, 26},
	    {"replica: \"10.0.0.2:3181\"\nreplica: \"10.0.0.4:3181\"\n"
	     "ctime: 1700000000000\n",
		&bk__underreplicated_ledger_format__descriptor, 71},
	};
	ProtobufCMessage *m;

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		is_int(strlen(cases[i].text), cases[i].len, "an example");
		is_int(bk_text_decode(text_bytes(cases[i].text), cases[i].type,
			   &m, NULL),
		    BK_OK, "can be read");
		encodes_to(m, text_bytes(cases[i].text), "it");
		protobuf_c_message_free_unpacked(m, NULL);
	}
}

static void
escapes(void)
{
	static const char text[] =
	    "bookieId: \"\\000\\001a\\\"\\'\\\\\\n\\377\\t\\r\\a\"\n";
	static const uint8_t bytes[] = {0, 1, 'a', '"', '\'', '\\', '\n', 0xff,
	    '\t', '\r', 7};
	ProtobufCMessage *m;
	Bk__LockDataFormat *lock;

	is_int(bk_text_decode(text_bytes(text),
		   &bk__lock_data_format__descriptor, &m, NULL),
	    BK_OK, "escapes");
	lock = (Bk__LockDataFormat *)m;
	is_mem(lock->bookieid.data, lock->bookieid.len, bytes, sizeof(bytes),
	    "are undone");
	encodes_to(m, text_bytes(text), "a text of them");
	protobuf_c_message_free_unpacked(m, NULL);
}

static void
lists(void)
{
	static const struct {
		const char *text;
		size_t n; /* replicas, or 9: refused */
	} cases[] = {
	    {"", 0},
	    {"replica: []", 0},
	    {"replica: ['a']", 1},
	    {"replica: ['a', \"b\" 'c'] replica: 'd'", 3},
	    {"replica: ['a',]", 9},
	    {"replica: ['a'", 9},
	    {"replica ['a']", 9},
	    {"replica: 7", 9},
	    {"ctime: ['7']", 9},
	    {"ctime: +7", 9},
	    {"ctime: 7x", 9},
	    {"ctime: --7", 9},
	    {"ctime: -9223372036854775809", 9},
	    {"ctime: 99999999999999999999999999999999999999999999999999999999"
	     "99999999999999999999",
		9},
	    {"ctime: -0x10 ; replica : '' , # the end", 1},
	    {"7: 'a'", 9},
	    {"[a.b]: 'a'", 9},
	    {":", 9},
	    {"}", 9},
	    {"replica: 'a' }", 9},
	};
	Bk__UnderreplicatedLedgerFormat *mark;
	ProtobufCMessage *m;
	enum bk_status status;
	const char *why;

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		why = NULL;
		status = bk_text_decode(text_bytes(cases[i].text),
		    &bk__underreplicated_ledger_format__descriptor, &m, &why);
		if (cases[i].n == 9) {
			ok(status == BK_EBADMETA && why != NULL,
			    "mark %zu is refused", i);
			continue;
		}
		if (!is_int(status, BK_OK, "mark %zu is read", i))
			continue;
		mark = (Bk__UnderreplicatedLedgerFormat *)m;
		is_int(mark->n_replica, cases[i].n, "with its replicas");
		protobuf_c_message_free_unpacked(m, NULL);
	}
}

int
main(void)
{
	what_java_wrote();
	the_examples();
	escapes();
	lists();
	return (tap_done());
}
