/*
 * lac.h - ask all members of a segment how far the ledger is confirmed, until
 * enough of them answered (client-protocol.md 2.3, 3.1 step 3, 3.3). Readers
 * ask; a recovery asks and fences in one. Private to lib/client.
 */
#ifndef BK_LAC_H
#define BK_LAC_H

#include "client/client.h"
#include "quorum/quorum.h"

struct bk_lac_query;

struct bk_lac_config {
	struct bk_client *c;
	int64_t ledger_id;
	struct bk_quorum quorum;
	const struct bk_segment *segment;
	const struct bk_digester *digester; /* copied */
	const uint8_t *fence_key;           /* NULL: only ask */
};

/* What was found out; digests verified. */
struct bk_lac_result {
	int64_t lac;      /* highest, -1 if none */
	int64_t entry_id; /* the entry that carried it, -1 if none */
	int64_t length;   /* that entry's, 0 if none */
};

/* BK_OK: covered, a possible writer cannot have confirmed without one of those
 * that answered. EUA at once from a fenced member. Else all have answered and
 * it is not covered: the most telling answer. */
typedef void bk_lac_cb(void *arg, enum bk_status status,
    const struct bk_lac_result *result);

/* The callback comes once, from the loop, and must not free the query; requests
 * still under way then go on, so that slow members are fenced too. NULL when
 * out of memory. */
struct bk_lac_query *bk_lac_query_new(const struct bk_lac_config *config,
    bk_lac_cb *cb, void *arg);
/* Forget it. NULL is fine. */
void bk_lac_query_free(struct bk_lac_query *q);

/* The LAC in an answer to READ_LAC or to a READ of the last entry: the highest
 * of what it proves by digest, else -1 with *status EDIGEST. result may be
 * NULL. */
int64_t bk_lac_of(const struct bk_response *resp,
    const struct bk_digester *digester, int64_t ledger_id,
    enum bk_status *status, struct bk_lac_result *result);

#endif
