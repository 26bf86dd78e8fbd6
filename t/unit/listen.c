/* listen.c - binding, sockets handed in, accepting, telling readiness. */
#include "loop/listen.h"
#include "loop/addr.h"
#include "tap.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#define LIMIT (20 * BK_SECOND)
#define LONG 40

static char dir[] = "/tmp/listen-XXXXXX";
static int fds[BK_LISTEN_MAX];
static size_t n;
static char why[512];

static int
bind_text(const char *text)
{
	return (bk_listen_bind(text, fds, &n, why, sizeof(why)));
}

static void
close_fds(void)
{
	while (n > 0)
		(void)close(fds[--n]);
}

static void
splits(void)
{
	static const struct {
		const char *text;
		const char *host; /* NULL: refused */
		int port;
	} cases[] = {
	    {"host:3181", "host", 3181},
	    {"[::1]:3181", "::1", 3181},
	    {":3181", "", 3181},
	    {"3181", "", 3181},
	    {"127.0.0.1:0", "127.0.0.1", 0},
	    {"a:65535", "a", 65535},
	    {"a:65536", NULL, 0},
	    {"a:", NULL, 0},
	    {"a", NULL, 0},
	    {"", NULL, 0},
	    {"a:+1", NULL, 0},
	    {"a: 1", NULL, 0},
	    {"::1:3181", NULL, 0},
	    {"[::1]3181", NULL, 0},
	    {"[::1]", NULL, 0},
	    {"[::1:3181", NULL, 0},
	    {"much.too.long.for.sixteen:1", NULL, 0},
	};
	char host[16];
	uint16_t port;
	int r;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		r = bk_addr_split(cases[i].text, host, sizeof(host), &port);
		if (cases[i].host == NULL)
			is_int(r, -1, "\"%s\" is no address", cases[i].text);
		else
			ok(r == 0 && strcmp(host, cases[i].host) == 0 &&
				port == cases[i].port,
			    "\"%s\" is one", cases[i].text);
	}
}

static void
binds_tcp(void)
{
	char name[128];
	char again[160];
	char *colon;

	is_int(bind_text("127.0.0.1:0"), 0, "a numeric address is bound");
	ok(n == 1 && bk_listen_name(fds[0], name, sizeof(name)) == 0 &&
		strncmp(name, "127.0.0.1:", 10) == 0 &&
		strcmp(name, "127.0.0.1:0") != 0,
	    "its name has the port it got");
	ok(fcntl(fds[0], F_GETFD) & FD_CLOEXEC, "it is closed on exec");

	(void)snprintf(again, sizeof(again), "%s", name);
	{
		int first = fds[0];

		is_int(bind_text(again), -1, "a port in use is refused");
		is_int(errno, EADDRINUSE, "with its errno");
		(void)snprintf(again, sizeof(again),
		    "%s: in use by process %ld", name, (long)getpid());
		is_str(why, again, "and its owner's pid");
		colon = strrchr(name, ':');
		is_int(bind_text(colon), -1, "also for all addresses");
		is_int(n, 0, "nothing is left bound");
		(void)close(first);
	}
	is_int(bind_text(name), 0, "a port given back can be bound at once");
	close_fds();

	is_int(bind_text("0"), 0, "all addresses are bound");
	close_fds();
	is_int(bind_text("localhost:0"), 0, "a name is bound");
	for (size_t i = 1; i < n; i++) {
		char first[128];

		(void)bk_listen_name(fds[0], first, sizeof(first));
		(void)bk_listen_name(fds[i], name, sizeof(name));
		is_str(strrchr(name, ':'), strrchr(first, ':'),
		    "each of its addresses on one port");
	}
	close_fds();

	is_int(bind_text("nowhere"), -1, "what is no address is refused");
	is_int(bind_text("192.0.2.1:0"), -1, "so is another's address");
	ok(strncmp(why, "192.0.2.1:0: ", 13) == 0, "and named: %s", why);
}

