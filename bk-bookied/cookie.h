/*
 * cookie.h - "this disk is that bookie's": the cookie in the store and the
 * VERSION file in every directory must say the same (metadata.md 5.4 to 5.6).
 *
 * Each directory DIR has its cookie in DIR/current/VERSION. A bookie without
 * any is new; what else may be wrong has a line of its own each, and none of
 * it is repaired by guessing: a directory that lost its cookie lost entries.
 */
#ifndef BOOKIE_COOKIE_H
#define BOOKIE_COOKIE_H

#include "base/status.h"

#include <stddef.h>

struct bk_loop;
struct bk_tree;

struct cookie_subject {
	const char *bookie_id;
	const char *const *journal_dirs;
	size_t njournal_dirs;
	const char *const *ledger_dirs;
	size_t nledger_dirs;
	const char *instance_id; /* of the cluster, or NULL */
};

/* Validate, or make the cookies of a new bookie, directories and their current
 * included. Runs the loop for what it asks of the store. BK_OK, BK_ECONFIG
 * (already reported, in one line), or why it could not be done (reported). */
enum bk_status cookie_check(struct bk_loop *loop, const struct bk_tree *tree,
    const struct cookie_subject *subject);

#endif
