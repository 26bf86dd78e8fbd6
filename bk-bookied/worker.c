/* worker.c - a thread with two queues of jobs, and one of those done. */
#include "bk-bookied/worker.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>

STAILQ_HEAD(job_list, job);

struct worker {
	struct bk_wake *wake;
	size_t njobs;    /* not yet done; loop only */
	bool is_started; /* loop only */
	pthread_t thread;
	pthread_mutex_t lock; /* of all below */
	pthread_cond_t wanted;
	struct job_list urgent, normal, done;
	bool is_stopping;
};

/* Take the jobs that are done, and tell their owners. */
static void
deliver(void *arg)
{
	struct worker *w = arg;
	struct job_list done = STAILQ_HEAD_INITIALIZER(done);
	struct job *job;

	(void)pthread_mutex_lock(&w->lock);
	STAILQ_CONCAT(&done, &w->done);
	(void)pthread_mutex_unlock(&w->lock);
	while ((job = STAILQ_FIRST(&done)) != NULL) {
		STAILQ_REMOVE_HEAD(&done, link);
		w->njobs--;
		job->done(job);
	}
}

struct worker *
worker_new(struct bk_loop *loop)
{
	struct worker *w = calloc(1, sizeof(*w));

	if (w == NULL)
		return (NULL);
	w->wake = bk_wake_new(loop, deliver, w);
	if (w->wake == NULL) {
		free(w);
		return (NULL);
	}
	(void)pthread_mutex_init(&w->lock, NULL);
	(void)pthread_cond_init(&w->wanted, NULL);
	STAILQ_INIT(&w->urgent);
	STAILQ_INIT(&w->normal);
	STAILQ_INIT(&w->done);
	return (w);
}

/* The next job, with the lock held; NULL if there is none. */
static struct job *
take(struct worker *w, bool also_normal)
{
	struct job_list *list = &w->urgent;
	struct job *job;

	if (STAILQ_EMPTY(list) && also_normal)
		list = &w->normal;
	job = STAILQ_FIRST(list);
	if (job != NULL)
		STAILQ_REMOVE_HEAD(list, link);
	return (job);
}

/* Run a job without the lock, which is held before and after. */
static void
run(struct worker *w, struct job *job)
{
	(void)pthread_mutex_unlock(&w->lock);
	job->was_run = true;
	job->run(job);
	(void)pthread_mutex_lock(&w->lock);
	STAILQ_INSERT_TAIL(&w->done, job, link);
	bk_wake_up(w->wake);
}

static void *
work(void *arg)
{
	struct worker *w = arg;
	struct job *job;

	(void)pthread_mutex_lock(&w->lock);
	while (!w->is_stopping) {
		job = take(w, true);
		if (job != NULL)
			run(w, job);
		else
			(void)pthread_cond_wait(&w->wanted, &w->lock);
	}
	(void)pthread_mutex_unlock(&w->lock);
	return (NULL);
}

/* Signals are the loop's. */
static int
start(struct worker *w)
{
	sigset_t all, before;
	int error;

	(void)sigfillset(&all);
	(void)pthread_sigmask(SIG_SETMASK, &all, &before);
	error = pthread_create(&w->thread, NULL, work, w);
	(void)pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (error != 0) {
		errno = error;
		return (-1);
	}
	w->is_started = true;
	return (0);
}

int
worker_do(struct worker *w, struct job *job, bool urgent)
{
	if (!w->is_started && start(w) == -1)
		return (-1);
	job->was_run = false;
	w->njobs++;
	(void)pthread_mutex_lock(&w->lock);
	STAILQ_INSERT_TAIL(urgent ? &w->urgent : &w->normal, job, link);
	(void)pthread_cond_signal(&w->wanted);
	(void)pthread_mutex_unlock(&w->lock);
	return (0);
}

size_t
worker_jobs(const struct worker *w)
{
	return (w->njobs);
}

bool
worker_pause(struct worker *w)
{
	struct job *job;
	bool go_on;

	(void)pthread_mutex_lock(&w->lock);
	while (!w->is_stopping && (job = take(w, false)) != NULL)
		run(w, job);
	go_on = !w->is_stopping;
	(void)pthread_mutex_unlock(&w->lock);
	return (go_on);
}

void
worker_free(struct worker *w)
{
	if (w == NULL)
		return;
	(void)pthread_mutex_lock(&w->lock);
	w->is_stopping = true;
	(void)pthread_cond_signal(&w->wanted);
	(void)pthread_mutex_unlock(&w->lock);
	if (w->is_started)
		(void)pthread_join(w->thread, NULL);
	STAILQ_CONCAT(&w->done, &w->urgent);
	STAILQ_CONCAT(&w->done, &w->normal);
	deliver(w);
	bk_wake_free(w->wake);
	(void)pthread_cond_destroy(&w->wanted);
	(void)pthread_mutex_destroy(&w->lock);
	free(w);
}
