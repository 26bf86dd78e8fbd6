/*
 * claim.c - a ledger made beforehand, by bk-ledger create, becomes ours: it is
 * seen to be empty, then marked by a compare-and-set, which one of several who
 * try wins. Whoever comes later finds the mark.
 */
#include "bk-add/sink.h"

#include "base/log.h"
#include "client/name.h"
#include "client/reader.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MARK "bk.writer" /* the claim, in the ledger's custom metadata */

struct claim {
	struct bk_session *s;
	const struct options *o;
	struct bk_reader *reader;
	bool has_entries;
	char self[128]; /* the mark we set */
	bk_ledger_meta_cb *cb;
	void *arg;
};

static void
finish(struct claim *c, enum bk_status status, const struct bk_ledger_meta *m,
    int32_t version)
{
	bk_ledger_meta_cb *cb = c->cb;
	void *arg = c->arg;

	bk_reader_free(c->reader);
	free(c);
	cb(arg, status, m, version);
}

static void
refuse(struct claim *c, enum bk_status status, const char *why)
{
	bk_log(BK_LOG_ERROR, "ledger %s: %s", c->o->target, why);
	finish(c, status, NULL, -1);
}

/* Whose it is, if anybody's. */
static const char *
owner(const struct bk_ledger_meta *m)
{
	static char text[256];
	const struct bk_custom *mark = bk_ledger_meta_custom(m, MARK);

	if (bk_ledger_meta_custom(m, BK_CHAIN_KEY) != NULL)
		return ("belongs to a name; write to that");
	if (mark == NULL)
		return (NULL);
	(void)snprintf(text, sizeof(text), "has a writer already: %.*s",
	    (int)(mark->len < 128 ? mark->len : 128), (char *)mark->value);
	return (text);
}

static enum bk_update
decide(void *arg, struct bk_ledger_meta *m, enum bk_status *status)
{
	const struct bk_custom *mark = bk_ledger_meta_custom(m, MARK);
	struct claim *c = arg;

	/* Our own first try, whose answer was lost. */
	if (mark != NULL && mark->len == strlen(c->self) &&
	    memcmp(mark->value, c->self, mark->len) == 0)
		return (BK_UPDATE_DONE);
	if (m->state != BK_LEDGER_OPEN) {
		*status = BK_ECLOSED;
		return (BK_UPDATE_STOP);
	}
	if (owner(m) != NULL) {
		*status = BK_EACCESS;
		return (BK_UPDATE_STOP);
	}
	if (bk_ledger_meta_set_custom(m, MARK, c->self, strlen(c->self)) == 0)
		return (BK_UPDATE_WRITE);
	*status = BK_ENOMEM;
	return (BK_UPDATE_STOP);
}

static void
marked(void *arg, enum bk_status status, const struct bk_ledger_meta *m,
    int32_t version)
{
	struct claim *c = arg;
	const char *why = bk_status_text(status);

	if (status == BK_OK) {
		finish(c, status, m, version);
		return;
	}
	if (status == BK_EACCESS && m != NULL && owner(m) != NULL)
		why = owner(m);
	refuse(c, status, why);
}

static bool
see_entry(void *arg, const struct bk_read_entry *entry)
{
	struct claim *c = arg;

	(void)entry;
	c->has_entries = true;
	return (true);
}

static void
entry_looked_for(void *arg, enum bk_status status)
{
	struct claim *c = arg;

	if (c->has_entries)
		refuse(c, BK_EACCESS, "has entries already");
	else if (!bk_status_negative(status) && status != BK_OK)
		refuse(c, status, bk_status_text(status));
	else
		bk_ledger_update(&c->s->tree, c->o->ledger_id, NULL, 0, decide,
		    marked, c);
}

static void
opened(void *arg, enum bk_status status, struct bk_reader *r)
{
	static const struct bk_read_options any = {.unconfirmed = true};
	struct claim *c = arg;

	c->reader = r;
	if (status != BK_OK)
		refuse(c, status, bk_status_text(status));
	else if (bk_reader_closed(r))
		refuse(c, BK_ECLOSED, bk_status_text(BK_ECLOSED));
	else if (owner(bk_reader_meta(r)) != NULL)
		refuse(c, BK_EACCESS, owner(bk_reader_meta(r)));
	else if (bk_reader_lac(r) >= 0)
		refuse(c, BK_EACCESS, "has entries already");
	else
		bk_reader_read(r, 0, 0, &any, see_entry, entry_looked_for, c);
}

void
claim_ledger(struct bk_session *s, const struct options *o,
    bk_ledger_meta_cb *cb, void *arg)
{
	struct claim *c = calloc(1, sizeof(*c));
	uint64_t nonce;

	if (c == NULL) {
		cb(arg, BK_ENOMEM, NULL, -1);
		return;
	}
	c->s = s;
	c->o = o;
	c->cb = cb;
	c->arg = arg;
	s->env->ops->random(s->env, &nonce, sizeof(nonce));
	bk_holder_self(nonce, c->self);
	bk_reader_open(&s->client, o->ledger_id, &o->params.password, opened,
	    c);
}
