/*
 * meta_suite.c - what a metadata store does, the same claims for both stores:
 * the embedded one, and ZooKeeper as Debian packages it.
 */
#include "t/lib/meta_client.h"
#include "t/lib/zookeeper.h"
#include "t/unit/tap.h"

#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

static struct bk_loop *loop;
static const char *cluster;
static const char *kind;

static const struct bk_meta_config config = {
    .session_timeout = BK_SECOND,
    .create = true,
    .label = "test",
};
static const struct bk_meta_config with_thread = {
    .session_timeout = BK_SECOND,
    .create = true,
    .own_thread = true,
    .label = "test",
};

static void
open_client(struct meta_client *c)
{
	meta_client_open(c, loop, cluster, &config);
	if (!ok(c->meta != NULL, "%s: the store opens", kind)) {
		printf("Bail out! %s\n", c->why);
		exit(1);
	}
	if (meta_sync(c) != BK_OK) {
		printf("Bail out! no sync: %s\n", c->reason);
		exit(1);
	}
}

/* Nodes. */

static void
nodes(struct meta_client *c)
{
	is_int(meta_create(c, "/n", "one", BK_NODE_PERSISTENT), BK_OK,
	    "%s: a node is created", kind);
	is_str(c->answer.path, "/n", "its name is told");
	is_int(meta_create(c, "/n", "x", BK_NODE_PERSISTENT), BK_EEXIST,
	    "but not twice");
	is_int(meta_create(c, "/no/where", "", BK_NODE_PERSISTENT), BK_ENONODE,
	    "nor without a parent");
	is_int(meta_get(c, "/n", BK_NO_WATCH), BK_OK, "it is read");
	is_str(meta_text(c), "one", "its data is what was written");
	is_int(c->answer.stat.version, 0, "its version is 0");
	is_int(c->answer.stat.owner, 0, "nobody's session owns it");
	ok(c->answer.stat.created_ms > 1500000000000, "its time is told");
	is_int(meta_exists(c, "/n", BK_NO_WATCH), BK_OK, "it exists");
	is_int(meta_exists(c, "/m", BK_NO_WATCH), BK_ENONODE,
	    "another does not");
	is_int(meta_get(c, "/m", BK_NO_WATCH), BK_ENONODE,
	    "and cannot be read");
	is_int(meta_create(c, "/empty", "", BK_NODE_PERSISTENT), BK_OK,
	    "a node may be empty");
	is_int(meta_get(c, "/empty", BK_NO_WATCH), BK_OK, "it is read");
	is_int(c->answer.len, 0, "as empty");
}

static void
compare_and_set(struct meta_client *c)
{
	is_int(meta_set(c, "/n", "two", 0), BK_OK,
	    "%s: a set with the right version", kind);
	is_int(c->answer.stat.version, 1, "its stat has the next version");
	is_int(meta_set(c, "/n", "three", 0), BK_EVERSION,
	    "with a wrong one it is refused");
	is_int(meta_get(c, "/n", BK_NO_WATCH), BK_OK, "the node is read");
	is_str(meta_text(c), "two", "and is as it was");
	is_int(meta_set(c, "/n", "four", BK_ANY_VERSION), BK_OK,
	    "any version will do when told so");
	is_int(c->answer.stat.version, 2, "it counts as well");
	is_int(meta_set(c, "/m", "x", BK_ANY_VERSION), BK_ENONODE,
	    "no set without a node");
	is_int(meta_remove(c, "/n", 1), BK_EVERSION,
	    "no removal with a wrong version");
	is_int(meta_remove(c, "/n", 2), BK_OK, "one with the right one");
	is_int(meta_remove(c, "/n", 2), BK_ENONODE, "but not twice");
	is_int(meta_create(c, "/n", "again", BK_NODE_PERSISTENT), BK_OK,
	    "the name is free again");
	is_int(meta_get(c, "/n", BK_NO_WATCH), BK_OK, "it is read");
	is_int(c->answer.stat.version, 0, "and begins at version 0");
}

