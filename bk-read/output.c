/* output.c - entries in the form asked for. */
#include "bk-read/read.h"

#include "tool/format.h"
#include "tool/opt.h"
#include "tool/outlet.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TOKENS "sSRlencb"
#define HIGH_WATER (1 << 20)

struct output {
	const struct options *o;
	struct bk_format *format;
	struct bk_outlet *outlet;
	void (*drained)(void *arg);
	void (*failed)(void *arg);
	void *arg;
	int error;
	/* What tokens mean now. */
	const struct bk_read_entry *entry;
	int64_t ledger_id, lac;
	const char *name;
};

static void
on_drained(void *arg)
{
	struct output *out = arg;

	out->drained(out->arg);
}

static void
on_failed(void *arg, int error)
{
	struct output *out = arg;

	if (error == EPIPE)
		bk_outlet_reader_left();
	out->error = error;
	out->failed(out->arg);
}

static const struct bk_outlet_events events = {.drained = on_drained,
    .failed = on_failed};

struct output *
output_open(struct bk_loop *loop, const struct options *o,
    void (*drained)(void *arg), void (*failed)(void *arg), void *arg)
{
	struct bk_format *format = NULL;
	struct output *out;
	const char *why;

	if (o->format != NULL &&
	    (format = bk_format_parse(o->format, TOKENS, &why)) == NULL)
		bk_usage("format '%s': %s", o->format, why);
	if ((out = calloc(1, sizeof(*out))) == NULL) {
		bk_format_free(format);
		return (NULL);
	}
	out->o = o;
	out->format = format;
	out->drained = drained;
	out->failed = failed;
	out->arg = arg;
	out->outlet =
	    bk_outlet_new(loop, STDOUT_FILENO, HIGH_WATER, &events, out);
	if (out->outlet == NULL) {
		bk_format_free(format);
		free(out);
		return (NULL);
	}
	return (out);
}

static void
text_value(struct bk_value *v, const char *text)
{
	if (text == NULL)
		return;
	v->kind = BK_V_TEXT;
	v->bytes.data = (const uint8_t *)text;
	v->bytes.len = strlen(text);
}

static void
number_value(struct bk_value *v, int64_t number)
{
	v->kind = BK_V_INT;
	v->number = number;
}

static void
value_of(void *arg, char letter, struct bk_value *v)
{
	const struct output *out = arg;

	switch (letter) {
	case 's':
		v->kind = BK_V_BYTES;
		v->bytes = out->entry->payload;
		break;
	case 'S':
	case 'R':
		number_value(v, (int64_t)out->entry->payload.len);
		break;
	case 'l':
		number_value(v, out->ledger_id);
		break;
	case 'e':
		number_value(v, out->entry->entry_id);
		break;
	case 'c':
		number_value(v, out->lac);
		break;
	case 'n':
		text_value(v, out->name);
		break;
	default:
		text_value(v, out->entry->bookie);
		break;
	}
}

static int
put_json(struct output *out, struct bk_buf *b)
{
	if (bk_buf_printf(b, "{\"ledger\":%lld,\"entry\":%lld,\"size\":%zu,",
		(long long)out->ledger_id, (long long)out->entry->entry_id,
		out->entry->payload.len) != 0 ||
	    bk_json_payload(b, out->entry->payload) != 0)
		return (-1);
	return (bk_buf_put(b, "}\n", 2));
}

bool
output_put(struct output *out, const struct bk_read_entry *e, int64_t ledger_id,
    const char *name, int64_t lac)
{
	struct bk_buf *b = bk_outlet_buf(out->outlet);
	int r;

	out->entry = e;
	out->ledger_id = ledger_id;
	out->name = name;
	out->lac = lac;
	if (out->o->json)
		r = put_json(out, b);
	else if (out->format != NULL)
		r = bk_format_put(out->format, value_of, out, b);
	else
		r = bk_frame_put(&out->o->framing, e->payload, true, b);
	if (r != 0) {
		out->error = ENOMEM;
		out->failed(out->arg);
		return (false);
	}
	bk_outlet_touch(out->outlet);
	return (!bk_outlet_full(out->outlet));
}

bool
output_empty(const struct output *out)
{
	return (bk_outlet_empty(out->outlet));
}

int
output_error(const struct output *out)
{
	return (out->error);
}

int
output_close(struct output *out)
{
	int error = bk_outlet_finish(out->outlet);

	if (error == EPIPE)
		bk_outlet_reader_left();
	if (out->error != 0)
		error = out->error;
	bk_outlet_free(out->outlet);
	bk_format_free(out->format);
	free(out);
	return (error);
}
