/* disk_fault.c - a hook that counts disk calls, and fails some. */
#include "t/lib/disk_fault.h"

#include <pthread.h>

enum { OPS = DISK_REMOVE + 1 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int counts[OPS];
static int armed_op = -1;
static int armed_skip;
static int armed_times;
static int armed_error;

static int
on_call(void *arg, const struct disk_call *call)
{
	int error = 0;

	(void)arg;
	(void)pthread_mutex_lock(&lock);
	counts[call->op]++;
	if ((int)call->op == armed_op && armed_skip-- <= 0 &&
	    armed_times != 0) {
		if (armed_times > 0)
			armed_times--;
		error = armed_error;
	}
	(void)pthread_mutex_unlock(&lock);
	return (error);
}

void
disk_fault_watch(void)
{
	disk_set_hook(on_call, NULL);
}

void
disk_fault_arm(enum disk_op op, int skip, int times, int error)
{
	(void)pthread_mutex_lock(&lock);
	armed_op = (int)op;
	armed_skip = skip;
	armed_times = times;
	armed_error = error;
	(void)pthread_mutex_unlock(&lock);
}

void
disk_fault_disarm(void)
{
	(void)pthread_mutex_lock(&lock);
	armed_op = -1;
	(void)pthread_mutex_unlock(&lock);
}

int
disk_fault_count(enum disk_op op)
{
	int n;

	(void)pthread_mutex_lock(&lock);
	n = counts[op];
	(void)pthread_mutex_unlock(&lock);
	return (n);
}
