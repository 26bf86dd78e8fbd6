/*
 * format.h - output format strings ("%l:%e %s\n") and what goes into JSON
 * (cli.md 3.3). A format is compiled once.
 */
#ifndef BK_FORMAT_H
#define BK_FORMAT_H

#include "base/buf.h"

#include <stdbool.h>
#include <stdint.h>

/* What a token prints. */
struct bk_value {
	enum { BK_V_NONE, BK_V_INT, BK_V_TEXT, BK_V_BYTES } kind;
	int64_t number;
	struct bk_bytes bytes; /* TEXT, BYTES */
};

struct bk_format;

/* Compile; tokens lists the letters allowed ("seSRlncb"). NULL with *why
 * (thread-local text) telling what is wrong. */
struct bk_format *bk_format_parse(const char *text, const char *tokens,
    const char **why);
void bk_format_free(struct bk_format *f);
/* Whether the format asks for a token, so that what is not printed need not
 * be kept. */
bool bk_format_uses(const struct bk_format *f, char letter);

/*
 * Append one formatted item; value() fills *v, which is BK_V_NONE, for each
 * token's letter. 0, or -1 when out of memory. NONE prints nothing, or null
 * in {json}; %R prints a number as 4 bytes big-endian; {hex}, {b64} and {json}
 * encode, with U+FFFD for what is not UTF-8 in a JSON string; {iso} prints
 * milliseconds since 1970 as 2009-02-13T23:31:30.123Z.
 */
typedef void bk_value_fn(void *arg, char letter, struct bk_value *v);
int bk_format_put(const struct bk_format *f, bk_value_fn *value, void *arg,
    struct bk_buf *out);

/* The byte behind a backslash: \n \t \r \0 \\ \xNN; *text points behind the
 * backslash, and then behind the escape. -1 if it is none of these. */
int bk_escape_parse(const char **text);

/* Append; 0, or -1 when out of memory. */
int bk_put_number(struct bk_buf *out, int64_t n);
int bk_put_hex(struct bk_buf *out, struct bk_bytes bytes);
int bk_put_base64(struct bk_buf *out, struct bk_bytes bytes);
/* A JSON string, quotes included; what is not UTF-8 becomes U+FFFD. */
int bk_json_string(struct bk_buf *out, struct bk_bytes text);
/* "payload":"TEXT" if that loses nothing, else "payload_b64":"BASE64". */
int bk_json_payload(struct bk_buf *out, struct bk_bytes payload);
bool bk_utf8_valid(struct bk_bytes text);

#endif
