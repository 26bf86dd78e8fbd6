/*
 * meta_lmdb.c - what only the embedded store has: writers that are stopped or
 * killed, sessions ended by others, damage, directories it refuses.
 */
#include "meta/meta_lmdb.h"
#include "meta/lmdb_record.h"
#include "t/lib/meta_client.h"
#include "t/unit/tap.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static struct bk_loop *loop;
static char top[200];
static unsigned stores;

static const struct bk_meta_config config = {.create = true, .label = "t"};
static const struct bk_meta_config threaded = {
    .create = true,
    .own_thread = true,
    .label = "t",
};

/* A store that nobody used before. */
static const char *
new_cluster(void)
{
	static char text[220];

	(void)snprintf(text, sizeof(text), "local:%s/s%u", top, ++stores);
	return (text);
}

static const char *
file_of(const char *cluster, const char *name)
{
	static char path[300];

	(void)snprintf(path, sizeof(path), "%s/%s", cluster + 6, name);
	return (path);
}

static void
open_with(struct meta_client *c, const char *cluster,
    const struct bk_meta_config *how)
{
	meta_client_open(c, loop, cluster, how);
	if (!ok(c->meta != NULL && meta_sync(c) == BK_OK, "the store opens"))
		printf("# %s\n", c->why);
}

static struct bk_lmdb *
store_of(struct meta_client *c)
{
	return (((struct meta_lmdb *)c->meta)->store);
}

/* Change the store's records directly. */
static void
begin_behind(struct meta_client *c, struct bk_lmdb_txn *tx)
{
	ok(bk_lmdb_wait_lock(store_of(c), BK_SECOND), "the lock is had");
	is_int(bk_lmdb_begin(tx, store_of(c), true), BK_OK, "a transaction");
	tx->zxid = ++tx->state.zxid;
}

static void
commit_behind(struct meta_client *c, struct bk_lmdb_txn *tx)
{
	is_int(bk_lmdb_commit(tx), BK_OK, "it is committed");
	bk_lmdb_unlock(store_of(c));
}

/* Opening. */

static void
refuses(const char *cluster, const struct bk_meta_config *how,
    enum bk_status status, const char *reason)
{
	struct meta_client c;

	meta_client_open(&c, loop, cluster, how);
	ok(c.meta == NULL, "it does not open");
	is_int(c.open_status, status, "for %s", bk_status_name(status));
	if (!ok(strstr(c.why, reason) != NULL, "saying \"%s\"", reason))
		printf("# %s\n", c.why);
	meta_client_close(&c);
}

static void
missing(void)
{
	const struct bk_meta_config only_read = {.read_only = true};
	const char *cluster = new_cluster();

	refuses(cluster, &only_read, BK_ENONODE, "No such file");
	ok(access(cluster + 6, F_OK) == -1, "and is not made");
	is_int(mkdir(cluster + 6, 0700), 0, "an empty directory");
	refuses(cluster, &only_read, BK_ENONODE, "No such file");
}

/* A crash while a store is made: the next makes it. */
static void
half_made(void)
{
	const char *cluster = new_cluster();
	struct meta_client c;

	open_with(&c, cluster, &config);
	is_int(meta_create(&c, "/a", "", BK_NODE_PERSISTENT), BK_OK, "a node");
	meta_client_close(&c);
	is_int(unlink(file_of(cluster, "changed")), 0,
	    "as if it had crashed just before the end");
	open_with(&c, cluster, &config);
	is_int(meta_exists(&c, "/a", BK_NO_WATCH), BK_OK,
	    "what is there is kept");
	meta_client_close(&c);
	is_int(unlink(file_of(cluster, "changed")), 0, "or before the middle");
	is_int(truncate(file_of(cluster, "data.mdb"), 0), 0, "with no data");
	open_with(&c, cluster, &config);
	is_int(meta_verify(&c), BK_OK, "it is made");
	meta_client_close(&c);
}

