/* loop_dial.c - connecting by number, by name and by path. */
#include "loop/addr.h"
#include "loop/listen.h"
#include "tap.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#define LIMIT (20 * BK_SECOND)

struct dialing {
	struct bk_loop *loop;
	bool done;
	int fd;
	int error;
};

static void
on_done(void *arg, int fd, int error)
{
	struct dialing *d = arg;

	d->fd = fd;
	d->error = error;
	d->done = true;
}

static int
result(struct dialing *d)
{
	if (!bk_loop_run_until(d->loop, &d->done, bk_clock_now() + LIMIT))
		return (-1);
	d->done = false;
	if (d->fd != -1)
		(void)close(d->fd);
	return (d->error);
}

static int
bind_one(const char *text, int *port)
{
	int fds[BK_LISTEN_MAX];
	char why[256];
	char name[256];
	size_t n;

	if (bk_listen_bind(text, fds, &n, why, sizeof(why)) == -1 ||
	    bk_listen_name(fds[0], name, sizeof(name)) == -1)
		abort();
	*port = atoi(strrchr(name, ':') + 1);
	return (fds[0]);
}

static void
by_number(struct dialing *d)
{
	int port;
	int fd = bind_one("127.0.0.1:0", &port);
	struct bk_dial *dial;

	dial = bk_dial(d->loop, "127.0.0.1", (uint16_t)port, BK_SECOND, on_done,
	    d);
	ok(dial != NULL && !d->done, "no answer inside the call");
	is_int(result(d), 0, "a numeric address");
	(void)bk_dial(d->loop, "localhost", (uint16_t)port, 5 * BK_SECOND,
	    on_done, d);
	is_int(result(d), 0, "a name of the hosts file");
	(void)close(fd);
	(void)bk_dial(d->loop, "127.0.0.1", (uint16_t)port, BK_SECOND, on_done,
	    d);
	is_int(result(d), ECONNREFUSED, "nobody listens");

	dial = bk_dial(d->loop, "127.0.0.1", (uint16_t)port, BK_SECOND, on_done,
	    d);
	bk_dial_cancel(dial);
	bk_dial_cancel(NULL);
	ok(!bk_loop_run_until(d->loop, &d->done, bk_clock_now() + 5 * BK_MS),
	    "a cancelled one is silent");
}

static void
by_name(struct dialing *d)
{
	struct bk_dial *dial;

	(void)bk_dial(d->loop, "no.such.host.invalid", 1, 100 * BK_MS, on_done,
	    d);
	ok(result(d) != 0, "a name nobody knows");
	dial =
	    bk_dial(d->loop, "no.such.host.invalid", 1, BK_SECOND, on_done, d);
	bk_dial_cancel(dial);
	ok(!bk_loop_run_until(d->loop, &d->done, bk_clock_now() + 5 * BK_MS),
	    "a cancelled name is silent");
}

/* Fill the backlog of a listener that does not accept. */
static void
by_path(struct dialing *d)
{
	char dir[] = "/tmp/dial-XXXXXX";
	char path[64];
	int taken[8];
	int fd;
	int i;

	if (mkdtemp(dir) == NULL)
		return;
	(void)snprintf(path, sizeof(path), "%s/s", dir);
	(void)bk_dial_unix(d->loop, path, BK_SECOND, on_done, d);
	is_int(result(d), ENOENT, "no such path");
	fd = socket(AF_UNIX, SOCK_STREAM, 0);
	(void)bk_unix_bind(fd, path);
	(void)bk_dial_unix(d->loop, path, BK_SECOND, on_done, d);
	is_int(result(d), ECONNREFUSED, "a path nobody listens at");
	(void)listen(fd, 1);
	(void)bk_dial_unix(d->loop, path, BK_SECOND, on_done, d);
	is_int(result(d), 0, "a path");

	for (i = 0; i < 8; i++) {
		taken[i] = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);
		if (bk_unix_connect(taken[i], path) == -1)
			break;
	}
	ok(i < 8 && errno == EAGAIN, "with its backlog full");
	(void)bk_dial_unix(d->loop, path, 20 * BK_MS, on_done, d);
	is_int(result(d), ETIMEDOUT, "it is tried until the time is up");
	(void)bk_dial_unix(d->loop, path, LIMIT, on_done, d);
	(void)bk_loop_run_until(d->loop, &d->done, bk_clock_now() + 20 * BK_MS);
	for (int k = 0; k < i; k++)
		(void)close(accept(fd, NULL, NULL));
	is_int(result(d), 0, "or there is room again");
	for (int k = 0; k <= i && k < 8; k++)
		(void)close(taken[k]);
	(void)close(fd);
	(void)unlink(path);
	(void)rmdir(dir);
}

int
main(void)
{
	struct dialing d = {.loop = bk_loop_new()};
	struct bk_dial *dial;

	by_number(&d);
	by_name(&d);
	by_path(&d);
	dial =
	    bk_dial(d.loop, "no.such.host.invalid", 1, BK_SECOND, on_done, &d);
	bk_dial_cancel(dial);
	bk_loop_free(d.loop);
	ok(!d.done, "a loop ends with a question still open");
	return (tap_done());
}
