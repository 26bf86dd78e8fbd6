/*
 * bookie_requests.c - the bookie's answers to single requests, over a store in
 * the test's hands (bookie-protocol.md 5 and 8).
 */
#include "t/unit/fakepeer.h"

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

int
main(void)
{
	begin("bookie_requests");
	test_v2_examples();
	test_v2_refusals();
	test_v3_examples();
	test_lac_alone();
	finish();
	return (tap_done());
}
