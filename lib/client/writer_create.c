/*
 * writer_create.c - a new ledger (client-protocol.md 1.5): choose an ensemble,
 * write the record, and only then hand over a writer. No bookie is asked.
 * Everything starts from the loop, so that even what fails at once is not
 * reported from inside the call; only having no memory for that is.
 */
#include "client/writer.h"

#include "client/pick.h"
#include "quorum/quorum.h"

#include <stdlib.h>
#include <time.h>

struct creation {
	struct bk_client *c;
	int64_t ledger_id;
	struct bk_ledger_meta meta;
	struct bk_writer_events events;
	void *arg;
	bk_writer_cb *cb;
	void *cb_arg;
	struct bk_timer *begin;
};

enum bk_status
bk_ledger_params_check(const struct bk_ledger_params *p)
{
	struct bk_quorum q = {p->ensemble_size, p->write_quorum, p->ack_quorum};

	return (bk_quorum_valid(&q) && p->ensemble_size <= BK_ENSEMBLE_MAX &&
		    p->ledger_id >= -1 && p->ncustom <= BK_CUSTOM_MAX &&
		    p->password.len <= BK_PASSWORD_MAX ?
		BK_OK :
		BK_EINVAL);
}

static void
finish(struct creation *cr, enum bk_status status, struct bk_writer *w)
{
	bk_writer_cb *cb = cr->cb;
	void *arg = cr->cb_arg;

	cr->c->env->ops->timer_free(cr->begin);
	bk_ledger_meta_fini(&cr->meta);
	free(cr);
	cb(arg, status, w);
}

static void
created(void *arg, enum bk_status status, int64_t id)
{
	struct creation *cr = arg;
	struct bk_password password = {cr->meta.password,
	    cr->meta.password_len};
	struct bk_writer *w = NULL;

	if (status == BK_OK) {
		w = bk_writer_adopt(cr->c, id, &cr->meta, 0, &password,
		    &cr->events, cr->arg);
		if (w == NULL)
			status = BK_ENOMEM;
	}
	finish(cr, status, w);
}

static void
begin(void *arg)
{
	struct creation *cr = arg;
	const char *bookies[BK_ENSEMBLE_MAX];
	size_t e = (size_t)cr->meta.ensemble_size;

	if (bk_pick(cr->c, NULL, 0, e, false, bookies) < e)
		finish(cr, BK_ENOTENOUGH, NULL);
	else if (bk_ledger_meta_append(&cr->meta, 0, bookies) != 0)
		finish(cr, BK_ENOMEM, NULL);
	else
		bk_ledger_create_node(cr->c->tree, cr->ledger_id, &cr->meta,
		    created, cr);
}

/* For people only. */
static int64_t
wall_clock_ms(void)
{
	struct timespec now = {0, 0};

	(void)clock_gettime(CLOCK_REALTIME, &now);
	return ((int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000);
}

static int
fill(struct bk_ledger_meta *m, const struct bk_ledger_params *p)
{
	size_t i;

	bk_ledger_meta_init(m);
	m->ensemble_size = p->ensemble_size;
	m->write_quorum = p->write_quorum;
	m->ack_quorum = p->ack_quorum;
	m->digest = p->digest;
	m->has_ctime = true;
	m->ctime_ms = wall_clock_ms();
	if (bk_ledger_meta_set_password(m, p->password.data, p->password.len) !=
	    0)
		return (-1);
	for (i = 0; i < p->ncustom; i++)
		if (bk_ledger_meta_set_custom(m, p->custom[i].key,
			p->custom[i].value, p->custom[i].len) != 0)
			return (-1);
	return (0);
}

static void
refuse(void *arg)
{
	struct creation *cr = arg;

	finish(cr, BK_EINVAL, NULL);
}

static void
out_of_memory(void *arg)
{
	struct creation *cr = arg;

	finish(cr, BK_ENOMEM, NULL);
}

void
bk_writer_create(struct bk_client *c, const struct bk_ledger_params *p,
    const struct bk_writer_events *events, void *arg, bk_writer_cb *cb,
    void *cb_arg)
{
	struct creation *cr;
	bk_timer_cb *first = begin;

	bk_client_defaults(c);
	if ((cr = calloc(1, sizeof(*cr))) == NULL) {
		cb(cb_arg, BK_ENOMEM, NULL);
		return;
	}
	cr->c = c;
	cr->ledger_id = p->ledger_id;
	cr->events = *events;
	cr->arg = arg;
	cr->cb = cb;
	cr->cb_arg = cb_arg;
	bk_ledger_meta_init(&cr->meta);
	if (bk_ledger_params_check(p) != BK_OK)
		first = refuse;
	else if (fill(&cr->meta, p) != 0)
		first = out_of_memory;
	if ((cr->begin = c->env->ops->timer_new(c->env, first, cr)) == NULL) {
		bk_ledger_meta_fini(&cr->meta);
		free(cr);
		cb(cb_arg, BK_ENOMEM, NULL);
		return;
	}
	c->env->ops->timer_set(cr->begin, 0);
}
