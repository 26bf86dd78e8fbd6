/*
 * bookie_requests.c - the bookie's answers to single requests and to several in
 * a row, over a store in the test's hands (bookie-protocol.md 5 and 8,
 * design/bookie.md 8).
 */
#include "t/unit/fakestore.h"
#include "t/unit/tap.h"

#include "base/log.h"
#include "bk-bookied/serve.h"

#include <ctype.h>
#include <err.h>
#include <errno.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#define LIMIT (5 * BK_SECOND)

/* Parts of frames, by the names the specification gives them. */
#define KEY_EMPTY "850bf1071c5e3d8c24235676f8816ae0cbe2f14f"
#define KEY_SECRET "e793cbc379107648537183605cd361d3bb789a39"
#define KEY_WRONG "0000000000000000000000000000000000000000"
#define HELLO_OF(ledger, entry, lac) \
	ledger entry lac "0000000000000005e3a5f74d68656c6c6f"
#define L1 "0000000000000001"
#define L9 "0000000000000009"
#define E0 "0000000000000000"
#define E1 "0000000000000001"
#define E2 "0000000000000002"
#define MINUS1 "ffffffffffffffff"
#define V_MINUS1 "ffffffffffffffffff01"
#define HELLO HELLO_OF(L1, E0, MINUS1)
#define WORLD L1 E1 E0 "000000000000000ae6930431776f726c64"

/* v2, flags in four digits. */
#define ADD2(flags, key, entry) "00000041 0201" flags key entry
#define ADDED2(code, ledger, entry) "00000018 02010000" code ledger entry
#define READ2(ledger, entry) "00000014 02020000" ledger entry
#define FREAD2(key, ledger, entry) "00000028 02020001" ledger entry key
#define READ2_FAILED(code, ledger, entry) "00000018 02020000" code ledger entry
#define READ2_OK(entry, body) "00000041 02020000 00000000" L1 entry body

#define OK2 "00000000"
#define ENOLEDGER2 "00000001"
#define ENOENTRY2 "00000002"
#define EBADREQ2 "00000064"
#define EIO2 "00000065"
#define EUA2 "00000066"
#define EBADVERSION2 "00000067"
#define EFENCED2 "00000068"
#define EREADONLY2 "00000069"

static struct bk_loop *loop;
static struct server *server;
static const bool never;

static void
moved(int64_t ledger_id, bool fenced, bool gone)
{
	server_moved(server, ledger_id, fenced, gone);
}

static void
turns(void)
{
	int i;

	for (i = 0; i < 4; i++)
		(void)bk_loop_run_until(loop, &never, bk_clock_now() + BK_MS);
}

/* Everything so far is on disk. */
static void
sync_all(void)
{
	fake.synced = fake.filling++;
	server_synced(server, fake.synced);
}

static int
dial(void)
{
	int ends[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends) == -1 ||
	    server_adopt(server, ends[1]) == -1)
		err(1, "dial");
	return (ends[0]);
}

static void
hang_up(int fd)
{
	(void)close(fd);
	turns();
}

static size_t
from_hex(const char *hex, uint8_t *out)
{
	size_t n = 0;
	unsigned byte;

	for (; *hex != '\0'; hex++) {
		if (isspace((unsigned char)*hex))
			continue;
		if (sscanf(hex, "%2x", &byte) != 1)
			errx(1, "bad hex: %s", hex);
		out[n++] = (uint8_t)byte;
		hex++;
	}
	return (n);
}

static void
say(int fd, const char *hex)
{
	static uint8_t bytes[65536];
	size_t n = from_hex(hex, bytes);

	if (send(fd, bytes, n, 0) != (ssize_t)n)
		err(1, "send");
	turns();
}

/* Whatever comes, until as much as wanted is there, or the end. */
static size_t
hear(int fd, uint8_t *got, size_t want, bool *ended)
{
	int64_t deadline = bk_clock_now() + LIMIT;
	size_t n = 0;
	ssize_t r;

	*ended = false;
	while (n < want && bk_clock_now() < deadline) {
		turns();
		r = recv(fd, got + n, want - n, 0);
		if (r > 0)
			n += (size_t)r;
		else if (r == 0 || errno != EAGAIN) {
			*ended = r == 0;
			break;
		}
	}
	return (n);
}

