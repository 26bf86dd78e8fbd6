/*
 * tree-check.c - the ledger tree over a real store:
 *
 *	tree-check CLUSTER all		one client doing everything, as TAP
 *	tree-check CLUSTER init		make the cluster
 *	tree-check CLUSTER create N	N ledgers with new ids, printed
 *	tree-check CLUSTER update N	N keys of its own into ledger 0
 *	tree-check CLUSTER keys ID	how many keys a ledger has
 *	tree-check CLUSTER list		all ledgers
 *	tree-check CLUSTER register ID	a bookie, until it is killed
 *	tree-check CLUSTER follow N	the bookies, as ID:w, ID:r or ID:wr,
 *					and again at each of N changes
 */
#include "loop/loop.h"
#include "meta/chain.h"
#include "meta/registry.h"
#include "t/unit/tap.h"

#include <bsd/string.h>
#include <err.h>
#include <stdlib.h>
#include <unistd.h>

#define LIMIT (60 * BK_SECOND)

static struct bk_loop *loop;
static struct bk_tree tree;

/* The last answer. */
static bool done;
static enum bk_status status;
static int64_t id;
static int32_t version;
static struct bk_ledger_meta record;
static struct bk_chain_at chain;

static void
on_done(void *arg, enum bk_status s)
{
	(void)arg;
	status = s;
	done = true;
}

static void
on_id(void *arg, enum bk_status s, int64_t new_id)
{
	id = new_id;
	on_done(arg, s);
}

static void
on_record(void *arg, enum bk_status s, const struct bk_ledger_meta *m,
    int32_t v)
{
	bk_ledger_meta_fini(&record);
	if (m != NULL && bk_ledger_meta_copy(&record, m) != 0)
		errx(1, "out of memory");
	version = v;
	on_done(arg, s);
}

static void
on_chain(void *arg, enum bk_status s, const struct bk_chain_at *at)
{
	if (at != NULL)
		chain = *at;
	on_done(arg, s);
}

static void
on_reply(void *arg, enum bk_status s, const struct bk_meta_reply *reply)
{
	(void)reply;
	on_done(arg, s);
}

static void
on_text(void *arg, enum bk_status s, const char *text)
{
	(void)text;
	on_done(arg, s);
}

static enum bk_status
wait_done(void)
{
	if (!bk_loop_run_until(loop, &done, bk_clock_now() + LIMIT))
		errx(1, "no answer");
	done = false;
	return (status);
}

static void
must(const char *what)
{
	if (wait_done() != BK_OK)
		errx(1, "%s: %s", what, bk_status_name(status));
}

static void
on_state(void *arg, enum bk_meta_state state, enum bk_status s,
    const char *reason)
{
	(void)arg;
	if (state == BK_META_FAILED)
		errx(1, "store: %s: %s", bk_status_name(s), reason);
}

static void
connect_to(const char *cluster)
{
	struct bk_meta_config config = {.create = true, .label = "tree-check"};
	struct bk_cluster_uri uri;
	enum bk_status s;
	const char *why;

	if ((loop = bk_loop_new()) == NULL)
		err(1, "loop");
	if (bk_cluster_uri_parse(cluster, &uri, &why) != 0)
		errx(1, "%s: %s", cluster, why);
	tree.meta = bk_meta_open(loop, &uri, &config, on_state, NULL, &s, &why);
	if (tree.meta == NULL)
		errx(1, "%s: %s", cluster, why);
	(void)strlcpy(tree.root, uri.root, sizeof(tree.root));
	bk_cluster_uri_fini(&uri);
	bk_ledger_meta_init(&record);
}

static void
open_tree(void)
{
	bk_tree_open(&tree, NULL, on_done, NULL);
	must("open");
}

/* Ledgers. */

static enum bk_status
create_ledger(int64_t chosen)
{
	const char *const bookies[] = {"b1", "b2"};
	struct bk_ledger_meta m;

	bk_ledger_meta_init(&m);
	m.ensemble_size = m.write_quorum = 2;
	m.ack_quorum = 1;
	if (bk_ledger_meta_append(&m, 0, bookies) != 0)
		errx(1, "out of memory");
	bk_ledger_create_node(&tree, chosen, &m, on_id, NULL);
	bk_ledger_meta_fini(&m);
	return (wait_done());
}

