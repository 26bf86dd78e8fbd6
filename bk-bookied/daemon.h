/*
 * daemon.h - what a daemon does to its own process: background, pid file,
 * another user, signals that must not end it (cli.md 3.6).
 */
#ifndef BOOKIE_DAEMON_H
#define BOOKIE_DAEMON_H

/* Go to the background: the parent waits until daemon_ready() and exits 0, or
 * exits as the child did. Returns in the child; exits 71 when it cannot fork.
 * Before any thread, loop or lock. */
void daemon_begin(void);
/* In the child of daemon_begin(): let the parent go, and let standard input,
 * output and error go too. Otherwise nothing. */
void daemon_ready(void);

/* Write and lock the pid file; the lock lasts as long as the process. 0, or
 * the exit status after saying why. */
int daemon_pidfile(const char *path);

/* Become USER or USER:GROUP for good, and make sure of it. 0, or the exit
 * status after saying why. */
int daemon_become(const char *user);

/* Ignore the signals that would end a process and mean nothing to us. */
void daemon_ignore_signals(void);
/* As many descriptors as we may have. Returns how many. */
long daemon_raise_descriptors(void);

#endif
