/*
 * recover.h - recovery open: fence a ledger, find its end, bring what is kept
 * to its quorum, close it (client-protocol.md 3). Safe to repeat, safe to run
 * twice at once, safe to kill at any moment.
 */
#ifndef BK_RECOVER_H
#define BK_RECOVER_H

#include "client/client.h"

/* The ledger as closed: by us, or by whoever was first. On an error last_entry
 * is -1 and length 0. */
typedef void bk_recover_cb(void *arg, enum bk_status status, int64_t last_entry,
    int64_t length);

/*
 * Recover and close. A CLOSED ledger is success at once. EUA before anything
 * is fenced when the password differs from the stored one (password NULL: take
 * the stored one). When too few bookies answer, they are asked again, and
 * local ones started, for replace_timeout; then EUNDECIDED, ENOTENOUGH or what
 * else was wrong, the ledger stays IN_RECOVERY, and the next try starts over.
 *
 * Returns a handle, gone when the callback is called, to abort with; NULL with
 * errno ENOMEM, and then there is no callback.
 */
struct bk_recovery;
struct bk_recovery *bk_recover(struct bk_client *c, int64_t ledger_id,
    const struct bk_password *password, bk_recover_cb *cb, void *arg);
/* Give up (crash-like); no callback after. NULL is fine. */
void bk_recover_abort(struct bk_recovery *rec);

#endif
