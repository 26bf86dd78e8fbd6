/* lac.c - one question to all members, and its coverage. */
#include "client/lac.h"

#include "client/telling.h"

#include <stdlib.h>
#include <string.h>

struct member {
	struct bk_lac_query *query;
	int position;
	struct bk_peer *peer;
	uint64_t ticket; /* 0: answered */
};

struct bk_lac_query {
	struct bk_client *c;
	int64_t ledger_id;
	struct bk_quorum quorum;
	struct bk_digester digester;
	bool fence;
	uint8_t key[BK_KEY_SIZE];
	struct bk_timer *begin;
	bk_lac_cb *cb; /* NULL: told */
	void *arg;
	uint64_t known;
	int answered;
	enum bk_status why;
	struct bk_lac_result result;
	struct member members[];
};

int64_t
bk_lac_of(const struct bk_response *resp, const struct bk_digester *digester,
    int64_t ledger_id, enum bk_status *status, struct bk_lac_result *result)
{
	struct bk_entry_header h;
	struct bk_bytes payload;
	int64_t lac = -1, explicit_lac;

	*status = BK_EDIGEST;
	if ((resp->present & BK_RESP_BODY) != 0 &&
	    bk_entry_verify(digester, resp->body, ledger_id, -1, &h,
		&payload) == BK_OK) {
		*status = BK_OK;
		lac = h.lac;
		if (result != NULL &&
		    (h.lac > result->lac || result->entry_id == -1)) {
			result->entry_id = h.entry_id;
			result->length = h.length;
		}
	}
	if ((resp->present & BK_RESP_LAC_BODY) != 0 &&
	    bk_lac_verify(digester, resp->lac_body, ledger_id, &explicit_lac) ==
		BK_OK) {
		*status = BK_OK;
		if (explicit_lac > lac)
			lac = explicit_lac;
	}
	if (result != NULL && lac > result->lac)
		result->lac = lac;
	return (lac);
}

static void
tell(struct bk_lac_query *q, enum bk_status status)
{
	bk_lac_cb *cb = q->cb;

	q->cb = NULL;
	if (cb != NULL)
		cb(q->arg, status, &q->result);
}

/* A member that answered is known, also if what it holds is damaged: its fence
 * stands (3.3). Coverage is looked at after every answer (9, D12). */
static void
count(struct bk_lac_query *q, int position, enum bk_status status,
    enum bk_status digest)
{
	q->answered++;
	if (status == BK_OK || bk_status_negative(status))
		q->known |= UINT64_C(1) << position;
	else
		q->why = bk_more_telling(q->why, status);
	if (digest != BK_OK)
		q->why = bk_more_telling(q->why, digest);
	if (status == BK_EUA && q->fence)
		tell(q, BK_EUA);
	else if (bk_quorum_covered(&q->quorum, q->known))
		tell(q, BK_OK);
	else if (q->answered == q->quorum.ensemble_size)
		tell(q, q->why);
}

static void
answered(void *arg, const struct bk_response *resp)
{
	struct member *m = arg;
	struct bk_lac_query *q = m->query;
	enum bk_status status = resp->status, digest = BK_OK;

	m->ticket = 0;
	if (q->cb == NULL)
		return;
	/* Java says EIO beside a good explicit LAC when there is no entry. */
	if (status == BK_EIO && (resp->present & BK_RESP_LAC_BODY) != 0)
		status = BK_OK;
	if (status == BK_OK)
		(void)bk_lac_of(resp, &q->digester, q->ledger_id, &digest,
		    &q->result);
	count(q, m->position, status, digest);
}

static void
ask(struct member *m)
{
	struct bk_lac_query *q = m->query;
	struct bk_request req = {
	    .op = BK_OP_READ_LAC,
	    .version = (uint8_t)q->c->wire_version,
	    .ledger_id = q->ledger_id,
	    .entry_id = -1,
	};

	if (q->fence || q->c->wire_version == 2)
		req.op = BK_OP_READ;
	if (q->fence) {
		req.flags = BK_REQ_FENCE | BK_REQ_KEY;
		req.master_key = (struct bk_bytes){q->key, sizeof(q->key)};
	}
	if (m->peer != NULL)
		m->ticket = q->c->env->ops->send(q->c->env, m->peer, &req,
		    q->c->request_timeout, answered, m);
}

static void
begin(void *arg)
{
	struct bk_lac_query *q = arg;
	int i;

	for (i = 0; i < q->quorum.ensemble_size; i++)
		ask(&q->members[i]);
	for (i = 0; i < q->quorum.ensemble_size && q->cb != NULL; i++)
		if (q->members[i].ticket == 0)
			count(q, i, BK_EUNREACHABLE, BK_OK);
}

struct bk_lac_query *
bk_lac_query_new(const struct bk_lac_config *config, bk_lac_cb *cb, void *arg)
{
	size_t e = (size_t)config->quorum.ensemble_size, i;
	struct bk_env *env = config->c->env;
	struct bk_lac_query *q;

	q = calloc(1, sizeof(*q) + e * sizeof(q->members[0]));
	if (q == NULL)
		return (NULL);
	q->c = config->c;
	q->ledger_id = config->ledger_id;
	q->quorum = config->quorum;
	q->digester = *config->digester;
	q->cb = cb;
	q->arg = arg;
	q->result = (struct bk_lac_result){-1, -1, 0};
	if (config->fence_key != NULL) {
		q->fence = true;
		memcpy(q->key, config->fence_key, sizeof(q->key));
	}
	for (i = 0; i < e; i++) {
		q->members[i].query = q;
		q->members[i].position = (int)i;
		q->members[i].peer =
		    env->ops->peer(env, config->segment->bookies[i]);
	}
	if ((q->begin = env->ops->timer_new(env, begin, q)) == NULL) {
		free(q);
		return (NULL);
	}
	env->ops->timer_set(q->begin, 0);
	return (q);
}

void
bk_lac_query_free(struct bk_lac_query *q)
{
	int i;

	if (q == NULL)
		return;
	for (i = 0; i < q->quorum.ensemble_size; i++)
		if (q->members[i].ticket != 0)
			q->c->env->ops->cancel(q->c->env, q->members[i].ticket);
	q->c->env->ops->timer_free(q->begin);
	free(q);
}
