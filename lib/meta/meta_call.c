/* meta_call.c - calls kept until their answer. */
#include "meta/meta_call.h"

#include <stdlib.h>
#include <string.h>

static struct bk_call *
new_call(enum bk_call_kind kind, size_t extra, bk_meta_cb *cb, void *arg)
{
	struct bk_call *call;

	call = malloc(sizeof(*call) + extra);
	if (call == NULL)
		return (NULL);
	memset(call, 0, sizeof(*call));
	call->kind = kind;
	call->cb = cb;
	call->arg = arg;
	call->size = sizeof(*call) + extra;
	return (call);
}

static void *
put(char **at, const void *data, size_t len)
{
	char *copy = *at;

	if (len > 0)
		memcpy(copy, data, len);
	*at += len;
	return (copy);
}

struct bk_call *
bk_call_new(enum bk_call_kind kind, const char *path, struct bk_bytes data,
    bk_meta_cb *cb, void *arg)
{
	size_t pathlen = strlen(path) + 1;
	struct bk_call *call;
	char *at;

	call = new_call(kind, pathlen + data.len, cb, arg);
	if (call == NULL)
		return (NULL);
	at = (char *)(call + 1);
	call->path = put(&at, path, pathlen);
	call->data = (struct bk_bytes){put(&at, data.data, data.len), data.len};
	return (call);
}

struct bk_call *
bk_call_new_multi(const struct bk_meta_op *ops, size_t nops, bk_meta_cb *cb,
    void *arg)
{
	size_t extra = nops * sizeof(*ops);
	struct bk_call *call;
	struct bk_meta_op *op;
	char *at;

	for (size_t i = 0; i < nops; i++)
		extra += strlen(ops[i].path) + 1 + ops[i].data.len;
	call = new_call(BK_CALL_MULTI, extra, cb, arg);
	if (call == NULL)
		return (NULL);
	at = (char *)(call + 1);
	call->path = "/";
	call->ops = put(&at, ops, nops * sizeof(*ops));
	call->nops = nops;
	for (size_t i = 0; i < nops; i++) {
		op = &call->ops[i];
		op->path = put(&at, op->path, strlen(op->path) + 1);
		op->data.data = put(&at, op->data.data, op->data.len);
	}
	return (call);
}

void
bk_call_free(struct bk_call *call)
{
	if (call == NULL)
		return;
	free(call->owned);
	free(call);
}

bool
bk_call_reads(const struct bk_call *call)
{
	return (call->kind <= BK_CALL_VERIFY);
}

int
bk_call_keep_data(struct bk_call *call, const void *data, size_t len)
{
	if (len == 0)
		return (0);
	call->owned = malloc(len);
	if (call->owned == NULL)
		return (-1);
	memcpy(call->owned, data, len);
	call->reply.data = (struct bk_bytes){call->owned, len};
	return (0);
}

int
bk_call_keep_path(struct bk_call *call, const char *path)
{
	call->owned = strdup(path);
	if (call->owned == NULL)
		return (-1);
	call->reply.path = call->owned;
	return (0);
}

void
bk_call_reset(struct bk_call *call)
{
	free(call->owned);
	call->owned = NULL;
	memset(&call->reply, 0, sizeof(call->reply));
}

void
bk_call_finish(struct bk_call *call)
{
	if (call->cb != NULL)
		call->cb(call->arg, call->status, &call->reply);
	bk_call_free(call);
}

void
bk_calls_finish(struct bk_calls *calls, enum bk_status status)
{
	struct bk_call *call;

	while ((call = STAILQ_FIRST(calls)) != NULL) {
		STAILQ_REMOVE_HEAD(calls, next);
		bk_call_reset(call);
		call->status = status;
		bk_call_finish(call);
	}
}

void
bk_calls_answer(struct bk_calls *calls)
{
	struct bk_call *call;

	while ((call = STAILQ_FIRST(calls)) != NULL) {
		STAILQ_REMOVE_HEAD(calls, next);
		bk_call_finish(call);
	}
}

/* Names of children. */

int
bk_names_add(struct bk_names *names, const char *name, size_t len)
{
	size_t cap;
	char *text;

	if (names->cap - names->len < len + 1) {
		cap = names->cap * 2 + len + 64;
		text = realloc(names->text, cap);
		if (text == NULL)
			return (-1);
		names->text = text;
		names->cap = cap;
	}
	memcpy(names->text + names->len, name, len);
	names->text[names->len + len] = '\0';
	names->len += len + 1;
	names->n++;
	return (0);
}

void
bk_names_fini(struct bk_names *names)
{
	free(names->text);
	memset(names, 0, sizeof(*names));
}

static int
compare_names(const void *a, const void *b)
{
	return (strcmp(*(const char *const *)a, *(const char *const *)b));
}

/* One block: the pointers, then what they point to. */
int
bk_call_keep_names(struct bk_call *call, const struct bk_names *names)
{
	const char **list;
	char *text;

	if (names->n == 0)
		return (0);
	list = malloc(names->n * sizeof(*list) + names->len);
	if (list == NULL)
		return (-1);
	text = (char *)(list + names->n);
	memcpy(text, names->text, names->len);
	for (size_t i = 0; i < names->n; i++) {
		list[i] = text;
		text += strlen(text) + 1;
	}
	qsort(list, names->n, sizeof(*list), compare_names);
	call->owned = list;
	call->reply.children = list;
	call->reply.nchildren = names->n;
	return (0);
}

/* Pauses. */

struct bk_pause {
	LIST_ENTRY(bk_pause) next;
	struct bk_timer *timer;
	bk_meta_cb *cb;
	void *arg;
};

static void
end_pause(struct bk_pause *pause, enum bk_status status)
{
	static const struct bk_meta_reply nothing;
	bk_meta_cb *cb = pause->cb;
	void *arg = pause->arg;

	LIST_REMOVE(pause, next);
	bk_timer_free(pause->timer);
	free(pause);
	cb(arg, status, &nothing);
}

static void
pause_over(void *arg)
{
	end_pause(arg, BK_OK);
}

int
bk_pauses_add(struct bk_pauses *pauses, struct bk_loop *loop, int64_t delay,
    bk_meta_cb *cb, void *arg)
{
	struct bk_pause *pause;

	pause = calloc(1, sizeof(*pause));
	if (pause == NULL)
		return (-1);
	pause->timer = bk_timer_new(loop, pause_over, pause);
	if (pause->timer == NULL) {
		free(pause);
		return (-1);
	}
	pause->cb = cb;
	pause->arg = arg;
	LIST_INSERT_HEAD(pauses, pause, next);
	bk_timer_set(pause->timer, delay);
	return (0);
}

void
bk_pauses_cancel(struct bk_pauses *pauses)
{
	struct bk_pause *pause;

	while ((pause = LIST_FIRST(pauses)) != NULL)
		end_pause(pause, BK_ECANCELED);
}
