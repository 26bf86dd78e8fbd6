/*
 * raw_echo.c - the floor under measurement 3: 128 bytes in over loopback, one
 * aligned 4 KiB write and fdatasync into a file written once before, 24 bytes
 * back, one at a time. Prints the latencies of N round trips in microseconds:
 * p50 p99.
 *
 *	raw_echo FILE [N]
 */
#include "base/hist.h"
#include "loop/loop.h"

#include <arpa/inet.h>
#include <err.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define REQUEST 128
#define ANSWER 24
#define BLOCK 4096
#define FILE_BLOCKS 4096

static int64_t
now(void)
{
	struct timespec ts;

	(void)clock_gettime(CLOCK_MONOTONIC, &ts);
	return ((int64_t)ts.tv_sec * BK_SECOND + ts.tv_nsec);
}

static int
transfer(int fd, uint8_t *p, size_t len, int out)
{
	ssize_t n;

	while (len > 0) {
		n = out ? write(fd, p, len) : read(fd, p, len);
		if (n <= 0)
			return (-1);
		p += n;
		len -= (size_t)n;
	}
	return (0);
}

/* Write the whole file once, so that syncs move no metadata. */
static int
prepare(const char *path, uint8_t *block)
{
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	int i;

	if (fd == -1)
		err(1, "%s", path);
	for (i = 0; i < FILE_BLOCKS; i++)
		if (write(fd, block, BLOCK) != BLOCK)
			err(1, "%s", path);
	if (fsync(fd) != 0)
		err(1, "%s", path);
	return (fd);
}

static void
serve(int conn, int file, uint8_t *block)
{
	off_t at = 0;

	while (transfer(conn, block, REQUEST, 0) == 0) {
		if (pwrite(file, block, BLOCK, at) != BLOCK ||
		    fdatasync(file) != 0)
			err(1, "write");
		at = (at + BLOCK) % (BLOCK * FILE_BLOCKS);
		if (transfer(conn, block, ANSWER, 1) != 0)
			break;
	}
	_exit(0);
}

static int
connected(int *server)
{
	struct sockaddr_in a = {.sin_family = AF_INET};
	socklen_t len = sizeof(a);
	int one = 1, listener = socket(AF_INET, SOCK_STREAM, 0);
	int client = socket(AF_INET, SOCK_STREAM, 0);

	a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (bind(listener, (struct sockaddr *)&a, sizeof(a)) != 0 ||
	    listen(listener, 1) != 0 ||
	    getsockname(listener, (struct sockaddr *)&a, &len) != 0 ||
	    connect(client, (struct sockaddr *)&a, sizeof(a)) != 0 ||
	    (*server = accept(listener, NULL, NULL)) == -1)
		err(1, "loopback");
	(void)setsockopt(client, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	(void)setsockopt(*server, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	(void)close(listener);
	return (client);
}

int
main(int argc, char **argv)
{
	static struct bk_hist hist;
	static uint8_t block[BLOCK] __attribute__((aligned(BLOCK)));
	int n = argc > 2 ? atoi(argv[2]) : 20000, i, server, client, file;
	int64_t start;
	pid_t pid;

	if (argc < 2)
		errx(64, "usage: raw_echo FILE [N]");
	file = prepare(argv[1], block);
	client = connected(&server);
	if ((pid = fork()) == 0) {
		(void)close(client);
		serve(server, file, block);
	}
	(void)close(server);
	for (i = 0; i < n; i++) {
		start = now();
		if (transfer(client, block, REQUEST, 1) != 0 ||
		    transfer(client, block, ANSWER, 0) != 0)
			errx(1, "the server has gone");
		bk_hist_add(&hist, (uint64_t)(now() - start));
	}
	(void)close(client);
	(void)waitpid(pid, NULL, 0);
	(void)unlink(argv[1]);
	printf("%.1f %.1f\n", (double)bk_hist_quantile(&hist, 0.5) / 1e3,
	    (double)bk_hist_quantile(&hist, 0.99) / 1e3);
	return (0);
}