static enum bk_status
read_ledger(int64_t ledger)
{
	bk_ledger_read(&tree, ledger, BK_NO_WATCH, on_record, NULL);
	return (wait_done());
}

/* Put the key in arg into a record, once. */
static enum bk_update
add_key(void *arg, struct bk_ledger_meta *m, enum bk_status *s)
{
	if (bk_ledger_meta_custom(m, arg) != NULL)
		return (BK_UPDATE_DONE);
	if (bk_ledger_meta_set_custom(m, arg, "", 0) == 0)
		return (BK_UPDATE_WRITE);
	*s = BK_ENOMEM;
	return (BK_UPDATE_STOP);
}

static enum bk_status
update_ledger(int64_t ledger, char *key)
{
	bk_ledger_update(&tree, ledger, NULL, 0, add_key, on_record, key);
	return (wait_done());
}

static bool
print_ledger(void *arg, int64_t ledger)
{
	(void)arg;
	printf("%" PRId64 "\n", ledger);
	return (true);
}

static int walked;

static bool
count_ledger(void *arg, int64_t ledger)
{
	static int64_t before;

	(void)arg;
	if (walked++ > 0 && ledger <= before)
		errx(1, "ledgers do not ascend");
	before = ledger;
	return (true);
}

static int
count_ledgers(void)
{
	walked = 0;
	bk_ledger_walk(&tree, count_ledger, on_done, NULL);
	must("walk");
	return (walked);
}

static void
check_cluster(void)
{
	bk_tree_open(&tree, NULL, on_done, NULL);
	is_int(wait_done(), BK_ENONODE, "no cluster");
	bk_tree_init(&tree, on_done, NULL);
	is_int(wait_done(), BK_OK, "a new one");
	bk_tree_init(&tree, on_done, NULL);
	is_int(wait_done(), BK_EEXIST, "once");
	bk_tree_open(&tree, "hierarchical", on_done, NULL);
	is_int(wait_done(), BK_OK, "which is opened");
	bk_tree_open(&tree, "flat", on_done, NULL);
	is_int(wait_done(), BK_ECONFIG, "as what it is");
	bk_tree_open(&tree, NULL, on_done, NULL);
	is_int(wait_done(), BK_OK, "and again");
	bk_tree_instance(&tree, on_text, NULL);
	is_int(wait_done(), BK_OK, "it has an instance id");
}

static void
check_ledgers(void)
{
	char key[] = "key";

	is_int(count_ledgers(), 0, "there are no ledgers");
	is_int(create_ledger(-1), BK_OK, "a ledger");
	is_int(id, 0, "is the first");
	is_int(create_ledger(1), BK_OK, "one with a chosen id");
	is_int(create_ledger(1), BK_EEXIST, "which is taken then");
	is_int(create_ledger(-1), BK_OK, "a new one");
	is_int(id, 2, "passes it over");
	is_int(create_ledger(INT64_MAX), BK_OK, "the highest id");
	is_int(create_ledger(INT64_C(1) << 32), BK_OK, "a high one");
	is_int(read_ledger(2), BK_OK, "one is read");
	is_int(version, 0, "as it was made");
	is_int(update_ledger(2, key), BK_OK, "changed");
	is_int(version, 1, "to its next version");
	is_int(update_ledger(2, key), BK_OK, "changed to the same");
	is_int(version, 1, "which changes nothing");
	is_int(update_ledger(3, key), BK_ENOLEDGER, "one that is not there");
	is_int(count_ledgers(), 5, "all are listed");
	for (int64_t i = 0; i < 3; i++) {
		bk_ledger_remove(&tree, i, on_done, NULL);
		is_int(wait_done(), BK_OK, "deleted");
	}
	bk_ledger_remove(&tree, INT64_MAX, on_done, NULL);
	is_int(wait_done(), BK_OK, "with its directories");
	bk_meta_exists(tree.meta, "/ledgers/922", BK_NO_WATCH, on_reply, NULL);
	is_int(wait_done(), BK_ENONODE, "which are gone");
	is_int(read_ledger(2), BK_ENOLEDGER, "as are the ledgers");
	is_int(count_ledgers(), 1, "but one");
}

