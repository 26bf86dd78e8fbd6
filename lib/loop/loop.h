/*
 * loop.h - the event loop of a program: libevent as an env for real life.
 *
 * One loop a thread. Other threads reach it through a struct bk_wake only.
 */
#ifndef BK_LOOP_H
#define BK_LOOP_H

#include "env/env.h"

#include <stdbool.h>
#include <stdint.h>

struct bk_loop;
struct bk_fd;
struct bk_wake;
struct bk_signal;
struct event_base;

enum { BK_READABLE = 1, BK_WRITABLE = 2 };
typedef void bk_fd_cb(void *arg, int fd, int what);
typedef void bk_signal_cb(void *arg, int signo);

/* NULL with errno set when the system refuses. */
struct bk_loop *bk_loop_new(void);
/* Frees the loop; everything made on it must be gone. NULL is fine. */
void bk_loop_free(struct bk_loop *loop);
/* For libraries that bring their own libevent use (evhttp, evdns). */
struct event_base *bk_loop_base(struct bk_loop *loop);

/* Run until bk_loop_stop(). 0, or -1 with errno set. */
int bk_loop_run(struct bk_loop *loop);
/* Run until *done is true or the deadline (monotonic ns, BK_FOREVER) passes or
 * bk_loop_stop() was called. Returns whether *done. Not to be called from
 * callbacks. */
bool bk_loop_run_until(struct bk_loop *loop, const bool *done,
    int64_t deadline);
/* Make the run in progress, or the next one, return after this turn. */
void bk_loop_stop(struct bk_loop *loop);
/* Monotonic nanoseconds, read from the clock now. */
int64_t bk_clock_now(void);

/* Watch a descriptor, level-triggered; what may be 0. NULL with errno set: out
 * of memory, or EPERM for what cannot be waited for (a regular file). The
 * descriptor stays the caller's, who closes it after bk_fd_free(). */
struct bk_fd *bk_fd_new(struct bk_loop *loop, int fd, int what, bk_fd_cb *cb,
    void *arg);
void bk_fd_want(struct bk_fd *fd, int what);
void bk_fd_free(struct bk_fd *fd);

/* Timers, as in env.h; never early, late by a few milliseconds. */
struct bk_timer *bk_timer_new(struct bk_loop *loop, bk_timer_cb *cb, void *arg);
void bk_timer_set(struct bk_timer *timer, int64_t delay_ns);
void bk_timer_stop(struct bk_timer *timer);
void bk_timer_free(struct bk_timer *timer);

/* Call cb once at the end of this turn (before the loop waits again), in the
 * order of asking; for gathering work of one turn. What a callback asks for
 * here runs at the end of the next turn, which does not wait. -1 when out of
 * memory. */
int bk_loop_later(struct bk_loop *loop, bk_timer_cb *cb, void *arg);
/* Forget what was asked for with this cb and arg. */
void bk_loop_later_cancel(struct bk_loop *loop, bk_timer_cb *cb,
    const void *arg);

/* A wake-up from other threads: bk_wake_up() may be called from any thread and
 * any number of times; cb runs on the loop at least once after the last. */
struct bk_wake *bk_wake_new(struct bk_loop *loop, bk_timer_cb *cb, void *arg);
void bk_wake_up(struct bk_wake *wake);
void bk_wake_free(struct bk_wake *wake);

/* A signal as an event of the loop. */
struct bk_signal *bk_signal_new(struct bk_loop *loop, int signo,
    bk_signal_cb *cb, void *arg);
void bk_signal_free(struct bk_signal *sig);

#endif
