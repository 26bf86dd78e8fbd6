/* extend.c - a thread that lives as long as replay. */
#include "bk-bookied/extend.h"
#include "loop/listen.h"

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <time.h>

#define EVERY_SECONDS 5

struct extend {
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t change;
	bool is_over;
};

static void *
run(void *arg)
{
	struct extend *e = arg;
	struct timespec until;

	(void)pthread_mutex_lock(&e->lock);
	while (!e->is_over) {
		bk_notify("EXTEND_TIMEOUT_USEC=30000000\n"
			  "STATUS=reading the journal");
		(void)clock_gettime(CLOCK_REALTIME, &until);
		until.tv_sec += EVERY_SECONDS;
		(void)pthread_cond_timedwait(&e->change, &e->lock, &until);
	}
	(void)pthread_mutex_unlock(&e->lock);
	return (NULL);
}

/* Signals are the loop's thread's. */
static int
start_thread(struct extend *e)
{
	sigset_t all, before;
	int error;

	(void)sigfillset(&all);
	(void)pthread_sigmask(SIG_SETMASK, &all, &before);
	error = pthread_create(&e->thread, NULL, run, e);
	(void)pthread_sigmask(SIG_SETMASK, &before, NULL);
	return (error);
}

struct extend *
extend_start(void)
{
	struct extend *e;

	if (getenv("NOTIFY_SOCKET") == NULL ||
	    (e = calloc(1, sizeof(*e))) == NULL)
		return (NULL);
	(void)pthread_mutex_init(&e->lock, NULL);
	(void)pthread_cond_init(&e->change, NULL);
	if (start_thread(e) == 0)
		return (e);
	free(e);
	return (NULL);
}

void
extend_stop(struct extend *e)
{
	if (e == NULL)
		return;
	(void)pthread_mutex_lock(&e->lock);
	e->is_over = true;
	(void)pthread_cond_signal(&e->change);
	(void)pthread_mutex_unlock(&e->lock);
	(void)pthread_join(e->thread, NULL);
	(void)pthread_mutex_destroy(&e->lock);
	(void)pthread_cond_destroy(&e->change);
	free(e);
}