static void
expect(int fd, const char *hex, const char *claim)
{
	static uint8_t want[65536], got[65536];
	size_t n = from_hex(hex, want), m;
	bool ended;

	m = hear(fd, got, n, &ended);
	is_mem(got, m, want, n, "%s", claim);
}

static void
expect_silence(int fd, const char *claim)
{
	uint8_t byte;

	turns();
	ok(recv(fd, &byte, 1, 0) == -1 && errno == EAGAIN, "%s", claim);
}

static void
expect_end(int fd, const char *claim)
{
	uint8_t byte;
	bool ended;

	ok(hear(fd, &byte, 1, &ended) == 0 && ended, "%s", claim);
	hang_up(fd);
}

/* Ask, sync, and compare. */
static void
ask(int fd, const char *request, const char *answer, const char *claim)
{
	say(fd, request);
	sync_all();
	expect(fd, answer, claim);
}

static void
test_v2_examples(void)
{
	int fd = dial();

	ask(fd, READ2(L1, E0), READ2_FAILED(ENOLEDGER2, L1, E0),
	    "v2: an unknown ledger is ENOLEDGER");
	ask(fd, ADD2("0000", KEY_EMPTY, HELLO), ADDED2(OK2, L1, E0),
	    "v2: an add is acknowledged (examples 3, 4)");
	ask(fd, READ2(L1, E0), READ2_OK(E0, HELLO),
	    "v2: and read back (example 6)");
	ask(fd, READ2(L1, "0000000000000007"),
	    READ2_FAILED(ENOENTRY2, L1, "0000000000000007"),
	    "v2: an absent entry is ENOENTRY (example 6)");
	ask(fd, READ2(L1, MINUS1), READ2_OK(MINUS1, HELLO),
	    "v2: the last entry comes under the id that was asked");
	ask(fd, ADD2("0000", KEY_WRONG, WORLD), ADDED2(EUA2, L1, E1),
	    "v2: another key is EUA");
	ask(fd, ADD2("0000", KEY_EMPTY, WORLD), ADDED2(OK2, L1, E1),
	    "v2: a second entry");
	ask(fd,
	    "00000028 02070000" L1 E0
	    "000000000000002a 00000002 0000000000500000",
	    "0000007a 02070000 00000000" L1 E0 "000000000000002a 00000029" HELLO
	    "00000029" WORLD,
	    "v2: a batch of two (example 8)");
	ask(fd,
	    "00000028 02070000" L1 E0
	    "000000000000002a 00000005 000000000000007d",
	    "0000004d 02070000 00000000" L1 E0
	    "000000000000002a 00000029" HELLO,
	    "v2: a batch stays within its size");
	ask(fd,
	    "00000028 02070000" L1 MINUS1
	    "000000000000002a 00000005 0000000000500000",
	    "0000004d 02070000 00000000" L1 MINUS1
	    "000000000000002a 00000029" WORLD,
	    "v2: a batch from -1 is the last entry alone");
	ask(fd,
	    "00000028 02070000" L9 E0
	    "000000000000002a 00000002 0000000000500000",
	    "00000020 02070000 00000001" L9 E0 "000000000000002a",
	    "v2: a batch of an unknown ledger is ENOLEDGER");
	ask(fd, "00000010 02030000 0a06 6d7961757468 1202 0102",
	    "0000001a 02030000 0a12 4175746844697361626c6564506c7567696e 1200",
	    "v2: AUTH lets everyone in (example 9)");
	ask(fd, "00000014 03020000" L1 E0,
	    "00000018 03020000" EBADVERSION2 L1 E0,
	    "v2: version 3 is EBADVERSION");
	ask(fd, FREAD2(KEY_WRONG, L1, MINUS1), READ2_FAILED(EUA2, L1, MINUS1),
	    "v2: a fencing read with another key is EUA");
	ask(fd, FREAD2(KEY_EMPTY, L1, MINUS1), READ2_OK(MINUS1, WORLD),
	    "v2: a fencing read (example 7)");
	ask(fd, ADD2("0000", KEY_EMPTY, HELLO_OF(L1, E2, E1)),
	    ADDED2(EFENCED2, L1, E2), "v2: a fenced ledger is EFENCED");
	ask(fd, ADD2("0006", KEY_EMPTY, HELLO_OF(L1, E2, E1)),
	    ADDED2(OK2, L1, E2), "v2: recovery passes the fence");
	hang_up(fd);
}

