/* out.c - rows for people, for pipes, for jq. */
#include "bk-ledger/out.h"

#include "base/buf.h"
#include "tool/format.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>
#include <unistd.h>

#define FLUSH_BYTES 65536

struct cell {
	enum { EMPTY, INTEGER, TEXT, BOOLEAN } kind;
	int64_t number;
	char *text;
};

struct out {
	const struct out_column *columns;
	size_t ncolumns;
	struct out_style style;
	struct bk_format *format;
	bool table;        /* a terminal: rows wait for their widths */
	struct cell *rows; /* nrows x ncolumns */
	size_t nrows, cap;
	struct cell row[OUT_COLUMNS_MAX];
	struct bk_buf buf;
};

static void
no_memory(void)
{
	(void)fputs("bk-ledger: out of memory\n", stderr);
	exit(EX_OSERR);
}

static struct bk_format *
parse_format(const struct out_column *columns, size_t n, const char *text)
{
	char letters[OUT_COLUMNS_MAX + 1];
	struct bk_format *f;
	const char *why;
	size_t i;

	for (i = 0; i < n; i++)
		letters[i] = columns[i].letter;
	letters[n] = '\0';
	if ((f = bk_format_parse(text, letters, &why)) == NULL)
		bk_usage("format '%s': %s", text, why);
	return (f);
}

struct out *
out_open(const struct out_column *columns, size_t n,
    const struct out_style *style)
{
	struct out *o = calloc(1, sizeof(*o));

	if (o == NULL)
		no_memory();
	o->columns = columns;
	o->ncolumns = n;
	o->style = *style;
	if (style->format != NULL)
		o->format = parse_format(columns, n, style->format);
	o->table =
	    !style->json && style->format == NULL && isatty(STDOUT_FILENO);
	bk_buf_init(&o->buf);
	return (o);
}

static struct cell *
cell(struct out *o, char letter)
{
	size_t i;

	for (i = 0; i < o->ncolumns; i++)
		if (o->columns[i].letter == letter)
			break;
	/* A letter that is no column is a mistake of ours. */
	if (i == o->ncolumns)
		abort();
	free(o->row[i].text);
	o->row[i].text = NULL;
	return (&o->row[i]);
}

void
out_int(struct out *o, char letter, int64_t value)
{
	struct cell *c = cell(o, letter);

	c->kind = INTEGER;
	c->number = value;
}

void
out_text(struct out *o, char letter, const char *text)
{
	struct cell *c = cell(o, letter);

	c->kind = TEXT;
	if ((c->text = strdup(text)) == NULL)
		no_memory();
}

void
out_bool(struct out *o, char letter, bool value)
{
	struct cell *c = cell(o, letter);

	c->kind = BOOLEAN;
	c->number = value;
}

void
out_human_size(int64_t bytes, char out[16])
{
	static const char units[] = "BKMGTPE";
	double v = (double)bytes;
	size_t u = 0;

	while (v >= 1024 && u + 2 < sizeof(units)) {
		v /= 1024;
		u++;
	}
	(void)snprintf(out, 16, u > 0 && v < 10 ? "%.1f%c" : "%.0f%c", v,
	    units[u]);
}

/* A cell as text; number is where a number is put. */
static const char *
cell_text(const struct out *o, size_t column, const struct cell *c,
    char number[24])
{
	switch (c->kind) {
	case TEXT:
		return (c->text);
	case BOOLEAN:
		return (c->number != 0 ? "yes" : "no");
	case INTEGER:
		if (o->style.human && o->columns[column].size)
			out_human_size(c->number, number);
		else
			(void)snprintf(number, 24, "%" PRId64, c->number);
		return (number);
	case EMPTY:
		break;
	}
	return ("");
}

static void
put(struct out *o, const char *text)
{
	if (bk_buf_put(&o->buf, text, strlen(text)) != 0)
		no_memory();
}

static void
put_json(struct out *o)
{
	char number[24];
	size_t i;

	for (i = 0; i < o->ncolumns; i++) {
		const struct cell *c = &o->row[i];
		struct bk_bytes text;

		put(o, i == 0 ? "{\"" : ",\"");
		put(o, o->columns[i].name);
		put(o, "\":");
		if (c->kind == TEXT) {
			text.data = (const uint8_t *)c->text;
			text.len = strlen(c->text);
			if (bk_json_string(&o->buf, text) != 0)
				no_memory();
		} else if (c->kind == INTEGER) {
			(void)snprintf(number, sizeof(number), "%" PRId64,
			    c->number);
			put(o, number);
		} else {
			put(o,
			    c->kind == EMPTY   ? "null" :
				c->number != 0 ? "true" :
						 "false");
		}
	}
	put(o, "}\n");
}

