/* zk_hosts.c - names to addresses. */
#include "meta/zk_hosts.h"

#include "base/buf.h"
#include "loop/addr.h"
#include "loop/lookup.h"

#include <arpa/inet.h>
#include <errno.h>
#include <event2/util.h>
#include <netdb.h>
#include <stdlib.h>
#include <string.h>

#define ADDRESSES_MAX 16 /* of one name */

struct host {
	struct bk_zk_hosts *all;
	char name[256];
	uint16_t port;
	bool numeric;
	bool denied; /* by a name server: there is no such host */
	struct bk_lookup *lookup;
	size_t naddresses;
	char addresses[ADDRESSES_MAX][INET6_ADDRSTRLEN];
};

struct bk_zk_hosts {
	struct bk_loop *loop;
	bk_timer_cb *done;
	void *arg;
	size_t pending;
	struct bk_buf list;
	size_t n;
	struct host hosts[];
};

static bool
is_numeric(const char *name)
{
	uint8_t address[sizeof(struct in6_addr)];

	return (inet_pton(AF_INET, name, address) == 1 ||
	    inet_pton(AF_INET6, name, address) == 1);
}

static int
set_host(struct host *h, const char *text, size_t len)
{
	char copy[sizeof(h->name) + 16];

	if (len >= sizeof(copy))
		return (-1);
	memcpy(copy, text, len);
	copy[len] = '\0';
	if (bk_addr_split(copy, h->name, sizeof(h->name), &h->port) != 0)
		return (-1);
	h->numeric = is_numeric(h->name);
	return (0);
}

struct bk_zk_hosts *
bk_zk_hosts_new(struct bk_loop *loop, const char *text, bk_timer_cb *done,
    void *arg)
{
	struct bk_zk_hosts *h;
	size_t n = 1, len;

	for (const char *p = text; *p != '\0'; p++)
		n += *p == ',';
	h = calloc(1, sizeof(*h) + n * sizeof(h->hosts[0]));
	if (h == NULL)
		return (NULL);
	h->loop = loop;
	h->done = done;
	h->arg = arg;
	bk_buf_init(&h->list);
	while (*text != '\0') {
		len = strcspn(text, ",");
		h->hosts[h->n].all = h;
		if (set_host(&h->hosts[h->n], text, len) == 0)
			h->n++;
		text += len + (text[len] == ',');
	}
	return (h);
}

void
bk_zk_hosts_free(struct bk_zk_hosts *h)
{
	if (h == NULL)
		return;
	for (size_t i = 0; i < h->n; i++)
		bk_lookup_cancel(h->hosts[i].lookup);
	bk_buf_fini(&h->list);
	free(h);
}

static int
put_address(struct bk_zk_hosts *h, const char *address, uint16_t port)
{
	return (bk_buf_printf(&h->list, "%s%s:%u",
	    bk_buf_len(&h->list) > 0 ? "," : "", address, (unsigned)port));
}

/* An even list gets its last address twice. */
static void
make_list(struct bk_zk_hosts *h)
{
	const struct host *last = NULL;
	size_t n = 0;
	int r = 0;

	bk_buf_consume(&h->list, bk_buf_len(&h->list));
	for (size_t i = 0; i < h->n; i++) {
		for (size_t j = 0; r == 0 && j < h->hosts[i].naddresses; j++) {
			last = &h->hosts[i];
			r = put_address(h, last->addresses[j], last->port);
			n++;
		}
	}
	if (r == 0 && last != NULL && n % 2 == 0)
		r = put_address(h, last->addresses[last->naddresses - 1],
		    last->port);
	if (r == 0 && last != NULL)
		r = bk_buf_put_u8(&h->list, 0);
	if (r != 0)
		bk_buf_fini(&h->list);
}

static void
one_done(struct bk_zk_hosts *h)
{
	if (--h->pending > 0)
		return;
	make_list(h);
	h->done(h->arg);
}

static void
add_address(struct host *host, const struct addrinfo *ai)
{
	char *text = host->addresses[host->naddresses];
	const void *address;

	if (ai->ai_family == AF_INET)
		address =
		    &((const struct sockaddr_in *)(const void *)ai->ai_addr)
			 ->sin_addr;
	else if (ai->ai_family == AF_INET6)
		address =
		    &((const struct sockaddr_in6 *)(const void *)ai->ai_addr)
			 ->sin6_addr;
	else
		return;
	if (inet_ntop(ai->ai_family, address, text, INET6_ADDRSTRLEN) != NULL)
		host->naddresses++;
}

/* What was found last time holds when nothing is found now. */
static void
found(void *arg, struct addrinfo *list, int error)
{
	struct host *host = arg;

	host->lookup = NULL;
	host->denied = error == EHOSTUNREACH;
	if (list != NULL) {
		host->naddresses = 0;
		for (struct addrinfo *ai = list;
		     ai != NULL && host->naddresses < ADDRESSES_MAX;
		     ai = ai->ai_next)
			add_address(host, ai);
		evutil_freeaddrinfo(list);
	}
	one_done(host->all);
}

static void
resolve_host(struct host *host)
{
	if (host->numeric) {
		memcpy(host->addresses[0], host->name, INET6_ADDRSTRLEN);
		host->naddresses = 1;
	} else {
		host->lookup = bk_lookup_new(host->all->loop, host->name,
		    host->port, found, host);
	}
	if (host->lookup == NULL)
		host->all->pending--;
}

void
bk_zk_hosts_resolve(struct bk_zk_hosts *h)
{
	if (h->pending > 0)
		return;
	h->pending = h->n + 1;
	for (size_t i = 0; i < h->n; i++)
		resolve_host(&h->hosts[i]);
	one_done(h);
}

bool
bk_zk_hosts_named(const struct bk_zk_hosts *h)
{
	for (size_t i = 0; i < h->n; i++) {
		if (!h->hosts[i].numeric)
			return (true);
	}
	return (false);
}

const char *
bk_zk_hosts_list(const struct bk_zk_hosts *h)
{
	return (bk_buf_len(&h->list) > 0 ? (const char *)bk_buf_head(&h->list) :
					   NULL);
}

const char *
bk_zk_hosts_unknown(const struct bk_zk_hosts *h, const char **why)
{
	for (size_t i = 0; i < h->n; i++) {
		if (h->hosts[i].naddresses > 0)
			continue;
		*why = h->hosts[i].denied ? "unknown host" :
					    "the name server does not answer";
		return (h->hosts[i].name);
	}
	return (NULL);
}

size_t
bk_zk_hosts_count(const struct bk_zk_hosts *h)
{
	return (h->n);
}

const char *
bk_zk_hosts_name(const struct bk_zk_hosts *h, size_t i, uint16_t *port)
{
	*port = h->hosts[i].port;
	return (h->hosts[i].name);
}

bool
bk_zk_hosts_known(const struct bk_zk_hosts *h, size_t i)
{
	return (h->hosts[i].naddresses > 0);
}