static void
children(struct meta_client *c)
{
	is_int(meta_create_path(c, "/p/q/r", "deep"), BK_OK,
	    "%s: a path is created with its parents", kind);
	is_int(meta_get(c, "/p/q/r", BK_NO_WATCH), BK_OK, "down to its end");
	is_str(meta_text(c), "deep", "which has the data");
	is_int(meta_create_path(c, "/p/q/r", "x"), BK_EEXIST,
	    "an existing one is not");
	is_int(meta_create(c, "/p/b", "", BK_NODE_PERSISTENT), BK_OK,
	    "a second child");
	is_int(meta_create(c, "/p/a", "", BK_NODE_PERSISTENT), BK_OK,
	    "a third");
	is_int(meta_create(c, "/p-not", "", BK_NODE_PERSISTENT), BK_OK,
	    "a neighbour");
	is_int(meta_children(c, "/p", BK_NO_WATCH), BK_OK, "they are listed");
	is_str(c->answer.names, "a b q ", "sorted, and no others");
	is_int(c->answer.stat.nchildren, 3, "their number is told");
	is_int(c->answer.stat.cversion, 3, "and the changes of the list");
	is_int(meta_remove(c, "/p", BK_ANY_VERSION), BK_ENOTEMPTY,
	    "a node with children stays");
	is_int(meta_remove(c, "/p/a", BK_ANY_VERSION), BK_OK, "one goes");
	is_int(meta_children(c, "/p", BK_NO_WATCH), BK_OK, "listed again");
	is_str(c->answer.names, "b q ", "it is gone");
	is_int(c->answer.stat.cversion, 4, "and counted");
	is_int(meta_children(c, "/p/b", BK_NO_WATCH), BK_OK, "a leaf's list");
	is_int(c->answer.nchildren, 0, "is empty");
	is_int(meta_children(c, "/m", BK_NO_WATCH), BK_ENONODE,
	    "a missing node has none");
	is_int(meta_children(c, "/", BK_NO_WATCH), BK_OK, "the root has one");
	ok(strstr(c->answer.names, "p ") != NULL, "with our nodes in it");
}

/* Paths and sizes. */

static void
refusals(struct meta_client *c)
{
	static const char *const bad[] = {"", "p", "p/q", "//", "/p//q", "/p/",
	    "/./p", "/p/..", "/p/.", "/a\x01z", "/a\x7f", "/\xff", "/\xc0\xaf",
	    "/\xed\xa0\x80", "/\xc3"};
	char path[BK_PATH_MAX + 2], *big;
	size_t n = sizeof(bad) / sizeof(bad[0]);

	for (size_t i = 0; i < n; i++)
		is_int(meta_create(c, bad[i], "", BK_NODE_PERSISTENT),
		    BK_EINVAL, "%s: bad path %zu is refused", kind, i);
	is_int(meta_create(c, "/\xc3\xa9t\xc3\xa9", "", BK_NODE_PERSISTENT),
	    BK_OK, "UTF-8 is not");
	is_int(meta_remove(c, "/", BK_ANY_VERSION), BK_EINVAL,
	    "the root is not removed");
	memset(path, 'x', sizeof(path));
	path[0] = '/';
	path[BK_PATH_MAX + 1] = '\0';
	is_int(meta_exists(c, path, BK_NO_WATCH), BK_ETOOBIG,
	    "a path is too long");
	path[BK_PATH_MAX] = '\0';
	is_int(meta_create(c, path, "long", BK_NODE_PERSISTENT), BK_OK,
	    "the longest is fine");
	is_int(meta_get(c, path, BK_NO_WATCH), BK_OK, "it is read");
	is_str(meta_text(c), "long", "whole");
	is_int(meta_create(c, path, "", BK_NODE_SEQUENTIAL), BK_ETOOBIG,
	    "but has no room for a sequence number");
	big = malloc(BK_NODE_MAX + 2);
	memset(big, 'b', BK_NODE_MAX + 1);
	big[BK_NODE_MAX + 1] = '\0';
	is_int(meta_create(c, "/big", big, BK_NODE_PERSISTENT), BK_ETOOBIG,
	    "data is too large");
	big[BK_NODE_MAX] = '\0';
	is_int(meta_create(c, "/big", big, BK_NODE_PERSISTENT), BK_OK,
	    "the largest is fine");
	is_int(meta_get(c, "/big", BK_NO_WATCH), BK_OK, "it is read");
	ok(c->answer.len == BK_NODE_MAX && strcmp(meta_text(c), big) == 0,
	    "whole");
	is_int(meta_create(c, "/big/child", "", BK_NODE_PERSISTENT), BK_OK,
	    "it may have a child");
	big[2000] = '\0';
	is_int(meta_set(c, "/big", big, 0), BK_OK, "it shrinks");
	is_int(meta_get(c, "/big", BK_NO_WATCH), BK_OK, "it is read");
	ok(strcmp(meta_text(c), big) == 0, "as set");
	is_int(meta_set(c, "/big", "small", 1), BK_OK, "it shrinks more");
	is_int(meta_get(c, "/big", BK_NO_WATCH), BK_OK, "it is read");
	is_str(meta_text(c), "small", "as set");
	is_int(meta_remove(c, "/big/child", 0), BK_OK, "the child goes");
	is_int(meta_remove(c, "/big", 2), BK_OK, "it goes");
	free(big);
}

