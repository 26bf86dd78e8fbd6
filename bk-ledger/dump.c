/*
 * dump.c - bk-ledger dump: the metadata of ledgers and names as text, one node
 * a line: kind, key, and the node's bytes in base64. What load.c reads.
 *
 *	ledger	ID	BASE64
 *	name	NAME	BASE64
 *	chain	ID	BASE64
 *	page	ID/NUMBER	BASE64
 */
#include "bk-ledger/call.h"
#include "bk-ledger/command.h"

#include "tool/common.h"
#include "tool/format.h"

#include <bsd/string.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>

struct node {
	struct call_wait wait;
	const char *kind, *key;
	bool print;
};

static void
got_node(void *arg, enum bk_status status, const struct bk_meta_reply *r)
{
	struct node *n = arg;
	struct bk_buf text;

	if (status == BK_OK && n->print) {
		bk_buf_init(&text);
		if (bk_put_base64(&text, r->data) != 0)
			status = BK_ENOMEM;
		else
			(void)printf("%s\t%s\t%.*s\n", n->kind, n->key,
			    (int)bk_buf_len(&text), (char *)bk_buf_head(&text));
		bk_buf_fini(&text);
	}
	call_done(&n->wait, status);
}

static enum bk_status
dump_node(struct bk_session *s, const char *path, const char *kind,
    const char *key)
{
	struct node n = {.wait = {.session = s},
	    .kind = kind,
	    .key = key,
	    .print = true};
	enum bk_status status;

	bk_meta_get(s->meta, path, BK_NO_WATCH, got_node, &n);
	status = call_result(&n.wait);
	/* Gone since it was listed: not part of the dump. */
	return (status == BK_ENONODE ? BK_OK : status);
}

static enum bk_status
dump_ledgers(struct bk_session *s)
{
	char path[BK_PATH_MAX + 1], key[24];
	int64_t *ids;
	size_t i, n;
	enum bk_status status = call_walk(s, &ids, &n);

	for (i = 0; status == BK_OK && i < n; i++) {
		(void)snprintf(key, sizeof(key), "%" PRId64, ids[i]);
		if (bk_ledger_path(&s->tree, ids[i], path) != 0)
			status = BK_EBADMETA;
		else
			status = dump_node(s, path, "ledger", key);
	}
	free(ids);
	return (status);
}

static enum bk_status
dump_chain(struct bk_session *s, const struct bk_chain *c)
{
	char path[BK_PATH_MAX + 1], key[64];
	uint64_t page, pages = (c->count + BK_CHAIN_PAGE - 1) / BK_CHAIN_PAGE;
	enum bk_status status = BK_OK;

	(void)snprintf(key, sizeof(key), "%" PRId64, c->id);
	if (bk_chain_path(&s->tree, c->id, path) == 0)
		status = dump_node(s, path, "chain", key);
	for (page = c->first / BK_CHAIN_PAGE; page < pages && status == BK_OK;
	     page++) {
		(void)snprintf(key, sizeof(key), "%" PRId64 "/%" PRIu64, c->id,
		    page);
		if (bk_chain_page_path(&s->tree, c->id, page, path) == 0)
			status = dump_node(s, path, "page", key);
	}
	return (status);
}

struct name_list {
	struct call_wait wait;
	char **names;
	size_t n;
};

static void
got_names(void *arg, enum bk_status status, const char *const *names, size_t n)
{
	struct name_list *l = arg;

	l->names = calloc(n + 1, sizeof(*l->names));
	for (; l->names != NULL && l->n < n; l->n++)
		l->names[l->n] = strdup(names[l->n]);
	call_done(&l->wait, l->names == NULL ? BK_ENOMEM : status);
}

static enum bk_status
dump_names(struct bk_session *s)
{
	struct name_list l = {.wait = {.session = s}};
	char path[BK_PATH_MAX + 1];
	struct bk_chain chain;
	enum bk_status status;
	size_t i;

	bk_names_list(&s->client, got_names, &l);
	status = call_result(&l.wait);
	for (i = 0; i < l.n; i++) {
		if (status == BK_OK &&
		    bk_name_path(&s->tree, l.names[i], path) == 0)
			status = dump_node(s, path, "name", l.names[i]);
		if (status == BK_OK &&
		    call_chain(s, l.names[i], &chain) == BK_OK)
			status = dump_chain(s, &chain);
		free(l.names[i]);
	}
	free(l.names);
	return (status);
}

int
command_dump(int argc, char **argv)
{
	static const char *const examples[] = {"bk-ledger dump > metadata",
	    "bk-ledger dump | grep -c ^ledger", "bk-ledger load < metadata",
	    NULL};
	struct bk_opt opts[] = {BK_COMMON_OPTS, BK_OPT_END};
	struct bk_program program = {.name = "bk-ledger",
	    .command = "dump",
	    .usage = "",
	    .purpose = "metadata of ledgers and names as text",
	    .examples = examples,
	    .opts = opts};
	enum bk_status status;
	struct bk_session *s;
	int code, closed;

	if (bk_opt_parse(&program, argc, argv) != argc)
		bk_usage("dump takes no operand");
	if ((s = call_open(CALL_STORE)) == NULL)
		return (call_nothing(0, argv));
	if ((status = dump_ledgers(s)) == BK_OK)
		status = dump_names(s);
	code = status == BK_OK ? EX_OK : bk_session_fail(status, "dump");
	bk_session_close(s);
	closed = bk_close_stdout();
	return (closed != EX_OK ? closed : code);
}