static void
truncated(void)
{
	const char *cluster = new_cluster();
	struct meta_client c;

	open_with(&c, cluster, &config);
	meta_client_close(&c);
	is_int(truncate(file_of(cluster, "data.mdb"), 0), 0,
	    "a store whose data is gone");
	refuses(cluster, &config, BK_EDAMAGE, "has lost its mark");
	is_int(truncate(file_of(cluster, "data.mdb"), 4096), 0, "or cut");
	refuses(cluster, &config, BK_EBADMETA, "MDB_INVALID");
}

static void
newer(void)
{
	static const char record[] = "bk metadata store\0\0\0\0\2 and more";
	const char *cluster = new_cluster();
	struct bk_lmdb_key key;
	struct bk_lmdb_txn tx;
	struct meta_client c;

	open_with(&c, cluster, &config);
	begin_behind(&c, &tx);
	bk_lmdb_key_text(&key, BK_LMDB_META, "format", 6);
	is_int(bk_lmdb_put_summed(&tx, &key, record, sizeof(record)), BK_OK,
	    "a format of the future");
	tx.changed = true;
	commit_behind(&c, &tx);
	meta_client_close(&c);
	refuses(cluster, &config, BK_ECONFIG, "has format 2");
}

static void
foreign(void)
{
	const char *cluster = new_cluster();
	const char *args[] = {"foreign", cluster, NULL};
	struct meta_client c;
	pid_t pid;

	if (geteuid() == 0) {
		is_int(mkdir(cluster + 6, 0700), 0, "a directory");
		is_int(chown(cluster + 6, 12345, 12345), 0, "of another user");
		refuses(cluster, &config, BK_EACCESS, "belongs to user 12345");
	} else {
		refuses("local:/", &config, BK_EACCESS, "belongs to user 0");
	}
	args[1] = cluster = new_cluster();
	open_with(&c, cluster, &config);
	meta_client_close(&c);
	pid = meta_spawn(args);
	ok(pid > 0, "a store in use from another pid namespace");
	refuses(cluster, &config, BK_ECONFIG, "another pid namespace");
	meta_kill(pid, SIGKILL);
	open_with(&c, cluster, &config);
	is_int(meta_create(&c, "/a", "", BK_NODE_PERSISTENT), BK_OK,
	    "later it is as good as any");
	meta_client_close(&c);
}

/* Writers. */

static void
stopped_writer(const struct bk_meta_config *how)
{
	const char *cluster = new_cluster();
	const char *args[] = {"stop", cluster, NULL};
	struct meta_answer a;
	struct meta_client c;
	char reason[100];
	pid_t pid;

	memset(&a, 0, sizeof(a));
	open_with(&c, cluster, how);
	pid = meta_spawn(args);
	ok(pid > 0, "a writer");
	is_int(waitpid(pid, NULL, WUNTRACED), pid, "is stopped as it writes");
	bk_meta_create(c.meta, "/a", meta_bytes(""), BK_NODE_PERSISTENT,
	    BK_ACL_CONF, meta_answered, &a);
	is_int(meta_pause(&c, 50 * BK_MS), BK_OK, "the loop goes on");
	is_int(meta_pause(&c, 50 * BK_MS), BK_OK, "and on");
	ok(!a.done, "the change waits");
	ok(meta_await(&c, &a.done), "but not for ever");
	is_int(a.status, BK_EHELD, "then it is given up");
	is_int(c.state_status, BK_EHELD, "and said why");
	(void)snprintf(reason, sizeof(reason),
	    "store held by pid %ld (stopped)", (long)pid);
	if (!ok(strstr(c.reason, reason) != NULL, "by whom"))
		printf("# %s\n", c.reason);
	is_int(meta_exists(&c, "/a", BK_NO_WATCH), BK_ENONODE,
	    "reading is always possible");
	meta_kill(pid, SIGKILL);
	is_int(meta_create(&c, "/a", "", BK_NODE_PERSISTENT), BK_OK,
	    "once it is dead, writing is, too");
	is_int(c.state, BK_META_CONNECTED, "and that is said");
	is_int(meta_exists(&c, "/half", BK_NO_WATCH), BK_ENONODE,
	    "nothing is there of what it did not finish");
	meta_answer_fini(&a);
	meta_client_close(&c);
}

