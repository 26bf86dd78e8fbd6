/* zk_probe.c - a look at servers that do not answer. */
#include "meta/zk_probe.h"

#include "loop/addr.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define PATIENCE (2 * BK_SECOND)

/* TLS 1.2, no session, one cipher suite, no extension. */
static const uint8_t hello[] = {
    0x16, 0x03, 0x01, 0x00, 0x2d, /* record: handshake, 45 bytes */
    0x01, 0x00, 0x00, 0x29,       /* ClientHello, 41 bytes */
    0x03, 0x03,                   /* TLS 1.2 */
    0x62, 0x6b, 0x62, 0x6b, 0x62, 0x6b, 0x62, 0x6b, /* random */
    0x62, 0x6b, 0x62, 0x6b, 0x62, 0x6b, 0x62, 0x6b, 0x62, 0x6b, 0x62, 0x6b,
    0x62, 0x6b, 0x62, 0x6b, 0x62, 0x6b, 0x62, 0x6b, 0x62, 0x6b, 0x62, 0x6b,
    0x00,                   /* session id */
    0x00, 0x02, 0xc0, 0x2f, /* cipher suites */
    0x01, 0x00,             /* no compression */
};

struct bk_zk_probe {
	struct bk_loop *loop;
	const struct bk_zk_hosts *hosts;
	size_t next;
	bk_zk_probe_cb *done;
	void *arg;
	struct bk_dial *dial;
	struct bk_fd *watch;
	struct bk_timer *timer;
	int fd;
	enum bk_status status;
	char reason[400];
};

static void look_at_next(struct bk_zk_probe *p);

static void
hang_up(struct bk_zk_probe *p)
{
	bk_dial_cancel(p->dial);
	bk_fd_free(p->watch);
	bk_timer_stop(p->timer);
	if (p->fd != -1)
		(void)close(p->fd);
	p->dial = NULL;
	p->watch = NULL;
	p->fd = -1;
}

void
bk_zk_probe_cancel(struct bk_zk_probe *p)
{
	if (p == NULL)
		return;
	hang_up(p);
	bk_timer_free(p->timer);
	free(p);
}

/* Of several reasons TLS counts, else the first. */
static void
found(struct bk_zk_probe *p, enum bk_status status, const char *text)
{
	uint16_t port;
	const char *name = bk_zk_hosts_name(p->hosts, p->next, &port);
	bool v6;

	if (p->status == BK_OK || status == BK_ETLS) {
		p->status = status;
		v6 = strchr(name, ':') != NULL;
		(void)snprintf(p->reason, sizeof(p->reason),
		    v6 ? "[%s]:%u: %s" : "%s:%u: %s", name, (unsigned)port,
		    text);
	}
	p->next++;
	look_at_next(p);
}

static void
answered(void *arg, int fd, int what)
{
	struct bk_zk_probe *p = arg;
	uint8_t record[3];
	ssize_t n;

	(void)what;
	n = recv(fd, record, sizeof(record), 0);
	if (n == -1 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n >= 2 && (record[0] == 0x15 || record[0] == 0x16) &&
	    record[1] == 0x03)
		found(p, BK_ETLS, "the server demands TLS");
	else if (n > 0)
		found(p, BK_ESTORE, "not a ZooKeeper server");
	else
		found(p, BK_ESTORE, "the server closes connections at once");
}

static void
no_answer(void *arg)
{
	found(arg, BK_ESTORE, "the server accepts, but does not answer");
}

static void
connected(void *arg, int fd, int error)
{
	struct bk_zk_probe *p = arg;

	p->dial = NULL;
	if (fd == -1) {
		found(p, BK_ESTORE,
		    bk_zk_hosts_known(p->hosts, p->next) ? strerror(error) :
							   "unknown host");
		return;
	}
	p->fd = fd;
	p->watch = bk_fd_new(p->loop, fd, BK_READABLE, answered, p);
	/* What cannot be sent is told by what is read. */
	(void)send(fd, hello, sizeof(hello), MSG_NOSIGNAL);
	bk_timer_set(p->timer, PATIENCE);
}

static void
finish(struct bk_zk_probe *p)
{
	bk_zk_probe_cb *done = p->done;
	struct bk_zk_probe copy = *p;

	bk_zk_probe_cancel(p);
	done(copy.arg, copy.status, copy.reason);
}

static void
look_at_next(struct bk_zk_probe *p)
{
	const char *name;
	uint16_t port;

	hang_up(p);
	if (p->next == bk_zk_hosts_count(p->hosts)) {
		finish(p);
		return;
	}
	name = bk_zk_hosts_name(p->hosts, p->next, &port);
	p->dial = bk_dial(p->loop, name, port, PATIENCE, connected, p);
	if (p->dial == NULL)
		found(p, BK_ENOMEM, "out of memory");
}

static void
begin(void *arg)
{
	look_at_next(arg);
}

static void
timer(void *arg)
{
	struct bk_zk_probe *p = arg;

	if (p->fd == -1)
		begin(p);
	else
		no_answer(p);
}

struct bk_zk_probe *
bk_zk_probe_new(struct bk_loop *loop, const struct bk_zk_hosts *hosts,
    bk_zk_probe_cb *done, void *arg)
{
	struct bk_zk_probe *p;

	p = calloc(1, sizeof(*p));
	if (p == NULL)
		return (NULL);
	p->loop = loop;
	p->hosts = hosts;
	p->done = done;
	p->arg = arg;
	p->fd = -1;
	p->timer = bk_timer_new(loop, timer, p);
	if (p->timer == NULL) {
		free(p);
		return (NULL);
	}
	bk_timer_set(p->timer, 0);
	return (p);
}
