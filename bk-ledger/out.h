/*
 * out.h - rows of a command's result on standard output: aligned columns with
 * a header on a terminal, tabs elsewhere, one JSON object a row with -J, or
 * what -o says (cli.md 1.4, 3.3).
 */
#ifndef LEDGER_OUT_H
#define LEDGER_OUT_H

#include "tool/opt.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define OUT_COLUMNS_MAX 16

/* One column. A hidden one shows only in JSON and by its letter in -o. */
struct out_column {
	char letter;
	const char *name;
	bool size; /* bytes: --human applies */
	bool hidden;
};

/* How rows are shown, filled by the options below. */
struct out_style {
	bool json;
	bool human;
	const char *format;
};

#define OUT_OPTS(style) \
	{'J', "json", BK_OPT_FLAG, .value = &(style).json, \
	    .help = "one JSON object a line"}, \
	    {'o', "format", BK_OPT_TEXT, .value = &(style).format, \
		.arg = "FORMAT", .help = "what to print of each"}, \
	{ \
		0, "human", BK_OPT_FLAG, .value = &(style).human, \
					 .help = "sizes as 71G" \
	}

struct out;

/* NULL only when out of memory; a bad format ends the program (64). columns is
 * kept by reference. */
struct out *out_open(const struct out_column *columns, size_t n,
    const struct out_style *style);
/* Fill the columns of the row in progress, by letter. Texts are copied. What
 * is not filled is empty, and null in JSON. */
void out_int(struct out *o, char letter, int64_t value);
void out_text(struct out *o, char letter, const char *text);
void out_bool(struct out *o, char letter, bool value);
/* The row is complete. */
void out_row(struct out *o);
/* Print what is left, close standard output with a check, free. Returns
 * status, or EX_IOERR when standard output cannot be written. */
int out_close(struct out *o, int status);

/* A size for people, "71G", to out. */
void out_human_size(int64_t bytes, char out[16]);

#endif