/* Multi. */

static void
multis(struct meta_client *c)
{
	struct bk_meta_op make[] = {
	    {BK_OP_CREATE, "/mu", meta_bytes("1"), 0, BK_NODE_PERSISTENT, 0},
	    {BK_OP_CREATE, "/mu/a", meta_bytes("2"), 0, BK_NODE_PERSISTENT, 0},
	    {BK_OP_SET, "/mu", meta_bytes("3"), 0, 0, 0},
	    {BK_OP_CHECK, "/mu", meta_bytes(""), 1, 0, 0},
	};
	struct bk_meta_op fail[] = {
	    {BK_OP_SET, "/mu", meta_bytes("4"), 1, 0, 0},
	    {BK_OP_DELETE, "/mu/a", meta_bytes(""), 0, 0, 0},
	    {BK_OP_CHECK, "/mu", meta_bytes(""), 7, 0, 0},
	    {BK_OP_CREATE, "/mu/b", meta_bytes(""), 0, BK_NODE_PERSISTENT, 0},
	};

	is_int(meta_multi(c, make, 4), BK_OK, "%s: a multi is done", kind);
	is_int(meta_get(c, "/mu", BK_NO_WATCH), BK_OK, "its node is there");
	is_str(meta_text(c), "3", "and set");
	is_int(meta_multi(c, fail, 4), BK_EVERSION,
	    "one that fails in the middle says why");
	is_int(c->answer.failed, 2, "and where");
	is_int(meta_get(c, "/mu", BK_NO_WATCH), BK_OK, "nothing of it is done");
	is_str(meta_text(c), "3", "not what came before");
	is_int(meta_exists(c, "/mu/a", BK_NO_WATCH), BK_OK, "none of that");
	is_int(meta_exists(c, "/mu/b", BK_NO_WATCH), BK_ENONODE,
	    "nor what came after");
	fail[0].path = "/mu/none";
	is_int(meta_multi(c, fail, 4), BK_ENONODE, "the first may fail");
	is_int(c->answer.failed, 0, "that is told too");
	fail[1].path = "bad";
	is_int(meta_multi(c, fail, 4), BK_EINVAL, "a bad path is refused");
	is_int(c->answer.failed, 1, "and found");
	fail[0].kind = BK_OP_CREATE;
	fail[0].node = BK_NODE_SEQUENTIAL;
	is_int(meta_multi(c, fail, 1), BK_EINVAL,
	    "sequence numbers are not for multi");
	is_int(meta_multi(c, NULL, 0), BK_OK, "an empty one is done");
}

/* Many at once: order of answers, and of what is seen. */

#define MANY 3000

