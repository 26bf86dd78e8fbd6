/* format.c - format strings, compiled into pieces. */
#include "tool/format.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum encoding { PLAIN, HEX, BASE64, JSON, ISO };

static const char *const encodings[] = {"", "hex", "b64", "json", "iso"};

/* Literal bytes, then a token, if letter is not 0. */
struct piece {
	size_t from, len; /* of the format's literals */
	char letter;
	enum encoding encoding;
};

struct bk_format {
	struct bk_buf literals;
	struct piece *pieces;
	size_t npieces;
};

static _Thread_local char problem[128];

static struct piece *
add_piece(struct bk_format *f)
{
	struct piece *more =
	    reallocarray(f->pieces, f->npieces + 1, sizeof(*more));

	if (more == NULL)
		return (NULL);
	f->pieces = more;
	more += f->npieces++;
	memset(more, 0, sizeof(*more));
	more->from = bk_buf_len(&f->literals);
	return (more);
}

/* "{hex}" behind a token. */
static int
parse_encoding(const char **text, enum encoding *encoding)
{
	const char *name = *text + 1;
	size_t len = strcspn(name, "}");

	for (size_t i = HEX; i <= ISO; i++)
		if (strlen(encodings[i]) == len && name[len] == '}' &&
		    memcmp(encodings[i], name, len) == 0) {
			*encoding = (enum encoding)i;
			*text = name + len + 1;
			return (0);
		}
	(void)snprintf(problem, sizeof(problem),
	    "unknown encoding '{%.20s'; there are {hex} {b64} {json} {iso}",
	    name);
	return (-1);
}

/* A token; *text points behind its "%". */
static int
parse_token(const char **text, const char *tokens, struct piece *p)
{
	char letter = *(*text)++;

	if (letter == '\0') {
		(void)snprintf(problem, sizeof(problem), "ends in %%");
		return (-1);
	}
	if (strchr(tokens, letter) == NULL) {
		(void)snprintf(problem, sizeof(problem),
		    "unknown token %%%c; there are %%%% and, each with %%: "
		    "%s",
		    letter, tokens);
		return (-1);
	}
	p->letter = letter;
	return (**text == '{' ? parse_encoding(text, &p->encoding) : 0);
}

static int
parse(struct bk_format *f, const char *text, const char *tokens)
{
	struct piece *p = add_piece(f);
	int byte;

	while (p != NULL && *text != '\0') {
		byte = (unsigned char)*text++;
		if (byte == '%' && *text != '%') {
			if (parse_token(&text, tokens, p) == -1)
				return (-1);
			p = add_piece(f);
			continue;
		}
		if (byte == '%')
			text++;
		if (byte == '\\' && (byte = bk_escape_parse(&text)) == -1) {
			(void)snprintf(problem, sizeof(problem),
			    "unknown escape; there are \\n \\t \\r \\0 \\\\ "
			    "\\xNN");
			return (-1);
		}
		if (bk_buf_put_u8(&f->literals, (uint8_t)byte) == -1)
			p = NULL;
		else
			p->len++;
	}
	if (p == NULL)
		(void)snprintf(problem, sizeof(problem), "out of memory");
	return (p == NULL ? -1 : 0);
}

struct bk_format *
bk_format_parse(const char *text, const char *tokens, const char **why)
{
	struct bk_format *f = calloc(1, sizeof(*f));

	*why = problem;
	if (f == NULL) {
		(void)snprintf(problem, sizeof(problem), "out of memory");
		return (NULL);
	}
	bk_buf_init(&f->literals);
	if (parse(f, text, tokens) == 0)
		return (f);
	bk_format_free(f);
	return (NULL);
}

void
bk_format_free(struct bk_format *f)
{
	if (f == NULL)
		return;
	bk_buf_fini(&f->literals);
	free(f->pieces);
	free(f);
}

bool
bk_format_uses(const struct bk_format *f, char letter)
{
	for (size_t i = 0; i < f->npieces; i++)
		if (f->pieces[i].letter == letter)
			return (true);
	return (false);
}

static int
put_time(struct bk_buf *out, int64_t ms)
{
	int64_t rest = ((ms % 1000) + 1000) % 1000;
	time_t seconds = (time_t)((ms - rest) / 1000);
	char text[64];
	struct tm tm;

	if (gmtime_r(&seconds, &tm) == NULL ||
	    strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%S", &tm) == 0)
		return (bk_put_number(out, ms));
	return (bk_buf_printf(out, "%s.%03dZ", text, (int)rest));
}

static int
put_int(struct bk_buf *out, const struct piece *p, int64_t n)
{
	if (p->letter == 'R')
		return (bk_buf_put_u32(out, (uint32_t)n));
	if (p->encoding == HEX)
		return (bk_buf_printf(out, "%llx", (unsigned long long)n));
	if (p->encoding == ISO)
		return (put_time(out, n));
	return (bk_put_number(out, n));
}

static int
put_value(struct bk_buf *out, const struct piece *p, const struct bk_value *v)
{
	if (v->kind == BK_V_INT)
		return (put_int(out, p, v->number));
	if (v->kind == BK_V_NONE)
		return (p->encoding == JSON ? bk_buf_put(out, "null", 4) : 0);
	switch (p->encoding) {
	case HEX:
		return (bk_put_hex(out, v->bytes));
	case BASE64:
		return (bk_put_base64(out, v->bytes));
	case JSON:
		return (bk_json_string(out, v->bytes));
	case PLAIN:
	case ISO:
		break;
	}
	return (bk_buf_put(out, v->bytes.data, v->bytes.len));
}

int
bk_format_put(const struct bk_format *f, bk_value_fn *value, void *arg,
    struct bk_buf *out)
{
	const uint8_t *literals = f->literals.data;

	for (const struct piece *p = f->pieces, *end = p + f->npieces; p < end;
	     p++) {
		struct bk_value v = {BK_V_NONE, 0, {NULL, 0}};

		if (p->len > 0 &&
		    bk_buf_put(out, literals + p->from, p->len) == -1)
			return (-1);
		if (p->letter == '\0')
			continue;
		value(arg, p->letter, &v);
		if (put_value(out, p, &v) == -1)
			return (-1);
	}
	return (0);
}
