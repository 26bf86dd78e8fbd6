/*
 * frame ADDRESS STEP...: a raw client of the bookie protocol. On one
 * connection to HOST:PORT or unix:PATH it takes the steps in turn:
 *
 *	send HEX   bytes; blanks in HEX are ignored
 *	recv N     wait for N frames and print each as hex, a line each
 *	shut       close our half
 *	end        wait for the end; print "end", or "reset"
 *	quiet MS   fail if anything comes within that time
 *
 * Exit status 1 when a step does not succeed within its time: 10 s, or that of
 * "limit MS" before it.
 */
#include "base/buf.h"
#include "loop/addr.h"

#include <ctype.h>
#include <err.h>
#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static int sock;
static int limit_ms = 10000;
static struct bk_buf in;

static int
dial_tcp(const char *address)
{
	struct addrinfo hints = {.ai_socktype = SOCK_STREAM}, *list;
	char host[256], service[8];
	uint16_t port;
	int fd = -1;

	if (bk_addr_split(address, host, sizeof(host), &port) == -1)
		errx(64, "%s: no address", address);
	(void)snprintf(service, sizeof(service), "%u", port);
	if (getaddrinfo(host, service, &hints, &list) != 0)
		errx(1, "%s: unknown", address);
	for (struct addrinfo *a = list; a != NULL && fd == -1; a = a->ai_next) {
		fd = socket(a->ai_family, SOCK_STREAM, 0);
		if (fd != -1 && connect(fd, a->ai_addr, a->ai_addrlen) == -1) {
			(void)close(fd);
			fd = -1;
		}
	}
	freeaddrinfo(list);
	return (fd);
}

static int
dial(const char *address)
{
	int fd;

	if (strncmp(address, "unix:", 5) != 0)
		return (dial_tcp(address));
	fd = socket(AF_UNIX, SOCK_STREAM, 0);
	return (fd != -1 && bk_unix_connect(fd, address + 5) == 0 ? fd : -1);
}

static void
send_hex(const char *hex)
{
	struct bk_buf out;
	unsigned byte;
	ssize_t n;

	bk_buf_init(&out);
	for (; *hex != '\0'; hex++) {
		if (isspace((unsigned char)*hex))
			continue;
		if (sscanf(hex, "%2x", &byte) != 1 ||
		    bk_buf_put_u8(&out, (uint8_t)byte) == -1)
			errx(64, "bad hex: %.20s", hex);
		hex++;
	}
	while (bk_buf_len(&out) > 0) {
		n = send(sock, bk_buf_head(&out), bk_buf_len(&out),
		    MSG_NOSIGNAL);
		if (n == -1)
			err(1, "send");
		bk_buf_consume(&out, (size_t)n);
	}
	bk_buf_fini(&out);
}

/* More bytes: 1; 0 at the end, -1 with errno, ETIMEDOUT after ms. */
static int
more(int ms)
{
	struct pollfd p = {.fd = sock, .events = POLLIN};
	uint8_t *room = bk_buf_reserve(&in, 65536);
	ssize_t n;
	int r = poll(&p, 1, ms);

	if (r == 0)
		errno = ETIMEDOUT;
	if (r <= 0 || room == NULL)
		return (-1);
	n = recv(sock, room, 65536, 0);
	if (n > 0)
		bk_buf_commit(&in, (size_t)n);
	return (n > 0 ? 1 : (int)n);
}

static int
has_frame(void)
{
	return (bk_buf_len(&in) >= 4 &&
	    bk_buf_len(&in) - 4 >= bk_be32_get(bk_buf_head(&in)));
}

static void
print_frame(void)
{
	size_t n = 4 + bk_be32_get(bk_buf_head(&in));

	for (size_t i = 0; i < n; i++)
		(void)printf("%02x", bk_buf_head(&in)[i]);
	(void)printf("\n");
	bk_buf_consume(&in, n);
}

static void
recv_frames(long count)
{
	int r;

	for (; count > 0; count--) {
		while (!has_frame()) {
			r = more(limit_ms);
			if (r == 0)
				errx(1, "%ld frames missing at the end", count);
			if (r == -1)
				err(1, "%ld frames missing", count);
		}
		print_frame();
	}
}

static void
await_end(void)
{
	int r = more(limit_ms);

	if (r == 1)
		errx(1, "more bytes where the end should be");
	if (r == -1 && errno != ECONNRESET)
		err(1, "end");
	(void)printf(r == 0 ? "end\n" : "reset\n");
}

static void
be_quiet(int ms)
{
	if (more(ms) != -1 || errno != ETIMEDOUT)
		errx(1, "not quiet");
}

int
main(int argc, char **argv)
{
	const char *step, *value;

	if (argc < 2)
		errx(64, "usage: frame ADDRESS STEP...");
	if ((sock = dial(argv[1])) == -1)
		err(1, "%s", argv[1]);
	(void)setvbuf(stdout, NULL, _IOLBF, 0);
	bk_buf_init(&in);
	for (int i = 2; i < argc; i++) {
		step = argv[i];
		if (strcmp(step, "shut") == 0) {
			(void)shutdown(sock, SHUT_WR);
			continue;
		}
		if (strcmp(step, "end") == 0) {
			await_end();
			continue;
		}
		if ((value = argv[++i]) == NULL)
			errx(64, "%s: needs a value", step);
		if (strcmp(step, "send") == 0)
			send_hex(value);
		else if (strcmp(step, "recv") == 0)
			recv_frames(strtol(value, NULL, 10));
		else if (strcmp(step, "quiet") == 0)
			be_quiet(atoi(value));
		else if (strcmp(step, "limit") == 0)
			limit_ms = atoi(value);
		else
			errx(64, "%s: no such step", step);
	}
	bk_buf_fini(&in);
	return (0);
}
