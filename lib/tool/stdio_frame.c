/* stdio_frame.c - cutting a byte stream into entries. */
#include "tool/stdio_frame.h"

#include "tool/format.h"

#include <stdlib.h>
#include <string.h>

#define READ_SIZE 131072 /* twice what a pipe holds */
#define LENGTH_SIZE 4

struct bk_cutter {
	struct bk_framing_spec spec;
	struct bk_buf buf;
	size_t scanned;  /* of buf, where no delimiter begins */
	uint64_t number; /* of the entry in progress */
	bool begun;      /* split: pieces of it were returned */
	bool eof;
	bool done; /* WHOLE: the entry was returned */
};

int
bk_delim_parse(const char *text, char out[BK_DELIM_MAX], size_t *len)
{
	size_t n = 0;
	int byte;

	while (*text != '\0') {
		if (n == BK_DELIM_MAX)
			return (-1);
		byte = (unsigned char)*text++;
		if (byte == '\\' && (byte = bk_escape_parse(&text)) == -1)
			return (-1);
		out[n++] = (char)byte;
	}
	*len = n;
	return (n > 0 ? 0 : -1);
}

int
bk_frame_put(const struct bk_framing_spec *spec, struct bk_bytes payload,
    bool ended, struct bk_buf *out)
{
	size_t len = bk_buf_len(out);

	if (spec->how == BK_FRAME_LENGTH &&
	    bk_buf_put_u32(out, (uint32_t)payload.len) == -1)
		return (-1);
	if (bk_buf_put(out, payload.data, payload.len) == -1 ||
	    (spec->how == BK_FRAME_DELIM && ended &&
		bk_buf_put(out, spec->delim, spec->delim_len) == -1)) {
		out->end = out->start + len;
		return (-1);
	}
	return (0);
}

struct bk_cutter *
bk_cutter_new(const struct bk_framing_spec *spec)
{
	struct bk_cutter *c = calloc(1, sizeof(*c));

	if (c == NULL)
		return (NULL);
	c->spec = *spec;
	c->number = 1;
	bk_buf_init(&c->buf);
	return (c);
}

void
bk_cutter_free(struct bk_cutter *c)
{
	if (c == NULL)
		return;
	bk_buf_fini(&c->buf);
	free(c);
}

uint8_t *
bk_cutter_room(struct bk_cutter *c, size_t *len)
{
	if (bk_buf_len(&c->buf) == 0)
		c->buf.start = c->buf.end = 0;
	*len = READ_SIZE;
	if (c->spec.how == BK_FRAME_RAW && c->spec.chunk > READ_SIZE)
		*len = c->spec.chunk;
	return (bk_buf_reserve(&c->buf, *len));
}

void
bk_cutter_commit(struct bk_cutter *c, size_t len)
{
	bk_buf_commit(&c->buf, len);
}

void
bk_cutter_eof(struct bk_cutter *c)
{
	c->eof = true;
}

/* Hand over the first len bytes of the buffer, skip those of its frame. The
 * slice stays where it is: consuming moves nothing. */
static enum bk_status
take(struct bk_cutter *c, struct bk_cut *cut, size_t head, size_t len,
    size_t tail, bool ended)
{
	cut->payload.data = len > 0 ? bk_buf_head(&c->buf) + head : NULL;
	cut->payload.len = len;
	cut->number = c->number;
	cut->ended = ended;
	c->buf.start += head + len + tail;
	c->scanned = 0;
	c->begun = !ended;
	if (ended)
		c->number++;
	return (BK_OK);
}

/* Whether the entry of len bytes is not to be stored at all. */
static bool
is_skipped(const struct bk_cutter *c, size_t len)
{
	return (c->spec.skip_empty && len == 0 && !c->begun);
}

/* Of an entry over the limit. */
static enum bk_status
too_big(struct bk_cutter *c, struct bk_cut *cut)
{
	if (c->spec.split)
		return (take(c, cut, 0, c->spec.max, 0, false));
	cut->number = c->number;
	return (BK_ETOOBIG);
}

