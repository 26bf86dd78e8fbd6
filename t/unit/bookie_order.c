/*
 * bookie_order.c - what a bookie answers when: after which sync, in which
 * order, and before which end (design/bookie.md 1 and 8).
 */
#include "t/unit/fakepeer.h"

/* Two entries of ledger 1, for those who read. */
static void
prepare(void)
{
	int fd = dial();

	ask(fd, ADD2("0000", KEY_EMPTY, HELLO) ADD2("0000", KEY_EMPTY, WORLD),
	    ADDED2(OK2, L1, E0) ADDED2(OK2, L1, E1), "two entries");
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
	begin("bookie_order");
	prepare();
	test_order();
	test_put_back();
	test_bad_frames();
	test_slow_reads();
	test_long_poll();
	test_stop();
	finish();
	return (tap_done());
}
