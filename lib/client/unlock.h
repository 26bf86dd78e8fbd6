/*
 * unlock.h - from a ledger's record and a password to what reads and fences
 * it. Private to lib/client.
 */
#ifndef BK_UNLOCK_H
#define BK_UNLOCK_H

#include "client/client.h"
#include "quorum/quorum.h"

/* A password kept until the record is there; given false: take the stored. */
struct bk_credential {
	bool given;
	uint8_t *data;
	size_t len;
};

/* Copy; password NULL: none given. 0, or -1 when out of memory. */
int bk_credential_init(struct bk_credential *cred,
    const struct bk_password *password);
/* Wiped, too. */
void bk_credential_fini(struct bk_credential *cred);

struct bk_unlocked {
	struct bk_quorum quorum;
	struct bk_digester digester;
	uint8_t key[BK_KEY_SIZE]; /* the master key */
};

/* BK_OK; EUA when the password given is not the stored one (compared in
 * constant time); EBADMETA when the record names no bookies or a digest that
 * is unknown. */
enum bk_status bk_unlock(const struct bk_ledger_meta *m,
    const struct bk_credential *cred, struct bk_unlocked *u);

#endif
