/*
 * confirm.h - before something is lost: asked on a terminal, refused without
 * one unless -y was given; never waits where nobody can answer (cli.md 1.4).
 */
#ifndef LEDGER_CONFIRM_H
#define LEDGER_CONFIRM_H

#include <stdbool.h>

/* Ask "what? [y/N]" unless yes. Exits 64 when there is no terminal to ask, 1
 * when the answer is not y. */
void confirm(bool yes, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

#endif
