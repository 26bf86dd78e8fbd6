/* inetd.h - started by inetd (cli.md 3.6). */
#ifndef BOOKIE_INETD_H
#define BOOKIE_INETD_H

/* Descriptor 0 is one connection: hand it to the bookie that runs on DIR.
 * Returns the exit status. */
int inetd_pass_on(const char *dir);
/* Descriptor 0 listens, and we cannot serve: end the connections that wait, so
 * that inetd does not start us again at once, and stay for a moment. */
void inetd_turn_away(void);

#endif
