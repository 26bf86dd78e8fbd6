/* opt_impl.h - what the files opt*.c share. Private to lib/tool. */
#ifndef BK_OPT_IMPL_H
#define BK_OPT_IMPL_H

#include "tool/opt.h"

/* Remember who is to be named in usage errors. */
void bk_opt_help_init(const struct bk_program *p);
/* Answers on stdout; each ends the program. */
void bk_opt_help(const struct bk_program *p) __attribute__((noreturn));
void bk_opt_version(const struct bk_program *p) __attribute__((noreturn));
void bk_opt_complete(const struct bk_program *p) __attribute__((noreturn));

/* The option whose long name is most like text, or NULL if none is. */
const struct bk_opt *bk_opt_nearest(const struct bk_program *p,
    const char *text);

#endif
