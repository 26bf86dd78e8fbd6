/*
 * meta_zk.c - what only ZooKeeper has: servers that are away, silent or want
 * something else, connections and sessions that are lost, logins, bounds.
 *
 * limit: 240 s
 */
#include "meta/meta_zk.h"
#include "base/log.h"
#include "meta/zk_log.h"
#include "t/lib/meta_client.h"
#include "t/lib/zookeeper.h"
#include "t/unit/tap.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static struct bk_loop *loop;
static struct zookeeper zk;
static char top[200];

/* The least a server with ticks of half a second grants. */
static const struct bk_meta_config config = {
    .session_timeout = BK_SECOND,
    .connect_timeout = META_LIMIT,
};
static const struct bk_meta_config impatient = {
    .session_timeout = BK_SECOND,
    .connect_timeout = 300 * BK_MS,
};

static const char *
cluster_at(const char *hosts)
{
	static char text[200];

	(void)snprintf(text, sizeof(text), "zk://%s/ledgers", hosts);
	return (text);
}

static void
open_at(struct meta_client *c, const char *hosts,
    const struct bk_meta_config *how)
{
	meta_client_open(c, loop, cluster_at(hosts), how);
	ok(c->meta != NULL, "the store opens");
}

static void
open_client(struct meta_client *c)
{
	open_at(c, zk.address, &config);
	is_int(meta_sync(c), BK_OK, "and answers");
}

/* Servers that are none. */

static struct fake {
	struct bk_fd *listener;
	struct bk_fd *peers[64];
	int fds[64];
	size_t npeers;
	const char *answer; /* NULL: none; "": hang up */
	size_t len;
	char address[40];
	int fd;
} fake;

static void
fake_answer(void *arg, int fd, int what)
{
	char buf[200];

	(void)what;
	if (recv(fd, buf, sizeof(buf), 0) > 0 && fake.answer == NULL)
		return;
	if (fake.answer != NULL && fake.len > 0)
		(void)send(fd, fake.answer, fake.len, MSG_NOSIGNAL);
	(void)shutdown(fd, SHUT_RDWR);
	bk_fd_want(*(struct bk_fd **)arg, 0);
}

