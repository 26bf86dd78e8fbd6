/* names.c - names of the store's files, made and read. */
#include "bk-bookied/names.h"

#include <bsd/string.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void
name_log(char name[NAME_SIZE], uint32_t number)
{
	(void)snprintf(name, NAME_SIZE, "%08" PRIx32 ".log", number);
}

void
name_index(char name[NAME_SIZE], uint32_t low, uint32_t high)
{
	(void)snprintf(name, NAME_SIZE, "%08" PRIx32 "-%08" PRIx32 ".index",
	    low, high);
}

void
name_temporary(char temporary[NAME_SIZE], const char *name)
{
	(void)strlcpy(temporary, name, NAME_SIZE);
	(void)strlcat(temporary, NAME_TEMPORARY, NAME_SIZE);
}

/* Exactly eight hexadecimal digits; what a strange name yields does not make
 * the same name again. */
static uint32_t
digits(const char *s)
{
	char copy[9];

	(void)strlcpy(copy, s, sizeof(copy));
	return ((uint32_t)strtoul(copy, NULL, 16));
}

bool
name_is_log(const char *name, uint32_t *number)
{
	char same[NAME_SIZE];

	*number = digits(name);
	name_log(same, *number);
	return (strcmp(name, same) == 0);
}

bool
name_is_index(const char *name, uint32_t *low, uint32_t *high)
{
	char same[NAME_SIZE];

	if (strlen(name) < 17)
		return (false);
	*low = digits(name);
	*high = digits(name + 9);
	name_index(same, *low, *high);
	return (strcmp(name, same) == 0 && *low <= *high);
}

bool
name_is_temporary(const char *name)
{
	size_t len = strlen(name);
	size_t suffix = strlen(NAME_TEMPORARY);

	return (
	    len > suffix && strcmp(name + len - suffix, NAME_TEMPORARY) == 0);
}
