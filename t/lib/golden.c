/* golden.c - reading t/data. */
#include "t/lib/golden.h"

#include <err.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

char **
golden_lines(const char *name)
{
	char path[256], *line = NULL, **lines = NULL;
	size_t n = 0, room = 0;
	ssize_t len;
	FILE *f;

	(void)snprintf(path, sizeof(path), "t/data/%s", name);
	if ((f = fopen(path, "r")) == NULL)
		err(1, "%s", path);
	do {
		lines = reallocarray(lines, n + 1, sizeof(*lines));
		if (lines == NULL)
			err(1, "%s", path);
		len = getline(&line, &room, f);
		if (len > 0 && line[len - 1] == '\n')
			line[len - 1] = '\0';
		lines[n++] = len < 0 ? NULL : strdup(line);
	} while (len >= 0);
	free(line);
	(void)fclose(f);
	return (lines);
}

void
golden_free(char **lines)
{
	for (char **line = lines; *line != NULL; line++)
		free(*line);
	free(lines);
}

size_t
golden_block(char **lines, const char *start, char **block, size_t max)
{
	size_t n = 0;
	char *reading;

	while (*lines != NULL && strncmp(*lines, start, strlen(start)) != 0)
		lines++;
	if (*lines == NULL)
		errx(1, "no such block: %s", start);
	for (lines++; *lines != NULL && **lines != '\0' && n < max; lines++) {
		if ((reading = strstr(*lines, " # ")) != NULL)
			*reading = '\0';
		block[n++] = *lines;
	}
	return (n);
}

static int
nibble(char c)
{
	const char *digits = "0123456789abcdef";
	const char *at = c == '\0' ? NULL : strchr(digits, c);

	if (at == NULL)
		errx(1, "not a hex digit: %c", c);
	return ((int)(at - digits));
}

uint8_t *
golden_bytes(const char *hex, size_t *len)
{
	uint8_t *bytes = malloc(strlen(hex) / 2 + 1);

	if (bytes == NULL)
		err(1, "malloc");
	*len = 0;
	if (strcmp(hex, "-") == 0)
		return (bytes);
	for (; *hex != '\0'; hex++) {
		if (*hex == ' ' || *hex == '\n')
			continue;
		bytes[*len] = (uint8_t)(nibble(hex[0]) << 4 | nibble(hex[1]));
		(*len)++;
		hex++;
	}
	return (bytes);
}
