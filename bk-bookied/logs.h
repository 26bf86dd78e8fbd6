/*
 * logs.h - the entry logs there are, and their open descriptors, of which only
 * so many are kept. May be used from any thread.
 */
#ifndef BOOKIE_LOGS_H
#define BOOKIE_LOGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct logs;

/* NULL with errno ENOMEM. Directories are kept by reference. */
struct logs *logs_new(void);
void logs_free(struct logs *logs);

/* A log that is complete; -1 when out of memory. bytes is its size. */
int logs_add(struct logs *logs, const char *dir, uint32_t number,
    uint64_t bytes);
/* Forget a log and remove its file. -1 with errno set if that fails; those who
 * use it may go on. */
int logs_remove(struct logs *logs, uint32_t number);
bool logs_has(struct logs *logs, uint32_t number);

size_t logs_count(struct logs *logs);
uint64_t logs_bytes(struct logs *logs);
/* Their numbers, ascending, the caller's to free; -1 when out of memory. */
int logs_numbers(struct logs *logs, uint32_t **numbers, size_t *n);

/* A log in use. */
struct log_use {
	struct log *log;
	int fd;
	uint32_t seed; /* of the checksums in it */
};

/* Use a log: 0, or -1 with errno: ENOENT if there is none, EAGAIN if it would
 * have to be opened and may_open is false, EBADMSG if its head is damaged, or
 * what open(2) says. */
int logs_use(struct logs *logs, uint32_t number, bool may_open,
    struct log_use *use);
void logs_done(struct logs *logs, const struct log_use *use);

#endif
