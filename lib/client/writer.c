/*
 * writer.c - a writer's life: made from a record, adds, what its user is told,
 * its end. The steps of an ensemble change are in writer_change.c, of a close
 * in writer_close.c, of a creation in writer_create.c.
 */
#include "client/writer.h"

#include "client/writer_impl.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Whether there is room enough to have the user told after EAGAIN. */
static bool
has_room(const struct bk_writer *w)
{
	size_t pending = bk_pipe_pending(&w->pipe);

	return (pending == 0 ||
	    (pending <= w->c->window_entries / 4 * 3 &&
		w->pipe.bytes <= w->c->window_bytes / 4 * 3));
}

static void
tell_close(struct bk_writer *w)
{
	bk_done_cb *cb = w->close_cb;

	w->close_cb = NULL;
	cb(w->close_arg, w->close_status);
}

/*
 * All the user is told passes here, from the loop: acknowledgements of a whole
 * turn at once, then room, then the failure, then the end of a close. The user
 * may free the writer in each of them.
 */
static void
settle(void *arg)
{
	struct bk_writer *w = arg;

	w->settling = true;
	if (bk_writer_lac(w) > w->told) {
		w->told = bk_writer_lac(w);
		w->events.acked(w->arg, w->told);
	}
	if (!w->freed && w->want_room && w->status == BK_OK && !w->closing &&
	    has_room(w)) {
		w->want_room = false;
		w->events.room(w->arg);
	}
	if (!w->freed && w->status != BK_OK && !w->told_failed) {
		w->told_failed = true;
		w->events.failed(w->arg, w->status);
	}
	if (!w->freed && w->close_ended && w->close_cb != NULL)
		tell_close(w);
	w->settling = false;
	if (w->freed)
		free(w);
}

void
bk_writer_settle(struct bk_writer *w)
{
	w->c->env->ops->timer_set(w->settle, 0);
}

static void
advanced(void *arg)
{
	struct bk_writer *w = arg;

	bk_writer_settle(w);
	bk_writer_share_lac(w);
	bk_writer_close_step(w);
}

static void
fatal(void *arg, enum bk_status status)
{
	bk_writer_fail(arg, status);
}

static void
idle(void *arg)
{
	bk_writer_close_step(arg);
}

static const struct bk_pipe_events pipe_events = {
    .advanced = advanced,
    .lost = bk_writer_lost,
    .fatal = fatal,
    .idle = idle,
    .tick = bk_writer_tick,
};

void
bk_writer_fail(struct bk_writer *w, enum bk_status status)
{
	if (w->status != BK_OK || w->closed)
		return;
	w->status = status;
	bk_pipe_stop(&w->pipe);
	if (w->closing && !w->close_ended) {
		w->close_ended = true;
		w->close_status = status;
	}
	bk_writer_settle(w);
}

static bool
same_custom(const struct bk_ledger_meta *a, const struct bk_ledger_meta *b)
{
	size_t i;

	if (a->ncustom != b->ncustom)
		return (false);
	for (i = 0; i < a->ncustom; i++) {
		const struct bk_custom *mine = &a->custom[i];
		const struct bk_custom *theirs;

		theirs = bk_ledger_meta_custom(b, mine->key);
		if (theirs == NULL || theirs->len != mine->len ||
		    (mine->len > 0 &&
			memcmp(theirs->value, mine->value, mine->len) != 0))
			return (false);
	}
	return (true);
}

enum bk_status
bk_writer_judge(const struct bk_writer *w, const struct bk_ledger_meta *m)
{
	if (m->state == BK_LEDGER_CLOSED)
		return (BK_ECLOSED);
	if (m->state != BK_LEDGER_OPEN || !same_custom(&w->meta, m))
		return (BK_EFENCED);
	if (m->ensemble_size != w->meta.ensemble_size || m->nsegments == 0)
		return (BK_EBADMETA);
	return (BK_OK);
}

void
bk_writer_adopt_meta(struct bk_writer *w, const struct bk_ledger_meta *m,
    int32_t version)
{
	struct bk_ledger_meta copy;

	if (bk_ledger_meta_copy(&copy, m) != 0) {
		bk_writer_fail(w, BK_ENOMEM);
		return;
	}
	bk_ledger_meta_fini(&w->meta);
	w->meta = copy;
	w->version = version;
	if (bk_pipe_adopt(&w->pipe,
		w->meta.segments[w->meta.nsegments - 1].bookies) != 0)
		bk_writer_fail(w, BK_ENOMEM);
}

/* The record as it is now, whoever changed it. While a change of ours is under
 * way its compare-and-set finds out, and adopts. */
static void
watched(void *arg, enum bk_status status, const struct bk_ledger_meta *m,
    int32_t version)
{
	struct bk_writer *w = arg;

	if (w->status != BK_OK || w->close_running || w->closed)
		return;
	if (status == BK_OK && version < w->version)
		return; /* a server that lags behind */
	if (status == BK_OK)
		status = bk_writer_judge(w, m);
	if (status != BK_OK) {
		bk_writer_fail(w, status);
		return;
	}
	if (version > w->version && !w->change.running && !w->change.unknown)
		bk_writer_adopt_meta(w, m, version);
}

