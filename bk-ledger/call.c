/* call.c - asynchronous calls, waited for. */
#include "bk-ledger/call.h"

#include "client/recover.h"
#include "tool/common.h"
#include "tool/opt.h"

#include <bsd/string.h>
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

struct bk_session *
call_open(enum call_need need)
{
	struct bk_session_config config = {
	    .cluster = bk_common.cluster,
	    .auth_file = bk_common.auth_file,
	    .bookies = need >= CALL_BOOKIES,
	    .need_any = need == CALL_ANSWERS,
	    .need_bookies = need == CALL_WRITES,
	};
	struct bk_session *s;
	enum bk_status status = bk_session_open(&config, &s);

	if (status != BK_OK && status != BK_ENONODE)
		exit(bk_status_exit(status));
	return (s);
}

int
call_nothing(int noperands, char **operands)
{
	int i, status = bk_close_stdout();

	for (i = 0; i < noperands; i++)
		status = bk_session_fail(BK_ENOLEDGER, "%s", operands[i]);
	return (status);
}

struct target
call_target(const char *operand)
{
	struct target t = {.text = operand};

	if (isdigit((unsigned char)operand[0]) &&
	    bk_parse_int(operand, 0, INT64_MAX, &t.ledger_id) == 0)
		return (t);
	t.is_name = true;
	if (!bk_name_valid(operand))
		bk_usage("'%s' is neither a ledger's id nor a name", operand);
	return (t);
}

void
call_done(void *arg, enum bk_status status)
{
	struct call_wait *w = arg;

	w->status = status;
	w->done = true;
}

enum bk_status
call_result(struct call_wait *w)
{
	if (!bk_loop_run_until(w->session->loop, &w->done, BK_FOREVER))
		return (BK_ESYS);
	return (w->status);
}

/* Each call below waits with one of these. */
struct answer {
	struct call_wait wait;
	enum bk_status copied; /* ENOMEM when the copy failed */
	struct bk_ledger_meta *meta;
	int32_t version;
	int64_t last, length;
	struct bk_name_reader *reader;
	struct bk_name_place place;
	int64_t *ids;
	size_t n, cap;
	char *text;
	size_t textlen;
};

static void
got_meta(void *arg, enum bk_status status, const struct bk_ledger_meta *m,
    int32_t version)
{
	struct answer *a = arg;

	if (status == BK_OK && bk_ledger_meta_copy(a->meta, m) != 0)
		status = BK_ENOMEM;
	a->version = version;
	call_done(&a->wait, status);
}

enum bk_status
call_read(struct bk_session *s, int64_t ledger_id, struct bk_ledger_meta *m,
    int32_t *version)
{
	struct answer a = {.wait = {.session = s}, .meta = m};
	enum bk_status status;

	bk_ledger_read(&s->tree, ledger_id, BK_NO_WATCH, got_meta, &a);
	status = call_result(&a.wait);
	*version = a.version;
	return (status);
}

static void
got_end(void *arg, enum bk_status status, int64_t last, int64_t length)
{
	struct answer *a = arg;

	a->last = last;
	a->length = length;
	call_done(&a->wait, status);
}

enum bk_status
call_recover(struct bk_session *s, int64_t ledger_id,
    const struct bk_password *password, int64_t *last, int64_t *length)
{
	struct answer a = {.wait = {.session = s}};
	enum bk_status status;

	if (bk_recover(&s->client, ledger_id, password, got_end, &a) == NULL)
		return (BK_ENOMEM);
	status = call_result(&a.wait);
	*last = a.last;
	*length = a.length;
	return (status);
}

enum bk_status
call_remove(struct bk_session *s, int64_t ledger_id)
{
	struct call_wait w = {.session = s};

	bk_ledger_remove(&s->tree, ledger_id, call_done, &w);
	return (call_result(&w));
}

static void
got_reader(void *arg, enum bk_status status, struct bk_name_reader *r)
{
	struct answer *a = arg;

	a->reader = r;
	call_done(&a->wait, status);
}

enum bk_status
call_chain(struct bk_session *s, const char *name, struct bk_chain *chain)
{
	struct answer a = {.wait = {.session = s}};
	enum bk_status status;

	bk_name_reader_open(&s->client, name, got_reader, &a);
	if ((status = call_result(&a.wait)) != BK_OK)
		return (status);
	*chain = *bk_name_reader_chain(a.reader);
	bk_name_reader_free(a.reader);
	return (BK_OK);
}

static void
got_place(void *arg, enum bk_status status, const struct bk_name_place *place)
{
	struct answer *a = arg;

	if (status == BK_OK)
		a->place = *place;
	call_done(&a->wait, status);
}

static enum bk_status
append_place(struct answer *a, struct bk_name_place **places)
{
	struct bk_name_place *p;

	if (a->n == a->cap) {
		a->cap = a->cap == 0 ? 16 : a->cap * 2;
		p = reallocarray(*places, a->cap, sizeof(*p));
		if (p == NULL)
			return (BK_ENOMEM);
		*places = p;
	}
	(*places)[a->n++] = a->place;
	return (BK_OK);
}