/* The same for one who comes only then. */
static void
held_at_start(void)
{
	const char *cluster = new_cluster();
	const char *args[] = {"stop", cluster, NULL};
	const struct bk_meta_config patient = {.connect_timeout = BK_FOREVER};
	struct meta_client c, d;
	pid_t pid;

	open_with(&c, cluster, &config);
	meta_client_close(&c);
	pid = meta_spawn(args);
	is_int(waitpid(pid, NULL, WUNTRACED), pid, "a writer is stopped");
	meta_client_open(&c, loop, cluster, &config);
	meta_client_open(&d, loop, cluster, &patient);
	ok(meta_await_state(&c, BK_META_FAILED, 1), "a tool gives up");
	is_int(c.state_status, BK_EHELD, "as it is held");
	ok(strstr(c.reason, "(stopped)") != NULL, "and by whom");
	is_int(meta_sync(&c), BK_EHELD, "its calls end so");
	meta_client_close(&c);
	is_int(meta_pause(&d, 0), BK_OK, "a daemon waits");
	meta_kill(pid, SIGKILL);
	ok(meta_await_state(&d, BK_META_CONNECTED, 1), "till it is free");
	is_int(d.nstates[BK_META_FAILED], 0, "and does not give up");
	meta_client_close(&d);
}

/* Four processes add one by one, and are killed; every number that was
 * acknowledged has been counted. */
static void
killed_writers(void)
{
	const char *cluster = new_cluster();
	const char *args[] = {"count", cluster, NULL};
	unsigned acknowledged = 0;
	struct meta_client c;
	struct stat st;
	pid_t pid[4];

	open_with(&c, cluster, &threaded);
	is_int(meta_create(&c, "/count", "0", BK_NODE_PERSISTENT), BK_OK,
	    "a counter");
	for (int round = 0; round < 5; round++) {
		for (int i = 0; i < 4; i++)
			pid[i] = meta_spawn(args);
		for (int i = 0; i < 20; i++) {
			while (meta_get(&c, "/count", BK_NO_WATCH) == BK_OK &&
			    meta_set(&c, "/count", "1",
				c.answer.stat.version) == BK_EVERSION)
				continue;
			acknowledged++;
		}
		for (int i = 0; i < 4; i++)
			meta_kill(pid[i], SIGKILL);
	}
	is_int(meta_get(&c, "/count", BK_NO_WATCH), BK_OK, "it is read");
	(void)snprintf(c.why, sizeof(c.why), "%s/acknowledged", top);
	ok(stat(c.why, &st) == 0 && st.st_size > 0, "the others counted too");
	ok(c.answer.stat.version >= (int32_t)(acknowledged + st.st_size),
	    "no acknowledged count of %u and %lld is lost", acknowledged,
	    (long long)st.st_size);
	ok(c.answer.stat.version <= (int32_t)(acknowledged + st.st_size + 20),
	    "and none is made up but the last of each");
	is_int(meta_verify(&c), BK_OK, "the store is whole");
	meta_client_close(&c);
}

/* Sessions. */

static void
ended_session(const struct bk_meta_config *how)
{
	struct meta_lmdb *m;
	struct bk_lmdb_txn tx;
	struct meta_client c;
	uint64_t old;

	open_with(&c, new_cluster(), how);
	m = (struct meta_lmdb *)c.meta;
	is_int(meta_create(&c, "/e", "", BK_NODE_EPHEMERAL), BK_OK,
	    "an ephemeral node");
	is_int(meta_exists(&c, "/w", meta_watch(&c)), BK_ENONODE, "a watch");
	old = bk_meta_session(c.meta);
	begin_behind(&c, &tx);
	is_int(bk_lmdb_session_delete(&tx, old), BK_OK,
	    "someone ends the session");
	commit_behind(&c, &tx);
	is_int(meta_create(&c, "/x", "", BK_NODE_PERSISTENT), BK_ESESSION,
	    "its next change is refused");
	is_int(meta_exists(&c, "/x", BK_NO_WATCH), BK_ENONODE, "and not done");
	ok(meta_await_events(&c, 1), "its watch is told");
	is_str(meta_event_text(&c, 0), "session /w", "why");
	ok(meta_await_state(&c, BK_META_NEW_SESSION, 1), "there is a new one");
	ok(bk_meta_session(c.meta) > old, "with an id of its own");
	is_int(meta_exists(&c, "/e", BK_NO_WATCH), BK_ENONODE,
	    "the node is gone");
	is_int(meta_create(&c, "/e", "", BK_NODE_EPHEMERAL), BK_OK,
	    "and can be made again");
	ok(m->session.fd != -1, "the new session has its lock");
	meta_client_close(&c);
}