/* Where the next delimiter is; NULL, and remembered as far as looked. */
static const uint8_t *
find_delim(struct bk_cutter *c)
{
	size_t len = bk_buf_len(&c->buf), n = c->spec.delim_len;
	const uint8_t *head, *found;

	if (len < n)
		return (NULL);
	head = bk_buf_head(&c->buf);
	if (n == 1)
		found = memchr(head + c->scanned, c->spec.delim[0],
		    len - c->scanned);
	else
		found = memmem(head + c->scanned, len - c->scanned,
		    c->spec.delim, n);
	if (found == NULL)
		c->scanned = len - n + 1;
	return (found);
}

static enum bk_status
next_delim(struct bk_cutter *c, struct bk_cut *cut)
{
	const struct bk_framing_spec *s = &c->spec;
	const uint8_t *end;
	size_t len;

	for (;;) {
		end = find_delim(c);
		len = bk_buf_len(&c->buf);
		if (end != NULL)
			len = (size_t)(end - bk_buf_head(&c->buf));
		/* What may be the start of a delimiter is not counted yet. */
		if (len >
		    s->max + (end != NULL || c->eof ? 0 : s->delim_len - 1))
			return (too_big(c, cut));
		if (end == NULL)
			break;
		if (!is_skipped(c, len))
			return (take(c, cut, 0, len, s->delim_len, true));
		(void)take(c, cut, 0, len, s->delim_len, true);
	}
	if (!c->eof || len == 0)
		return (BK_ENOENTRY);
	return (take(c, cut, 0, len, 0, false));
}

static enum bk_status
next_length(struct bk_cutter *c, struct bk_cut *cut)
{
	size_t have, len;

	for (;;) {
		have = bk_buf_len(&c->buf);
		cut->number = c->number;
		if (have < LENGTH_SIZE)
			return (have > 0 && c->eof ? BK_EPROTO : BK_ENOENTRY);
		len = bk_be32_get(bk_buf_head(&c->buf));
		if (len > c->spec.max)
			return (BK_ETOOBIG);
		if (have - LENGTH_SIZE < len)
			return (c->eof ? BK_EPROTO : BK_ENOENTRY);
		if (!is_skipped(c, len))
			return (take(c, cut, LENGTH_SIZE, len, 0, true));
		(void)take(c, cut, LENGTH_SIZE, len, 0, true);
	}
}

static enum bk_status
next_whole(struct bk_cutter *c, struct bk_cut *cut)
{
	size_t len = bk_buf_len(&c->buf);

	if (len > c->spec.max)
		return (too_big(c, cut));
	if (!c->eof || c->done || is_skipped(c, len) || (c->begun && len == 0))
		return (BK_ENOENTRY);
	c->done = true;
	return (take(c, cut, 0, len, 0, true));
}

static enum bk_status
next_raw(struct bk_cutter *c, struct bk_cut *cut)
{
	size_t len = bk_buf_len(&c->buf);

	if (len == 0)
		return (BK_ENOENTRY);
	if (len > c->spec.chunk)
		len = c->spec.chunk;
	return (take(c, cut, 0, len, 0, true));
}

enum bk_status
bk_cutter_next(struct bk_cutter *c, struct bk_cut *cut)
{
	switch (c->spec.how) {
	case BK_FRAME_DELIM:
		return (next_delim(c, cut));
	case BK_FRAME_LENGTH:
		return (next_length(c, cut));
	case BK_FRAME_WHOLE:
		return (next_whole(c, cut));
	case BK_FRAME_RAW:
		return (next_raw(c, cut));
	}
	return (BK_EINVAL);
}

struct bk_bytes
bk_cutter_rest(const struct bk_cutter *c)
{
	struct bk_bytes rest = {NULL, bk_buf_len(&c->buf)};

	if (rest.len > 0)
		rest.data = bk_buf_head(&c->buf);
	return (rest);
}

size_t
bk_cutter_needs(const struct bk_cutter *c)
{
	size_t have = bk_buf_len(&c->buf);

	if (c->eof || (have == 0 && !c->begun))
		return (0);
	switch (c->spec.how) {
	case BK_FRAME_DELIM:
		return (1);
	case BK_FRAME_LENGTH:
		if (have < LENGTH_SIZE)
			return (LENGTH_SIZE - have);
		return (LENGTH_SIZE + bk_be32_get(bk_buf_head(&c->buf)) - have);
	case BK_FRAME_WHOLE:
		return (READ_SIZE);
	case BK_FRAME_RAW:
		return (0);
	}
	return (0);
}
