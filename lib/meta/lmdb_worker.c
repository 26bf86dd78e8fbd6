/* lmdb_worker.c - the thread that writes a daemon's store. */
#include "meta/lmdb_batch.h"

#include <stdlib.h>

struct bk_lmdb_worker {
	pthread_t thread;
	pthread_mutex_t mutex;
	pthread_cond_t cond;
	struct bk_lmdb_batch *batch; /* to do, or NULL */
	bool stop;
	struct bk_wake *wake;
	int64_t limit;
};

static void
run_batch(struct bk_lmdb_worker *w, struct bk_lmdb_batch *batch)
{
	struct bk_call *call;

	if (bk_lmdb_wait_lock(batch->store, w->limit)) {
		bk_lmdb_batch_run(batch);
		bk_lmdb_unlock(batch->store);
		return;
	}
	batch->status = BK_EHELD;
	STAILQ_FOREACH(call, &batch->calls, next)
		call->status = BK_EHELD;
}

static void *
work(void *arg)
{
	struct bk_lmdb_worker *w = arg;
	struct bk_lmdb_batch *batch;

	(void)pthread_mutex_lock(&w->mutex);
	for (;;) {
		while (w->batch == NULL && !w->stop)
			(void)pthread_cond_wait(&w->cond, &w->mutex);
		if (w->batch == NULL)
			break;
		batch = w->batch;
		(void)pthread_mutex_unlock(&w->mutex);
		run_batch(w, batch);
		(void)pthread_mutex_lock(&w->mutex);
		w->batch = NULL;
		bk_wake_up(w->wake);
	}
	(void)pthread_mutex_unlock(&w->mutex);
	return (NULL);
}

/* Signals are the loop's. */
static int
start_thread(struct bk_lmdb_worker *w)
{
	sigset_t all, mask;
	int error;

	(void)sigfillset(&all);
	(void)pthread_sigmask(SIG_SETMASK, &all, &mask);
	error = pthread_create(&w->thread, NULL, work, w);
	(void)pthread_sigmask(SIG_SETMASK, &mask, NULL);
	return (error);
}

struct bk_lmdb_worker *
bk_lmdb_worker_new(struct bk_loop *loop, int64_t limit, bk_timer_cb *done,
    void *arg)
{
	struct bk_lmdb_worker *w;

	w = calloc(1, sizeof(*w));
	if (w == NULL)
		return (NULL);
	w->limit = limit;
	w->wake = bk_wake_new(loop, done, arg);
	if (w->wake == NULL) {
		free(w);
		return (NULL);
	}
	(void)pthread_mutex_init(&w->mutex, NULL);
	(void)pthread_cond_init(&w->cond, NULL);
	if (start_thread(w) != 0) {
		bk_wake_free(w->wake);
		free(w);
		return (NULL);
	}
	return (w);
}

void
bk_lmdb_worker_run(struct bk_lmdb_worker *w, struct bk_lmdb_batch *batch)
{
	(void)pthread_mutex_lock(&w->mutex);
	w->batch = batch;
	(void)pthread_cond_signal(&w->cond);
	(void)pthread_mutex_unlock(&w->mutex);
}

bool
bk_lmdb_worker_idle(struct bk_lmdb_worker *w)
{
	bool idle;

	(void)pthread_mutex_lock(&w->mutex);
	idle = w->batch == NULL;
	(void)pthread_mutex_unlock(&w->mutex);
	return (idle);
}

void
bk_lmdb_worker_free(struct bk_lmdb_worker *w)
{
	if (w == NULL)
		return;
	(void)pthread_mutex_lock(&w->mutex);
	w->stop = true;
	(void)pthread_cond_signal(&w->cond);
	(void)pthread_mutex_unlock(&w->mutex);
	(void)pthread_join(w->thread, NULL);
	bk_wake_free(w->wake);
	(void)pthread_mutex_destroy(&w->mutex);
	(void)pthread_cond_destroy(&w->cond);
	free(w);
}
