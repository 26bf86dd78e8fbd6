/* config_apply.c - options from the config files that count. */
#include "base/log.h"
#include "tool/common.h"
#include "tool/config.h"

#include <err.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>

struct target {
	const struct bk_program *program;
	enum bk_opt_origin origin;
};

/* Options refer to their text as long as the program runs. */
static const char *
keep(const char *text)
{
	static char **kept;
	static size_t nkept;
	char **more = reallocarray(kept, nkept + 1, sizeof(*more));

	if (more == NULL || (more[nkept] = strdup(text)) == NULL)
		err(EX_OSERR, "config");
	kept = more;
	return (kept[nkept++]);
}

static int
set(void *arg, const char *name, const char *value, const char *where,
    const char **why)
{
	const struct target *t = arg;
	struct bk_opt *o = bk_opt_find(t->program, name);

	if (o != NULL && (o->flags & BK_OPT_CONFIG) != 0) {
		if (*value == '\0' && o->arg != NULL &&
		    o->kind != BK_OPT_OPTTEXT) {
			*why = "needs a value";
			return (-1);
		}
		return (
		    bk_opt_set(o, keep(value), t->origin, keep(where), why));
	}
	if (bk_setting_find(name) != NULL)
		return (0);
	*why = "unknown setting";
	return (-1);
}

static int
apply(const struct bk_program *p, const char *path, enum bk_opt_origin origin)
{
	struct target t = {p, origin};
	char why[PATH_MAX + 256];

	if (bk_config_read(path, set, &t, why, sizeof(why)) == 0)
		return (0);
	if (errno == ENOENT && origin != BK_FROM_FILE)
		return (0);
	bk_log(BK_LOG_ERROR, "%s", why);
	return (-1);
}

int
bk_config_apply(const struct bk_program *p)
{
	const char *base = getenv("XDG_CONFIG_HOME");
	const char *home = getenv("HOME");
	char path[PATH_MAX] = "";
	int n = 0;

	if (bk_common.config != NULL)
		return (apply(p, bk_common.config, BK_FROM_FILE));
	/* The specification of these variables has relative ones ignored. */
	if (base != NULL && *base == '/')
		n = snprintf(path, sizeof(path), "%s/bk/config", base);
	else if (home != NULL && *home == '/')
		n = snprintf(path, sizeof(path), "%s/.config/bk/config", home);
	if (n > 0 && (size_t)n < sizeof(path) &&
	    apply(p, path, BK_FROM_USER) == -1)
		return (-1);
	return (apply(p, BK_CONFIG_SYSTEM, BK_FROM_SYSTEM));
}
