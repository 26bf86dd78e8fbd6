/*
 * golden.h - files of t/data: text in lines, bytes in hex. Tests run in the
 * top folder. Whatever goes wrong here ends the test.
 */
#ifndef T_GOLDEN_H
#define T_GOLDEN_H

#include "base/buf.h"

/* The lines of t/data/NAME without their newlines, and a NULL behind them;
 * to be freed with golden_free(). */
char **golden_lines(const char *name);
void golden_free(char **lines);

/* The lines of a block: behind the one that begins with start, up to an empty
 * one, without their readings, which are cut off. At most max; how many. */
size_t golden_block(char **lines, const char *start, char **block, size_t max);

/* Bytes from hex, blanks ignored, "-" for none; to be freed. */
uint8_t *golden_bytes(const char *hex, size_t *len);

#endif
