/* loop_events.c - timers, the end of a turn, wake-ups, signals, descriptors. */
#include "loop/loop.h"
#include "tap.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#define LIMIT (20 * BK_SECOND)

static char trace[64];

static void
note(char c)
{
	size_t n = strlen(trace);

	if (n + 1 < sizeof(trace))
		trace[n] = c;
}

static void
clear(void)
{
	memset(trace, 0, sizeof(trace));
}

static void
set_true(void *arg)
{
	*(bool *)arg = true;
}

static void
on_a(void *arg)
{
	(void)arg;
	note('a');
}

static void
on_b(void *arg)
{
	(void)arg;
	note('b');
}

static bool
wait_for(struct bk_loop *loop, const bool *done)
{
	return (bk_loop_run_until(loop, done, bk_clock_now() + LIMIT));
}

static void
timers(struct bk_loop *loop)
{
	bool done = false;
	int64_t begin = bk_clock_now();
	struct bk_timer *end = bk_timer_new(loop, set_true, &done);
	struct bk_timer *a = bk_timer_new(loop, on_a, NULL);
	struct bk_timer *b = bk_timer_new(loop, on_b, NULL);

	clear();
	bk_timer_set(end, 30 * BK_MS);
	bk_timer_set(a, 20 * BK_MS);
	bk_timer_set(b, 1 * BK_MS);
	ok(wait_for(loop, &done), "timers fire");
	ok(bk_clock_now() - begin >= 30 * BK_MS, "and not early");
	is_str(trace, "ba", "each once, in order of their times");

	clear();
	done = false;
	bk_timer_set(a, 1 * BK_MS);
	bk_timer_set(b, BK_FOREVER);
	bk_timer_stop(a);
	bk_timer_set(end, 50 * BK_MS);
	bk_timer_set(end, 1 * BK_MS);
	ok(wait_for(loop, &done), "a timer set anew replaces its time");
	is_str(trace, "", "a stopped one and one set for ever stay silent");

	done = false;
	ok(!bk_loop_run_until(loop, &done, bk_clock_now() + 5 * BK_MS),
	    "a deadline ends the run");
	bk_timer_free(end);
	bk_timer_free(a);
	bk_timer_free(b);
	bk_timer_free(NULL);
}

struct chain {
	struct bk_loop *loop;
	bool done;
};

static void
ask_again(void *arg)
{
	struct chain *c = arg;

	note('1');
	(void)bk_loop_later(c->loop, set_true, &c->done);
	(void)bk_loop_later(c->loop, on_b, NULL);
	bk_loop_later_cancel(c->loop, on_a, c);
}

static void
turn_ends(struct bk_loop *loop)
{
	struct chain c = {loop, false};

	clear();
	is_int(bk_loop_later(loop, ask_again, &c), 0, "asked for");
	(void)bk_loop_later(loop, on_b, NULL);
	(void)bk_loop_later(loop, on_a, &c);
	is_str(trace, "", "nothing runs inside the call");
	ok(wait_for(loop, &c.done), "the end of a turn comes without events");
	is_str(trace, "1bb", "in order; a cancelled one does not come");
}

static void
stop_loop(void *arg)
{
	bk_loop_stop(arg);
}

static void
stopping(struct bk_loop *loop)
{
	bool never = false;

	(void)bk_loop_later(loop, stop_loop, loop);
	is_int(bk_loop_run(loop), 0, "stop ends run");
	bk_loop_stop(loop);
	clear();
	(void)bk_loop_later(loop, on_a, NULL);
	is_int(bk_loop_run(loop), 0, "stop ends the next run");
	is_str(trace, "a", "after one turn");
	(void)bk_loop_later(loop, stop_loop, loop);
	ok(!bk_loop_run_until(loop, &never, BK_FOREVER),
	    "stop ends a run without a deadline");
}

#define WAKES 20000

struct waking {
	struct bk_wake *wake;
	_Atomic int given;
	int taken;
	bool done;
};

static void
on_wake(void *arg)
{
	struct waking *w = arg;

	w->taken = w->given;
	w->done = w->taken == WAKES;
}

static void *
wake_often(void *arg)
{
	struct waking *w = arg;

	for (int i = 0; i < WAKES; i++) {
		w->given++;
		bk_wake_up(w->wake);
	}
	return (NULL);
}

static void
wakes(struct bk_loop *loop)
{
	struct waking w = {0};
	pthread_t thread;

	w.wake = bk_wake_new(loop, on_wake, &w);
	if (pthread_create(&thread, NULL, wake_often, &w) != 0)
		return;
	ok(wait_for(loop, &w.done), "the loop sees the last wake-up");
	(void)pthread_join(thread, NULL);
	bk_wake_free(w.wake);
	bk_wake_free(NULL);
}

static void
on_signal(void *arg, int signo)
{
	*(bool *)arg = signo == SIGUSR1;
}

static void
signals(struct bk_loop *loop)
{
	bool done = false;
	struct bk_signal *s = bk_signal_new(loop, SIGUSR1, on_signal, &done);

	(void)raise(SIGUSR1);
	ok(!done, "a signal waits for the loop");
	ok(wait_for(loop, &done), "and arrives there");
	bk_signal_free(s);
	bk_signal_free(NULL);
}

static void
on_fd(void *arg, int fd, int what)
{
	(void)fd;
	note(what == BK_READABLE ? 'r' : 'w');
	*(bool *)arg = true;
}

static void
descriptors(struct bk_loop *loop)
{
	bool done = false;
	struct bk_fd *r;
	struct bk_fd *w;
	int p[2];
	int file;

	if (pipe(p) == -1)
		return;
	clear();
	r = bk_fd_new(loop, p[0], BK_READABLE, on_fd, &done);
	ok(!bk_loop_run_until(loop, &done, bk_clock_now() + BK_MS),
	    "an empty pipe is not readable");
	w = bk_fd_new(loop, p[1], 0, on_fd, &done);
	ok(!bk_loop_run_until(loop, &done, bk_clock_now() + BK_MS),
	    "nothing wanted, nothing told");
	bk_fd_want(w, BK_WRITABLE);
	ok(wait_for(loop, &done), "an empty pipe is writable");
	bk_fd_want(w, 0);
	done = false;
	ok(write(p[1], "x", 1) == 1 && wait_for(loop, &done),
	    "a full one readable");
	bk_fd_free(w);
	bk_fd_free(r);
	bk_fd_free(NULL);
	(void)close(p[0]);
	(void)close(p[1]);

	file = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	errno = 0;
	ok(bk_fd_new(loop, file, BK_READABLE, on_fd, &done) == NULL &&
		errno == EPERM,
	    "a regular file cannot be waited for");
	(void)close(file);
}

int
main(void)
{
	struct bk_loop *loop = bk_loop_new();

	timers(loop);
	turn_ends(loop);
	stopping(loop);
	wakes(loop);
	signals(loop);
	descriptors(loop);
	bk_loop_free(loop);
	bk_loop_free(NULL);
	return (tap_done());
}