static void
check_cookie(void)
{
	struct bk_bytes text = {(const uint8_t *)"cookie", 6};

	bk_cookie_create(&tree, "b1", text, on_done, NULL);
	is_int(wait_done(), BK_OK, "a cookie");
	bk_cookie_create(&tree, "b1", text, on_done, NULL);
	is_int(wait_done(), BK_EEXIST, "is made once");
	bk_cookie_read(&tree, "b1", on_reply, NULL);
	is_int(wait_done(), BK_OK, "and read");
}

static void
check_chain(void)
{
	static const struct bk_chain settings;
	struct bk_chain_at at, next;
	char holder_path[BK_PATH_MAX + 1];
	struct bk_meta_op holder = {.kind = BK_OP_CREATE,
	    .path = holder_path,
	    .node = BK_NODE_EPHEMERAL};

	bk_name_lookup(&tree, "log", on_id, NULL);
	is_int(wait_done(), BK_ENONODE, "no such name");
	bk_name_create(&tree, "log", &settings, on_id, NULL);
	is_int(wait_done(), BK_OK, "it is made");
	bk_name_create(&tree, "log", &settings, on_id, NULL);
	is_int(wait_done(), BK_EEXIST, "once");
	bk_name_lookup(&tree, "log", on_id, NULL);
	is_int(wait_done(), BK_OK, "and found");
	bk_chain_read(&tree, id, BK_NO_WATCH, on_chain, NULL);
	is_int(wait_done(), BK_OK, "its chain is read");
	next = at = chain;
	(void)bk_chain_holder_path(&tree, id, holder_path);
	next.chain.epoch++;
	next.chain.count = 1;
	next.last_page.n = 1;
	next.last_page.ledgers[0] = 77;
	bk_chain_commit(&tree, &at, &next, &holder, 1, on_chain, NULL);
	is_int(wait_done(), BK_OK, "gets a ledger and a holder");
	bk_chain_commit(&tree, &at, &next, NULL, 0, on_chain, NULL);
	is_int(wait_done(), BK_EVERSION, "not from an old state");
	at = chain;
	bk_chain_commit(&tree, &at, &at, &holder, 1, on_chain, NULL);
	is_int(wait_done(), BK_EEXIST, "nor another holder");
	bk_chain_read(&tree, id, BK_NO_WATCH, on_chain, NULL);
	is_int(wait_done(), BK_OK, "read again");
	ok(chain.version == at.version &&
		chain.page_version == at.page_version &&
		chain.chain.count == 1 && chain.last_page.ledgers[0] == 77,
	    "it is as it was left");
}

/* Bookies. */

static struct bk_registry *registry;

static const char *
bookies_text(void)
{
	static char text[1000];
	const struct bk_bookie_info *b;
	size_t len = 0;

	text[0] = '\0';
	for (size_t i = 0; i < bk_registry_count(registry); i++) {
		b = bk_registry_at(registry, i);
		len += (size_t)snprintf(text + len, sizeof(text) - len,
		    "%s%s:%s%s", i > 0 ? " " : "", b->id,
		    b->writable ? "w" : "", b->readonly ? "r" : "");
	}
	return (text);
}

static int changes;

static void
on_change(void *arg)
{
	(void)arg;
	changes++;
	printf("%s\n", bookies_text());
	(void)fflush(stdout);
	done = true;
}

static void
follow(int n)
{
	registry = bk_registry_new(&tree, on_done, on_change, NULL);
	must("bookies");
	printf("%s\n", bookies_text());
	(void)fflush(stdout);
	while (changes < n)
		(void)wait_done();
	bk_registry_free(registry);
}

static const char *wanted;

static void
on_wanted(void *arg)
{
	(void)arg;
	done = strcmp(bookies_text(), wanted) == 0;
}

/* Wait until the bookies are these. */
static void
become(const char *text)
{
	wanted = text;
	on_wanted(NULL);
	is_int(wait_done(), BK_OK, "the bookies are \"%s\"", text);
}

static void
ignore_state(void *arg, enum bk_status s)
{
	(void)arg;
	if (s != BK_OK && s != BK_EEXIST)
		errx(1, "registration: %s", bk_status_name(s));
}