static void
test_v2_refusals(void)
{
	int fd = dial();

	ask(fd, READ2(L1, "fffffffffffffffe"),
	    READ2_FAILED(EBADREQ2, L1, "fffffffffffffffe"),
	    "an entry id below -1 is EBADREQ");
	ask(fd, READ2(MINUS1, E0), READ2_FAILED(EBADREQ2, MINUS1, E0),
	    "a negative ledger id is EBADREQ");
	ask(fd, "00000014 01020001" L9 E0, "00000018 01020000" EUA2 L9 E0,
	    "a fencing read of version 1 has no key: EUA");
	fake.readonly = true;
	ask(fd, ADD2("0000", KEY_EMPTY, HELLO), ADDED2(EREADONLY2, L1, E0),
	    "a read-only bookie refuses adds");
	fake.readonly = false;
	fake.broken = true;
	ask(fd, READ2(L1, E0), READ2_FAILED(EIO2, L1, E0),
	    "a failing disk is EIO");
	fake.broken = false;
	fake.in_doubt = true;
	ask(fd, READ2(L1, "0000000000000007"),
	    READ2_FAILED(EIO2, L1, "0000000000000007"),
	    "what is in doubt is EIO in v2, never 107");
	ask(fd, "0000000f 0a06 0803 1001 1802 a20604 0801 1007",
	    "00000015 0a06 0803 1001 1802 10fb03 a20607 08fb03 1001 1807",
	    "and EUNKNOWNLEDGERSTATE in v3");
	fake.in_doubt = false;
	hang_up(fd);
}

static void
test_v3_examples(void)
{
	int fd = dial();

	ask(fd,
	    "00000050 0a06 0803 1002 1801 aa0645 0805 1000 1a14" KEY_EMPTY
	    "2229 0000000000000005" E0 MINUS1
	    "0000000000000005 e3a5f74d 68656c6c6f",
	    "00000013 0a06 0803 1002 1801 1000 aa0606 0800 1005 1800",
	    "v3: an add (example 10)");
	ask(fd, "0000000f 0a06 0803 1001 1802 a20604 0805 1000",
	    "00000049 0a06 0803 1001 1802 1000 a2063c 0800 1005 1800"
	    "28" V_MINUS1 "2229 0000000000000005" E0 MINUS1
	    "0000000000000005 e3a5f74d 68656c6c6f",
	    "v3: a read (example 13, the LAC before the body)");
	ask(fd,
	    "0000003b 0a06 0803 1006 1807 ba0630 0805 1000 1a14" KEY_EMPTY
	    "2214 0000000000000005" E0 "b64e4ca2",
	    "00000011 0a06 0803 1006 1807 1000 ba0604 0800 1005",
	    "v3: WRITE_LAC (example 17)");
	ask(fd, "0000000d 0a06 0803 1007 1808 c20602 0805",
	    "00000052 0a06 0803 1007 1808 1000 c20645 0800 1005"
	    "1a14 0000000000000005" E0 "b64e4ca2"
	    "2229 0000000000000005" E0 MINUS1
	    "0000000000000005 e3a5f74d 68656c6c6f",
	    "v3: READ_LAC (example 17)");
	ask(fd, "0000000d 0a06 0803 1008 1809 ca0602 0803",
	    "00000017 0a06 0803 1008 1809 1000 ca060a 0800 10c0843d "
	    "1880b518",
	    "v3: GET_BOOKIE_INFO (example 18)");
	ask(fd, "0000000d 0a06 0803 100a 180a da0602 0805",
	    "00000011 0a06 0803 100a 180a 1000 da0604 0800 1005",
	    "v3: FORCE_LEDGER (example 18)");
	ask(fd, "0000000b 0a06 0803 1009 1801 d20600",
	    "0000000b 0a06 0803 1009 1801 109403",
	    "v3: START_TLS is refused (example 19)");
	ask(fd,
	    "00000017 0a06 0803 1005 1801 b2060c 0a06 6d7961757468 1202 0102",
	    "00000023 0a06 0803 1005 1801 1000 b20616 "
	    "0a12 4175746844697361626c6564506c7567696e 1200",
	    "v3: AUTH (example 19)");
	ask(fd, "0000000d 0a06 0803 100b 180b e20602 0805",
	    "0000006b 0a06 0803 100b 180b 1000 e2065e 0800 1005 1a58"
	    "00000000 00000001"
	    "0000000000000000000000000000000000000000000000000000000000000000"
	    "000000000000000000000000000000000000000000000000"
	    "0000000000000000 0000000000000000 00000001 00000000",
	    "v3: LIST (example 20)");
	ask(fd, "0000000d 0a06 0803 100b 180b e20602 0877",
	    "00000013 0a06 0803 100b 180b 109203 e20605 089203 1077",
	    "v3: LIST of an unknown ledger is ENOLEDGER");
	ask(fd, "0000000d 0a06 0803 1007 1808 c20602 0877",
	    "00000013 0a06 0803 1007 1808 109303 c20605 089303 1077",
	    "v3: READ_LAC of an unknown ledger is ENOENTRY");
	fake.broken = true;
	ask(fd, "0000000d 0a06 0803 1007 1808 c20602 0877",
	    "00000013 0a06 0803 1007 1808 10f503 c20605 08f503 1077",
	    "v3: READ_LAC with a failing disk is EIO, not absent");
	fake.broken = false;
	ask(fd, "00000011 0a06 0801 1001 186b a20606 08e09d25 1000",
	    "00000017 0a06 0803 1001 186b 10f703 a20609 08f703 10e09d25 1800",
	    "v3: header version 1 is EBADVERSION");
	ask(fd, "00000008 0a06 0803 1001 1875",
	    "00000015 0a06 0803 1001 1875 109403 a20607 089403 1000 1800",
	    "v3: a request without its message is EBADREQ");
	hang_up(fd);
}

