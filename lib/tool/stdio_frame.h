/*
 * stdio_frame.h - entries out of a byte stream and back: lines, NUL or other
 * delimiters, length-framed, whole, raw chunks (cli.md 1.1). Byte-exact: any
 * byte value, a last line without newline, empty lines.
 */
#ifndef BK_STDIO_FRAME_H
#define BK_STDIO_FRAME_H

#include "base/buf.h"
#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>

#define BK_DELIM_MAX 16
#define BK_CHUNK 65536 /* bytes of a raw chunk, by default */

enum bk_framing {
	BK_FRAME_DELIM,  /* delimiter of 1 to 16 bytes; "\n" by default */
	BK_FRAME_LENGTH, /* -r: 4-byte big-endian length before each */
	BK_FRAME_WHOLE,  /* -w: the whole stream is one entry, also if empty */
	BK_FRAME_RAW,    /* --raw: chunks of up to chunk bytes, as they come */
};

struct bk_framing_spec {
	enum bk_framing how;
	char delim[BK_DELIM_MAX];
	size_t delim_len;
	size_t chunk;
	size_t max; /* largest entry accepted */
	bool split; /* cut what is longer instead of refusing */
	bool skip_empty;
};

/* Delimiter text with \n \t \r \0 \\ \xNN; 0, or -1 (empty, too long, unknown
 * escape). */
int bk_delim_parse(const char *text, char out[BK_DELIM_MAX], size_t *len);

/* One entry as it was cut. */
struct bk_cut {
	struct bk_bytes payload; /* a slice, valid until the next room() */
	uint64_t number;         /* line or frame it is of, from 1 */
	bool ended;              /* the frame ends with it: false for a last
	                            line without delimiter, and for all but the
	                            last piece of a split one */
};

/* Append an entry as it stood in the input; 0, or -1 when out of memory. */
int bk_frame_put(const struct bk_framing_spec *spec, struct bk_bytes payload,
    bool ended, struct bk_buf *out);

/*
 * Cuts entries out of what was read: room(), read(2), commit(), then next()
 * until it has no more; at the end of the input eof(), and next() again.
 */
struct bk_cutter;

/* NULL when out of memory. */
struct bk_cutter *bk_cutter_new(const struct bk_framing_spec *spec);
void bk_cutter_free(struct bk_cutter *c);
/* Where to read to, and how much at most, at least 1; NULL when out of memory.
 * At most the start of an entry of spec->max bytes is kept. */
uint8_t *bk_cutter_room(struct bk_cutter *c, size_t *len);
void bk_cutter_commit(struct bk_cutter *c, size_t len);
/* No more input. */
void bk_cutter_eof(struct bk_cutter *c);
/* The next whole entry. BK_OK; BK_ENOENTRY: read more (or, after eof, all
 * done); BK_ETOOBIG: over max; BK_EPROTO: the input ends within a frame. After
 * an error nothing more is cut; the number says where it is. */
enum bk_status bk_cutter_next(struct bk_cutter *c, struct bk_cut *cut);
/* What was read and not returned, from the unfinished or refused entry on. */
struct bk_bytes bk_cutter_rest(const struct bk_cutter *c);
/* How many bytes may be read so that the entry already begun can end, and none
 * of the next one: 0 when none is begun. For programs that must leave the rest
 * of their input to a successor. */
size_t bk_cutter_needs(const struct bk_cutter *c);

#endif