/* Dead sessions are cleared away while others write, by whoever comes. */
static void
reaping(void)
{
	const struct bk_meta_config only_read = {.read_only = true};
	const char *cluster = new_cluster();
	const char *args[] = {"hold", cluster, "/held", NULL};
	struct meta_client c, d;
	pid_t pid;

	open_with(&c, cluster, &threaded);
	open_with(&d, cluster, &config);
	for (int i = 0; i < 10; i++) {
		pid = meta_spawn(args);
		is_int(meta_exists(&c, "/held", BK_NO_WATCH), BK_OK,
		    "a process holds a node");
		meta_kill(pid, SIGKILL);
		c.nevents = 0;
		(void)meta_exists(&c, "/held", meta_watch(&c));
		for (int j = 0; j < 20; j++)
			(void)meta_create(&d, "/d-", "", BK_NODE_SEQUENTIAL);
		ok(meta_await_node(&c, "/held", false), "then it is gone");
	}
	is_int(meta_verify(&c), BK_OK, "the store is whole");
	meta_client_close(&c);
	meta_client_close(&d);

	pid = meta_spawn(args);
	ok(pid > 0, "one more");
	meta_kill(pid, SIGKILL);
	open_with(&c, cluster, &only_read);
	is_int(meta_exists(&c, "/held", BK_NO_WATCH), BK_ENONODE,
	    "who only reads is not shown the dead either");
	is_int(bk_meta_session(c.meta), 0, "and has no session");
	is_int(c.state, BK_META_CONNECTED, "though it is in touch");
	is_int(meta_create(&c, "/x", "", BK_NODE_PERSISTENT), BK_EINVAL,
	    "nor writes");
	meta_client_close(&c);
	(void)snprintf(c.why, sizeof(c.why), "rmdir %s/sessions", cluster + 6);
	is_int(system(c.why), 0, "no session's file is left");
}

/* Watches. */

static void
without_inotify(void)
{
	const char *cluster = new_cluster();
	struct meta_client c, d;

	open_with(&c, cluster, &config);
	open_with(&d, cluster, &config);
	((struct meta_lmdb *)c.meta)->no_notice = true;
	is_int(meta_exists(&c, "/w", meta_watch(&c)), BK_ENONODE,
	    "a watch without inotify");
	is_int(meta_create(&d, "/w", "", BK_NODE_PERSISTENT), BK_OK,
	    "a change");
	ok(meta_await_events(&c, 1), "is told as well");
	meta_client_close(&c);
	meta_client_close(&d);
}

static void
ignore(void *arg, enum bk_status status, const struct bk_meta_reply *reply)
{
	(void)arg;
	(void)status;
	(void)reply;
}

