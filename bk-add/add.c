/*
 * add.c - the run. Entries go from input to sink as long as there is room, wait
 * in pending until they are stored, and are then told of on standard output.
 *
 * It ends when the input does, at TERM with the entry begun, at INT at once,
 * or when the sink fails; in each case what is on its way is waited for, and
 * the exit status tells the truth about all of it.
 */
#include "bk-add/add.h"

#include "base/log.h"
#include "bk-add/pending.h"
#include "bk-add/progress.h"
#include "bk-add/sink.h"
#include "bk-add/unacked.h"
#include "tool/common.h"
#include "tool/outlet.h"

#include <assert.h>
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sysexits.h>
#include <unistd.h>

#define OUTPUT_MAX 1048576 /* bytes not yet taken from us */

struct add {
	const struct options *o;
	struct bk_session *s;
	struct input *input;
	struct sink *sink;
	struct pending *pending;
	struct bk_outlet *out; /* for -o and -T, or NULL */
	struct progress *progress;
	struct bk_signal *term, *interrupt;
	struct input_entry held; /* for which there was no room */
	bool has_held;
	bool closing; /* nothing more is added */
	bool done;
	bool pushed;      /* something was added */
	int signo;        /* TERM or INT, once it came */
	int output_error; /* errno of standard output */
	uint64_t nacked;
	enum bk_status failed; /* of the sink */
	enum bk_status closed; /* of its end */
};

static void
on_closed(void *arg, enum bk_status status)
{
	struct add *a = arg;

	a->closed = status;
	a->done = true;
}

static void
begin_end(struct add *a)
{
	if (a->closing)
		return;
	a->closing = true;
	sink_close(a->sink, on_closed, a);
}

/* Move what there is room for. */
static void
pump(void *arg)
{
	struct add *a = arg;
	int64_t ledger_id, entry_id;

	while (!a->closing && (a->out == NULL || !bk_outlet_full(a->out))) {
		if (!a->has_held) {
			enum input_result r = input_next(a->input, &a->held);

			if (r == INPUT_WAIT)
				return;
			if (r != INPUT_ENTRY) {
				begin_end(a);
				return;
			}
			a->has_held = true;
		}
		if (sink_add(a->sink, a->held.cut.payload, &ledger_id,
			&entry_id) == -1) {
			/* EPIPE: failed() is on its way. */
			if (errno != EAGAIN && errno != EPIPE)
				bk_log(BK_LOG_ERROR, "%s: %s", a->o->target,
				    strerror(errno));
			if (errno != EAGAIN && errno != EPIPE)
				begin_end(a);
			return;
		}
		a->has_held = false;
		a->pushed = true;
		if (pending_push(a->pending, &a->held, ledger_id, entry_id) ==
		    -1) {
			a->failed = BK_ENOMEM;
			begin_end(a);
		}
	}
}

/* What stored entries are told by. */

struct told {
	const struct add *a;
	const struct pending_entry *entry;
};

static void
token(void *arg, char letter, struct bk_value *v)
{
	const struct told *t = arg;
	const char *name = t->a->o->target;

	v->kind = BK_V_INT;
	switch (letter) {
	case 'l':
		v->number = t->entry->ledger_id;
		break;
	case 'e':
		v->number = t->entry->entry_id;
		break;
	case 'S':
	case 'R':
		v->number = (int64_t)t->entry->len;
		break;
	case 's':
		v->kind = BK_V_BYTES;
		v->bytes = pending_payload(t->a->pending);
		break;
	case 'n':
		v->kind = BK_V_TEXT;
		v->bytes =
		    (struct bk_bytes){(const uint8_t *)name, strlen(name)};
		break;
	default:
		v->kind = BK_V_NONE;
	}
}

static void
tell(struct add *a, const struct pending_entry *entry)
{
	struct told t = {a, entry};
	struct bk_buf *out = bk_outlet_buf(a->out);
	int r;

	if (a->o->format != NULL)
		r = bk_format_put(a->o->format, token, &t, out);
	else
		r = bk_frame_put(&a->o->framing, pending_payload(a->pending),
		    entry->ended, out);
	if (r == -1 && a->output_error == 0)
		a->output_error = ENOMEM;
}

static void
on_acked(void *arg, int64_t ledger_id, int64_t entry_id)
{
	struct add *a = arg;
	const struct pending_entry *e;

	while ((e = pending_first(a->pending)) != NULL &&
	    (e->ledger_id != ledger_id || e->entry_id <= entry_id)) {
		if (a->out != NULL)
			tell(a, e);
		pending_pop(a->pending);
		a->nacked++;
	}
	if (a->out != NULL)
		bk_outlet_touch(a->out);
	progress_at(a->progress, a->nacked);
}

/* The sink's events. */

static void
on_opened(void *arg, enum bk_status status)
{
	struct add *a = arg;

	a->failed = status;
	if (status == BK_OK)
		pump(a);
	else
		a->done = a->closing = true;
}

static void
on_failed(void *arg, enum bk_status status)
{
	struct add *a = arg;

	a->failed = status;
	begin_end(a);
}

static const struct sink_events sink_events = {
    .opened = on_opened,
    .acked = on_acked,
    .room = pump,
    .failed = on_failed,
};

/* Signals and standard output. */

static void
on_signal(void *arg, int signo)
{
	struct add *a = arg;

	bk_log(BK_LOG_INFO, "%s: asked to end", a->o->target);
	/* Asked a second time: at once. */
	if (a->signo != 0 || signo == SIGINT)
		input_cut(a->input);
	else
		input_stop(a->input);
	a->signo = signo;
	pump(a);
}

