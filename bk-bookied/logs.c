/* logs.c - a sorted array of logs; open ones in the order of their last use. */
#include "bk-bookied/logs.h"

#include "bk-bookied/disk.h"
#include "bk-bookied/entrylog.h"
#include "bk-bookied/names.h"

#include <bsd/sys/queue.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define OPEN_MAX_LOGS 256

struct log {
	const char *dir;
	uint32_t number;
	uint32_t seed;
	uint64_t bytes;
	int fd; /* -1: not open */
	unsigned users;
	bool is_removed; /* to be freed by its last user */
	TAILQ_ENTRY(log) by_use;
};
TAILQ_HEAD(log_list, log);

struct logs {
	pthread_mutex_t lock;
	struct log **logs; /* by number */
	size_t n, cap;
	uint64_t bytes;
	struct log_list open; /* longest unused first */
	size_t nopen;
};

struct logs *
logs_new(void)
{
	struct logs *logs = calloc(1, sizeof(*logs));

	if (logs == NULL)
		return (NULL);
	(void)pthread_mutex_init(&logs->lock, NULL);
	TAILQ_INIT(&logs->open);
	return (logs);
}

static void
log_close(struct logs *logs, struct log *log)
{
	if (log->fd == -1)
		return;
	TAILQ_REMOVE(&logs->open, log, by_use);
	logs->nopen--;
	disk_close(log->fd);
	log->fd = -1;
}

void
logs_free(struct logs *logs)
{
	if (logs == NULL)
		return;
	for (size_t i = 0; i < logs->n; i++) {
		log_close(logs, logs->logs[i]);
		free(logs->logs[i]);
	}
	free(logs->logs);
	(void)pthread_mutex_destroy(&logs->lock);
	free(logs);
}

/* Place of the first log not below number. */
static size_t
place(const struct logs *logs, uint32_t number)
{
	size_t low = 0, high = logs->n;
	size_t middle;

	while (low < high) {
		middle = low + (high - low) / 2;
		if (logs->logs[middle]->number < number)
			low = middle + 1;
		else
			high = middle;
	}
	return (low);
}

static struct log *
find(const struct logs *logs, uint32_t number)
{
	size_t i = place(logs, number);

	if (i < logs->n && logs->logs[i]->number == number)
		return (logs->logs[i]);
	return (NULL);
}

static int
grow(struct logs *logs)
{
	size_t cap = logs->cap == 0 ? 16 : logs->cap * 2;
	struct log **grown;

	if (logs->n < logs->cap)
		return (0);
	grown = realloc(logs->logs, cap * sizeof(struct log *));
	if (grown == NULL)
		return (-1);
	logs->logs = grown;
	logs->cap = cap;
	return (0);
}

int
logs_add(struct logs *logs, const char *dir, uint32_t number, uint64_t bytes)
{
	struct log *log = calloc(1, sizeof(*log));
	int r = -1;
	size_t i;

	if (log == NULL)
		return (-1);
	*log = (struct log){.dir = dir,
	    .number = number,
	    .bytes = bytes,
	    .fd = -1};
	(void)pthread_mutex_lock(&logs->lock);
	if (grow(logs) == 0) {
		i = place(logs, number);
		memmove(&logs->logs[i + 1], &logs->logs[i],
		    (logs->n - i) * sizeof(struct log *));
		logs->logs[i] = log;
		logs->n++;
		logs->bytes += bytes;
		r = 0;
	}
	(void)pthread_mutex_unlock(&logs->lock);
	if (r == -1)
		free(log);
	return (r);
}

int
logs_remove(struct logs *logs, uint32_t number)
{
	const char *dir = NULL;
	char name[NAME_SIZE];
	struct log *log;
	size_t i;

	(void)pthread_mutex_lock(&logs->lock);
	log = find(logs, number);
	if (log != NULL) {
		dir = log->dir;
		i = place(logs, number);
		memmove(&logs->logs[i], &logs->logs[i + 1],
		    (logs->n - i - 1) * sizeof(struct log *));
		logs->n--;
		logs->bytes -= log->bytes;
		log->is_removed = true;
		if (log->users == 0) {
			log_close(logs, log);
			free(log);
		}
	}
	(void)pthread_mutex_unlock(&logs->lock);
	name_log(name, number);
	return (dir == NULL ? 0 : disk_remove(dir, name));
}