/* More changes than the log keeps: what is watched is compared. */
static void
far_behind(void)
{
	static const char *const paths[] = {"/same", "/set", "/gone", "/new",
	    "/again", "/list"};
	static const char *const told[] = {"changed /set", "deleted /gone",
	    "created /new", "deleted /again", "children /list"};
	struct bk_loop *other = bk_loop_new(), *mine = loop;
	const char *cluster = new_cluster();
	struct meta_client c, d;
	bool found;

	open_with(&c, cluster, &config);
	loop = other;
	open_with(&d, cluster, &config);
	loop = mine;
	for (size_t i = 0; i < 6; i++) {
		if (i != 3)
			(void)meta_create(&d, paths[i], "", BK_NODE_PERSISTENT);
	}
	for (size_t i = 0; i < 6; i++)
		(void)meta_exists(&c, paths[i], meta_watch(&c));
	(void)meta_children(&c, "/list", meta_watch(&c));
	for (int i = 0; i < 5000; i++)
		bk_meta_set(d.meta, "/set", meta_bytes("x"), BK_ANY_VERSION,
		    ignore, NULL);
	(void)meta_remove(&d, "/gone", 0);
	(void)meta_remove(&d, "/again", 0);
	(void)meta_create(&d, "/again", "", BK_NODE_PERSISTENT);
	(void)meta_create(&d, "/new", "", BK_NODE_PERSISTENT);
	is_int(meta_create(&d, "/list/x", "", BK_NODE_PERSISTENT), BK_OK,
	    "5000 changes and more");
	ok(meta_await_events(&c, 5), "are noticed");
	is_int(c.nevents, 5, "each once");
	for (size_t i = 0; i < 5; i++) {
		found = false;
		for (size_t j = 0; j < c.nevents; j++)
			found |= strcmp(meta_event_text(&c, j), told[i]) == 0;
		ok(found, "%s", told[i]);
	}
	meta_client_close(&c);
	meta_client_close(&d);
	bk_loop_free(other);
}

/* Damage. */

/* Change a byte wherever a text lies in the store's file. */
static int
spoil(const char *cluster, const char *text)
{
	size_t len = strlen(text), n = 0;
	char *data, byte = '!';
	struct stat st;
	int fd;

	fd = open(file_of(cluster, "data.mdb"), O_RDWR);
	if (fd == -1 || fstat(fd, &st) == -1)
		return (0);
	data = malloc((size_t)st.st_size);
	if (pread(fd, data, (size_t)st.st_size, 0) == st.st_size) {
		for (size_t i = 0; i + len <= (size_t)st.st_size; i++) {
			if (memcmp(data + i, text, len) == 0)
				n += pwrite(fd, &byte, 1, (off_t)i) == 1;
		}
	}
	free(data);
	(void)close(fd);
	return ((int)n);
}

static void
damage(void)
{
	const char *cluster = new_cluster();
	struct bk_lmdb_key key;
	struct bk_lmdb_txn tx;
	struct meta_client c;
	char large[3001];

	memset(large, 'L', 3000);
	large[3000] = '\0';
	memcpy(large, "large as life", 13);
	open_with(&c, cluster, &config);
	(void)meta_create(&c, "/p", "", BK_NODE_PERSISTENT);
	(void)meta_create(&c, "/p/a", "precious", BK_NODE_PERSISTENT);
	(void)meta_create(&c, "/p/l", large, BK_NODE_PERSISTENT);
	(void)meta_create(&c, "/p/b", "", BK_NODE_PERSISTENT);
	is_int(meta_verify(&c), BK_OK, "a whole store");
	ok(spoil(cluster, "precious") > 0, "a byte is spoilt");
	is_int(meta_get(&c, "/p/a", BK_NO_WATCH), BK_EBADMETA,
	    "the node is not handed out");
	is_int(meta_set(&c, "/p/a", "", BK_ANY_VERSION), BK_EBADMETA,
	    "nor written over");
	is_int(meta_get(&c, "/p/b", BK_NO_WATCH), BK_OK, "its neighbour is");
	is_int(meta_verify(&c), BK_EBADMETA, "a look at all finds it");
	ok(spoil(cluster, "large as life") > 0, "another, in large data");
	is_int(meta_exists(&c, "/p/l", BK_NO_WATCH), BK_OK, "the node is");
	is_int(meta_get(&c, "/p/l", BK_NO_WATCH), BK_EBADMETA,
	    "its data is not handed out");
	begin_behind(&c, &tx);
	bk_lmdb_key_node(&key, "/p/b");
	is_int(bk_lmdb_del(&tx, &key), BK_OK, "a node vanishes");
	tx.changed = true;
	commit_behind(&c, &tx);
	is_int(meta_children(&c, "/p", BK_NO_WATCH), BK_EBADMETA,
	    "a list that lacks one is no list");
	meta_client_close(&c);
}

