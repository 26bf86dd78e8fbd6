/*
 * fakepeer.h - peers of a bookie's server over fakestore.h: what they say and
 * hear, in hex. Included by one test program.
 */
#ifndef FAKEPEER_H
#define FAKEPEER_H

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

static inline void
moved(int64_t ledger_id, bool fenced, bool gone)
{
	server_moved(server, ledger_id, fenced, gone);
}

static inline void
turns(void)
{
	int i;

	for (i = 0; i < 4; i++)
		(void)bk_loop_run_until(loop, &never, bk_clock_now() + BK_MS);
}

/* Everything so far is on disk. */
static inline void
sync_all(void)
{
	fake.synced = fake.filling++;
	server_synced(server, fake.synced);
}

static inline int
dial(void)
{
	int ends[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends) == -1 ||
	    server_adopt(server, ends[1]) == -1)
		err(1, "dial");
	return (ends[0]);
}

static inline void
hang_up(int fd)
{
	(void)close(fd);
	turns();
}

static inline size_t
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

static inline void
say(int fd, const char *hex)
{
	static uint8_t bytes[65536];
	size_t n = from_hex(hex, bytes);

	if (send(fd, bytes, n, 0) != (ssize_t)n)
		err(1, "send");
	turns();
}

/* Whatever comes, until as much as wanted is there, or the end. */
static inline size_t
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

static inline void
expect(int fd, const char *hex, const char *claim)
{
	static uint8_t want[65536], got[65536];
	size_t n = from_hex(hex, want), m;
	bool ended;

	m = hear(fd, got, n, &ended);
	is_mem(got, m, want, n, "%s", claim);
}

static inline void
expect_silence(int fd, const char *claim)
{
	uint8_t byte;

	turns();
	ok(recv(fd, &byte, 1, 0) == -1 && errno == EAGAIN, "%s", claim);
}

static inline void
expect_end(int fd, const char *claim)
{
	uint8_t byte;
	bool ended;

	ok(hear(fd, &byte, 1, &ended) == 0 && ended, "%s", claim);
	hang_up(fd);
}

/* Ask, sync, and compare. */
static inline void
ask(int fd, const char *request, const char *answer, const char *claim)
{
	say(fd, request);
	sync_all();
	expect(fd, answer, claim);
}

static inline void
begin(const char *program)
{
	static const struct server_config config = {
	    .max_connections = 100,
	    .max_owed = 1000000,
	    .frame_timeout = LIMIT,
	    .write_timeout = LIMIT,
	};

	bk_log_init(program, BK_LOG_ERROR, true);
	fake.moved = moved;
	loop = bk_loop_new();
	if (loop == NULL || (server = server_new(loop, &fake, &config)) == NULL)
		err(1, "server");
}

static inline void
finish(void)
{
	server_free(server);
	bk_loop_free(loop);
	fake_fini();
}

#endif
