/*
 * tree_call.h - what the files of the ledger tree, the registry and the chains
 * share: paths under the root, and trying again after a lost answer. Private
 * to lib/meta.
 */
#ifndef BK_TREE_CALL_H
#define BK_TREE_CALL_H

#include "meta/ledger_tree.h"

/* A path under root: root, then what fmt says. One that is too long becomes "",
 * which the store refuses. */
void bk_tree_path(const struct bk_tree *tree, char path[BK_PATH_MAX + 1],
    const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* The digits of a text, all of it and at least one; -1 for anything else, or
 * above INT64_MAX. */
int64_t bk_digits_value(const char *text);

/* How long a call has been tried; all zero before the first loss. */
struct bk_retry {
	int64_t deadline;
	int64_t pause;
};

/* Whether it is unknown if a write was done: ESTORE, ESESSION. */
bool bk_answer_lost(enum bk_status status);

/* Call cb after a pause that grows each time; false, and no callback, when the
 * tree's patience has run out. */
bool bk_retry_later(const struct bk_tree *tree, struct bk_retry *r,
    bk_meta_cb *cb, void *arg);

#endif