static void
lost_subtree(void)
{
	struct bk_lmdb_key key;
	struct bk_lmdb_txn tx;
	struct meta_client c;

	open_with(&c, new_cluster(), &config);
	(void)meta_create(&c, "/a", "", BK_NODE_PERSISTENT);
	(void)meta_create(&c, "/b", "", BK_NODE_PERSISTENT);
	begin_behind(&c, &tx);
	bk_lmdb_key_node(&key, "/b");
	is_int(bk_lmdb_del(&tx, &key), BK_OK, "a node vanishes");
	tx.changed = true;
	commit_behind(&c, &tx);
	is_int(meta_verify(&c), BK_EBADMETA, "the count tells");
	meta_client_close(&c);
}

/* A full disk, as far as a limit on the size of files is one. A write cut
 * short gives LMDB no better reason than EIO. */

static bool
is_full(enum bk_status status)
{
	return (status == BK_ENOSPACE || status == BK_EIO);
}

static void
full_disk(void)
{
	enum bk_status status;
	const char *cluster = new_cluster();
	struct rlimit old, limit;
	struct meta_client c;
	struct meta_answer a[2];
	char *big;

	big = malloc(200001);
	memset(big, 'b', 200000);
	big[200000] = '\0';
	memset(a, 0, sizeof(a));
	open_with(&c, cluster, &threaded);
	is_int(meta_create(&c, "/a", "small", BK_NODE_PERSISTENT), BK_OK,
	    "a node");
	(void)signal(SIGXFSZ, SIG_IGN);
	(void)getrlimit(RLIMIT_FSIZE, &old);
	limit = old;
	limit.rlim_cur = 150000;
	(void)setrlimit(RLIMIT_FSIZE, &limit);
	status = meta_create(&c, "/big", big, BK_NODE_PERSISTENT);
	ok(is_full(status), "what does not fit is refused");
	is_int(meta_set(&c, "/a", "changed", 0), BK_OK, "what does, goes on");
	bk_meta_create(c.meta, "/big", meta_bytes(big), BK_NODE_PERSISTENT,
	    BK_ACL_CONF, meta_answered, &a[0]);
	bk_meta_set(c.meta, "/a", meta_bytes("again"), 1, meta_answered, &a[1]);
	ok(meta_await(&c, &a[1].done), "both at once");
	ok(is_full(a[0].status), "the one is refused");
	is_int(a[1].status, BK_OK, "and does not spoil the other");
	(void)setrlimit(RLIMIT_FSIZE, &old);
	is_int(meta_create(&c, "/big", big, BK_NODE_PERSISTENT), BK_OK,
	    "with room again it fits");
	is_int(meta_verify(&c), BK_OK, "the store is whole");
	meta_client_close(&c);
	meta_answer_fini(&a[0]);
	meta_answer_fini(&a[1]);
	free(big);
}

/* Descriptors. */

static unsigned
inherited(void)
{
	unsigned n = 0;
	int flags;

	for (int fd = 3; fd < 200; fd++) {
		flags = fcntl(fd, F_GETFD);
		n += flags != -1 && (flags & FD_CLOEXEC) == 0;
	}
	return (n);
}

static void
descriptors(void)
{
	unsigned before = inherited();
	struct meta_client c;

	open_with(&c, new_cluster(), &threaded);
	(void)meta_exists(&c, "/w", meta_watch(&c));
	is_int(inherited(), before, "a command that is run inherits nothing");
	meta_client_close(&c);
}

