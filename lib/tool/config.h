/*
 * config.h - config files: "name value" lines, the long option names and no
 * others (cli.md 3.4). "#" at the start of a line or after a blank begins a
 * comment; "include FILE" reads another file there, relative to this one.
 *
 * Read are the file of -C or BK_CONFIG alone, or else
 * $XDG_CONFIG_HOME/bk/config (~/.config) and, weaker, /etc/bk/config.
 */
#ifndef BK_CONFIG_H
#define BK_CONFIG_H

#include "tool/opt.h"

#define BK_CONFIG_SYSTEM "/etc/bk/config"
#define BK_CONFIG_DEPTH 8    /* files that include each other */
#define BK_CONFIG_LINE 65536 /* bytes of a line */

/* One setting: where is "FILE:LINE"; all texts die when it returns. 0, or -1
 * with *why (static or thread-local text). */
typedef int bk_config_fn(void *arg, const char *name, const char *value,
    const char *where, const char **why);

/* Hand over each setting of a file in order. 0; or -1 with why filled: "FILE:
 * LINE: what" or "FILE: No such file ..."; errno is ENOENT only when the file
 * itself is missing. */
int bk_config_read(const char *path, bk_config_fn *set, void *arg, char *why,
    size_t whylen);
/* The same from text, for tests; include finds files relative to dir. */
int bk_config_text(const char *text, size_t len, const char *name,
    bk_config_fn *set, void *arg, char *why, size_t whylen);

/* Set the options of a program from the config files that count. 0, or -1 after
 * reporting the first mistake in them. Settings of other programs are passed
 * over. */
int bk_config_apply(const struct bk_program *p);

/* A setting some program of the family takes (settings.c). */
struct bk_setting {
	const char *name;
	const char *builtin;  /* default, as text for people */
	const char *programs; /* who takes it */
};
/* All of them, sorted by name, ended by name NULL. */
extern const struct bk_setting bk_settings[];
const struct bk_setting *bk_setting_find(const char *name);

#endif