static void
many(struct meta_client *c)
{
	static struct meta_answer answers[MANY + 1];
	struct meta_answer *a;
	unsigned good = 0, ordered = 0;
	char path[40];

	memset(answers, 0, sizeof(answers));
	for (int i = 0; i < MANY; i++) {
		a = &answers[i];
		(void)snprintf(path, sizeof(path), "/mu/m%d", i / 3);
		if (i % 3 == 0)
			bk_meta_create(c->meta, path, meta_bytes("x"),
			    BK_NODE_PERSISTENT, BK_ACL_CONF, meta_answered, a);
		else if (i % 3 == 1)
			bk_meta_get(c->meta, path, BK_NO_WATCH, meta_answered,
			    a);
		else
			bk_meta_remove(c->meta, path, 0, meta_answered, a);
	}
	a = &answers[MANY];
	bk_meta_sync(c->meta, "/", meta_answered, a);
	ok(!answers[0].done, "%s: nothing is answered within a call", kind);
	ok(meta_await(c, &a->done), "all is answered");
	for (int i = 0; i < MANY; i++) {
		good += answers[i].done && answers[i].status == BK_OK;
		ordered += answers[i].order < answers[i + 1].order;
		meta_answer_fini(&answers[i]);
	}
	meta_answer_fini(a);
	is_int(good, MANY, "everything was done, each seeing the one before");
	is_int(ordered, MANY, "and answered in the order of the calls");
}

/* A multi that fails among others that do not. */
static void
mixed(struct meta_client *c)
{
	struct bk_meta_op ops[] = {
	    {BK_OP_CREATE, "/mix/a", meta_bytes(""), 0, BK_NODE_PERSISTENT, 0},
	    {BK_OP_CREATE, "/mix/a", meta_bytes(""), 0, BK_NODE_PERSISTENT, 0},
	};
	struct meta_answer a[6];

	memset(a, 0, sizeof(a));
	is_int(meta_create(c, "/mix", "", BK_NODE_PERSISTENT), BK_OK,
	    "%s: a place", kind);
	bk_meta_create(c->meta, "/mix/s-", meta_bytes("1"), BK_NODE_SEQUENTIAL,
	    BK_ACL_CONF, meta_answered, &a[0]);
	bk_meta_multi(c->meta, ops, 2, meta_answered, &a[1]);
	bk_meta_create(c->meta, "/mix/s-", meta_bytes("2"), BK_NODE_SEQUENTIAL,
	    BK_ACL_CONF, meta_answered, &a[2]);
	bk_meta_multi(c->meta, ops, 2, meta_answered, &a[3]);
	bk_meta_multi(c->meta, ops, 1, meta_answered, &a[4]);
	bk_meta_set(c->meta, "/mix/a", meta_bytes("3"), 0, meta_answered,
	    &a[5]);
	ok(meta_await(c, &a[5].done), "all is answered");
	is_str(a[0].path, "/mix/s-0000000000", "what comes first is done");
	is_int(a[1].status, BK_EEXIST, "the multi is not");
	is_int(a[1].failed, 1, "for its second operation");
	is_str(a[2].path, "/mix/s-0000000001", "what comes next is done");
	is_int(a[3].status, BK_EEXIST, "another multi is not");
	is_int(a[4].status, BK_OK, "a third one is");
	is_int(a[5].status, BK_OK, "and what builds on it");
	for (int i = 0; i < 6; i++)
		meta_answer_fini(&a[i]);
}

/* Sequence numbers. */

static void
sequences(struct meta_client *c)
{
	is_int(meta_create(c, "/s", "", BK_NODE_PERSISTENT), BK_OK,
	    "%s: a parent", kind);
	is_int(meta_create(c, "/s/x-", "", BK_NODE_SEQUENTIAL), BK_OK,
	    "a numbered child");
	is_str(c->answer.path, "/s/x-0000000000", "has ten digits");
	is_int(meta_create(c, "/s/y-", "", BK_NODE_EPHEMERAL_SEQUENTIAL), BK_OK,
	    "an ephemeral one");
	is_str(c->answer.path, "/s/y-0000000001", "shares the count");
	is_int(meta_create(c, "/s/plain", "", BK_NODE_PERSISTENT), BK_OK,
	    "a plain one");
	is_int(meta_remove(c, "/s/plain", 0), BK_OK, "goes again");
	is_int(meta_create(c, "/s/x-", "", BK_NODE_SEQUENTIAL), BK_OK,
	    "the next");
	is_str(c->answer.path, "/s/x-0000000003",
	    "counts all creations, and no removal");
}