static void
value_of(void *arg, char letter, struct bk_value *v)
{
	struct out *o = arg;
	static char number[24];
	const struct cell *c;
	size_t i;

	for (i = 0; o->columns[i].letter != letter; i++)
		;
	c = &o->row[i];
	v->kind = BK_V_TEXT;
	v->bytes.data = (const uint8_t *)cell_text(o, i, c, number);
	v->bytes.len = strlen((const char *)v->bytes.data);
}

static void
put_tabs(struct out *o)
{
	char number[24];
	bool first = true;
	size_t i;

	for (i = 0; i < o->ncolumns; i++) {
		if (o->columns[i].hidden)
			continue;
		if (!first)
			put(o, "\t");
		put(o, cell_text(o, i, &o->row[i], number));
		first = false;
	}
	put(o, "\n");
}

static void
flush(struct out *o)
{
	if (bk_buf_len(&o->buf) > 0)
		(void)fwrite(bk_buf_head(&o->buf), 1, bk_buf_len(&o->buf),
		    stdout);
	bk_buf_consume(&o->buf, bk_buf_len(&o->buf));
}

/* Keep the row until all widths are known. */
static void
keep_row(struct out *o)
{
	if (o->nrows == o->cap) {
		size_t cap = o->cap == 0 ? 64 : o->cap * 2;
		struct cell *rows =
		    reallocarray(o->rows, cap, o->ncolumns * sizeof(*rows));

		if (rows == NULL)
			no_memory();
		o->rows = rows;
		o->cap = cap;
	}
	memcpy(&o->rows[o->nrows * o->ncolumns], o->row,
	    o->ncolumns * sizeof(*o->row));
	o->nrows++;
	memset(o->row, 0, sizeof(o->row));
}

void
out_row(struct out *o)
{
	size_t i;

	if (o->table) {
		keep_row(o);
		return;
	}
	if (o->style.json)
		put_json(o);
	else if (o->format == NULL)
		put_tabs(o);
	else if (bk_format_put(o->format, value_of, o, &o->buf) != 0)
		no_memory();
	for (i = 0; i < o->ncolumns; i++)
		free(o->row[i].text);
	memset(o->row, 0, sizeof(o->row));
	if (bk_buf_len(&o->buf) >= FLUSH_BYTES)
		flush(o);
}

/* One line of the table; header when row is NULL. */
static void
put_aligned(struct out *o, const struct cell *row, const size_t *width)
{
	char number[24];
	const char *text;
	size_t i, last = 0;

	for (i = 0; i < o->ncolumns; i++)
		if (!o->columns[i].hidden)
			last = i;
	for (i = 0; i < o->ncolumns; i++) {
		if (o->columns[i].hidden)
			continue;
		text = row == NULL ? o->columns[i].name :
				     cell_text(o, i, &row[i], number);
		if (bk_buf_printf(&o->buf, "%-*s%s",
			i == last ? 0 : (int)width[i], text,
			i == last ? "\n" : "  ") != 0)
			no_memory();
	}
}

static void
put_table(struct out *o)
{
	size_t width[OUT_COLUMNS_MAX], r, i, n;
	char number[24];

	for (i = 0; i < o->ncolumns; i++)
		width[i] = strlen(o->columns[i].name);
	for (r = 0; r < o->nrows; r++) {
		for (i = 0; i < o->ncolumns; i++) {
			n = strlen(cell_text(o, i,
			    &o->rows[r * o->ncolumns + i], number));
			width[i] = n > width[i] ? n : width[i];
		}
	}
	if (o->nrows > 0)
		put_aligned(o, NULL, width);
	for (r = 0; r < o->nrows; r++)
		put_aligned(o, &o->rows[r * o->ncolumns], width);
}

int
out_close(struct out *o, int status)
{
	size_t i;
	int closed;

	if (o->table)
		put_table(o);
	flush(o);
	for (i = 0; i < o->nrows * o->ncolumns; i++)
		free(o->rows[i].text);
	free(o->rows);
	bk_format_free(o->format);
	bk_buf_fini(&o->buf);
	free(o);
	closed = bk_close_stdout();
	return (closed != 0 ? closed : status);
}
