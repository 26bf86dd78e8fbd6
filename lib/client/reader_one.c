/* reader_one.c - one entry from one named bookie, for check and verify. */
#include "client/reader_impl.h"

#include <stdlib.h>

struct bk_one {
	LIST_ENTRY(bk_one) link;
	struct bk_reader *reader;
	struct bk_replica *replica;
	int64_t entry_id;
	uint64_t ticket;
	struct bk_timer *begin;
	bk_one_cb *cb;
	void *arg;
};

static void
drop(struct bk_one *one)
{
	struct bk_env *env = one->reader->c->env;

	if (one->ticket != 0)
		env->ops->cancel(env, one->ticket);
	if (one->begin != NULL)
		env->ops->timer_free(one->begin);
	LIST_REMOVE(one, link);
	free(one);
}

void
bk_ones_free(struct bk_reader *r)
{
	struct bk_one *one;

	while ((one = LIST_FIRST(&r->ones)) != NULL)
		drop(one);
}

static void
finish(struct bk_one *one, enum bk_status status, struct bk_read_entry *entry)
{
	bk_one_cb *cb = one->cb;
	void *arg = one->arg;

	entry->bookie = one->replica->id;
	one->ticket = 0;
	drop(one);
	cb(arg, status, entry);
}

static void
answered(void *arg, const struct bk_response *resp)
{
	struct bk_one *one = arg;
	struct bk_reader *r = one->reader;
	struct bk_read_entry entry = {.entry_id = one->entry_id};
	enum bk_status status = resp->status;

	if (status == BK_OK)
		status = bk_entry_verify(&r->digester, resp->body, r->ledger_id,
		    one->entry_id, &entry.header, &entry.payload);
	finish(one, status, &entry);
}

/* From the loop, so that having nobody to ask is not told from inside the
 * call. */
static void
begin(void *arg)
{
	struct bk_one *one = arg;
	struct bk_reader *r = one->reader;
	struct bk_read_entry entry = {.entry_id = one->entry_id};
	struct bk_request req = {
	    .op = BK_OP_READ,
	    .version = (uint8_t)r->c->wire_version,
	    .ledger_id = r->ledger_id,
	    .entry_id = one->entry_id,
	};

	if (one->replica->peer != NULL)
		one->ticket =
		    r->c->env->ops->send(r->c->env, one->replica->peer, &req,
			r->c->request_timeout, answered, one);
	if (one->ticket == 0)
		finish(one, BK_EUNREACHABLE, &entry);
}

void
bk_reader_read_from(struct bk_reader *r, const char *bookie, int64_t entry_id,
    bk_one_cb *cb, void *arg)
{
	struct bk_read_entry none = {.entry_id = entry_id, .bookie = bookie};
	struct bk_one *one;

	if ((one = calloc(1, sizeof(*one))) == NULL) {
		cb(arg, BK_ENOMEM, &none);
		return;
	}
	one->reader = r;
	one->entry_id = entry_id;
	one->cb = cb;
	one->arg = arg;
	LIST_INSERT_HEAD(&r->ones, one, link);
	if ((one->replica = bk_reader_replica(r, bookie)) == NULL ||
	    (one->begin = r->c->env->ops->timer_new(r->c->env, begin, one)) ==
		NULL) {
		drop(one);
		cb(arg, BK_ENOMEM, &none);
		return;
	}
	r->c->env->ops->timer_set(one->begin, 0);
}
