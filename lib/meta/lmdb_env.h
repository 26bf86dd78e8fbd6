/*
 * lmdb_env.h - what lmdb_store.c, which opens a directory, has done by
 * lmdb_env.c, which knows LMDB's files in it. Each returns BK_OK, or a status
 * with *why filled (thread-local).
 */
#ifndef BK_LMDB_ENV_H
#define BK_LMDB_ENV_H

#include "meta/lmdb_store.h"

/* Say why not, and return the status. */
enum bk_status bk_lmdb_refuse(const char **why, enum bk_status status,
    const char *fmt, ...) __attribute__((format(printf, 3, 4)));
/* The same for errno, about a file of the directory, or "" for itself. */
enum bk_status bk_lmdb_refuse_errno(const char **why, const char *dir,
    const char *what);

enum bk_status bk_lmdb_open_file(struct bk_lmdb *s, const char *name, int flags,
    int *fd, const char **why);
/* Before the environment is opened the first time in a process. */
enum bk_status bk_lmdb_fill_lock_file(struct bk_lmdb *s, const char **why);
/* Open the environment. */
enum bk_status bk_lmdb_start(struct bk_lmdb *s, const char **why);
enum bk_status bk_lmdb_check_format(struct bk_lmdb *s, const char **why);
/* Make a store, or finish making it; its environment is open then. */
enum bk_status bk_lmdb_make(struct bk_lmdb *s, const char **why);

#endif