bool
logs_has(struct logs *logs, uint32_t number)
{
	bool has;

	(void)pthread_mutex_lock(&logs->lock);
	has = find(logs, number) != NULL;
	(void)pthread_mutex_unlock(&logs->lock);
	return (has);
}

size_t
logs_count(struct logs *logs)
{
	size_t n;

	(void)pthread_mutex_lock(&logs->lock);
	n = logs->n;
	(void)pthread_mutex_unlock(&logs->lock);
	return (n);
}

uint64_t
logs_bytes(struct logs *logs)
{
	uint64_t bytes;

	(void)pthread_mutex_lock(&logs->lock);
	bytes = logs->bytes;
	(void)pthread_mutex_unlock(&logs->lock);
	return (bytes);
}

int
logs_numbers(struct logs *logs, uint32_t **numbers, size_t *n)
{
	(void)pthread_mutex_lock(&logs->lock);
	*n = logs->n;
	*numbers = malloc((logs->n + 1) * sizeof(**numbers));
	for (size_t i = 0; *numbers != NULL && i < logs->n; i++)
		(*numbers)[i] = logs->logs[i]->number;
	(void)pthread_mutex_unlock(&logs->lock);
	return (*numbers == NULL ? -1 : 0);
}

/* Close logs that nobody uses, longest unused first, until few are open. */
static void
close_some(struct logs *logs)
{
	struct log *log, *next;

	TAILQ_FOREACH_SAFE(log, &logs->open, by_use, next) {
		if (logs->nopen < OPEN_MAX_LOGS)
			return;
		if (log->users == 0)
			log_close(logs, log);
	}
}

static int
log_open(struct logs *logs, struct log *log)
{
	char path[PATH_MAX], name[NAME_SIZE];
	int saved;

	close_some(logs);
	name_log(name, log->number);
	if (disk_path(path, log->dir, name) == -1)
		return (-1);
	log->fd = disk_open(path, O_RDONLY, 0);
	if (log->fd == -1)
		return (-1);
	TAILQ_INSERT_TAIL(&logs->open, log, by_use);
	logs->nopen++;
	if (entrylog_head(log->fd, log->number, &log->seed) == 0)
		return (0);
	saved = errno;
	log_close(logs, log);
	errno = saved;
	return (-1);
}

static int
use_log(struct logs *logs, struct log *log, bool may_open)
{
	if (log == NULL)
		errno = ENOENT;
	else if (log->fd != -1)
		return (0);
	else if (!may_open)
		errno = EAGAIN;
	else
		return (log_open(logs, log));
	return (-1);
}

int
logs_use(struct logs *logs, uint32_t number, bool may_open, struct log_use *use)
{
	struct log *log;
	int r;

	/* Who opens a log holds the lock while the disk works. */
	if (may_open)
		(void)pthread_mutex_lock(&logs->lock);
	else if (pthread_mutex_trylock(&logs->lock) != 0) {
		errno = EAGAIN;
		return (-1);
	}
	log = find(logs, number);
	r = use_log(logs, log, may_open);
	if (r == 0) {
		log->users++;
		TAILQ_REMOVE(&logs->open, log, by_use);
		TAILQ_INSERT_TAIL(&logs->open, log, by_use);
		*use = (struct log_use){log, log->fd, log->seed};
	}
	(void)pthread_mutex_unlock(&logs->lock);
	return (r);
}

void
logs_done(struct logs *logs, const struct log_use *use)
{
	struct log *log = use->log;

	(void)pthread_mutex_lock(&logs->lock);
	if (--log->users == 0 && log->is_removed) {
		log_close(logs, log);
		free(log);
	}
	(void)pthread_mutex_unlock(&logs->lock);
}