static int
pipe_init(struct bk_writer *w, const struct bk_password *password)
{
	const struct bk_ledger_meta *m = &w->meta;
	uint8_t key[BK_KEY_SIZE];
	const struct bk_segment *last = &m->segments[m->nsegments - 1];
	struct bk_pipe_config config = {
	    .c = w->c,
	    .ledger_id = w->ledger_id,
	    .quorum = {m->ensemble_size, m->write_quorum, m->ack_quorum},
	    .key = key,
	    .first = last->first_entry,
	    .bookies = last->bookies,
	};

	bk_master_key(password->data, password->len, key);
	if (bk_digester_init(&w->digester, m->digest, password->data,
		password->len) != 0) {
		errno = EINVAL;
		return (-1);
	}
	return (bk_pipe_init(&w->pipe, &config, &pipe_events, w));
}

static bool
writable(const struct bk_ledger_meta *m)
{
	struct bk_quorum q = {m->ensemble_size, m->write_quorum, m->ack_quorum};

	return (m->state == BK_LEDGER_OPEN && bk_quorum_valid(&q) &&
	    m->nsegments == 1 && m->segments[0].first_entry == 0);
}

struct bk_writer *
bk_writer_adopt(struct bk_client *c, int64_t ledger_id,
    const struct bk_ledger_meta *m, int32_t version,
    const struct bk_password *password, const struct bk_writer_events *events,
    void *arg)
{
	struct bk_writer *w;
	size_t e;

	if (!writable(m)) {
		errno = EINVAL;
		return (NULL);
	}
	bk_client_defaults(c);
	if ((w = calloc(1, sizeof(*w))) == NULL)
		return (NULL);
	w->c = c;
	w->ledger_id = ledger_id;
	w->version = version;
	w->events = *events;
	w->arg = arg;
	w->told = -1;
	LIST_INSERT_HEAD(&c->writers, w, link);
	if (bk_ledger_meta_copy(&w->meta, m) != 0) {
		bk_ledger_meta_init(&w->meta);
		goto fail;
	}
	e = (size_t)m->ensemble_size;
	if ((w->change.lost = calloc(e, sizeof(char *))) == NULL ||
	    (w->change.spare = calloc(e, sizeof(char *))) == NULL ||
	    (w->guard = bk_guard_new(w)) == NULL ||
	    (w->settle = c->env->ops->timer_new(c->env, settle, w)) == NULL ||
	    pipe_init(w, password) != 0 || bk_writer_lac_init(w) != 0 ||
	    (w->watch = bk_ledger_watch_new(c, ledger_id, watched, w)) == NULL)
		goto fail;
	return (w);
fail:
	bk_writer_free(w);
	return (NULL);
}

void
bk_writer_free(struct bk_writer *w)
{
	if (w == NULL)
		return;
	LIST_REMOVE(w, link);
	bk_ledger_watch_free(w->watch);
	bk_guard_drop(w->guard);
	bk_writer_lac_fini(w);
	bk_pipe_fini(&w->pipe);
	bk_change_fini(w);
	if (w->settle != NULL)
		w->c->env->ops->timer_free(w->settle);
	bk_ledger_meta_fini(&w->meta);
	w->freed = true;
	if (!w->settling)
		free(w);
}

/* Header and digest once; they stay as they are, whoever gets the entry. */
static uint8_t *
pack(const struct bk_writer *w, const void *payload, size_t len, size_t *size)
{
	struct bk_entry_header h = {
	    .ledger_id = w->ledger_id,
	    .entry_id = w->pipe.next,
	    .lac = bk_writer_lac(w),
	    .length = w->length + (int64_t)len,
	};
	size_t head = BK_ENTRY_HEADER + w->digester.size;
	uint8_t *entry;

	if ((entry = malloc(head + len)) == NULL)
		return (NULL);
	if (len > 0)
		memcpy(entry + head, payload, len);
	bk_entry_seal(&w->digester, &h, (struct bk_bytes){entry + head, len},
	    entry);
	*size = head + len;
	return (entry);
}

int
bk_writer_add(struct bk_writer *w, const void *payload, size_t len,
    int64_t *entry_id)
{
	uint8_t *entry;
	size_t pending = bk_pipe_pending(&w->pipe), size;

	if (w->status != BK_OK || w->closing) {
		errno = EPIPE;
		return (-1);
	}
	if (len > BK_PAYLOAD_MAX) {
		errno = EMSGSIZE;
		return (-1);
	}
	if (pending > 0 &&
	    (pending >= w->c->window_entries ||
		w->pipe.bytes + len > w->c->window_bytes)) {
		w->want_room = true;
		errno = EAGAIN;
		return (-1);
	}
	if ((entry = pack(w, payload, len, &size)) == NULL)
		return (-1);
	*entry_id = w->pipe.next;
	w->shared = bk_writer_lac(w);
	if (bk_pipe_push(&w->pipe, entry, size, len) != 0) {
		free(entry);
		return (-1);
	}
	w->length += (int64_t)len;
	return (0);
}

int64_t
bk_writer_ledger(const struct bk_writer *w)
{
	return (w->ledger_id);
}

int64_t
bk_writer_lac(const struct bk_writer *w)
{
	return (w->pipe.head - 1);
}

int64_t
bk_writer_pushed(const struct bk_writer *w)
{
	return (w->pipe.next - 1);
}

int64_t
bk_writer_length(const struct bk_writer *w)
{
	return (w->pipe.acked_payload);
}

const struct bk_ledger_meta *
bk_writer_meta(const struct bk_writer *w, int32_t *version)
{
	if (version != NULL)
		*version = w->version;
	return (&w->meta);
}