/* Watches. c sets them, d changes. */

static void
watches(struct meta_client *c, struct meta_client *d)
{
	struct bk_watch w = meta_watch(c);

	c->nevents = 0;
	is_int(meta_exists(c, "/w", w), BK_ENONODE,
	    "%s: a watch on a node that is not there", kind);
	is_int(meta_create(d, "/w", "1", BK_NODE_PERSISTENT), BK_OK,
	    "it is created");
	ok(meta_await_events(c, 1), "that is told");
	is_str(meta_event_text(c, 0), "created /w", "as it is");
	is_int(meta_set(d, "/w", "2", 0), BK_OK, "it is set");
	is_int(meta_get(c, "/w", w), BK_OK, "it is read and watched");
	is_str(meta_text(c), "2", "in its new state");
	is_int(c->nevents, 1, "the watch had been used up");
	is_int(meta_create(d, "/w/child", "", BK_NODE_PERSISTENT), BK_OK,
	    "a child is no change of it");
	is_int(meta_set(d, "/w", "3", 1), BK_OK, "it is set");
	ok(meta_await_events(c, 2), "that is told");
	is_str(meta_event_text(c, 1), "changed /w", "as it is");
	is_int(meta_children(c, "/w", w), BK_OK, "its children are watched");
	is_int(meta_set(d, "/w", "4", 2), BK_OK, "a set is nothing to them");
	is_int(meta_create(d, "/w/other", "", BK_NODE_PERSISTENT), BK_OK,
	    "another child");
	ok(meta_await_events(c, 3), "that is told");
	is_str(meta_event_text(c, 2), "children /w", "as it is");
	is_int(meta_children(c, "/w", w), BK_OK, "watched again");
	is_int(meta_remove(d, "/w/other", 0), BK_OK, "a child goes");
	ok(meta_await_events(c, 4), "that is told");
	is_str(meta_event_text(c, 3), "children /w", "as it is");
	is_int(meta_remove(d, "/w/child", 0), BK_OK, "the last child goes");
	is_int(meta_exists(c, "/w", w), BK_OK, "node watched");
	is_int(meta_children(c, "/w", w), BK_OK, "children watched");
	is_int(meta_remove(d, "/w", BK_ANY_VERSION), BK_OK, "it goes");
	ok(meta_await_events(c, 5), "that is told");
	is_str(meta_event_text(c, 4), "deleted /w", "as it is");
	is_int(meta_get(c, "/w", w), BK_ENONODE,
	    "a read of nothing sets no watch");
	is_int(meta_create(d, "/w", "", BK_NODE_PERSISTENT), BK_OK, "again");
	is_int(meta_sync(c), BK_OK, "sync");
	is_int(meta_exists(c, "/w", BK_NO_WATCH), BK_OK, "it is there");
	ok(c->nevents <= 6, "each watch fired once");
}

static void
own_watches(struct meta_client *c)
{
	struct bk_watch w = meta_watch(c);

	c->nevents = 0;
	is_int(meta_exists(c, "/own", w), BK_ENONODE, "%s: a watch", kind);
	is_int(meta_create(c, "/own", "1", BK_NODE_PERSISTENT), BK_OK,
	    "an own change");
	is_int(c->nevents, 1, "is told");
	ok(c->events[0].order < c->answer.order, "before it is answered");
	is_int(meta_get(c, "/own", w), BK_OK, "a watch");
	is_int(meta_get(c, "/own", w), BK_OK, "the same once more");
	is_int(meta_set(c, "/own", "2", 0), BK_OK, "a change");
	is_int(c->nevents, 2, "is told once");
	is_int(meta_get(c, "/own", w), BK_OK, "a watch");
	bk_meta_unwatch(c->meta, w.fn, w.arg);
	is_int(meta_set(c, "/own", "3", 1), BK_OK, "a change");
	is_int(meta_sync(c), BK_OK, "all is told that will be");
	is_int(c->nevents, 2, "an unset watch tells nothing");
	is_int(meta_remove(c, "/own", 2), BK_OK, "it goes");
}

