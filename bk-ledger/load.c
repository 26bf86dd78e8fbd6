/*
 * load.c - bk-ledger load: nodes from the text that dump prints. Only what is
 * missing is made; what is there already is left as it is and named, unless it
 * is the same.
 */
#include "bk-ledger/call.h"
#include "bk-ledger/command.h"

#include "base/log.h"
#include "tool/common.h"

#include <errno.h>
#include <inttypes.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>

static struct {
	bool dry_run;
} opt;

struct node {
	struct call_wait wait;
	const uint8_t *data;
	size_t len;
	bool same;
};

/* The path of a line's kind and key; -1 if they make none. */
static int
node_path(const struct bk_session *s, const char *kind, const char *key,
    char path[BK_PATH_MAX + 1])
{
	int64_t id;
	uint64_t page;
	char rest;

	if (strcmp(kind, "name") == 0)
		return (bk_name_valid(key) ? bk_name_path(&s->tree, key, path) :
					     -1);
	if (strcmp(kind, "page") == 0) {
		if (sscanf(key, "%" SCNd64 "/%" SCNu64 "%c", &id, &page,
			&rest) != 2)
			return (-1);
		return (bk_chain_page_path(&s->tree, id, page, path));
	}
	if (bk_parse_int(key, 0, INT64_MAX, &id) != 0)
		return (-1);
	if (strcmp(kind, "ledger") == 0)
		return (bk_ledger_path(&s->tree, id, path));
	if (strcmp(kind, "chain") == 0)
		return (bk_chain_path(&s->tree, id, path));
	return (-1);
}

static void
got_old(void *arg, enum bk_status status, const struct bk_meta_reply *r)
{
	struct node *n = arg;

	n->same = status == BK_OK && r->data.len == n->len &&
	    (n->len == 0 || memcmp(r->data.data, n->data, n->len) == 0);
	call_done(&n->wait, status);
}

static void
made(void *arg, enum bk_status status, const struct bk_meta_reply *r)
{
	(void)r;
	call_done(arg, status);
}

static int
load_node(struct bk_session *s, const char *key, const char *path,
    const uint8_t *data, size_t len)
{
	struct node n = {.wait = {.session = s}, .data = data, .len = len};
	enum bk_status status;

	bk_meta_get(s->meta, path, BK_NO_WATCH, got_old, &n);
	status = call_result(&n.wait);
	if (status == BK_OK && n.same)
		return (EX_OK);
	if (status == BK_OK)
		return (bk_session_fail(BK_EEXIST, "%s", key));
	if (status == BK_ENONODE && !opt.dry_run) {
		n.wait.done = false;
		bk_meta_create_path(s->meta, path, (struct bk_bytes){data, len},
		    BK_NODE_PERSISTENT, BK_ACL_CONF, made, &n.wait);
		status = call_result(&n.wait);
	}
	if (status == BK_OK || status == BK_ENONODE)
		return (EX_OK);
	return (bk_session_fail(status, "%s", key));
}

static int
load_line(struct bk_session *s, char *line, uint64_t number, uint8_t *data)
{
	char path[BK_PATH_MAX + 1];
	char *kind = line, *key = strchr(line, '\t'), *base64 = NULL;
	size_t len;

	if (key != NULL) {
		*key++ = '\0';
		if ((base64 = strchr(key, '\t')) != NULL)
			*base64++ = '\0';
	}
	if (base64 == NULL || node_path(s, kind, key, path) != 0 ||
	    sodium_base642bin(data, BK_NODE_MAX, base64, strlen(base64), NULL,
		&len, NULL, sodium_base64_VARIANT_ORIGINAL) != 0) {
		bk_log(BK_LOG_ERROR, "line %" PRIu64 ": not a line of dump",
		    number);
		return (EX_DATAERR);
	}
	return (load_node(s, key, path, data, len));
}

static int
load(struct bk_session *s)
{
	uint8_t *data = malloc(BK_NODE_MAX);
	uint64_t number = 0;
	char *line = NULL;
	size_t cap = 0;
	ssize_t n;
	int status = EX_OK, code;

	while (data != NULL && (n = getline(&line, &cap, stdin)) > 0) {
		if (line[n - 1] == '\n')
			line[n - 1] = '\0';
		code = load_line(s, line, ++number, data);
		status = code != EX_OK ? code : status;
	}
	if (data == NULL || !feof(stdin))
		status = bk_session_fail(data == NULL ? BK_ENOMEM : BK_ESYS,
		    "standard input");
	free(line);
	free(data);
	return (status);
}

int
command_load(int argc, char **argv)
{
	static const char *const examples[] = {"bk-ledger load < metadata",
	    "bk-ledger load -n < metadata",
	    "bk-ledger dump | bk-ledger load --cluster local:/tmp/copy", NULL};
	struct bk_opt opts[] = {
	    {'n', "dry-run", BK_OPT_FLAG, .value = &opt.dry_run,
		.help = "make nothing, check only"},
	    BK_COMMON_OPTS,
	    BK_OPT_END,
	};
	struct bk_program program = {.name = "bk-ledger",
	    .command = "load",
	    .usage = "[-n]",
	    .purpose = "metadata from what dump printed",
	    .examples = examples,
	    .opts = opts};
	struct bk_session *s;
	int status;

	if (bk_opt_parse(&program, argc, argv) != argc)
		bk_usage("load takes no operand; it reads standard input");
	s = call_open(CALL_WRITES);
	status = load(s);
	bk_session_close(s);
	return (status);
}