static void
on_output_failed(void *arg, int error)
{
	struct add *a = arg;

	if (error == EPIPE)
		bk_outlet_reader_left();
	a->output_error = error;
	input_cut(a->input);
	begin_end(a);
}

static const struct bk_outlet_events outlet_events = {
    .drained = pump,
    .failed = on_output_failed,
};

static int
set_up(struct add *a)
{
	struct bk_loop *loop = a->s->loop;

	if (a->o->format != NULL || a->o->tee) {
		a->out = bk_outlet_new(loop, STDOUT_FILENO, OUTPUT_MAX,
		    &outlet_events, a);
		if (a->out == NULL)
			return (-1);
	}
	a->pending = pending_new(a->o->keep);
	a->term = bk_signal_new(loop, SIGTERM, on_signal, a);
	a->interrupt = bk_signal_new(loop, SIGINT, on_signal, a);
	a->progress = progress_new(loop, a->o->target);
	if (a->pending == NULL || a->term == NULL || a->interrupt == NULL ||
	    input_start(a->input, loop, pump, a) == -1)
		return (-1);
	a->sink = sink_open(a->s, a->o, &sink_events, a);
	return (a->sink == NULL ? -1 : 0);
}

static void
tear_down(struct add *a)
{
	progress_free(a->progress);
	sink_free(a->sink);
	bk_outlet_free(a->out);
	input_free(a->input);
	pending_free(a->pending);
	bk_signal_free(a->term);
	bk_signal_free(a->interrupt);
	bk_session_close(a->s);
}

/* The end. */

/* The first entry that is not known to be stored, if there is one. */
static bool
first_unacked(const struct add *a, size_t *source, uint64_t *number)
{
	const struct pending_entry *e =
	    a->pending != NULL ? pending_first(a->pending) : NULL;

	if (e != NULL) {
		*source = e->source;
		*number = e->number;
		return (true);
	}
	if (a->has_held) {
		*source = a->held.source;
		*number = a->held.cut.number;
		return (true);
	}
	return (input_has_rest(a->input, source, number));
}

static int
exit_status(const struct add *a, bool all_stored)
{
	int status = bk_status_exit(a->failed);

	if (a->failed != BK_OK)
		return (status == EX_UNAVAILABLE && a->pushed ? EX_TEMPFAIL :
								status);
	if (input_exit(a->input) != 0)
		return (input_exit(a->input));
	if (a->output_error != 0)
		return (EX_IOERR);
	return (all_stored ? EX_OK : EX_TEMPFAIL);
}

/* All is stored, yet the ledger's end is not: no harm to the entries. */
static void
report_close(const struct add *a)
{
	if (a->failed == BK_OK && a->closed != BK_OK)
		bk_log(BK_LOG_WARNING, "%s: not closed: %s", a->o->target,
		    bk_status_text(a->closed));
}

static int
settle(struct add *a)
{
	size_t source = 0;
	uint64_t number = 0;
	bool rest, bad = input_exit(a->input) != 0;
	int status;

	/* A close that failed with entries on their way has lost them. */
	if (a->failed == BK_OK && a->closed != BK_OK && a->pending != NULL &&
	    pending_first(a->pending) != NULL)
		a->failed = a->closed;
	report_close(a);
	rest = first_unacked(a, &source, &number);
	status = exit_status(a, !rest);
	if (rest && !bad && a->s != NULL)
		bk_log(BK_LOG_ERROR, "%s: first unacknowledged %s",
		    a->o->target, input_place(a->input, source, number));
	if (status != EX_OK && a->o->unacked != NULL)
		status = unacked_write(a->o, a->pending,
		    a->has_held ? &a->held : NULL, a->input, a->signo == 0,
		    status);
	bk_log(BK_LOG_INFO, "%s: %llu entries stored", a->o->target,
	    (unsigned long long)a->nacked);
	return (status);
}

static void
run(struct add *a)
{
	(void)bk_loop_run_until(a->s->loop, &a->done, BK_FOREVER);
	if (a->out == NULL || a->output_error != 0)
		return;
	a->output_error = bk_outlet_finish(a->out);
	if (a->output_error == EPIPE)
		bk_outlet_reader_left();
}

static void
report_output(const struct add *a)
{
	if (a->output_error != 0)
		bk_log(BK_LOG_ERROR, "standard output: %s",
		    strerror(a->output_error));
}

int
add_run(const struct options *o)
{
	struct bk_session_config config = {
	    .cluster = bk_common.cluster,
	    .auth_file = bk_common.auth_file,
	    .bookies = true,
	    .need_bookies = true,
	    .window_entries = o->window_entries,
	    .window_bytes = o->window_bytes,
	};
	struct add a = {.o = o};
	int status;

	if (unacked_prepare(o) == -1)
		return (EX_CANTCREAT);
	if ((a.input = input_new(o)) == NULL)
		return (EX_OSERR);
	a.failed = bk_session_open(&config, &a.s);
	if (a.failed == BK_OK && set_up(&a) == -1) {
		bk_log(BK_LOG_ERROR, "%s", strerror(errno));
		a.failed = BK_ENOMEM;
	} else if (a.failed == BK_OK)
		run(&a);
	report_output(&a);
	status = settle(&a);
	tear_down(&a);
	if (a.signo == SIGINT) {
		(void)signal(SIGINT, SIG_DFL);
		(void)raise(SIGINT);
	}
	return (status);
}