static void
binds_unix(void)
{
	char path[256];
	char text[300];
	char want[360];
	char name[300];
	struct stat st;
	int fd;
	int i;

	(void)snprintf(text, sizeof(text), "unix:%s/s", dir);
	(void)snprintf(path, sizeof(path), "%s/s", dir);
	is_int(bind_text(text), 0, "a path is bound");
	ok(bk_listen_name(fds[0], name, sizeof(name)) == 0 &&
		strcmp(name, text) == 0,
	    "its name is its path");
	fd = fds[0];
	is_int(bind_text(text), -1, "but not twice");
	(void)snprintf(want, sizeof(want), "%s: in use by process %ld", text,
	    (long)getpid());
	is_str(why, want, "the owner is named");
	(void)close(fd);
	is_int(bind_text(text), 0, "what a dead process left is replaced");
	close_fds();
	(void)unlink(path);

	fd = open(path, O_CREAT | O_WRONLY, 0600);
	(void)close(fd);
	is_int(bind_text(text), -1, "a file that is no socket stays");
	ok(stat(path, &st) == 0 && S_ISREG(st.st_mode), "as it was");
	(void)unlink(path);

	i = snprintf(path, sizeof(path), "%s/", dir);
	memset(path + i, 'd', LONG);
	path[i + LONG] = '\0';
	(void)mkdir(path, 0700);
	memset(path + i + LONG, '/', 1);
	memset(path + i + LONG + 1, 's', LONG);
	path[i + LONG + 1 + LONG] = '\0';
	(void)snprintf(text, sizeof(text), "unix:%s", path);
	ok(strlen(path) < 108 && bind_text(text) == 0, "a path that just fits");
	close_fds();
	(void)unlink(path);
	memset(path + i + LONG + 1, 's', 2 * LONG);
	path[i + LONG + 1 + 2 * LONG] = '\0';
	(void)snprintf(text, sizeof(text), "unix:%s", path);
	ok(strlen(path) > 108 && bind_text(text) == 0,
	    "a path longer than an address holds");
	fd = socket(AF_UNIX, SOCK_STREAM, 0);
	is_int(bk_unix_connect(fd, path), 0, "and is reached");
	(void)close(fd);
	close_fds();
	(void)unlink(path);
	*strrchr(path, '/') = '\0';
	(void)rmdir(path);
}

/* In a child with descriptors and variables of its own: how it was started,
 * as its exit status; 100 if refused. */
static int
started_with(int stdin_fd, int fd3, const char *count, bool for_us,
    const char *names)
{
	struct bk_inherited in;
	const char *reason;
	char pid[16];
	int status = -1;
	pid_t child = fork();

	if (child == 0) {
		if (stdin_fd != -1)
			(void)dup2(stdin_fd, 0);
		if (fd3 != -1)
			(void)dup2(fd3, 3);
		(void)snprintf(pid, sizeof(pid), "%ld",
		    (long)(for_us ? getpid() : getppid()));
		(void)setenv("LISTEN_PID", pid, 1);
		if (count != NULL)
			(void)setenv("LISTEN_FDS", count, 1);
		if (names != NULL)
			(void)setenv("LISTEN_FDNAMES", names, 1);
		if (bk_inherited_find(&in, &reason) == -1)
			_exit(100);
		if (getenv("LISTEN_FDS") != NULL)
			_exit(101);
		if (in.how == BK_START_SYSTEMD &&
		    (in.n != 1 || in.fds[0] != 3 ||
			strcmp(in.names[0], "bookie") != 0 ||
			(fcntl(3, F_GETFD) & FD_CLOEXEC) == 0))
			_exit(102);
		if (in.how != BK_START_PLAIN && in.how != BK_START_SYSTEMD &&
		    in.n != 1)
			_exit(103);
		_exit((int)in.how);
	}
	(void)waitpid(child, &status, 0);
	return (WIFEXITED(status) ? WEXITSTATUS(status) : -1);
}

static void
inherits(void)
{
	struct sockaddr_storage ss;
	socklen_t len = sizeof(ss);
	int pair[2];
	int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
	int listener;
	int client = socket(AF_INET, SOCK_STREAM, 0);
	int accepted;

	if (bind_text("127.0.0.1:0") == -1 ||
	    socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == -1)
		return;
	listener = fds[0];
	(void)getsockname(listener, (struct sockaddr *)&ss, &len);
	(void)connect(client, (struct sockaddr *)&ss, len);
	do
		accepted = accept(listener, NULL, NULL);
	while (accepted == -1 && errno == EAGAIN);

	is_int(started_with(null, -1, NULL, false, NULL), BK_START_PLAIN,
	    "started by hand");
	is_int(started_with(listener, -1, NULL, false, NULL),
	    BK_START_INETD_WAIT, "inetd wait hands in a listening socket");
	is_int(started_with(accepted, -1, NULL, false, NULL),
	    BK_START_INETD_NOWAIT, "inetd nowait a connection");
	is_int(started_with(pair[0], -1, NULL, false, NULL), BK_START_PLAIN,
	    "one end of a pair is plain input");
	is_int(started_with(null, listener, "1", true, "bookie"),
	    BK_START_SYSTEMD, "systemd hands in a named socket");
	is_int(started_with(null, accepted, "1", true, "connection"),
	    BK_START_INETD_NOWAIT, "or one connection");
	is_int(started_with(null, listener, "1", false, "bookie"),
	    BK_START_PLAIN, "sockets for another process are not ours");
	is_int(started_with(null, null, "1", true, "bookie"), 100,
	    "what is no socket is refused");
	is_int(started_with(null, listener, "17", true, NULL), 100,
	    "too many are refused");
	is_int(started_with(null, listener, "x", true, NULL), 100,
	    "nonsense is refused");
	(void)close(null);
	(void)close(client);
	(void)close(accepted);
	(void)close(pair[0]);
	(void)close(pair[1]);
	close_fds();
}

