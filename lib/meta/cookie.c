/*
 * cookie.c - the cookie that ties a bookie to its directories and its cluster
 * (spec/metadata.md 5.5, 5.6): its text, its comparison, its node.
 */
#include "meta/ledger.pb-c.h"
#include "meta/registry.h"
#include "meta/textproto.h"
#include "meta/tree_call.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LAYOUT_WRITTEN 5
#define LAYOUT_LINES 3 /* the last version without protobuf */
#define VERSION_ROOM 10

void
bk_cookie_fini(struct bk_cookie *c)
{
	free(c->bookie_id);
	free(c->journal_dirs);
	free(c->ledger_dirs);
	free(c->index_dirs);
	free(c->instance_id);
	*c = (struct bk_cookie){0};
}

static ProtobufCBinaryData
borrow_text(const char *text)
{
	return ((ProtobufCBinaryData){text != NULL ? strlen(text) : 0,
	    (uint8_t *)text});
}

int
bk_cookie_encode(const struct bk_cookie *c, struct bk_buf *out)
{
	Bk__CookieFormat message = BK__COOKIE_FORMAT__INIT;
	size_t before = bk_buf_len(out);

	message.bookiehost = borrow_text(c->bookie_id);
	message.journaldir = borrow_text(c->journal_dirs);
	message.ledgerdirs = borrow_text(c->ledger_dirs);
	message.has_instanceid = c->instance_id != NULL;
	message.instanceid = borrow_text(c->instance_id);
	message.has_indexdirs = c->index_dirs != NULL;
	message.indexdirs = borrow_text(c->index_dirs);
	if (bk_buf_printf(out, "%d\n", LAYOUT_WRITTEN) == 0 &&
	    bk_text_encode(&message.base, out) == 0)
		return (0);
	out->end = out->start + before;
	return (-1);
}

/* A text of our own; a NUL inside has no place in it. */
static enum bk_status
copy_text(const void *data, size_t len, char **copy)
{
	if (len > 0 && memchr(data, '\0', len) != NULL)
		return (BK_EBADMETA);
	*copy = strndup(len > 0 ? data : "", len);
	return (*copy != NULL ? BK_OK : BK_ENOMEM);
}

/* Take a line off the front of a text; without a newline it is the last. */
static struct bk_bytes
take_line(struct bk_bytes *text)
{
	const uint8_t *end = NULL;
	struct bk_bytes line = *text;

	if (text->len > 0)
		end = memchr(text->data, '\n', text->len);
	if (end == NULL) {
		text->len = 0;
		return (line);
	}
	line.len = (size_t)(end - text->data);
	text->data = end + 1;
	text->len -= line.len + 1;
	return (line);
}

static enum bk_status
decode_lines(struct bk_bytes text, struct bk_cookie *c)
{
	char **const fields[] = {&c->bookie_id, &c->journal_dirs,
	    &c->ledger_dirs};
	enum bk_status status = BK_OK;
	struct bk_bytes line;

	for (size_t i = 0; i < 3 && status == BK_OK; i++) {
		line = take_line(&text);
		status = line.len == 0 ?
		    BK_EBADMETA :
		    copy_text(line.data, line.len, fields[i]);
	}
	return (status);
}

static enum bk_status
take_message(const Bk__CookieFormat *from, struct bk_cookie *c)
{
	const struct {
		bool there;
		const ProtobufCBinaryData *from;
		char **to;
	} fields[] = {
	    {true, &from->bookiehost, &c->bookie_id},
	    {true, &from->journaldir, &c->journal_dirs},
	    {true, &from->ledgerdirs, &c->ledger_dirs},
	    {from->has_instanceid, &from->instanceid, &c->instance_id},
	    {from->has_indexdirs, &from->indexdirs, &c->index_dirs},
	};
	enum bk_status status = BK_OK;

	for (size_t i = 0; i < sizeof(fields) / sizeof(*fields); i++)
		if (fields[i].there && status == BK_OK)
			status = copy_text(fields[i].from->data,
			    fields[i].from->len, fields[i].to);
	return (status);
}

static enum bk_status
decode_message(struct bk_bytes text, struct bk_cookie *c)
{
	ProtobufCMessage *message;
	enum bk_status status;

	status = bk_text_decode(text, &bk__cookie_format__descriptor, &message,
	    NULL);
	if (status != BK_OK)
		return (status);
	status = take_message((Bk__CookieFormat *)message, c);
	protobuf_c_message_free_unpacked(message, NULL);
	return (status);
}

