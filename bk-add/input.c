/* input.c - reading sources one after the other, one cutter each. */
#include "bk-add/input.h"

#include "base/log.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>
#include <unistd.h>

struct input {
	const struct options *o;
	struct bk_loop *loop;
	void (*ready)(void *arg);
	void *arg;
	size_t source;
	size_t nsources;
	int fd; /* -1: none, or not yet */
	struct bk_cutter *cutter;
	struct bk_fd *watch;    /* NULL for what cannot be waited for */
	struct bk_timer *timer; /* reads that then */
	uint64_t number;        /* of the last entry given out */
	bool eof;               /* of the source */
	bool stopping, is_cut;
	int exit;
};

static void on_readable(void *arg, int fd, int what);
static void on_turn(void *arg);

struct input *
input_new(const struct options *o)
{
	struct input *in = calloc(1, sizeof(*in));

	if (in == NULL)
		return (NULL);
	in->o = o;
	in->fd = -1;
	in->nsources = o->nfiles > 0 ? o->nfiles : 1;
	return (in);
}

static void
close_source(struct input *in)
{
	bk_fd_free(in->watch);
	in->watch = NULL;
	if (in->fd > STDIN_FILENO)
		(void)close(in->fd);
	in->fd = -1;
	bk_cutter_free(in->cutter);
	in->cutter = NULL;
	in->eof = false;
	in->number = 0;
}

void
input_free(struct input *in)
{
	if (in == NULL)
		return;
	close_source(in);
	if (in->timer != NULL)
		bk_timer_free(in->timer);
	free(in);
}

int
input_start(struct input *in, struct bk_loop *loop, void (*ready)(void *arg),
    void *arg)
{
	in->loop = loop;
	in->ready = ready;
	in->arg = arg;
	in->timer = bk_timer_new(loop, on_turn, in);
	return (in->timer == NULL ? -1 : 0);
}

static const char *
source_name(const struct input *in, size_t source)
{
	if (in->o->nfiles == 0 || strcmp(in->o->files[source], "-") == 0)
		return ("standard input");
	return (in->o->files[source]);
}

static enum input_result
bad(struct input *in, int status)
{
	in->exit = status;
	in->is_cut = true;
	return (INPUT_BAD);
}

static enum input_result
bad_errno(struct input *in, int status)
{
	bk_log(BK_LOG_ERROR, "%s: %s", source_name(in, in->source),
	    strerror(errno));
	return (bad(in, status));
}

/* The argument is all the input there is. */
static int
feed_message(struct input *in)
{
	const char *text = in->o->message;
	size_t left = strlen(text), room;

	while (left > 0) {
		uint8_t *to = bk_cutter_room(in->cutter, &room);

		if (to == NULL)
			return (-1);
		if (room > left)
			room = left;
		memcpy(to, text, room);
		bk_cutter_commit(in->cutter, room);
		text += room;
		left -= room;
	}
	in->eof = true;
	bk_cutter_eof(in->cutter);
	return (0);
}

static int
open_descriptor(struct input *in)
{
	const char *file = in->o->nfiles > 0 ? in->o->files[in->source] : "-";

	if (strcmp(file, "-") == 0)
		in->fd = STDIN_FILENO;
	else
		in->fd = open(file, O_RDONLY | O_CLOEXEC);
	return (in->fd == -1 ? -1 : 0);
}

/* Open the source whose turn it is. 0, or an exit status with errno. */
static int
open_source(struct input *in)
{
	in->cutter = bk_cutter_new(&in->o->framing);
	if (in->cutter == NULL)
		return (EX_OSERR);
	if (in->o->message != NULL)
		return (feed_message(in) == -1 ? EX_OSERR : 0);
	if (open_descriptor(in) == -1)
		return (EX_NOINPUT);
	if (in->loop == NULL)
		return (0);
	/* A regular file is always readable, and cannot be waited for. */
	in->watch = bk_fd_new(in->loop, in->fd, BK_READABLE, on_readable, in);
	if (in->watch != NULL)
		bk_fd_want(in->watch, 0);
	else if (errno != EPERM)
		return (EX_OSERR);
	return (0);
}

/* How much may be read at once. */
static size_t
limit(const struct input *in, size_t room)
{
	size_t needs = bk_cutter_needs(in->cutter);

	return (in->stopping && needs < room ? needs : room);
}

static int
read_some(struct input *in)
{
	size_t room;
	uint8_t *to = bk_cutter_room(in->cutter, &room);
	ssize_t n = to == NULL ? -1 : read(in->fd, to, limit(in, room));

	if (n == -1 && (errno == EINTR || errno == EAGAIN))
		return (0);
	if (n == -1)
		return (-1);
	bk_cutter_commit(in->cutter, (size_t)n);
	if (n == 0) {
		in->eof = true;
		bk_cutter_eof(in->cutter);
	}
	return (0);
}

static void
read_and_tell(struct input *in)
{
	if (in->is_cut || in->cutter == NULL)
		return;
	if (read_some(in) == -1)
		(void)bad_errno(in, EX_IOERR);
	in->ready(in->arg);
}

static void
on_readable(void *arg, int fd, int what)
{
	struct input *in = arg;

	(void)fd;
	(void)what;
	bk_fd_want(in->watch, 0);
	read_and_tell(in);
}

