/* opt_number.c - numbers, sizes and times as people write them. */
#include "tool/opt.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct unit {
	const char *name;
	int64_t scale;
};

static const struct unit sizes[] = {{"", 1}, {"k", INT64_C(1) << 10},
    {"K", INT64_C(1) << 10}, {"M", INT64_C(1) << 20}, {"G", INT64_C(1) << 30},
    {"T", INT64_C(1) << 40}, {NULL, 0}};

static const struct unit times[] = {{"", 1000000000}, {"ns", 1}, {"us", 1000},
    {"ms", 1000000}, {"s", 1000000000}, {"m", INT64_C(60000000000)},
    {"h", INT64_C(3600000000000)}, {"d", INT64_C(86400000000000)},
    {"w", INT64_C(604800000000000)}, {NULL, 0}};

/* Digits, then a unit. */
static int
parse_scaled(const char *text, const struct unit *units, int64_t *out)
{
	int64_t n = 0;

	if (*text < '0' || *text > '9')
		return (-1);
	for (; *text >= '0' && *text <= '9'; text++)
		if (__builtin_mul_overflow(n, 10, &n) ||
		    __builtin_add_overflow(n, *text - '0', &n))
			return (-1);
	for (; units->name != NULL; units++)
		if (strcmp(text, units->name) == 0)
			break;
	if (units->name == NULL || __builtin_mul_overflow(n, units->scale, &n))
		return (-1);
	*out = n;
	return (0);
}

int
bk_parse_size(const char *text, int64_t *bytes)
{
	return (parse_scaled(text, sizes, bytes));
}

int
bk_parse_time(const char *text, int64_t *ns)
{
	return (parse_scaled(text, times, ns));
}

int
bk_parse_int(const char *text, int64_t min, int64_t max, int64_t *out)
{
	const char *digits = text + (*text == '-');
	int base = 10;
	char *end;
	long long n;

	if (digits[0] == '0' && (digits[1] == 'x' || digits[1] == 'X')) {
		base = 16;
		digits += 2;
	}
	/* strtoll(3) would also take blanks and a second sign. */
	if (strspn(digits,
		base == 16 ? "0123456789abcdefABCDEF" : "0123456789") !=
		strlen(digits) ||
	    *digits == '\0')
		return (-1);
	errno = 0;
	n = strtoll(text, &end, base);
	if (errno != 0 || *end != '\0' || n < min || n > max)
		return (-1);
	*out = n;
	return (0);
}
