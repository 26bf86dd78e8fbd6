/*
 * raw_read.c - the floor under measurement 7: the first BYTES of a file, not in
 * the page cache, read in order with pread in 1 MiB pieces, CRC-32C over each.
 * Prints bytes a second.
 *
 *	raw_read FILE BYTES
 */
#include "loop/loop.h"

#include <err.h>
#include <fcntl.h>
#include <isa-l/crc.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define PIECE (1 << 20)

static int64_t
now(void)
{
	struct timespec ts;

	(void)clock_gettime(CLOCK_MONOTONIC, &ts);
	return ((int64_t)ts.tv_sec * BK_SECOND + ts.tv_nsec);
}

int
main(int argc, char **argv)
{
	unsigned char *piece = malloc(PIECE);
	unsigned int crc = 0xffffffff;
	int64_t start, total = 0, want;
	ssize_t n;
	int fd;

	if (argc != 3 || piece == NULL)
		errx(64, "usage: raw_read FILE BYTES");
	want = atoll(argv[2]);
	if ((fd = open(argv[1], O_RDONLY | O_CLOEXEC)) == -1)
		err(1, "%s", argv[1]);
	(void)posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
	start = now();
	while (total < want && (n = pread(fd, piece, PIECE, total)) > 0) {
		crc = crc32_iscsi(piece, (int)n, crc);
		total += n;
	}
	printf("%.0f %08x\n",
	    (double)total * (double)BK_SECOND / (double)(now() - start), ~crc);
	return (0);
}
