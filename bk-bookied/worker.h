/*
 * worker.h - a thread that does one job after another for the loop. The store
 * has two: one writes (flush, merge, reclaim), one reads.
 */
#ifndef BOOKIE_WORKER_H
#define BOOKIE_WORKER_H

#include "loop/loop.h"

#include <bsd/sys/queue.h>
#include <stdbool.h>
#include <stddef.h>

struct worker;

/* Part of what the job is about; its owner keeps it until done() is called. */
struct job {
	void (*run)(struct job *job);  /* on the thread */
	void (*done)(struct job *job); /* on the loop, once */
	bool was_run;                  /* false: the worker was stopped */
	STAILQ_ENTRY(job) link;
};

/* The thread starts with the first job. NULL with errno set. */
struct worker *worker_new(struct bk_loop *loop);
/* Let the running job end, call done() of all jobs, from here, and free. NULL
 * is fine. */
void worker_free(struct worker *w);

/* Queue a job; urgent ones go before all others, in order among themselves. -1
 * with errno set if the thread cannot be started. */
int worker_do(struct worker *w, struct job *job, bool urgent);
/* Jobs queued or running. On the loop. */
size_t worker_jobs(const struct worker *w);

/* From within a job that takes long: run the urgent jobs that wait. Returns
 * false if the worker is being stopped, so that the job should end. */
bool worker_pause(struct worker *w);

#endif
