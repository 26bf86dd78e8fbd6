/*
 * log.h - the one way programs report: one line an event, through a callback.
 *
 * lib calls bk_log(); where the line goes is the program's choice. Without a
 * callback it goes to standard error as "program: severity: text" (daemons) or
 * "program: text" (tools), which is what cli.md 3.5 asks for. The text names
 * the thing first: "ledger 7: bookie 10.0.0.3:3181: connection refused".
 */
#ifndef BK_LOG_H
#define BK_LOG_H

#include <stdarg.h>
#include <stdbool.h>

enum bk_severity {
	BK_LOG_ERROR,
	BK_LOG_WARNING,
	BK_LOG_INFO,  /* shown with -v, and by daemons */
	BK_LOG_DEBUG, /* shown with -vv */
};

/* Called with one complete line, without newline, at most 1000 bytes. */
typedef void bk_log_fn(void *arg, enum bk_severity severity, const char *line);

/* Name the program and set what is shown: lines above max are dropped.
 * show_severity puts the severity's word into each line (daemons). The name is
 * kept by reference. */
void bk_log_init(const char *program, enum bk_severity max, bool show_severity);

/* The program's name as given to bk_log_init(). */
const char *bk_log_program(void);

/* Change what is shown. */
void bk_log_level(enum bk_severity max);

/* Whether a line of this severity would be shown. */
bool bk_log_shows(enum bk_severity severity);

/* Send lines to fn instead of standard error; NULL goes back. */
void bk_log_to(bk_log_fn *fn, void *arg);

/* Report one event. errno survives. Callable from any thread. */
void bk_log(enum bk_severity severity, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
void bk_vlog(enum bk_severity severity, const char *fmt, va_list ap)
    __attribute__((format(printf, 2, 0)));

#endif
