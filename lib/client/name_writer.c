/*
 * name_writer.c - writing to a name: a fresh ledger at the end of its chain,
 * the next one when it is full or old, the end (design/meta.md 5).
 *
 * Opening, in steps, each of which a crash may be the last of:
 *   1 hold.c makes us the chain's holder;
 *   2 the chain's last ledger is recovered, if it is not closed;
 *   3 a ledger is created that names the chain;
 *   4 hold.c appends it, in one multi with a check of the ledger as created.
 * Entries are taken only after step 4. A roll is: close, 3, 4. Whoever takes
 * the name over makes step 4 fail for the one before, which ends it; what that
 * one still writes is fenced by step 2.
 */
#include "client/name.h"

#include "client/hold.h"
#include "client/recover.h"

#include <bsd/string.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum step {
	OPENING,  /* steps 1 and 2 */
	RENEWING, /* closing a full ledger, steps 3 and 4 */
	WRITING,
	CLOSING,
	FAILED,
	CLOSED,
};

struct bk_name_writer {
	struct bk_client *client;
	enum step step;
	char name[BK_NAME_MAX + 1];
	struct bk_ledger_params params; /* password is ours */
	uint8_t *password;
	int64_t roll_bytes, roll_age; /* 0: never */

	struct bk_name_events events;
	void *arg;
	bk_name_writer_cb *opened; /* until the opening is over */
	void *opened_arg;
	bk_done_cb *closed; /* asked for, not yet answered */
	void *closed_arg;
	enum bk_status status; /* of the failure or the close */

	struct bk_hold *hold;
	struct bk_recovery *recovery;
	struct bk_writer *writer; /* of the ledger in progress */
	int64_t ledger_bytes;     /* pushed into it */
	struct bk_timer *age;     /* the ledger must roll */
	unsigned creating;        /* a ledger's creation is under way */
	bool freed;               /* free when that is over */
};

static void create_ledger(struct bk_name_writer *w);
static void close_now(struct bk_name_writer *w);

static const struct bk_env_ops *
env(struct bk_name_writer *w)
{
	return (w->client->env->ops);
}

static void
destroy(struct bk_name_writer *w)
{
	if (w->age != NULL)
		env(w)->timer_free(w->age);
	free(w->password);
	free(w);
}

static void
opening_failed(struct bk_name_writer *w, enum bk_status status,
    const char *holder)
{
	bk_name_writer_cb *opened = w->opened;

	w->step = FAILED;
	w->opened = NULL;
	opened(w->opened_arg, status, holder, NULL);
	bk_name_writer_free(w);
}

/* The opening or the writing ends with an error. */
static void
fail(struct bk_name_writer *w, enum bk_status status)
{
	if (w->step == FAILED || w->step == CLOSED)
		return;
	if (w->opened != NULL) {
		opening_failed(w, status, NULL);
		return;
	}
	w->step = FAILED;
	w->status = status;
	env(w)->timer_stop(w->age);
	if (w->closed != NULL)
		close_now(w);
	else
		w->events.failed(w->arg, status);
}

/* Step 4. */

static void
appended(void *arg, enum bk_status status)
{
	struct bk_name_writer *w = arg;
	bk_name_writer_cb *opened = w->opened;

	if (status != BK_OK) {
		fail(w, status);
		return;
	}
	w->step = WRITING;
	w->ledger_bytes = 0;
	if (w->roll_age > 0)
		env(w)->timer_set(w->age, w->roll_age);
	w->opened = NULL;
	if (opened != NULL)
		opened(w->opened_arg, BK_OK, NULL, w);
	else if (w->closed != NULL)
		close_now(w);
	else
		w->events.room(w->arg);
}

/* Step 3. */

static void
writer_acked(void *arg, int64_t last_entry)
{
	struct bk_name_writer *w = arg;

	w->events.acked(w->arg, bk_writer_ledger(w->writer), last_entry);
}

static void
writer_room(void *arg)
{
	struct bk_name_writer *w = arg;

	if (w->step == WRITING)
		w->events.room(w->arg);
}

/* While the ledger is being closed its close tells the same. */
static void
writer_failed(void *arg, enum bk_status status)
{
	struct bk_name_writer *w = arg;

	if (w->step == WRITING)
		fail(w, status);
}

static void
writer_replaced(void *arg, const char *lost, const char *spare, int64_t entry)
{
	struct bk_name_writer *w = arg;

	if (w->events.replaced != NULL)
		w->events.replaced(w->arg, lost, spare, entry);
}

