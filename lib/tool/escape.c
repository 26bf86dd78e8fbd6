/* escape.c - backslash escapes in delimiters and formats. */
#include "tool/format.h"

#include <string.h>

static int
hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return (c - '0');
	c |= 0x20;
	return (c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1);
}

int
bk_escape_parse(const char **text)
{
	static const char letters[] = "ntr0\\", bytes[] = "\n\t\r\0\\";
	const char *t = *text, *found;
	int high, low;

	if (*t == 'x') {
		if ((high = hex_digit(t[1])) == -1 ||
		    (low = hex_digit(t[2])) == -1)
			return (-1);
		*text = t + 3;
		return (high << 4 | low);
	}
	if (*t == '\0' || (found = strchr(letters, *t)) == NULL)
		return (-1);
	*text = t + 1;
	return (bytes[found - letters]);
}
