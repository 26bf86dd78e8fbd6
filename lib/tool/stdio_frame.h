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

enum bk_framing {
	BK_FRAME_DELIM,   /* delimiter of 1 to 16 bytes; "\n" by default */
	BK_FRAME_LENGTH,  /* -r: 4-byte big-endian length before each */
	BK_FRAME_WHOLE,   /* -w: the whole stream is one entry */
	BK_FRAME_RAW,     /* --raw: chunks of up to chunk bytes, as they come */
};

struct bk_framing_spec {
	enum bk_framing how;
	char delim[16];
	size_t delim_len;
	size_t chunk;
	size_t max;        /* largest entry accepted */
	bool split;        /* cut what is longer instead of refusing */
	bool skip_empty;
};

/* Delimiter text with \n \t \0 \\ \xNN; 0, or -1. */
int bk_delim_parse(const char *text, char out[16], size_t *len);

/* Cuts entries out of what was read. */
struct bk_cutter;
struct bk_cutter *bk_cutter_new(const struct bk_framing_spec *spec);
void bk_cutter_free(struct bk_cutter *c);
/* Room for at least one read(2); commit what came. */
uint8_t *bk_cutter_room(struct bk_cutter *c, size_t *len);
void bk_cutter_commit(struct bk_cutter *c, size_t len);
/* How many bytes may still be read before the current entry is at an end,
 * for programs that must leave the rest of stdin unread; SIZE_MAX unknown. */
/* No more input. */
void bk_cutter_eof(struct bk_cutter *c);
/* The next whole entry: BK_OK and a slice valid until the next room() call;
 * BK_ENOENTRY: read more (or all done after eof); BK_ETOOBIG: over max;
 * BK_EPROTO: broken length frame. number counts entries (lines) from 1. */
enum bk_status bk_cutter_next(struct bk_cutter *c, struct bk_bytes *entry,
    uint64_t *number);
/* Bytes read and not yet returned as an entry (the unfinished one). */
struct bk_bytes bk_cutter_rest(const struct bk_cutter *c);

#endif
