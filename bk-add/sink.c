/* sink.c - a name's writer or a ledger's, behind one face. */
#include "bk-add/sink.h"

#include "base/log.h"
#include "client/name.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct sink {
	struct bk_session *s;
	const struct options *o;
	struct sink_events events;
	void *arg;
	struct bk_name_writer *name;
	struct bk_writer *ledger;
};

static void
on_acked_name(void *arg, int64_t ledger_id, int64_t entry_id)
{
	struct sink *k = arg;

	k->events.acked(k->arg, ledger_id, entry_id);
}

static void
on_acked(void *arg, int64_t entry_id)
{
	struct sink *k = arg;

	k->events.acked(k->arg, bk_writer_ledger(k->ledger), entry_id);
}

static void
on_room(void *arg)
{
	struct sink *k = arg;

	k->events.room(k->arg);
}

static void
on_failed(void *arg, enum bk_status status)
{
	struct sink *k = arg;

	bk_log(BK_LOG_ERROR, "%s: %s", k->o->target, bk_status_text(status));
	k->events.failed(k->arg, status);
}

static void
on_replaced(void *arg, const char *lost, const char *spare, int64_t entry)
{
	struct sink *k = arg;

	if (spare != NULL)
		bk_log(BK_LOG_WARNING,
		    "%s: bookie %s lost at entry %lld; %s takes its place",
		    k->o->target, lost, (long long)entry, spare);
	else
		bk_log(BK_LOG_WARNING,
		    "%s: bookie %s lost at entry %lld; going on without it",
		    k->o->target, lost, (long long)entry);
}

static const struct bk_name_events name_events = {
    .acked = on_acked_name,
    .room = on_room,
    .failed = on_failed,
    .replaced = on_replaced,
};

static const struct bk_writer_events ledger_events = {
    .acked = on_acked,
    .room = on_room,
    .failed = on_failed,
    .replaced = on_replaced,
};

static void
name_opened(void *arg, enum bk_status status, const char *holder,
    struct bk_name_writer *w)
{
	struct sink *k = arg;

	k->name = w;
	if (status == BK_EHELD)
		bk_log(BK_LOG_ERROR, "%s: %s: %s; --fence takes it over",
		    k->o->target, bk_status_text(status), holder);
	else if (status != BK_OK)
		bk_log(BK_LOG_ERROR, "%s: %s", k->o->target,
		    bk_status_text(status));
	k->events.opened(k->arg, status);
}

static void
ledger_claimed(void *arg, enum bk_status status, const struct bk_ledger_meta *m,
    int32_t version)
{
	struct sink *k = arg;

	if (status == BK_OK) {
		k->ledger = bk_writer_adopt(&k->s->client, k->o->ledger_id, m,
		    version, &k->o->params.password, &ledger_events, k);
		if (k->ledger == NULL) {
			status = errno == EINVAL ? BK_ECLOSED : BK_ENOMEM;
			bk_log(BK_LOG_ERROR, "ledger %s: %s", k->o->target,
			    bk_status_text(status));
		}
	}
	k->events.opened(k->arg, status);
}

static void
open_name(struct sink *k)
{
	struct bk_name_params p = {
	    .name = k->o->target,
	    .ledger = k->o->params,
	    .fence = k->o->fence,
	    .roll_bytes = k->o->roll_size,
	    .roll_age = k->o->roll_time,
	};

	if (p.ledger.ensemble_size != 0 || p.ledger.write_quorum != 0 ||
	    p.ledger.ack_quorum != 0)
		bk_session_quorum(k->s, &p.ledger);
	bk_name_writer_open(&k->s->client, &p, &name_events, k, name_opened, k);
}

struct sink *
sink_open(struct bk_session *s, const struct options *o,
    const struct sink_events *events, void *arg)
{
	struct sink *k = calloc(1, sizeof(*k));

	if (k == NULL)
		return (NULL);
	k->s = s;
	k->o = o;
	k->events = *events;
	k->arg = arg;
	if (o->is_name)
		open_name(k);
	else
		claim_ledger(s, o, ledger_claimed, k);
	return (k);
}

void
sink_free(struct sink *k)
{
	if (k == NULL)
		return;
	bk_name_writer_free(k->name);
	bk_writer_free(k->ledger);
	free(k);
}

int
sink_add(struct sink *k, struct bk_bytes payload, int64_t *ledger_id,
    int64_t *entry_id)
{
	if (k->name != NULL)
		return (bk_name_writer_add(k->name, payload.data, payload.len,
		    ledger_id, entry_id));
	*ledger_id = k->o->ledger_id;
	return (bk_writer_add(k->ledger, payload.data, payload.len, entry_id));
}

void
sink_close(struct sink *k, bk_done_cb *cb, void *arg)
{
	if (k->name != NULL)
		bk_name_writer_close(k->name, cb, arg);
	else
		bk_writer_close(k->ledger, cb, arg);
}