enum bk_status
bk_cookie_decode(struct bk_bytes text, struct bk_cookie *c)
{
	struct bk_bytes line = take_line(&text);
	char version[VERSION_ROOM];
	enum bk_status status;
	int64_t number;

	*c = (struct bk_cookie){0};
	if (line.len >= sizeof(version))
		return (BK_EBADMETA);
	if (line.len > 0)
		memcpy(version, line.data, line.len);
	version[line.len] = '\0';
	number = bk_digits_value(version);
	if (number < LAYOUT_LINES)
		return (BK_EBADMETA);
	c->layout_version = (int)number;
	status = number == LAYOUT_LINES ? decode_lines(text, c) :
					  decode_message(text, c);
	if (status != BK_OK)
		bk_cookie_fini(c);
	return (status);
}

static bool
same(const char *a, const char *b)
{
	if (a == NULL || b == NULL)
		return (a == b);
	return (strcmp(a, b) == 0);
}

static const char *
index_dirs_of(const struct bk_cookie *c)
{
	return (c->index_dirs != NULL ? c->index_dirs : c->ledger_dirs);
}

bool
bk_cookie_matches(const struct bk_cookie *stored, const struct bk_cookie *ours,
    const char **why)
{
	*why = NULL;
	if (!same(stored->instance_id, ours->instance_id))
		*why = "instance id";
	else if (!same(stored->bookie_id, ours->bookie_id))
		*why = "bookie id";
	else if (!same(stored->journal_dirs, ours->journal_dirs))
		*why = "journal directories";
	else if (!same(stored->ledger_dirs, ours->ledger_dirs))
		*why = "ledger directories";
	else if (!same(index_dirs_of(stored), index_dirs_of(ours)))
		*why = "index directories";
	return (*why == NULL);
}

/* Its node. */

void
bk_cookie_read(const struct bk_tree *tree, const char *bookie_id,
    bk_meta_cb *cb, void *arg)
{
	char path[BK_PATH_MAX + 1];

	bk_tree_path(tree, path, "/cookies/%s", bookie_id);
	bk_meta_get(tree->meta, path, BK_NO_WATCH, cb, arg);
}

struct cookie_call {
	const struct bk_tree *tree;
	struct bk_retry retry;
	bool lost; /* a try whose outcome is unknown */
	char path[BK_PATH_MAX + 1];
	bk_done_cb *cb;
	void *arg;
	size_t len;
	uint8_t text[];
};

static void create(struct cookie_call *op);

static void
finish(struct cookie_call *op, enum bk_status status)
{
	op->cb(op->arg, status);
	free(op);
}

/* There is one, and a try of ours was lost: it is ours if it says the same. */
static void
on_existing(void *arg, enum bk_status status, const struct bk_meta_reply *reply)
{
	struct cookie_call *op = arg;

	if (status == BK_OK &&
	    (reply->data.len != op->len ||
		memcmp(reply->data.data, op->text, op->len) != 0))
		status = BK_EEXIST;
	finish(op, status);
}

static void
on_again(void *arg, enum bk_status status, const struct bk_meta_reply *reply)
{
	struct cookie_call *op = arg;

	(void)reply;
	if (status == BK_OK)
		create(op);
	else
		finish(op, status);
}

static void
on_created(void *arg, enum bk_status status, const struct bk_meta_reply *reply)
{
	struct cookie_call *op = arg;

	(void)reply;
	if (bk_answer_lost(status)) {
		op->lost = true;
		if (bk_retry_later(op->tree, &op->retry, on_again, op))
			return;
	}
	if (status == BK_EEXIST && op->lost)
		bk_meta_get(op->tree->meta, op->path, BK_NO_WATCH, on_existing,
		    op);
	else
		finish(op, status);
}

static void
create(struct cookie_call *op)
{
	bk_meta_create_path(op->tree->meta, op->path,
	    (struct bk_bytes){op->text, op->len}, BK_NODE_PERSISTENT,
	    BK_ACL_CONF, on_created, op);
}

void
bk_cookie_create(const struct bk_tree *tree, const char *bookie_id,
    struct bk_bytes text, bk_done_cb *cb, void *arg)
{
	struct cookie_call *op = calloc(1, sizeof(*op) + text.len);

	if (op == NULL) {
		cb(arg, BK_ENOMEM);
		return;
	}
	op->tree = tree;
	op->cb = cb;
	op->arg = arg;
	op->len = text.len;
	if (text.len > 0)
		memcpy(op->text, text.data, text.len);
	bk_tree_path(tree, op->path, "/cookies/%s", bookie_id);
	create(op);
}
