/*
 * pick.h - which bookies to take for a new ensemble or as a spare: writable
 * ones at random, those that failed lately last (client-protocol.md 1.5, 6.2).
 * Private to lib/client.
 */
#ifndef BK_PICK_H
#define BK_PICK_H

#include "client/client.h"

/*
 * Pick up to n distinct writable bookies, none of them in exclude, into out;
 * returns how many. The names are valid until the loop turns. A bookie that
 * failed within the last second is not picked at all when spare is true: two
 * dead ones must not take turns.
 */
size_t bk_pick(struct bk_client *c, const char *const *exclude, size_t nexclude,
    size_t n, bool spare, const char **out);

/* Remember that a bookie failed just now. */
void bk_pick_shun(struct bk_client *c, const char *id);
/* It works after all. */
void bk_pick_pardon(struct bk_client *c, const char *id);

#endif
