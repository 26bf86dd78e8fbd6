/* await.c - one answer of the metadata store. */
#include "bk-bookied/await.h"

#include <string.h>

void
await_init(struct await *w)
{
	w->done = false;
	w->status = BK_OK;
	bk_buf_init(&w->data);
}

void
await_fini(struct await *w)
{
	bk_buf_fini(&w->data);
}

void
await_done(void *arg, enum bk_status status)
{
	struct await *w = arg;

	w->done = true;
	w->status = status;
}

static void
keep(struct await *w, enum bk_status status, const void *data, size_t len)
{
	if (status == BK_OK && len > 0 && bk_buf_put(&w->data, data, len) == -1)
		status = BK_ENOMEM;
	await_done(w, status);
}

void
await_reply(void *arg, enum bk_status status, const struct bk_meta_reply *reply)
{
	keep(arg, status, reply != NULL ? reply->data.data : NULL,
	    reply != NULL ? reply->data.len : 0);
}

void
await_text(void *arg, enum bk_status status, const char *text)
{
	keep(arg, status, text, text != NULL ? strlen(text) : 0);
}

enum bk_status
await(struct await *w, struct bk_loop *loop)
{
	(void)bk_loop_run_until(loop, &w->done, BK_FOREVER);
	return (w->done ? w->status : BK_ECANCELED);
}

struct bk_bytes
await_data(const struct await *w)
{
	return ((struct bk_bytes){bk_buf_head(&w->data), bk_buf_len(&w->data)});
}
