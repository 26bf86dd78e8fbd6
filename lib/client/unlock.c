/* unlock.c - see unlock.h. */
#include "client/unlock.h"

#include <sodium.h>
#include <stdlib.h>
#include <string.h>

int
bk_credential_init(struct bk_credential *cred,
    const struct bk_password *password)
{
	*cred = (struct bk_credential){.given = password != NULL};
	if (password == NULL || password->len == 0)
		return (0);
	if ((cred->data = malloc(password->len)) == NULL)
		return (-1);
	memcpy(cred->data, password->data, password->len);
	cred->len = password->len;
	return (0);
}

void
bk_credential_fini(struct bk_credential *cred)
{
	if (cred->data != NULL)
		sodium_memzero(cred->data, cred->len);
	free(cred->data);
	*cred = (struct bk_credential){.given = false};
}

static bool
fits(const struct bk_ledger_meta *m, const struct bk_credential *cred)
{
	if (!cred->given || !m->has_password)
		return (true);
	return (cred->len == m->password_len &&
	    (cred->len == 0 ||
		sodium_memcmp(cred->data, m->password, cred->len) == 0));
}

enum bk_status
bk_unlock(const struct bk_ledger_meta *m, const struct bk_credential *cred,
    struct bk_unlocked *u)
{
	const uint8_t *password = cred->data;
	size_t len = cred->len;

	if (!fits(m, cred))
		return (BK_EUA);
	if (m->has_password) {
		password = m->password;
		len = m->password_len;
	}
	u->quorum = (struct bk_quorum){m->ensemble_size, m->write_quorum,
	    m->ack_quorum};
	if (!bk_quorum_valid(&u->quorum) || m->nsegments == 0 ||
	    bk_digester_init(&u->digester, m->digest, password, len) != 0)
		return (BK_EBADMETA);
	bk_master_key(password, len, u->key);
	return (BK_OK);
}