/* A ledger with an explicit LAC and no entry. */
static void
test_lac_alone(void)
{
	int fd = dial();

	ask(fd,
	    "0000003b 0a06 0803 1006 1807 ba0630 0806 1000 1a14" KEY_EMPTY
	    "2214 0000000000000006" E0 "b64e4ca2",
	    "00000011 0a06 0803 1006 1807 1000 ba0604 0800 1006",
	    "WRITE_LAC makes a ledger");
	ask(fd, "0000000d 0a06 0803 1007 1808 c20602 0806",
	    "00000027 0a06 0803 1007 1808 1000 c2061a 0800 1006"
	    "1a14 0000000000000006" E0 "b64e4ca2",
	    "READ_LAC is EOK with the LAC alone");
	ask(fd,
	    "00000036 0a06 0803 1006 1807 ba062b 0806 1000 1a14" KEY_EMPTY
	    "220f 0000000000000006"
	    "00000000000000",
	    "00000013 0a06 0803 1006 1807 109403 ba0605 089403 1006",
	    "WRITE_LAC of 15 bytes is EBADREQ");
	fake.readonly = true;
	ask(fd,
	    "0000003b 0a06 0803 1006 1807 ba0630 0806 1000 1a14" KEY_EMPTY
	    "2214 0000000000000006" E0 "b64e4ca2",
	    "00000013 0a06 0803 1006 1807 10f903 ba0605 08f903 1006",
	    "a read-only bookie refuses WRITE_LAC");
	fake.readonly = false;
	hang_up(fd);
}

static void
test_order(void)
{
	int fd = dial(), other = dial();

	say(fd, ADD2("0000", KEY_EMPTY, HELLO_OF(L9, E0, MINUS1)));
	expect_silence(fd, "an add is not answered before its sync");
	say(fd, READ2(L9, E0));
	expect_silence(fd, "nor a read behind it on the same connection");
	say(other, READ2(L9, E0));
	expect(other,
	    "00000041 02020000 00000000" L9 E0 HELLO_OF(L9, E0, MINUS1),
	    "a read on another connection does not wait");
	sync_all();
	expect(fd,
	    ADDED2(OK2, L9, E0) "00000041 02020000 00000000" L9 E0 HELLO_OF(L9,
		E0, MINUS1),
	    "with the sync both leave, in their order");
	say(fd, FREAD2(KEY_EMPTY, L9, "0000000000000005"));
	say(other, FREAD2(KEY_EMPTY, L9, "0000000000000005"));
	say(other, ADD2("0000", KEY_EMPTY, HELLO_OF(L9, E1, E0)));
	expect_silence(fd, "ENOENTRY of a fencing read waits for the fence");
	expect_silence(other, "so does that of the next, and EFENCED");
	sync_all();
	expect(fd, READ2_FAILED(ENOENTRY2, L9, "0000000000000005"),
	    "then it is told");
	expect(other,
	    READ2_FAILED(ENOENTRY2, L9, "0000000000000005")
		ADDED2(EFENCED2, L9, E1),
	    "and to the other one too");
	hang_up(fd);
	hang_up(other);
}