static const struct bk_writer_events writer_events = {
    .acked = writer_acked,
    .room = writer_room,
    .failed = writer_failed,
    .replaced = writer_replaced,
};

static void
ledger_created(void *arg, enum bk_status status, struct bk_writer *writer)
{
	struct bk_name_writer *w = arg;
	int32_t version;

	w->creating = 0;
	if (w->freed) {
		bk_writer_free(writer);
		destroy(w);
		return;
	}
	if (status != BK_OK) {
		fail(w, status);
		return;
	}
	w->writer = writer;
	(void)bk_writer_meta(writer, &version);
	bk_hold_append(w->hold, bk_writer_ledger(writer), version, appended, w);
}

static void
create_ledger(struct bk_name_writer *w)
{
	char key[] = BK_CHAIN_KEY, text[24];
	struct bk_custom chain = {key, (uint8_t *)text, 0};
	struct bk_ledger_params p = w->params;

	w->step = RENEWING;
	chain.len = (size_t)snprintf(text, sizeof(text), "%lld",
	    (long long)bk_hold_chain_id(w->hold));
	p.custom = &chain;
	p.ncustom = 1;
	w->creating = 1;
	bk_writer_create(w->client, &p, &writer_events, w, ledger_created, w);
}

/* Step 2. */

static void
recovered(void *arg, enum bk_status status, int64_t last_entry, int64_t length)
{
	struct bk_name_writer *w = arg;

	(void)last_entry;
	(void)length;
	w->recovery = NULL;
	/* A ledger deleted by hand leaves nothing to close. */
	if (status != BK_OK && status != BK_ENOLEDGER)
		fail(w, status);
	else
		create_ledger(w);
}

/* What the name says where the command does not, and then the client. */
static void
settle_params(struct bk_name_writer *w, const struct bk_chain *c)
{
	struct bk_ledger_params *p = &w->params;

	if (p->ensemble_size == 0) {
		p->ensemble_size = c->ensemble_size;
		p->write_quorum = c->write_quorum;
		p->ack_quorum = c->ack_quorum;
	}
	if (p->ensemble_size == 0) {
		p->ensemble_size = w->client->ensemble_size;
		p->write_quorum = w->client->write_quorum;
		p->ack_quorum = w->client->ack_quorum;
	}
	if (w->roll_bytes == 0)
		w->roll_bytes = c->roll_bytes;
	if (w->roll_age == 0)
		w->roll_age = c->roll_age_ms * BK_MS;
}

/* Step 1 is done. */
static void
held(void *arg, enum bk_status status, const char *holder)
{
	struct bk_name_writer *w = arg;
	const struct bk_chain_at *at;

	if (status != BK_OK) {
		opening_failed(w, status, holder);
		return;
	}
	at = bk_hold_chain(w->hold);
	settle_params(w, &at->chain);
	if (at->chain.count == at->chain.first || at->last_page.n == 0) {
		create_ledger(w);
		return;
	}
	w->recovery =
	    bk_recover(w->client, at->last_page.ledgers[at->last_page.n - 1],
		&w->params.password, recovered, w);
	if (w->recovery == NULL)
		fail(w, BK_ENOMEM);
}

/* Rolling. */

static void
rolled(void *arg, enum bk_status status)
{
	struct bk_name_writer *w = arg;

	if (status != BK_OK) {
		fail(w, status);
		return;
	}
	bk_writer_free(w->writer);
	w->writer = NULL;
	create_ledger(w);
}

static void
roll(struct bk_name_writer *w)
{
	w->step = RENEWING;
	env(w)->timer_stop(w->age);
	bk_writer_close(w->writer, rolled, w);
}

static void
too_old(void *arg)
{
	struct bk_name_writer *w = arg;

	if (w->step != WRITING)
		return;
	if (bk_writer_pushed(w->writer) < 0)
		env(w)->timer_set(w->age, w->roll_age); /* still empty */
	else
		roll(w);
}

/* Closing. */

static void
let_go(void *arg, enum bk_status status)
{
	struct bk_name_writer *w = arg;
	bk_done_cb *closed = w->closed;

	w->step = CLOSED;
	w->closed = NULL;
	if (w->status == BK_OK)
		w->status = status;
	closed(w->closed_arg, w->status);
}

