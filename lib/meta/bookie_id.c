/* bookie_id.c - which texts name a bookie (spec/metadata.md 5.1). */
#include "meta/ledger_meta.h"

#include <string.h>
#include <strings.h>

static bool
is_alnum(char c)
{
	return ((c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
	    (c >= 'A' && c <= 'Z'));
}

/* Java's pattern has the range ':' to '_', meant as three characters. */
static bool
is_accepted(char c)
{
	return (is_alnum(c) || c == '.' || c == '-' || (c >= ':' && c <= '_'));
}

bool
bk_bookie_id_valid(const char *id)
{
	if (id[0] == '\0' || strcasecmp(id, "readonly") == 0)
		return (false);
	for (const char *p = id; *p != '\0'; p++)
		if (!is_accepted(*p))
			return (false);
	return (true);
}

bool
bk_bookie_id_narrow(const char *id)
{
	if (!bk_bookie_id_valid(id) || strcmp(id, ".") == 0 ||
	    strcmp(id, "..") == 0)
		return (false);
	for (const char *p = id; *p != '\0'; p++)
		if (!is_alnum(*p) && strchr("._:-", *p) == NULL)
			return (false);
	return (true);
}
