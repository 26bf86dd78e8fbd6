/* config.c - any text as a config file. It includes nothing: the folder it is
 * relative to does not exist, and other paths are cut off. */
#include "tool/config.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int
set(void *arg, const char *name, const char *value, const char *where,
    const char **why)
{
	(void)arg;
	*why = "is refused";
	if (*name == '\0' || strpbrk(name, " \t\n") != NULL ||
	    strchr(value, '\n') != NULL || *where == '\0')
		abort();
	return (strcmp(name, "no") == 0 ? -1 : 0);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char why[256];

	if (memmem(data, size, "include", 7) != NULL &&
	    memchr(data, '/', size) != NULL)
		return (0);
	(void)bk_config_text((const char *)data, size, "/nonexistent/config",
	    set, NULL, why, sizeof(why));
	return (0);
}