static void
ledger_closed(void *arg, enum bk_status status)
{
	struct bk_name_writer *w = arg;

	w->status = status;
	bk_hold_release(w->hold, status == BK_OK, let_go, w);
}

/* Not in the middle of a roll. A failed writer only lets go, so that the next
 * one need not wait for the end of this program. */
static void
close_now(struct bk_name_writer *w)
{
	bool failed = w->step == FAILED;

	w->step = CLOSING;
	env(w)->timer_stop(w->age);
	if (failed)
		bk_hold_release(w->hold, false, let_go, w);
	else
		bk_writer_close(w->writer, ledger_closed, w);
}

void
bk_name_writer_close(struct bk_name_writer *w, bk_done_cb *cb, void *arg)
{
	w->closed = cb;
	w->closed_arg = arg;
	if (w->step == WRITING || w->step == FAILED)
		close_now(w);
}

/* Opening, adding, freeing. */

static int
keep_params(struct bk_name_writer *w, const struct bk_name_params *params)
{
	const struct bk_password *password = &params->ledger.password;

	w->params = params->ledger;
	w->params.custom = NULL;
	w->params.ncustom = 0;
	w->params.ledger_id = -1;
	w->roll_bytes = params->roll_bytes;
	w->roll_age = params->roll_age;
	(void)strlcpy(w->name, params->name, sizeof(w->name));
	if (password->len == 0)
		return (0);
	if ((w->password = malloc(password->len)) == NULL)
		return (-1);
	memcpy(w->password, password->data, password->len);
	w->params.password.data = w->password;
	return (0);
}

/* A new name takes what the command says. */
static struct bk_chain
new_settings(const struct bk_name_writer *w)
{
	struct bk_chain c;

	memset(&c, 0, sizeof(c));
	c.state = BK_CHAIN_WRITING;
	c.ensemble_size = w->params.ensemble_size;
	c.write_quorum = w->params.write_quorum;
	c.ack_quorum = w->params.ack_quorum;
	c.roll_bytes = w->roll_bytes;
	c.roll_age_ms = w->roll_age / BK_MS;
	return (c);
}

static int
begin(struct bk_name_writer *w, const struct bk_name_params *params)
{
	struct bk_chain settings;

	w->age = env(w)->timer_new(w->client->env, too_old, w);
	if (w->age == NULL || keep_params(w, params) != 0)
		return (-1);
	settings = new_settings(w);
	w->hold =
	    bk_hold_open(w->client, w->name, &settings, params->fence, held, w);
	return (w->hold == NULL ? -1 : 0);
}

void
bk_name_writer_open(struct bk_client *c, const struct bk_name_params *params,
    const struct bk_name_events *events, void *arg, bk_name_writer_cb *cb,
    void *cb_arg)
{
	struct bk_name_writer *w;

	if (!bk_name_valid(params->name)) {
		cb(cb_arg, BK_EINVAL, NULL, NULL);
		return;
	}
	if ((w = calloc(1, sizeof(*w))) == NULL) {
		cb(cb_arg, BK_ENOMEM, NULL, NULL);
		return;
	}
	w->client = c;
	w->events = *events;
	w->arg = arg;
	w->opened = cb;
	w->opened_arg = cb_arg;
	if (begin(w, params) != 0) {
		destroy(w);
		cb(cb_arg, BK_ENOMEM, NULL, NULL);
	}
}

int
bk_name_writer_add(struct bk_name_writer *w, const void *payload, size_t len,
    int64_t *ledger_id, int64_t *entry_id)
{
	if (w->step != WRITING) {
		errno = w->step == RENEWING ? EAGAIN : EPIPE;
		return (-1);
	}
	if (bk_writer_add(w->writer, payload, len, entry_id) != 0)
		return (-1);
	*ledger_id = bk_writer_ledger(w->writer);
	w->ledger_bytes += (int64_t)len;
	if (w->roll_bytes > 0 && w->ledger_bytes >= w->roll_bytes)
		roll(w);
	return (0);
}

void
bk_name_writer_free(struct bk_name_writer *w)
{
	if (w == NULL)
		return;
	bk_hold_free(w->hold);
	bk_recover_abort(w->recovery);
	bk_writer_free(w->writer);
	env(w)->timer_stop(w->age);
	w->freed = true;
	if (!w->creating)
		destroy(w);
}

const struct bk_chain *
bk_name_writer_chain(const struct bk_name_writer *w)
{
	return (&bk_hold_chain(w->hold)->chain);
}