static void
fake_accept(void *arg, int fd, int what)
{
	size_t n = fake.npeers;
	int peer;

	(void)arg;
	(void)what;
	peer = accept4(fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
	if (peer == -1)
		return;
	if (n == 64) {
		(void)close(peer);
		return;
	}
	fake.npeers++;
	fake.fds[n] = peer;
	fake.peers[n] =
	    bk_fd_new(loop, peer, BK_READABLE, fake_answer, &fake.peers[n]);
}

static const char *
fake_start(const char *answer, size_t len)
{
	struct sockaddr_in sin = {.sin_family = AF_INET};
	socklen_t size = sizeof(sin);

	sin.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	memset(&fake, 0, sizeof(fake));
	fake.answer = answer;
	fake.len = len;
	fake.fd =
	    socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (bind(fake.fd, (struct sockaddr *)&sin, size) == -1 ||
	    listen(fake.fd, 10) == -1 ||
	    getsockname(fake.fd, (struct sockaddr *)&sin, &size) == -1)
		return (NULL);
	fake.listener =
	    bk_fd_new(loop, fake.fd, BK_READABLE, fake_accept, NULL);
	(void)snprintf(fake.address, sizeof(fake.address), "127.0.0.1:%u",
	    (unsigned)ntohs(sin.sin_port));
	return (fake.address);
}

static void
fake_stop(void)
{
	for (size_t i = 0; i < fake.npeers; i++) {
		bk_fd_free(fake.peers[i]);
		(void)close(fake.fds[i]);
	}
	bk_fd_free(fake.listener);
	(void)close(fake.fd);
}

static void
fails_at(const char *hosts, const struct bk_meta_config *how,
    enum bk_status status, const char *host, const char *reason)
{
	struct meta_client c;
	char text[300];

	open_at(&c, hosts, how);
	is_int(meta_sync(&c), status, "its calls end with %s",
	    bk_status_name(status));
	is_int(c.state, BK_META_FAILED, "it has failed");
	is_int(c.state_status, status, "for that");
	(void)snprintf(text, sizeof(text), "%s: %s", host, reason);
	is_str(c.reason, text, "and says why");
	is_int(c.nstates[BK_META_FAILED], 1, "once");
	is_int(meta_get(&c, "/", BK_NO_WATCH), status,
	    "later calls end so, too");
	meta_client_close(&c);
}

/* Not every machine has a name server to say so. */
static void
unknown_name(void)
{
	struct meta_client c;

	open_at(&c, "nowhere.invalid:1", &impatient);
	is_int(meta_sync(&c), BK_ESTORE, "with a name that is none");
	ok(strcmp(c.reason, "nowhere.invalid: unknown host") == 0 ||
		strcmp(c.reason,
		    "nowhere.invalid: the name server does not "
		    "answer") == 0,
	    "it says \"%s\"", c.reason);
	meta_client_close(&c);
}

static void
not_there(void)
{
	static const char http[] = "HTTP/1.1 400 Bad Request\r\n\r\n";
	static const char alert[] = "\x15\x03\x03\x00\x02\x02\x28";
	const struct bk_meta_config patient = {.connect_timeout = META_LIMIT};
	const struct bk_meta_config some = {.connect_timeout = 3 * BK_SECOND};
	const char *at;
	char both[100];

	at = fake_start(NULL, 0);
	fake_stop();
	fails_at(at, &impatient, BK_ESTORE, at, "Connection refused");
	unknown_name();
	at = fake_start(NULL, 0);
	fails_at(at, &some, BK_ESTORE, at,
	    "the server accepts, but does not answer");
	fake_stop();
	at = fake_start("", 0);
	fails_at(at, &impatient, BK_ESTORE, at,
	    "the server closes connections at once");
	fake_stop();
	at = fake_start(http, sizeof(http) - 1);
	fails_at(at, &impatient, BK_ESTORE, at, "not a ZooKeeper server");
	fake_stop();
	at = fake_start(alert, sizeof(alert) - 1);
	fails_at(at, &patient, BK_ETLS, at, "the server demands TLS");
	(void)snprintf(both, sizeof(both), "127.0.0.1:1,%s", at);
	fails_at(both, &patient, BK_ETLS, at, "the server demands TLS");
	fake_stop();
}

static void
demands_sasl(void)
{
	static const char lines[] =
	    "authProvider.sasl=org.apache.zookeeper.server.auth."
	    "SASLAuthenticationProvider\n"
	    "sessionRequireClientSASLAuth=true\n";
	struct zookeeper other;

	if (!ok(zookeeper_start(&other, lines), "a server that demands SASL"))
		return;
	fails_at(other.address, &config, BK_ESASL, other.address,
	    "the server demands a login by SASL");
	zookeeper_end(&other);
}

/* One of two servers is dead, whichever it is. */
static void
one_of_two(void)
{
	struct meta_client c;
	char hosts[100];

	for (int i = 0; i < 6; i++) {
		(void)snprintf(hosts, sizeof(hosts),
		    i % 2 == 0 ? "127.0.0.1:1,%s" : "%s,127.0.0.1:1",
		    zk.address);
		open_at(&c, hosts, &config);
		is_int(meta_sync(&c), BK_OK, "the living one is found");
		meta_client_close(&c);
	}
}

static void
by_name(void)
{
	struct meta_client c;
	char hosts[100];

	(void)snprintf(hosts, sizeof(hosts), "localhost:%u", (unsigned)zk.port);
	open_at(&c, hosts, &config);
	is_int(meta_sync(&c), BK_OK, "a server is found by its name");
	meta_client_close(&c);
}

/* Descriptors that a command we start would inherit, and all there are. */
static void
count_descriptors(unsigned *inherited, unsigned *all)
{
	int flags;

	*inherited = *all = 0;
	for (int fd = 3; fd < 200; fd++) {
		flags = fcntl(fd, F_GETFD);
		*all += flags != -1;
		*inherited += flags != -1 && (flags & FD_CLOEXEC) == 0;
	}
}

/* A server that goes and comes back. */
static void
server_lost(void)
{
	unsigned inherited, all, inherited_now, all_now;
	struct meta_answer set, get;
	struct meta_client c, d;
	uint64_t session;

	memset(&set, 0, sizeof(set));
	memset(&get, 0, sizeof(get));
	open_client(&c);
	session = bk_meta_session(c.meta);
	(void)meta_create(&c, "/lost", "1", BK_NODE_PERSISTENT);
	is_int(meta_create(&c, "/lost-e", "", BK_NODE_EPHEMERAL), BK_OK,
	    "a node of our session");
	is_int(meta_get(&c, "/lost", meta_watch(&c)), BK_OK, "and a watch");
	count_descriptors(&inherited, &all);

	zookeeper_kill(&zk);
	ok(meta_await_state(&c, BK_META_CONNECTING, 1),
	    "the loss of the server is told");
	bk_meta_get(c.meta, "/lost", BK_NO_WATCH, meta_answered, &get);
	bk_meta_set(c.meta, "/lost", meta_bytes("x"), 7, meta_answered, &set);
	is_int(meta_pause(&c, 50 * BK_MS), BK_OK, "the loop goes on");
	ok(!get.done && !set.done, "calls wait for its return");
	ok(zookeeper_restart(&zk), "it comes back");
	ok(meta_await_state(&c, BK_META_CONNECTED, 2), "that is told");
	ok(meta_await(&c, &set.done), "the calls are answered");
	is_int(get.status, BK_OK, "the read");
	ok(set.status == BK_EVERSION || set.status == BK_ESTORE,
	    "and the change");
	ok(bk_meta_session(c.meta) == session, "the session lives");
	is_int(meta_exists(&c, "/lost-e", BK_NO_WATCH), BK_OK,
	    "and its node with it");
	open_client(&d);
	is_int(meta_set(&d, "/lost", "2", 0), BK_OK, "a change by another");
	ok(meta_await_events(&c, 1), "is told: the watch lives, too");
	meta_client_close(&d);
	count_descriptors(&inherited_now, &all_now);
	is_int(inherited_now, inherited, "no descriptor to be inherited");
	ok(all_now <= all, "and none is lost");
	(void)meta_remove(&c, "/lost", BK_ANY_VERSION);
	meta_client_close(&c);
	meta_answer_fini(&get);
	meta_answer_fini(&set);
}

/* Requests under way when the server dies. */
static void
under_way(void)
{
	struct meta_answer sets[20], gets[20];
	unsigned lost = 0, odd = 0, good = 0;
	struct meta_client c;

	memset(sets, 0, sizeof(sets));
	memset(gets, 0, sizeof(gets));
	open_client(&c);
	(void)meta_create(&c, "/way", "", BK_NODE_PERSISTENT);
	(void)kill(zk.pid, SIGSTOP);
	for (int i = 0; i < 20; i++) {
		bk_meta_set(c.meta, "/way", meta_bytes("x"), i, meta_answered,
		    &sets[i]);
		bk_meta_get(c.meta, "/way", BK_NO_WATCH, meta_answered,
		    &gets[i]);
	}
	is_int(meta_pause(&c, 20 * BK_MS), BK_OK, "requests are sent");
	zookeeper_kill(&zk);
	ok(zookeeper_restart(&zk), "the server dies and comes back");
	ok(meta_await(&c, &gets[19].done), "they are answered");
	for (int i = 0; i < 20; i++) {
		lost += sets[i].status == BK_ESTORE;
		odd += sets[i].status != BK_ESTORE && sets[i].status != BK_OK;
		good += gets[i].done && gets[i].status == BK_OK;
	}
	ok(lost > 0, "of %u changes nobody knows", lost);
	is_int(odd, 0, "the others were done before");
	is_int(good, 20, "reads are made again");
	for (int i = 0; i < 20; i++) {
		meta_answer_fini(&sets[i]);
		meta_answer_fini(&gets[i]);
	}
	(void)meta_remove(&c, "/way", BK_ANY_VERSION);
	meta_client_close(&c);
}

/* It is not there yet when we begin. */
static void
late_server(void)
{
	struct meta_client c;

	zookeeper_kill(&zk);
	open_at(&c, zk.address, &config);
	is_int(meta_pause(&c, 200 * BK_MS), BK_OK, "no server yet");
	is_int(c.nstates[BK_META_FAILED], 0, "nothing is given up");
	ok(zookeeper_restart(&zk), "there it is");
	is_int(meta_sync(&c), BK_OK, "and found");
	meta_client_close(&c);
}

/* A server that stands still for longer than our session may. */
static void
silent_server(void)
{
	struct meta_client c;

	open_client(&c);
	(void)kill(zk.pid, SIGSTOP);
	/* It stops a moment after it was told to. */
	(void)waitpid(zk.pid, NULL, WUNTRACED);
	is_int(meta_set(&c, "/x", "", BK_ANY_VERSION), BK_ESTORE,
	    "a change that is not answered");
	for (int i = 0; i < 100 && c.state_status != BK_ESESSION; i++)
		(void)meta_pause(&c, 100 * BK_MS);
	is_int(c.state_status, BK_ESESSION, "in time we are warned");
	is_str(c.reason, "no answer for 1 s, the session may be lost",
	    "of what");
	is_int(meta_exists(&c, "/x", BK_NO_WATCH), BK_ESTORE,
	    "a read is given up some time");
	(void)kill(zk.pid, SIGCONT);
	is_int(meta_exists(&c, "/x", BK_NO_WATCH), BK_ENONODE,
	    "it goes on with the server");
	meta_client_close(&c);
}

/* End a session behind its client's back, as if it had timed out. */
static void
steal_session(struct meta_client *c)
{
	struct meta_zk *m = (struct meta_zk *)c->meta;
	int fd, what, rc = ZOK;
	struct timeval tv;
	zhandle_t *zh;

	zh = zookeeper_init(zk.address, NULL, 1000, zoo_client_id(m->zh), NULL,
	    0);
	for (int i = 0; i < 1000 && zoo_state(zh) != ZOO_CONNECTED_STATE &&
	     !is_unrecoverable(zh);
	     i++) {
		rc = zookeeper_interest(zh, &fd, &what, &tv);
		(void)usleep(1000);
		if (rc == ZOK)
			rc = zookeeper_process(zh, what);
	}
	is_int(zoo_state(zh), ZOO_CONNECTED_STATE, "the session is taken");
	(void)zookeeper_close(zh);
}

static void
expired_session(void)
{
	struct meta_client c;
	uint64_t session;

	open_client(&c);
	session = bk_meta_session(c.meta);
	(void)meta_create(&c, "/exp", "", BK_NODE_PERSISTENT);
	is_int(meta_create(&c, "/exp/e", "", BK_NODE_EPHEMERAL), BK_OK,
	    "a node of our session");
	is_int(meta_get(&c, "/exp", meta_watch(&c)), BK_OK, "and a watch");
	steal_session(&c);
	ok(meta_await_state(&c, BK_META_NEW_SESSION, 1),
	    "a new session is told");
	ok(bk_meta_session(c.meta) != session, "it is another");
	is_int(c.nevents, 1, "the watch was told");
	is_str(meta_event_text(&c, 0), "session /exp", "why");
	is_int(meta_exists(&c, "/exp/e", BK_NO_WATCH), BK_ENONODE,
	    "the node is gone");
	is_int(meta_create(&c, "/exp/e", "", BK_NODE_EPHEMERAL), BK_OK,
	    "and can be made again");
	is_int(meta_get(&c, "/exp", meta_watch(&c)), BK_OK,
	    "the watch can be set again");
	is_int(meta_set(&c, "/exp", "", BK_ANY_VERSION), BK_OK, "a change");
	is_str(meta_event_text(&c, 1), "changed /exp", "is told");
	meta_client_close(&c);
}

/* A turn that takes too long, with the answer waiting at its end. */
static void
slow_turn(void)
{
	struct meta_answer a;
	struct meta_client c;

	memset(&a, 0, sizeof(a));
	open_client(&c);
	bk_meta_get(c.meta, "/", BK_NO_WATCH, meta_answered, &a);
	is_int(meta_pause(&c, 0), BK_OK, "a request is sent");
	if (!a.done)
		(void)usleep(800000);
	ok(meta_await(&c, &a.done), "after a slow turn");
	is_int(a.status, BK_OK, "its answer is taken");
	is_int(c.nstates[BK_META_CONNECTING], 0, "and the connection is kept");
	meta_answer_fini(&a);
	meta_client_close(&c);
}

/* Logins. */

static const char *
auth_file(const char *text, mode_t mode)
{
	static char path[240];
	FILE *file;

	(void)snprintf(path, sizeof(path), "%s/auth", top);
	(void)unlink(path);
	file = fopen(path, "w");
	if (file != NULL) {
		(void)fputs(text, file);
		(void)fclose(file);
	}
	(void)chmod(path, mode);
	return (path);
}

static void
bad_auth(const char *path, const char *reason)
{
	struct bk_meta_config with = config;
	struct meta_client c;
	char text[400];

	with.auth_file = path;
	meta_client_open(&c, loop, cluster_at(zk.address), &with);
	ok(c.meta == NULL, "no login");
	is_int(c.open_status, BK_ECONFIG, "is a matter of configuration");
	(void)snprintf(text, sizeof(text), "%s: %s", path, reason);
	is_str(c.why, text, "and said why");
	meta_client_close(&c);
}

static void
logins(void)
{
	struct bk_meta_config with = config;
	struct meta_client c, d, e;

	with.auth_file = auth_file("bk:secret\n", 0600);
	open_at(&c, zk.address, &with);
	is_int(meta_create(&c, "/auth", "mine", BK_NODE_PERSISTENT), BK_OK,
	    "with a login");
	is_int(meta_get(&c, "/auth", BK_NO_WATCH), BK_OK,
	    "a node is its creator's");
	meta_begin(&c.answer);
	bk_meta_create(c.meta, "/auth-open", meta_bytes(""), BK_NODE_PERSISTENT,
	    BK_ACL_OPEN, meta_answered, &c.answer);
	open_client(&d);
	is_int(meta_get(&d, "/auth", BK_NO_WATCH), BK_EACCESS,
	    "others do not read it");
	is_int(meta_set(&d, "/auth", "", BK_ANY_VERSION), BK_EACCESS,
	    "nor write it");
	is_int(meta_get(&d, "/auth-open", BK_NO_WATCH), BK_OK,
	    "unless it is made open");
	with.auth_file = auth_file("bk:wrong", 0600);
	open_at(&e, zk.address, &with);
	is_int(meta_get(&e, "/auth", BK_NO_WATCH), BK_EACCESS,
	    "a wrong password is no key");
	(void)meta_remove(&c, "/auth", BK_ANY_VERSION);
	(void)meta_remove(&c, "/auth-open", BK_ANY_VERSION);
	meta_client_close(&c);
	meta_client_close(&d);
	meta_client_close(&e);

	bad_auth(auth_file("bk:secret", 0644),
	    "open to everybody; chmod o-rwx it");
	bad_auth(auth_file("secret", 0600),
	    "\"user:password\" expected on its first line");
	bad_auth(auth_file("", 0600),
	    "\"user:password\" expected on its first line");
	bad_auth("/nowhere/auth", "No such file or directory");
	bad_auth("/", "Is a directory");
}

/* Bounds. */

static unsigned refused_calls, answered_calls;

static void
count_refused(void *arg, enum bk_status status,
    const struct bk_meta_reply *reply)
{
	(void)arg;
	(void)reply;
	answered_calls++;
	refused_calls += status == BK_ETOOBIG;
}

static const char *
long_path(int i)
{
	static char path[BK_PATH_MAX + 1];

	memset(path, 'p', 480);
	path[0] = '/';
	(void)snprintf(path + 480, 20, "%d", i);
	return (path);
}

static void
bounds(void)
{
	struct meta_client c;

	open_client(&c);
	refused_calls = 0;
	for (int i = 0; i < 1200; i++)
		bk_meta_exists(c.meta, long_path(i), meta_watch(&c),
		    count_refused, NULL);
	is_int(meta_sync(&c), BK_OK, "many watches on long paths");
	is_int(meta_exists(&c, long_path(5000), meta_watch(&c)), BK_ETOOBIG,
	    "at some time are too many");
	is_int(meta_exists(&c, long_path(5000), BK_NO_WATCH), BK_ENONODE,
	    "without a watch it goes");
	bk_meta_unwatch(c.meta, meta_watch(&c).fn, meta_watch(&c).arg);
	is_int(meta_exists(&c, long_path(5000), meta_watch(&c)), BK_ETOOBIG,
	    "unset ones are still the server's");
	meta_client_close(&c);

	open_client(&c);
	refused_calls = 0;
	for (int i = 0; i < 600; i++) {
		bk_meta_create(c.meta, long_path(i), meta_bytes(""),
		    BK_NODE_EPHEMERAL, BK_ACL_CONF, count_refused, NULL);
		if (i % 100 == 99)
			is_int(meta_sync(&c), BK_OK, "ephemeral nodes");
	}
	ok(refused_calls > 0 && refused_calls < 200,
	    "at some time are too many");
	is_int(meta_create(&c, long_path(999), "", BK_NODE_EPHEMERAL),
	    BK_ETOOBIG, "no more");
	for (int i = 0; i < 10; i++)
		is_int(meta_remove(&c, long_path(i), 0), BK_OK, "some go");
	is_int(meta_create(&c, long_path(999), "", BK_NODE_EPHEMERAL), BK_OK,
	    "there is room again");
	meta_client_close(&c);
}

/* Lines of the client. */

static unsigned nlines;
static char last_line[300];

static void
keep_line(void *arg, enum bk_severity severity, const char *line)
{
	(void)arg;
	(void)severity;
	nlines++;
	(void)snprintf(last_line, sizeof(last_line), "%s", line);
}

static void
client_lines(void)
{
	char line[200];

	bk_log_init("t", BK_LOG_INFO, false);
	bk_log_to(keep_line, NULL);
	for (int i = 0; i < 100; i++) {
		(void)snprintf(line, sizeof(line),
		    "2026-12-01 05:00:00,%03d:12:ZOO_ERROR@f@%d: Socket "
		    "[10.0.0.1:2181] zk retcode=-4: refused\n",
		    i, 100);
		bk_zk_log(line);
	}
	is_int(nlines, 1, "the same line is shown once");
	ok(strstr(last_line,
	       "zookeeper: Socket [10.0.0.1:2181] zk retcode=-4: refused") !=
		NULL,
	    "as it is, without time and place");
	bk_zk_log("2026-12-01 05:00:00,1:12:ZOO_WARN@g@1: something else");
	is_int(nlines, 2, "another one is shown");
	bk_zk_log("2026-12-01 05:00:00,1:12:ZOO_INFO@g@1: chatter");
	is_int(nlines, 2, "chatter is not");
	bk_zk_log("odd");
	is_int(nlines, 3, "a line of another form is shown");
	bk_log_init("t", BK_LOG_WARNING, false);
	bk_log_to(NULL, NULL);
}

/* What a tool waits for; shown, not judged. */
static void
speed(void)
{
	int64_t began = bk_clock_now();
	struct meta_client c;

	open_client(&c);
	(void)meta_get(&c, "/", BK_NO_WATCH);
	meta_client_close(&c);
	printf("# open, sync, read, close: %lld us\n",
	    (long long)(bk_clock_now() - began) / 1000);
}

int
main(void)
{
	const char *tmp = getenv("TMPDIR");

	loop = bk_loop_new();
	(void)snprintf(top, sizeof(top), "%.150s/bk-zk.XXXXXX",
	    tmp != NULL ? tmp : "/tmp");
	if (!ok(mkdtemp(top) != NULL, "a folder"))
		return (tap_done());
	client_lines();
	not_there();
	if (!ok(zookeeper_start(&zk, ""), "ZooKeeper starts"))
		return (tap_done());
	one_of_two();
	by_name();
	server_lost();
	under_way();
	late_server();
	silent_server();
	expired_session();
	slow_turn();
	logins();
	bounds();
	speed();
	zookeeper_end(&zk);
	demands_sasl();
	bk_loop_free(loop);
	return (tap_done());
}