/* What a tool waits for; shown, not judged. */
static void
speed(void)
{
	const struct bk_meta_config only_read = {.read_only = true};
	const char *cluster = new_cluster();
	struct meta_client c;
	int64_t began;

	open_with(&c, cluster, &config);
	began = bk_clock_now();
	for (int i = 0; i < 200; i++)
		(void)meta_create(&c, "/x-", "", BK_NODE_SEQUENTIAL);
	printf("# create: %lld us\n",
	    (long long)(bk_clock_now() - began) / 200 / 1000);
	meta_client_close(&c);
	began = bk_clock_now();
	open_with(&c, cluster, &only_read);
	(void)meta_get(&c, "/", BK_NO_WATCH);
	meta_client_close(&c);
	printf("# open, sync, read, close: %lld us\n",
	    (long long)(bk_clock_now() - began) / 1000);
	began = bk_clock_now();
	open_with(&c, cluster, &config);
	(void)meta_get(&c, "/", BK_NO_WATCH);
	meta_client_close(&c);
	printf("# the same with a session: %lld us\n",
	    (long long)(bk_clock_now() - began) / 1000);
}

/* Other processes. */

static void
say_ready(void)
{
	printf("ready\n");
	fflush(stdout);
}

static int
child_hold(struct meta_client *c, const char *path)
{
	if (meta_create(c, path, "", BK_NODE_EPHEMERAL) != BK_OK)
		return (1);
	say_ready();
	return (bk_loop_run(loop));
}

static int
child_stop(struct meta_client *c)
{
	char made[BK_PATH_MAX + 1];
	struct bk_lmdb_txn tx;

	if (!bk_lmdb_wait_lock(store_of(c), BK_SECOND) ||
	    bk_lmdb_begin(&tx, store_of(c), true) != BK_OK)
		return (1);
	tx.zxid = tx.state.zxid + 1;
	(void)bk_lmdb_create(&tx, "/half", meta_bytes(""), BK_NODE_PERSISTENT,
	    0, made);
	say_ready();
	(void)raise(SIGSTOP);
	return (0);
}

/* A byte in a file for each count that was acknowledged. */
static int
child_count(struct meta_client *c)
{
	char path[300];
	int fd;

	(void)snprintf(path, sizeof(path), "%s/../acknowledged",
	    store_of(c)->dir);
	fd = open(path, O_WRONLY | O_CREAT | O_APPEND, 0600);
	if (fd == -1)
		return (1);
	say_ready();
	for (;;) {
		if (meta_get(c, "/count", BK_NO_WATCH) == BK_OK &&
		    meta_set(c, "/count", "1", c->answer.stat.version) ==
			BK_OK &&
		    write(fd, "+", 1) != 1)
			return (1);
	}
}

static int
child(const char *what, const char *cluster, const char *path)
{
	struct meta_client c;

	meta_client_open(&c, loop, cluster, &config);
	if (c.meta == NULL)
		return (1);
	if (strcmp(what, "foreign") == 0)
		store_of(&c)->pid_namespace = 1;
	if (meta_sync(&c) != BK_OK)
		return (1);
	if (strcmp(what, "hold") == 0)
		return (child_hold(&c, path));
	if (strcmp(what, "stop") == 0)
		return (child_stop(&c));
	if (strcmp(what, "count") == 0)
		return (child_count(&c));
	return (child_hold(&c, "/foreign"));
}

int
main(int argc, char **argv)
{
	const char *tmp = getenv("TMPDIR");

	loop = bk_loop_new();
	if (argc > 2)
		return (child(argv[1], argv[2], argv[3]));
	(void)snprintf(top, sizeof(top), "%.150s/bk-lmdb.XXXXXX",
	    tmp != NULL ? tmp : "/tmp");
	if (!ok(mkdtemp(top) != NULL, "a folder"))
		return (tap_done());
	missing();
	half_made();
	truncated();
	newer();
	foreign();
	stopped_writer(&config);
	stopped_writer(&threaded);
	held_at_start();
	killed_writers();
	ended_session(&config);
	ended_session(&threaded);
	reaping();
	without_inotify();
	far_behind();
	damage();
	lost_subtree();
	full_disk();
	descriptors();
	speed();
	bk_loop_free(loop);
	return (tap_done());
}
