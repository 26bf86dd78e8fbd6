/*
 * logging.h - where a bookie's lines go and what they look like
 * (cli.md 3.5): standard error, with "<N>" before them if the journal reads it
 * and the time if asked; or syslog.
 */
#ifndef BOOKIE_LOGGING_H
#define BOOKIE_LOGGING_H

#include <stdbool.h>

struct logging_config {
	bool quiet;  /* errors only */
	int verbose; /* 1 or more: debug lines too */
	bool time;   /* ISO date and time before each line */
	bool syslog;
};

void logging_init(const struct logging_config *config);
/* From now on to syslog: standard error has another reader, or none. */
void logging_to_syslog(void);

#endif
