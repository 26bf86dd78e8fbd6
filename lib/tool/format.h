/*
 * format.h - output format strings ("%l:%e %s\n") and JSON objects
 * (cli.md 3.3). A format is compiled once.
 */
#ifndef BK_FORMAT_H
#define BK_FORMAT_H

#include "base/buf.h"

#include <stdbool.h>
#include <stdint.h>

/* What a token may print. */
struct bk_value {
	enum { BK_V_NONE, BK_V_INT, BK_V_TEXT, BK_V_BYTES } kind;
	int64_t number;
	struct bk_bytes bytes;
};

struct bk_format;

/* Compile; tokens lists the letters allowed ("seSRlncb"). NULL with *why
 * (static text or thread-local) naming the bad token. */
struct bk_format *bk_format_parse(const char *text, const char *tokens,
    const char **why);
void bk_format_free(struct bk_format *f);
/* Append one formatted item; value() is asked for each token's letter. 0, or
 * -1 (out of memory). %s prints bytes raw; %s{hex} {b64} {json} encoded; %R
 * prints BK_V_INT as 4 bytes big-endian. */
int bk_format_put(const struct bk_format *f,
    void (*value)(void *arg, char letter, struct bk_value *v), void *arg,
    struct bk_buf *out);
/* Append text as a JSON string, quotes included. Valid UTF-8 only. */
int bk_json_string(struct bk_buf *out, struct bk_bytes text);
bool bk_utf8_valid(struct bk_bytes text);
int bk_base64(struct bk_buf *out, struct bk_bytes bytes);

#endif