static void
test_put_back(void)
{
	int fd = dial(), other = dial();

	fake.full = true;
	say(fd,
	    ADD2("0000", KEY_EMPTY, HELLO_OF("000000000000000a", E0, MINUS1))
		FREAD2(KEY_EMPTY, "000000000000000a", E0));
	sync_all();
	expect_silence(fd, "without room an add waits, and all behind it");
	say(other, READ2("000000000000000a", E0));
	expect(other, READ2_FAILED(ENOLEDGER2, "000000000000000a", E0),
	    "nothing of it was done");
	server_room(server);
	expect_silence(fd, "room that is none changes nothing");
	fake.full = false;
	server_room(server);
	turns();
	sync_all();
	expect(fd,
	    ADDED2(OK2, "000000000000000a",
		E0) "00000041 02020000 00000000 000000000000000a" E0
		HELLO_OF("000000000000000a", E0, MINUS1),
	    "with room it is stored, and then the fence set");
	fake.full = true;
	say(fd,
	    ADD2("0006", KEY_EMPTY, HELLO_OF("000000000000000a", E0, MINUS1)));
	hang_up(fd);
	fake.full = false;
	server_room(server);
	sync_all();
	hang_up(other);
	is_int(server_connections(server), 0,
	    "a peer that left meanwhile is noticed");
}

static void
test_bad_frames(void)
{
	int fd = dial();

	say(fd,
	    ADD2("0000", KEY_EMPTY,
		HELLO_OF("000000000000000b", E0,
		    MINUS1)) "00000014 02090000" L1 E0 READ2(L1, E0));
	expect_silence(fd, "an answer is earned, and a bad frame came behind");
	sync_all();
	expect(fd, ADDED2(OK2, "000000000000000b", E0),
	    "the answer leaves first");
	expect_end(fd, "then the connection ends, and not by a reset");
	fd = dial();
	say(fd,
	    ADD2("0000", KEY_EMPTY,
		HELLO_OF("000000000000000b", E1,
		    E0)) "474554202f20485454502f312e310d0a");
	sync_all();
	expect(fd, ADDED2(OK2, "000000000000000b", E1), "the same with HTTP");
	expect_end(fd, "which ends it");
	fd = dial();
	say(fd, ADD2("0000", KEY_EMPTY, HELLO_OF("000000000000000b", E2, E1)));
	(void)shutdown(fd, SHUT_WR);
	turns();
	sync_all();
	expect(fd, ADDED2(OK2, "000000000000000b", E2),
	    "a peer that closed its half still gets its answer");
	expect_end(fd, "and then the end");
	fd = dial();
	say(fd, "00000018 02020000" L1 E0 "01020304");
	expect_end(fd, "left-over bytes end the connection");
	fd = dial();
	say(fd, "00000011 0a06 0803 100c 1871 a20606 08e09d25 1000");
	expect_end(fd, "so does an operation that is not built");
}

static void
test_slow_reads(void)
{
	int fd = dial(), gone = dial();
	int before = fake.reads - fake.releases;

	fake.slow = true;
	say(gone, READ2(L1, E0));
	hang_up(gone);
	say(fd, READ2(L1, E0));
	say(fd,
	    "00000028 02070000" L1 E0
	    "000000000000002a 00000002 0000000000500000");
	expect_silence(fd, "reads are on their way");
	fake_reads_done();
	expect(fd,
	    READ2_OK(E0, HELLO) "0000007a 02070000 00000000" L1 E0
				"000000000000002a 00000029" HELLO
				"00000029" WORLD,
	    "they are answered when they come, a batch entry by entry");
	fake.slow = false;
	say(fd, READ2(L1, E1) "00000014 02090000" L1 E0);
	expect(fd, READ2_OK(E1, WORLD),
	    "a read before a bad frame is answered");
	expect_end(fd, "and the connection ends");
	is_int(fake.reads - fake.releases, before,
	    "every entry read was given back, also a gone peer's");
}

#define POLL(timeout, previous) \
	"00000020 0a06 0803 1001 1806 a20615 080c 10" V_MINUS1 "20" previous \
	"28" timeout "a00602"