struct accepting {
	struct bk_listener *listener;
	int count;
	int fds[8];
	bool done;
	int enough;
};

static void
on_accepted(void *arg, int fd)
{
	struct accepting *a = arg;

	a->fds[a->count++] = fd;
	a->done = a->count >= a->enough;
	if (a->done)
		bk_listener_pause(a->listener, true);
}

static int
dial_by_hand(void)
{
	struct sockaddr_storage ss;
	socklen_t len = sizeof(ss);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (getsockname(fds[0], (struct sockaddr *)&ss, &len) == -1 ||
	    connect(fd, (struct sockaddr *)&ss, len) == -1)
		return (-1);
	return (fd);
}

static bool
wait_for(struct bk_loop *loop, const bool *done, int64_t limit)
{
	return (bk_loop_run_until(loop, done, bk_clock_now() + limit));
}

static void
accepts(void)
{
	struct bk_loop *loop = bk_loop_new();
	struct accepting a = {.enough = 2};
	struct rlimit few;
	struct rlimit before;
	int clients[4];
	int last;

	if (bind_text("127.0.0.1:0") == -1)
		return;
	for (int i = 0; i < 4; i++)
		clients[i] = dial_by_hand();
	a.listener = bk_listener_new(loop, fds[0], on_accepted, &a);
	ok(wait_for(loop, &a.done, LIMIT), "connections are accepted");
	ok((fcntl(a.fds[0], F_GETFL) & O_NONBLOCK) &&
		(fcntl(a.fds[0], F_GETFD) & FD_CLOEXEC),
	    "not blocking, closed on exec");
	a.done = false;
	ok(!wait_for(loop, &a.done, 5 * BK_MS), "not while paused");

	/* No descriptor above the last one in use. */
	(void)getrlimit(RLIMIT_NOFILE, &before);
	last = dup(0);
	few = before;
	few.rlim_cur = (rlim_t)last;
	(void)close(last);
	(void)setrlimit(RLIMIT_NOFILE, &few);
	a.enough = 4;
	bk_listener_pause(a.listener, false);
	ok(!wait_for(loop, &a.done, 5 * BK_MS), "nor without descriptors");
	(void)setrlimit(RLIMIT_NOFILE, &before);
	ok(wait_for(loop, &a.done, LIMIT), "and again when there are some");
	clients[0] = clients[0] == -1 ? -1 : close(clients[0]);
	clients[0] = dial_by_hand();
	a.enough = 5;
	bk_listener_drain(a.listener);
	is_int(a.count, 5, "draining accepts at once what is pending");
	bk_listener_free(a.listener);
	bk_listener_free(NULL);
	for (int i = 0; i < a.count; i++)
		(void)close(a.fds[i]);
	for (int i = 0; i < 4; i++)
		(void)close(clients[i]);
	close_fds();
	bk_loop_free(loop);
}

static void
hears(const char *path, const char *what)
{
	struct sockaddr_un sun = {.sun_family = AF_UNIX};
	socklen_t len = (socklen_t)(sizeof(sa_family_t) + strlen(path));
	char heard[64] = "";
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0);

	memcpy(sun.sun_path, path, strlen(path));
	if (path[0] == '@')
		sun.sun_path[0] = '\0';
	if (bind(fd, (struct sockaddr *)&sun, len) == -1)
		return;
	(void)setenv("NOTIFY_SOCKET", path, 1);
	bk_notify("STATUS=well");
	is_int(recv(fd, heard, sizeof(heard) - 1, 0), 11, "%s hears", what);
	is_str(heard, "STATUS=well", "what was said");
	(void)close(fd);
	(void)unlink(path);
}

static void
notifies(void)
{
	char path[128];
	char c;
	int p[2];

	(void)unsetenv("NOTIFY_SOCKET");
	bk_notify("STATUS=nobody listens");
	(void)snprintf(path, sizeof(path), "%s/notify", dir);
	hears(path, "a socket");
	(void)snprintf(path, sizeof(path), "@listen-test-%ld", (long)getpid());
	hears(path, "an abstract socket");

	if (pipe(p) == -1)
		return;
	bk_ready_tell(p[1]);
	ok(read(p[0], &c, 1) == 1 && c == '\n', "ready is a newline");
	is_int(read(p[0], &c, 1), 0, "and then the end");
	(void)close(p[0]);
}

int
main(void)
{
	if (mkdtemp(dir) == NULL)
		return (1);
	splits();
	binds_tcp();
	binds_unix();
	inherits();
	accepts();
	notifies();
	(void)rmdir(dir);
	return (tap_done());
}