/* What a client is shown is never newer than what it was told. */
static void
event_first(struct meta_client *c, struct meta_client *d)
{
	struct bk_watch w = meta_watch(c);
	unsigned late = 0;
	char text[20];

	is_int(meta_create(d, "/first", "0", BK_NODE_PERSISTENT), BK_OK,
	    "%s: a node", kind);
	is_int(meta_sync(c), BK_OK, "known to the other");
	for (int i = 0; i < 50; i++) {
		c->nevents = 0;
		(void)meta_get(c, "/first", w);
		(void)snprintf(text, sizeof(text), "%d", i);
		(void)meta_set(d, "/first", text, BK_ANY_VERSION);
		(void)meta_sync(c);
		(void)meta_get(c, "/first", BK_NO_WATCH);
		late += strcmp(meta_text(c), text) != 0 || c->nevents != 1 ||
		    c->events[0].order > c->answer.order;
	}
	is_int(late, 0, "each change is told before it is shown");
	is_int(meta_remove(d, "/first", BK_ANY_VERSION), BK_OK, "it goes");
}

/* Ephemeral nodes. */

static void
ephemerals(struct meta_client *c)
{
	const char *args[] = {"hold", cluster, "/e/held", NULL};
	struct meta_client d;
	pid_t pid;

	is_int(meta_create(c, "/e", "", BK_NODE_PERSISTENT), BK_OK,
	    "%s: a place", kind);
	open_client(&d);
	ok(bk_meta_session(d.meta) != 0, "there is a session");
	ok(bk_meta_session(d.meta) != bk_meta_session(c->meta),
	    "not the same for two");
	is_int(meta_create(&d, "/e/x", "", BK_NODE_EPHEMERAL), BK_OK,
	    "an ephemeral node");
	is_int(meta_create(&d, "/e/x/y", "", BK_NODE_PERSISTENT), BK_EINVAL,
	    "has no children");
	is_int(meta_get(c, "/e/x", BK_NO_WATCH), BK_OK, "others see it");
	ok(c->answer.stat.owner == bk_meta_session(d.meta), "and whose it is");
	c->nevents = 0;
	is_int(meta_exists(c, "/e/x", meta_watch(c)), BK_OK, "watched");
	meta_client_close(&d);
	ok(meta_await_events(c, 1), "its end is told when its owner closes");
	is_str(meta_event_text(c, 0), "deleted /e/x", "as it is");
	is_int(meta_exists(c, "/e/x", BK_NO_WATCH), BK_ENONODE, "it is gone");

	pid = meta_spawn(args);
	ok(pid > 0, "another process holds one");
	is_int(meta_exists(c, "/e/held", meta_watch(c)), BK_OK, "watched");
	meta_kill(pid, SIGKILL);
	ok(meta_await_events(c, 2), "its end is told after kill -9");
	is_str(meta_event_text(c, 1), "deleted /e/held", "as it is");
	ok(meta_await_node(c, "/e/held", false), "it is gone");
	is_int(meta_remove(c, "/e", BK_ANY_VERSION), BK_OK, "nothing is left");
}

/* Closing with calls outstanding; from a callback, too. */

static void
count_canceled(void *arg, enum bk_status status,
    const struct bk_meta_reply *reply)
{
	(void)reply;
	*(unsigned *)arg += status == BK_ECANCELED;
}

static void
close_now(void *arg, enum bk_status status, const struct bk_meta_reply *reply)
{
	struct meta_client *c = arg;

	(void)status;
	(void)reply;
	meta_client_close(c);
}