static struct bk_registration *
register_bookie(const char *bookie, bk_done_cb *state)
{
	struct bk_registration *r;

	r = bk_registration_new(&tree, bookie, (struct bk_bytes){NULL, 0},
	    false, state, NULL);
	if (r == NULL)
		err(1, "registration");
	return (r);
}

static void
check_bookies(void)
{
	struct bk_registration *r;

	registry = bk_registry_new(&tree, on_done, on_wanted, NULL);
	is_int(wait_done(), BK_OK, "bookies are watched");
	become("");
	r = register_bookie("h:1", ignore_state);
	become("h:1:w");
	is_int(bk_registry_at(registry, 0)->service->endpoints[0].port, 1,
	    "and can be reached");
	bk_registration_mode(r, true);
	become("h:1:r");
	bk_registration_mode(r, false);
	become("h:1:w");
	bk_meta_remove(tree.meta, "/ledgers/available/h:1", BK_ANY_VERSION,
	    on_reply, NULL);
	is_int(wait_done(), BK_OK, "somebody deletes it");
	become("h:1:w");
	bk_registration_free(r, on_done, NULL);
	is_int(wait_done(), BK_OK, "it is given back");
	become("");
	bk_registry_free(registry);
}

static void
on_registered(void *arg, enum bk_status s)
{
	ignore_state(arg, s);
	printf("%s\n", s == BK_OK ? "registered" : "waiting");
	(void)fflush(stdout);
}

/* The commands; argument and its number, 0 for none. */

static void
command_all(const char *argument, int64_t number)
{
	(void)argument;
	(void)number;
	check_cluster();
	check_ledgers();
	check_cookie();
	check_chain();
	check_bookies();
}

static void
command_init(const char *argument, int64_t number)
{
	(void)argument;
	(void)number;
	bk_tree_init(&tree, on_done, NULL);
	must("init");
}

static void
command_create(const char *argument, int64_t number)
{
	(void)argument;
	open_tree();
	for (int64_t i = 0; i < number; i++) {
		if (create_ledger(-1) != BK_OK)
			errx(1, "create: %s", bk_status_name(status));
		(void)print_ledger(NULL, id);
	}
}

static void
command_update(const char *argument, int64_t number)
{
	char key[32];

	(void)argument;
	open_tree();
	for (int64_t i = 0; i < number; i++) {
		(void)snprintf(key, sizeof(key), "%d-%d", (int)getpid(),
		    (int)i);
		if (update_ledger(0, key) != BK_OK)
			errx(1, "update: %s", bk_status_name(status));
	}
}

static void
command_keys(const char *argument, int64_t number)
{
	(void)argument;
	open_tree();
	if (read_ledger(number) != BK_OK)
		errx(1, "read: %s", bk_status_name(status));
	printf("%zu\n", record.ncustom);
}

static void
command_list(const char *argument, int64_t number)
{
	(void)argument;
	(void)number;
	open_tree();
	bk_ledger_walk(&tree, print_ledger, on_done, NULL);
	must("walk");
}

static void
command_register(const char *argument, int64_t number)
{
	(void)number;
	open_tree();
	(void)register_bookie(argument, on_registered);
	(void)bk_loop_run(loop);
}

static void
command_follow(const char *argument, int64_t number)
{
	(void)argument;
	open_tree();
	follow((int)number);
}

static const struct {
	const char *name;
	void (*run)(const char *argument, int64_t number);
} commands[] = {
    {"all", command_all},
    {"init", command_init},
    {"create", command_create},
    {"update", command_update},
    {"keys", command_keys},
    {"list", command_list},
    {"register", command_register},
    {"follow", command_follow},
};

static void
run(const char *name, const char *argument)
{
	for (size_t i = 0; i < sizeof(commands) / sizeof(*commands); i++) {
		if (strcmp(commands[i].name, name) == 0) {
			commands[i].run(argument, atoll(argument));
			return;
		}
	}
	errx(64, "no such command: %s", name);
}

int
main(int argc, char **argv)
{
	if (argc < 3)
		errx(64, "usage: tree-check CLUSTER COMMAND [ARGUMENT]");
	connect_to(argv[1]);
	run(argv[2], argc > 3 ? argv[3] : "");
	bk_meta_close(tree.meta);
	bk_ledger_meta_fini(&record);
	bk_loop_free(loop);
	return (tap_count > 0 ? tap_done() : 0);
}
