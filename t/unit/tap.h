/*
 * A unit test is one program that prints TAP: one line a claim, a diagnostic
 * with file and line for each that does not hold, and the plan at the end.
 *
 *	int
 *	main(void)
 *	{
 *		ok(2 + 2 == 4, "two and two make four");
 *		is_int(f(7), 8, "f(%d) is the next number", 7);
 *		return tap_done();
 *	}
 */
#ifndef TAP_H
#define TAP_H

#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* Each takes a claim in printf's form last, and returns whether it holds. */
#define ok(cond, ...) tap_ok(__FILE__, __LINE__, (cond), __VA_ARGS__)
#define is_int(got, want, ...) \
	tap_is_int(__FILE__, __LINE__, (int64_t)(got), (int64_t)(want), \
	    __VA_ARGS__)
#define is_str(got, want, ...) \
	tap_is_str(__FILE__, __LINE__, (got), (want), __VA_ARGS__)
#define is_mem(got, ngot, want, nwant, ...) \
	tap_is_mem(__FILE__, __LINE__, (got), (ngot), (want), (nwant), \
	    __VA_ARGS__)

static int tap_count;
static int tap_failed;

static inline bool __attribute__((format(printf, 4, 0)))
tap_claim(const char *file, int line, bool holds, const char *fmt, va_list ap)
{
	printf("%sok %d - ", holds ? "" : "not ", ++tap_count);
	vprintf(fmt, ap);
	putchar('\n');
	if (!holds) {
		tap_failed++;
		printf("# %s:%d\n", file, line);
	}
	fflush(stdout);
	return holds;
}

static inline bool __attribute__((format(printf, 4, 5)))
tap_ok(const char *file, int line, bool cond, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	tap_claim(file, line, cond, fmt, ap);
	va_end(ap);
	return cond;
}

static inline bool __attribute__((format(printf, 5, 6)))
tap_is_int(const char *file, int line, int64_t got, int64_t want,
    const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	if (!tap_claim(file, line, got == want, fmt, ap))
		printf("# got  %" PRId64 "\n# want %" PRId64 "\n", got, want);
	va_end(ap);
	return got == want;
}

static inline bool __attribute__((format(printf, 5, 6)))
tap_is_str(const char *file, int line, const char *got, const char *want,
    const char *fmt, ...)
{
	va_list ap;
	bool same = got == want;

	if (got != NULL && want != NULL)
		same = strcmp(got, want) == 0;
	va_start(ap, fmt);
	if (!tap_claim(file, line, same, fmt, ap))
		printf("# got  \"%s\"\n# want \"%s\"\n",
		    got != NULL ? got : "(null)",
		    want != NULL ? want : "(null)");
	va_end(ap);
	return same;
}

static inline void
tap_hex(const char *label, const void *data, size_t len)
{
	const uint8_t *bytes = data;

	printf("# %s %zu bytes:", label, len);
	for (size_t i = 0; i < len; i++)
		printf("%s%02x", i % 4 == 0 ? " " : "", bytes[i]);
	putchar('\n');
}

static inline bool __attribute__((format(printf, 7, 8)))
tap_is_mem(const char *file, int line, const void *got, size_t ngot,
    const void *want, size_t nwant, const char *fmt, ...)
{
	va_list ap;
	bool same = ngot == nwant;

	if (same && ngot > 0)
		same = memcmp(got, want, ngot) == 0;
	va_start(ap, fmt);
	if (!tap_claim(file, line, same, fmt, ap)) {
		tap_hex("got ", got, ngot);
		tap_hex("want", want, nwant);
	}
	va_end(ap);
	return same;
}

/* Prints the plan. Returns the exit status of the program: 0, or 1. */
static inline int
tap_done(void)
{
	printf("1..%d\n", tap_count);
	if (tap_failed > 0)
		printf("# %d of %d do not hold\n", tap_failed, tap_count);
	return tap_failed > 0;
}

#endif