enum bk_status
call_places(struct bk_session *s, const char *name,
    struct bk_name_place **places, size_t *n)
{
	struct answer a = {.wait = {.session = s}};
	enum bk_status status;
	uint64_t position = 0;

	*places = NULL;
	bk_name_reader_open(&s->client, name, got_reader, &a);
	status = call_result(&a.wait);
	while (status == BK_OK) {
		a.wait.done = false;
		bk_name_reader_at(a.reader, position, got_place, &a);
		if ((status = call_result(&a.wait)) == BK_OK)
			status = append_place(&a, places);
		position = a.place.position + 1;
	}
	bk_name_reader_free(a.reader);
	*n = a.n;
	if (status == BK_ENOENTRY)
		return (BK_OK);
	free(*places);
	*places = NULL;
	return (status);
}

static bool
got_id(void *arg, int64_t ledger_id)
{
	struct answer *a = arg;
	int64_t *ids;

	if (a->n == a->cap) {
		a->cap = a->cap == 0 ? 1024 : a->cap * 2;
		ids = reallocarray(a->ids, a->cap, sizeof(*ids));
		if (ids == NULL) {
			a->copied = BK_ENOMEM;
			return (false);
		}
		a->ids = ids;
	}
	a->ids[a->n++] = ledger_id;
	return (true);
}

enum bk_status
call_walk(struct bk_session *s, int64_t **ids, size_t *n)
{
	struct answer a = {.wait = {.session = s}};
	enum bk_status status;

	bk_ledger_walk(&s->tree, got_id, call_done, &a);
	status = call_result(&a.wait);
	if (a.copied != BK_OK)
		status = a.copied;
	*ids = a.ids;
	*n = a.n;
	return (status);
}

static void
got_text(void *arg, enum bk_status status, const struct bk_meta_reply *r)
{
	struct answer *a = arg;
	size_t n;

	if (status == BK_OK) {
		n = r->data.len < a->textlen ? r->data.len : a->textlen - 1;
		memcpy(a->text, r->data.data, n);
		a->text[n] = '\0';
	}
	call_done(&a->wait, status);
}

enum bk_status
call_get(struct bk_session *s, const char *path, char *out, size_t len)
{
	struct answer a = {.wait = {.session = s}, .text = out, .textlen = len};

	bk_meta_get(s->meta, path, BK_NO_WATCH, got_text, &a);
	return (call_result(&a.wait));
}

/* Names by chain, read once. */

struct name_of {
	int64_t chain_id;
	char name[BK_NAME_MAX + 1];
};

static struct {
	bool read;
	struct call_wait wait;
	struct name_of *all;
	size_t n;
} names;

static void
got_names(void *arg, enum bk_status status, const char *const *list, size_t n)
{
	size_t i;

	if (status == BK_OK && n > 0) {
		names.all = calloc(n, sizeof(*names.all));
		if (names.all == NULL)
			status = BK_ENOMEM;
		else
			names.n = n;
	}
	for (i = 0; i < names.n; i++)
		(void)strlcpy(names.all[i].name, list[i],
		    sizeof(names.all[i].name));
	call_done(arg, status);
}

static void
got_chain_id(void *arg, enum bk_status status, int64_t id)
{
	struct answer *a = arg;

	a->last = id;
	call_done(&a->wait, status);
}

static void
read_names(struct bk_session *s)
{
	size_t i;

	names.read = true;
	names.wait.session = s;
	bk_names_list(&s->client, got_names, &names.wait);
	if (call_result(&names.wait) != BK_OK)
		return;
	for (i = 0; i < names.n; i++) {
		struct answer a = {.wait = {.session = s}};

		bk_name_lookup(&s->tree, names.all[i].name, got_chain_id, &a);
		names.all[i].chain_id =
		    call_result(&a.wait) == BK_OK ? a.last : -1;
	}
}

const char *
call_chain_name(struct bk_session *s, int64_t chain_id)
{
	size_t i;

	if (!names.read)
		read_names(s);
	for (i = 0; i < names.n; i++)
		if (names.all[i].chain_id == chain_id)
			return (names.all[i].name);
	return (NULL);
}

int64_t
call_chain_id(const struct bk_ledger_meta *m)
{
	const struct bk_custom *c = bk_ledger_meta_custom(m, BK_CHAIN_KEY);
	char text[24];
	int64_t chain;

	if (c == NULL || c->len == 0 || c->len >= sizeof(text))
		return (-1);
	memcpy(text, c->value, c->len);
	text[c->len] = '\0';
	return (bk_parse_int(text, 0, INT64_MAX, &chain) == 0 ? chain : -1);
}

const char *
call_owner(struct bk_session *s, int64_t ledger_id,
    const struct bk_ledger_meta *m)
{
	struct bk_name_place *places;
	int64_t chain = call_chain_id(m);
	const char *name;
	size_t i, n;
	bool found = false;

	if (chain < 0 || (name = call_chain_name(s, chain)) == NULL ||
	    call_places(s, name, &places, &n) != BK_OK)
		return (NULL);
	for (i = 0; i < n; i++)
		found = found || places[i].ledger_id == ledger_id;
	free(places);
	return (found ? name : NULL);
}
