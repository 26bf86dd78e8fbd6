/*
 * names.h - names of the store's files in a ledger directory (bk-disk(5)).
 * Names alone tell what there is: a file is written under a temporary name and
 * renamed when it is durable.
 */
#ifndef BOOKIE_NAMES_H
#define BOOKIE_NAMES_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#define NAME_SIZE 32
#define NAME_LOCK "LOCK"
#define NAME_BALLAST "ballast"
#define NAME_TEMPORARY ".new"

/* "0000002a.log", the log of that number. */
void name_log(char name[NAME_SIZE], uint32_t number);
/* "00000001-0000002a.index", the index of logs low to high. */
void name_index(char name[NAME_SIZE], uint32_t low, uint32_t high);
/* The same with NAME_TEMPORARY. */
void name_temporary(char temporary[NAME_SIZE], const char *name);

/* Whether a name is one of those; fills what it says. */
bool name_is_log(const char *name, uint32_t *number);
bool name_is_index(const char *name, uint32_t *low, uint32_t *high);
bool name_is_temporary(const char *name);

#endif
