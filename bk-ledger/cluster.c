/*
 * cluster.c - bk-ledger cluster: what the cluster is and has; init makes one,
 * destroy removes an empty one.
 */
#include "bk-ledger/bookie_list.h"
#include "bk-ledger/call.h"
#include "bk-ledger/command.h"
#include "bk-ledger/confirm.h"
#include "bk-ledger/out.h"

#include "base/log.h"
#include "tool/common.h"

#include <bsd/string.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>

static struct {
	struct out_style style;
	bool dry_run;
} opt;

static const struct out_column columns[] = {
    {'I', "id", false, false},
    {'k', "store", false, false},
    {'r', "root", false, false},
    {'y', "layout", false, false},
    {'b', "bookies", false, false},
    {'w', "writable", false, false},
    {'l', "ledgers", false, false},
};

static const char *
layout_name(enum bk_layout layout)
{
	switch (layout) {
	case BK_LAYOUT_HIERARCHICAL:
		return ("hierarchical");
	case BK_LAYOUT_LONG:
		return ("longhierarchical");
	case BK_LAYOUT_LEGACY:
		return ("legacyhierarchical");
	case BK_LAYOUT_FLAT:
		return ("flat");
	}
	return ("unknown");
}

struct instance {
	struct call_wait wait;
	char id[64];
};

static void
got_instance(void *arg, enum bk_status status, const char *text)
{
	struct instance *i = arg;

	if (status == BK_OK)
		(void)snprintf(i->id, sizeof(i->id), "%s", text);
	call_done(&i->wait, status);
}

static int
show(struct bk_session *s)
{
	struct instance instance = {.wait = {.session = s}};
	struct bookie_list l;
	struct out *o;
	enum bk_status status;
	int64_t *ids, writable = 0;
	size_t n, i;

	bk_tree_instance(&s->tree, got_instance, &instance);
	status = call_result(&instance.wait);
	if (status != BK_OK && status != BK_ENONODE)
		return (bk_session_fail(status, "cluster"));
	if ((status = bookie_list_read(s, &l)) != BK_OK)
		return (bk_session_fail(status, "bookies"));
	if ((status = call_walk(s, &ids, &n)) != BK_OK)
		return (bk_session_fail(status, "ledgers"));
	for (i = 0; i < l.n; i++)
		writable += l.item[i].writable;
	o = out_open(columns, sizeof(columns) / sizeof(columns[0]), &opt.style);
	out_text(o, 'I', instance.id);
	out_text(o, 'k', s->meta->kind);
	out_text(o, 'r', s->tree.root);
	out_text(o, 'y', layout_name(s->tree.layout));
	out_int(o, 'b', (int64_t)l.n);
	out_int(o, 'w', writable);
	out_int(o, 'l', (int64_t)n);
	out_row(o);
	free(ids);
	bookie_list_fini(&l);
	return (out_close(o, EX_OK));
}

/* Making a cluster: it cannot be opened as a session before it exists. */

struct store {
	struct call_wait wait;
	struct bk_session session; /* only its loop, for the waiting */
	struct bk_tree tree;
};

static void
state_changed(void *arg, enum bk_meta_state state, enum bk_status status,
    const char *reason)
{
	struct store *st = arg;

	if (state == BK_META_FAILED) {
		bk_log(BK_LOG_ERROR, "cluster: %s", reason);
		call_done(&st->wait, status);
	} else if (state == BK_META_NEW_SESSION || state == BK_META_CONNECTED) {
		call_done(&st->wait, BK_OK);
	}
}

static int
init_in(struct store *st, const struct bk_cluster_uri *uri)
{
	enum bk_status status;

	if (uri->layout != NULL &&
	    bk_layout_by_name(uri->layout, &st->tree.layout) != 0)
		bk_usage("layout '%s' is not known", uri->layout);
	if ((status = call_result(&st->wait)) != BK_OK)
		return (bk_status_exit(status));
	(void)strlcpy(st->tree.root, uri->root, sizeof(st->tree.root));
	if (opt.dry_run)
		return (EX_OK);
	st->wait.done = false;
	bk_tree_init(&st->tree, call_done, &st->wait);
	if ((status = call_result(&st->wait)) != BK_OK)
		return (bk_session_fail(status, "cluster %s", uri->root));
	return (EX_OK);
}

static int
init(void)
{
	struct bk_meta_config config = {.create = true,
	    .session_timeout = 10 * BK_SECOND,
	    .connect_timeout = 10 * BK_SECOND,
	    .auth_file = bk_common.auth_file};
	struct bk_cluster_uri uri;
	struct store st;
	enum bk_status status;
	const char *why;
	int code;

	if (bk_common.cluster == NULL)
		bk_usage("which cluster? --cluster or BK_CLUSTER");
	if (bk_cluster_uri_parse(bk_common.cluster, &uri, &why) != 0)
		bk_usage("cluster '%s': %s", bk_common.cluster, why);
	memset(&st, 0, sizeof(st));
	st.wait.session = &st.session;
	if ((st.session.loop = bk_loop_new()) == NULL)
		return (bk_session_fail(BK_ESYS, "cluster"));
	st.tree.meta = bk_meta_open(st.session.loop, &uri, &config,
	    state_changed, &st, &status, &why);
	if (st.tree.meta == NULL) {
		bk_log(BK_LOG_ERROR, "cluster: %s", why);
		code = bk_status_exit(status);
	} else {
		code = init_in(&st, &uri);
	}
	bk_meta_close(st.tree.meta);
	bk_loop_free(st.session.loop);
	bk_cluster_uri_fini(&uri);
	return (code);
}

int
command_cluster(int argc, char **argv)
{
	static const char *const examples[] = {"bk-ledger cluster",
	    "bk-ledger cluster -o '%I\\n'",
	    "bk-ledger cluster init --cluster zk://zk1,zk2,zk3/ledgers", NULL};
	struct bk_opt opts[] = {
	    {'n', "dry-run", BK_OPT_FLAG, .value = &opt.dry_run,
		.help = "init: make nothing"},
	    OUT_OPTS(opt.style),
	    BK_COMMON_OPTS,
	    BK_OPT_END,
	};
	struct bk_program program = {.name = "bk-ledger",
	    .command = "cluster",
	    .usage = "[OPTION...] [init]",
	    .purpose = "show the cluster, or make one",
	    .examples = examples,
	    .opts = opts};
	int i = bk_opt_parse(&program, argc, argv), status;
	struct bk_session *s;

	if (argc - i > 1 || (i < argc && strcmp(argv[i], "init") != 0))
		bk_usage("cluster takes init or nothing");
	if (i < argc)
		return (init());
	if ((s = call_open(CALL_BOOKIES)) == NULL)
		return (call_nothing(0, argv));
	status = show(s);
	bk_session_close(s);
	return (status);
}
