/*
 * writer_lac.c - readers learn how far a ledger is confirmed from the entries
 * that come after, so the last ones before a pause would stay unseen. When a
 * writer has been idle for a moment, it tells the write set of its last entry
 * (explicit LAC, client-protocol.md 2.4). Best effort: a loss costs a reader
 * nothing but time. v2 has no such request.
 */
#include "client/writer_impl.h"

#include <stdlib.h>

#define IDLE (20 * BK_MS)

struct bk_lac_push {
	struct bk_writer *writer;
	uint64_t ticket; /* 0: none under way */
};

static void
answered(void *arg, const struct bk_response *resp)
{
	struct bk_lac_push *push = arg;
	struct bk_writer *w = push->writer;

	push->ticket = 0;
	if (resp->status == BK_OK &&
	    ++w->lac_stored == w->pipe.quorum.ack_quorum)
		w->shared = w->lac_sent;
}

static void
push_to(struct bk_writer *w, struct bk_lac_push *push,
    const struct bk_pipe_member *m, struct bk_bytes packet)
{
	struct bk_env *env = w->c->env;
	struct bk_request req = {
	    .op = BK_OP_WRITE_LAC,
	    .version = (uint8_t)w->c->wire_version,
	    .flags = BK_REQ_KEY,
	    .ledger_id = w->ledger_id,
	    .lac = w->lac_sent,
	    .master_key = {w->pipe.key, sizeof(w->pipe.key)},
	    .body = packet,
	};

	if (push->ticket != 0)
		env->ops->cancel(env, push->ticket);
	push->ticket = 0;
	if (m->state == BK_MEMBER_UP && m->peer != NULL)
		push->ticket = env->ops->send(env, m->peer, &req,
		    w->c->request_timeout, answered, push);
}

/* Idle for long enough, or not yet. */
static void
idle(void *arg)
{
	struct bk_writer *w = arg;
	uint8_t packet[BK_LAC_PACKET_MAX];
	size_t len;
	int i;

	if (w->status != BK_OK || w->closing)
		return;
	if (bk_writer_lac(w) != w->lac_sent) {
		bk_writer_share_lac(w);
		return;
	}
	len = bk_lac_seal(&w->digester, w->ledger_id, w->lac_sent, packet);
	w->lac_stored = 0;
	for (i = 0; i < w->pipe.quorum.write_quorum; i++)
		push_to(w, &w->pushes[i],
		    &w->pipe.members[bk_quorum_position(&w->pipe.quorum,
			w->lac_sent, i)],
		    (struct bk_bytes){packet, len});
}

void
bk_writer_share_lac(struct bk_writer *w)
{
	if (bk_writer_lac(w) <= w->shared || bk_pipe_pending(&w->pipe) > 0 ||
	    w->c->wire_version == 2 || w->closing)
		return;
	w->lac_sent = bk_writer_lac(w);
	w->c->env->ops->timer_set(w->idle, IDLE);
}

int
bk_writer_lac_init(struct bk_writer *w)
{
	size_t i, qw = (size_t)w->meta.write_quorum;

	w->shared = -1;
	w->idle = w->c->env->ops->timer_new(w->c->env, idle, w);
	w->pushes = calloc(qw, sizeof(*w->pushes));
	if (w->idle == NULL || w->pushes == NULL)
		return (-1);
	for (i = 0; i < qw; i++)
		w->pushes[i].writer = w;
	return (0);
}

void
bk_writer_lac_fini(struct bk_writer *w)
{
	struct bk_env *env = w->c->env;
	int i;

	for (i = 0; w->pushes != NULL && i < w->meta.write_quorum; i++)
		if (w->pushes[i].ticket != 0)
			env->ops->cancel(env, w->pushes[i].ticket);
	free(w->pushes);
	if (w->idle != NULL)
		env->ops->timer_free(w->idle);
}