static void
on_turn(void *arg)
{
	read_and_tell(arg);
}

static void
wait_for_more(struct input *in)
{
	if (in->watch != NULL)
		bk_fd_want(in->watch, BK_READABLE);
	else
		bk_timer_set(in->timer, 0);
}

/* Why no entry can be cut. */
static enum input_result
refuse(struct input *in, enum bk_status status, uint64_t number)
{
	const char *place = input_place(in, in->source, number);

	if (status == BK_ETOOBIG)
		bk_log(BK_LOG_ERROR,
		    "%s: over the limit of %zu bytes for an entry", place,
		    in->o->framing.max);
	else
		bk_log(BK_LOG_ERROR, "%s: the input ends within it", place);
	return (bad(in, EX_DATAERR));
}

static enum input_result
next_source(struct input *in)
{
	int status;

	if (in->cutter != NULL) {
		close_source(in);
		in->source++;
	}
	if (in->source == in->nsources || in->stopping)
		return (INPUT_END);
	status = open_source(in);
	return (status == 0 ? INPUT_WAIT : bad_errno(in, status));
}

enum input_result
input_next(struct input *in, struct input_entry *e)
{
	enum input_result result;
	enum bk_status status;

	while (!in->is_cut && in->source < in->nsources) {
		status = in->cutter == NULL ?
		    BK_ENOENTRY :
		    bk_cutter_next(in->cutter, &e->cut);
		if (status == BK_OK) {
			e->source = in->source;
			in->number = e->cut.number;
			return (INPUT_ENTRY);
		}
		if (status != BK_ENOENTRY)
			return (refuse(in, status, e->cut.number));
		if (in->cutter != NULL && !in->eof) {
			if (in->stopping && bk_cutter_needs(in->cutter) == 0)
				return (INPUT_END);
			wait_for_more(in);
			return (INPUT_WAIT);
		}
		result = next_source(in);
		if (result != INPUT_WAIT)
			return (result);
	}
	return (in->exit != 0 ? INPUT_BAD : INPUT_END);
}

int
input_exit(const struct input *in)
{
	return (in->exit);
}

void
input_stop(struct input *in)
{
	in->stopping = true;
}

void
input_cut(struct input *in)
{
	in->is_cut = true;
	bk_fd_free(in->watch);
	in->watch = NULL;
}

const char *
input_place(const struct input *in, size_t source, uint64_t number)
{
	static const char *const words[] = {
	    [BK_FRAME_DELIM] = "line",
	    [BK_FRAME_LENGTH] = "frame",
	    [BK_FRAME_WHOLE] = "entry",
	    [BK_FRAME_RAW] = "chunk",
	};
	static char text[512];
	const char *word = words[in->o->framing.how];

	if (in->o->nfiles == 0)
		(void)snprintf(text, sizeof(text), "%s %llu", word,
		    (unsigned long long)number);
	else
		(void)snprintf(text, sizeof(text), "%.400s: %s %llu",
		    source_name(in, source), word, (unsigned long long)number);
	return (text);
}

bool
input_has_rest(const struct input *in, size_t *source, uint64_t *number)
{
	if (in->cutter == NULL || bk_cutter_rest(in->cutter).len == 0)
		return (false);
	*source = in->source;
	*number = in->number + 1;
	return (true);
}

/* Draining. */

static int
write_all(int fd, const uint8_t *data, size_t len)
{
	ssize_t n;

	for (; len > 0; data += n, len -= (size_t)n) {
		n = write(fd, data, len);
		if (n == -1 && errno == EINTR)
			n = 0;
		else if (n == -1)
			return (-1);
	}
	return (0);
}

/* The rest of the source; last is the last byte written, and changed. */
static int
copy_source(struct input *in, int fd, bool all, uint8_t *last)
{
	struct bk_bytes rest = bk_cutter_rest(in->cutter);
	uint8_t data[65536];
	ssize_t n;

	if (rest.len > 0)
		*last = rest.data[rest.len - 1];
	if (write_all(fd, rest.data, rest.len) == -1)
		return (-1);
	while (all && !in->eof) {
		n = read(in->fd, data, sizeof(data));
		if (n == -1 && (errno == EINTR || errno == EAGAIN))
			continue;
		if (n <= 0)
			return ((int)n);
		*last = data[n - 1];
		if (write_all(fd, data, (size_t)n) == -1)
			return (-1);
	}
	return (0);
}

int
input_drain(struct input *in, int fd, bool all)
{
	const struct bk_framing_spec *f = &in->o->framing;
	uint8_t last =
		    f->delim_len > 0 ? (uint8_t)f->delim[f->delim_len - 1] : 0,
		end = last;

	for (; in->source < in->nsources; in->source++) {
		if (in->cutter == NULL && (!all || open_source(in) != 0))
			return (all ? -1 : 0);
		/* The last line of a file ends with it. */
		if (f->how == BK_FRAME_DELIM && last != end &&
		    write_all(fd, (const uint8_t *)f->delim, f->delim_len) ==
			-1)
			return (-1);
		if (copy_source(in, fd, all, &last) == -1)
			return (-1);
		close_source(in);
	}
	return (0);
}