static void
closing(void)
{
	struct meta_client d;
	unsigned canceled = 0;

	open_client(&d);
	for (int i = 0; i < 10; i++)
		bk_meta_get(d.meta, "/n", BK_NO_WATCH, count_canceled,
		    &canceled);
	bk_meta_pause(d.meta, BK_SECOND, count_canceled, &canceled);
	meta_client_close(&d);
	is_int(canceled, 11, "%s: outstanding calls end with the store", kind);

	canceled = 0;
	open_client(&d);
	bk_meta_set(d.meta, "/n", meta_bytes("c"), BK_ANY_VERSION, close_now,
	    &d);
	for (int i = 0; i < 10; i++)
		bk_meta_set(d.meta, "/n", meta_bytes("d"), BK_ANY_VERSION,
		    count_canceled, &canceled);
	for (int64_t end = bk_clock_now() + META_LIMIT;
	     d.meta != NULL && bk_clock_now() < end;)
		(void)bk_loop_run_until(loop, &(bool){false},
		    bk_clock_now() + BK_MS);
	ok(d.meta == NULL, "a callback closes the store");
	is_int(canceled, 10, "the rest ends with it");
}

static void
pauses(struct meta_client *c)
{
	int64_t began = bk_meta_now(c->meta);

	is_int(meta_pause(c, 20 * BK_MS), BK_OK, "%s: a pause", kind);
	ok(bk_meta_now(c->meta) - began >= 20 * BK_MS, "is not shorter");
}

/* What was written is there for who comes later. */
static void
later(void)
{
	struct meta_client c;

	meta_client_open(&c, loop, cluster, &with_thread);
	is_int(meta_sync(&c), BK_OK, "%s: opened once more", kind);
	is_int(meta_exists(&c, "/p/q/r", BK_NO_WATCH), BK_OK,
	    "all is as it was");
	is_int(meta_set(&c, "/p/q/r", "thread", 0), BK_OK,
	    "and can be changed");
	is_int(meta_verify(&c), BK_OK, "nothing is damaged");
	many(&c);
	meta_client_close(&c);
}

static void
suite(void)
{
	struct meta_client c, d;

	open_client(&c);
	nodes(&c);
	compare_and_set(&c);
	children(&c);
	refusals(&c);
	multis(&c);
	many(&c);
	mixed(&c);
	sequences(&c);
	open_client(&d);
	watches(&c, &d);
	own_watches(&c);
	event_first(&c, &d);
	ephemerals(&c);
	closing();
	pauses(&c);
	is_int(meta_verify(&c), BK_OK, "%s: nothing is damaged", kind);
	meta_client_close(&d);
	meta_client_close(&c);
	later();
}

/* Another process: a session with an ephemeral node, until it is killed. */
static int
hold(const char *path)
{
	struct meta_client c;

	meta_client_open(&c, loop, cluster, &config);
	if (c.meta == NULL ||
	    meta_create(&c, path, "", BK_NODE_EPHEMERAL) != BK_OK)
		return (1);
	printf("ready\n");
	fflush(stdout);
	return (bk_loop_run(loop));
}

static void
on_embedded(void)
{
	char dir[200], text[220];
	const char *tmp = getenv("TMPDIR");

	(void)snprintf(dir, sizeof(dir), "%.150s/bk-meta.XXXXXX",
	    tmp != NULL ? tmp : "/tmp");
	if (!ok(mkdtemp(dir) != NULL, "a folder"))
		return;
	(void)snprintf(text, sizeof(text), "local:%s/made/here", dir);
	cluster = text;
	kind = "embedded";
	suite();
}

static void
on_zookeeper(void)
{
	struct zookeeper z;
	char text[80];

	if (!ok(zookeeper_start(&z, ""), "ZooKeeper starts"))
		return;
	(void)snprintf(text, sizeof(text), "zk://%s/ledgers", z.address);
	cluster = text;
	kind = "zookeeper";
	suite();
	zookeeper_end(&z);
}

int
main(int argc, char **argv)
{
	loop = bk_loop_new();
	if (argc == 4 && strcmp(argv[1], "hold") == 0) {
		cluster = argv[2];
		return (hold(argv[3]));
	}
	on_embedded();
	on_zookeeper();
	bk_loop_free(loop);
	return (tap_done());
}
