/* unacked.c - the file of what was not stored. */
#include "bk-add/unacked.h"

#include "base/log.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sysexits.h>
#include <unistd.h>

static int
open_file(const struct options *o)
{
	return (
	    open(o->unacked, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666));
}

int
unacked_prepare(const struct options *o)
{
	int fd;

	if (o->unacked == NULL)
		return (0);
	if ((fd = open_file(o)) != -1 && close(fd) == 0)
		return (0);
	bk_log(BK_LOG_ERROR, "%s: %s", o->unacked, strerror(errno));
	return (-1);
}

static int
put_entries(const struct options *o, struct pending *pending,
    const struct input_entry *held, struct bk_buf *out)
{
	const struct pending_entry *e;

	while (pending != NULL && (e = pending_first(pending)) != NULL) {
		if (bk_frame_put(&o->framing, pending_payload(pending),
			e->ended, out) == -1)
			return (-1);
		pending_pop(pending);
	}
	if (held == NULL)
		return (0);
	return (
	    bk_frame_put(&o->framing, held->cut.payload, held->cut.ended, out));
}

static int
write_buf(int fd, struct bk_buf *b)
{
	ssize_t n;

	while (bk_buf_len(b) > 0) {
		n = write(fd, bk_buf_head(b), bk_buf_len(b));
		if (n == -1 && errno != EINTR)
			return (-1);
		if (n > 0)
			bk_buf_consume(b, (size_t)n);
	}
	return (0);
}

int
unacked_write(const struct options *o, struct pending *pending,
    const struct input_entry *held, struct input *in, bool all, int status)
{
	struct bk_buf entries;
	int fd = open_file(o);

	bk_buf_init(&entries);
	if (fd == -1 || put_entries(o, pending, held, &entries) == -1 ||
	    write_buf(fd, &entries) == -1 || input_drain(in, fd, all) == -1 ||
	    close(fd) == -1) {
		bk_log(BK_LOG_ERROR, "%s: %s", o->unacked, strerror(errno));
		status = EX_IOERR;
	}
	bk_buf_fini(&entries);
	return (status);
}
