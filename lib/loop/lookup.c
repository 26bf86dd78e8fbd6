/*
 * lookup.c - host names over evdns.
 *
 * evdns may answer inside the question, and answers a cancelled question once
 * more; neither its answer nor the end of its base may happen inside its own
 * callback. So whatever it says is delivered at the end of the turn, and the
 * lookup lives until then, whether somebody still wants it or not.
 */
#include "loop/lookup.h"

#include <errno.h>
#include <event2/dns.h>
#include <event2/util.h>
#include <netdb.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RESOLV_CONF "/etc/resolv.conf"

struct bk_lookup {
	struct bk_loop *loop;
	struct evdns_base *dns;
	struct evdns_getaddrinfo_request *query; /* NULL: answered */
	struct evutil_addrinfo *found;
	int error;
	bk_lookup_cb *cb; /* NULL: cancelled */
	void *arg;
};

static int
errno_of(int result)
{
	switch (result) {
	case 0:
		return (0);
	case EVUTIL_EAI_NONAME:
	case EVUTIL_EAI_NODATA:
		return (EHOSTUNREACH);
	case EVUTIL_EAI_MEMORY:
		return (ENOMEM);
	default:
		return (ETIMEDOUT);
	}
}

static void
deliver(void *arg)
{
	struct bk_lookup l = *(struct bk_lookup *)arg;

	free(arg);
	evdns_base_free(l.dns, 0);
	if (l.cb != NULL)
		l.cb(l.arg, l.found, l.error);
	else if (l.found != NULL)
		evutil_freeaddrinfo(l.found);
}

static void
answered(int result, struct evutil_addrinfo *found, void *arg)
{
	struct bk_lookup *l = arg;

	l->query = NULL;
	l->found = found;
	l->error = errno_of(result);
	/* Out of memory: the one who asked has a time limit. */
	(void)bk_loop_later(l->loop, deliver, l);
}

struct bk_lookup *
bk_lookup_new(struct bk_loop *loop, const char *host, uint16_t port,
    bk_lookup_cb *cb, void *arg)
{
	const struct evutil_addrinfo hints = {
	    .ai_family = AF_UNSPEC,
	    .ai_socktype = SOCK_STREAM,
	    .ai_protocol = IPPROTO_TCP,
	    .ai_flags = EVUTIL_AI_ADDRCONFIG,
	};
	struct evdns_getaddrinfo_request *query;
	struct bk_lookup *l;
	char service[8];

	l = calloc(1, sizeof(*l));
	if (l == NULL)
		return (NULL);
	l->loop = loop;
	l->cb = cb;
	l->arg = arg;
	l->dns = evdns_base_new(bk_loop_base(loop), 0);
	if (l->dns == NULL) {
		free(l);
		errno = ENOMEM;
		return (NULL);
	}
	/* Without the file there is still the hosts file. */
	(void)evdns_base_resolv_conf_parse(l->dns, DNS_OPTIONS_ALL,
	    RESOLV_CONF);
	(void)snprintf(service, sizeof(service), "%u", port);
	query = evdns_getaddrinfo(l->dns, host, service, &hints, answered, l);
	if (query != NULL)
		l->query = query;
	return (l);
}

void
bk_lookup_cancel(struct bk_lookup *l)
{
	if (l == NULL)
		return;
	l->cb = NULL;
	if (l->query != NULL)
		evdns_getaddrinfo_cancel(l->query);
}