#define POLL_EMPTY(lac) \
	"0000001e 0a06 0803 1001 1806 1000 a20611 0800 100c 18" V_MINUS1 \
	"28" lac
#define ADD3(txn, entry, lac) \
	"00000050 0a06 0803 1002 18" txn "aa0645 080c 1000 1a14" KEY_EMPTY \
	"2229 000000000000000c" entry lac "0000000000000005e3a5f74d68656c6c6f"
#define ADDED3(txn) \
	"00000013 0a06 0803 1002 18" txn "1000 aa0606 0800 100c 1800"

static void
test_long_poll(void)
{
	int fd = dial(), other = dial(), gone = dial();
	uint8_t got[80];
	bool ended;

	ask(fd, POLL("e807", "00"),
	    "0000001e 0a06 0803 1001 1806 109203 a20610 089203 100c 18" V_MINUS1,
	    "a poll of an unknown ledger is ENOLEDGER at once");
	ask(other, ADD3("01", E0, MINUS1) ADD3("02", E1, E0),
	    ADDED3("01") ADDED3("02"), "entries 0 and 1, LAC 0");
	ask(fd, POLL("8a01", "00"), POLL_EMPTY("00"),
	    "a poll ends empty with its time");
	say(fd, POLL("ff7f", "00"));
	say(gone, POLL("ff7f", "00"));
	say(gone, POLL("ff7f", "00"));
	expect_silence(fd, "a poll waits");
	is_int(server_polls(server), 3, "as do two of another peer");
	hang_up(gone);
	is_int(server_polls(server), 1, "which leaves, and they with it");
	say(other, ADD3("03", E2, E1));
	is_int(hear(fd, got, 75, &ended), 75, "a rising LAC wakes it");
	is_mem(got + 4, 10, "\x0a\x06\x08\x03\x10\x01\x18\x06\x10\x00", 10,
	    "with EOK");
	is_mem(got + 17, 6, "\x08\x00\x10\x0c\x18\x01", 6,
	    "and the entry right after what its reader knew");
	sync_all();
	expect(other, ADDED3("03"), "the add itself waited for its sync");
	say(fd, POLL("ff7f", "01"));
	say(other,
	    "00000031 0a06 0803 1001 1805 a20626 080c 10" V_MINUS1
	    "1a14" KEY_EMPTY "a00601");
	expect(fd, POLL_EMPTY("01"), "a fence ends a poll, empty");
	is_int(server_polls(server), 0, "no poll is left");
	ask(fd,
	    "00000017 0a06 0803 1001 1806 a2060c 080c 1000 2000 28ac02 a00602",
	    "00000015 0a06 0803 1001 1806 109403 a20607 089403 100c 1800",
	    "a poll with its entry must ask for -1");
	hang_up(fd);
	hang_up(other);
}

static void
stopped(void *arg)
{
	*(bool *)arg = true;
}

static void
test_stop(void)
{
	int fd = dial(), idle = dial();
	bool done = false;

	say(fd,
	    ADD2("0000", KEY_EMPTY, HELLO_OF("000000000000000d", E0, MINUS1)));
	server_stop(server, LIMIT, stopped, &done);
	turns();
	ok(!done, "a bookie that ends waits for answers on their way");
	sync_all();
	expect(fd, ADDED2(OK2, "000000000000000d", E0), "which still leave");
	expect_end(fd, "then it hangs up");
	expect_end(idle, "on everyone");
	ok(bk_loop_run_until(loop, &done, bk_clock_now() + LIMIT),
	    "and is done");
}

int
main(void)
{
	struct server_config config = {
	    .max_connections = 100,
	    .max_owed = 1000000,
	    .frame_timeout = LIMIT,
	    .write_timeout = LIMIT,
	};

	bk_log_init("bookie_requests", BK_LOG_ERROR, true);
	fake.moved = moved;
	loop = bk_loop_new();
	if (loop == NULL || (server = server_new(loop, &fake, &config)) == NULL)
		err(1, "server");
	test_v2_examples();
	test_v2_refusals();
	test_v3_examples();
	test_lac_alone();
	test_order();
	test_put_back();
	test_bad_frames();
	test_slow_reads();
	test_long_poll();
	test_stop();
	server_free(server);
	bk_loop_free(loop);
	fake_fini();
	return (tap_done());
}
