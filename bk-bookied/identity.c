/*
 * identity.c - which address of ours others can reach, and the id made of it.
 *
 * A wildcard says nothing, so there the host is the address that its own name
 * resolves to, or else that of an interface. A loopback address leads every
 * other machine to itself: it is told only on the embedded store, or when it
 * was asked for.
 */
#include "bk-bookied/identity.h"
#include "loop/addr.h"

#include <arpa/inet.h>
#include <bsd/string.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define UNIX_PREFIX "unix:"

static bool
is_unix(const char *name)
{
	return (strncmp(name, UNIX_PREFIX, strlen(UNIX_PREFIX)) == 0);
}

static bool
is_wildcard(const char *host)
{
	return (host[0] == '\0' || strcmp(host, "0.0.0.0") == 0 ||
	    strcmp(host, "::") == 0);
}

/* Whether an address may be told, and is then in host. */
static bool
take_address(const struct sockaddr *sa, char *host, size_t len)
{
	const struct sockaddr_in *v4 = (const struct sockaddr_in *)sa;

	if (sa == NULL || sa->sa_family != AF_INET ||
	    ntohl(v4->sin_addr.s_addr) >> 24 == IN_LOOPBACKNET)
		return (false);
	return (
	    inet_ntop(AF_INET, &v4->sin_addr, host, (socklen_t)len) != NULL);
}

static bool
address_of_name(char *host, size_t len)
{
	struct addrinfo hints = {.ai_family = AF_INET,
	    .ai_socktype = SOCK_STREAM};
	struct addrinfo *list, *a;
	char name[256];
	bool found = false;

	if (gethostname(name, sizeof(name) - 1) == -1)
		return (false);
	name[sizeof(name) - 1] = '\0';
	if (getaddrinfo(name, NULL, &hints, &list) != 0)
		return (false);
	for (a = list; a != NULL && !found; a = a->ai_next)
		found = take_address(a->ai_addr, host, len);
	freeaddrinfo(list);
	return (found);
}

static bool
address_of_interface(char *host, size_t len)
{
	struct ifaddrs *list, *a;
	bool found = false;

	if (getifaddrs(&list) == -1)
		return (false);
	for (a = list; a != NULL && !found; a = a->ifa_next)
		if ((a->ifa_flags & IFF_UP) != 0)
			found = take_address(a->ifa_addr, host, len);
	freeifaddrs(list);
	return (found);
}

static int
find_host(const struct identity_subject *s, char *host, size_t len,
    const char **why)
{
	if (address_of_name(host, len) || address_of_interface(host, len))
		return (0);
	if (s->is_local) {
		(void)strlcpy(host, "127.0.0.1", len);
		return (0);
	}
	*why = "this machine has no address but loopback; use --advertise";
	return (-1);
}

static const char *
first_tcp(const struct identity_subject *s)
{
	size_t i;

	for (i = 0; i < s->nnames; i++)
		if (!is_unix(s->names[i]))
			return (s->names[i]);
	return (NULL);
}

/* Host and port that clients are told. 1; 0 without any TCP; -1 with *why. */
static int
find_address(const struct identity_subject *s, char *host, size_t len,
    uint16_t *port, const char **why)
{
	const char *bound = first_tcp(s);
	uint16_t told;

	*port = 0;
	if (bound != NULL && bk_addr_split(bound, host, len, port) == -1) {
		*why = "cannot read our own address";
		return (-1);
	}
	if (s->advertise == NULL) {
		if (bound == NULL)
			return (0);
		if (is_wildcard(host))
			return (find_host(s, host, len, why) == 0 ? 1 : -1);
		return (1);
	}
	if (bk_addr_split(s->advertise, host, len, &told) == 0 &&
	    host[0] != '\0') {
		*port = told;
		return (1);
	}
	if (strlcpy(host, s->advertise, len) >= len || host[0] == '\0' ||
	    strchr(host, ':') != NULL || *port == 0) {
		*why = "--advertise needs HOST:PORT";
		return (-1);
	}
	return (1);
}

static int
add_endpoint(struct bk_service_info *info, const char *protocol,
    const char *host, uint16_t port)
{
	struct bk_endpoint *e = &info->endpoints[info->nendpoints];

	(void)strlcpy(e->id, "bookie", sizeof(e->id));
	(void)strlcpy(e->protocol, protocol, sizeof(e->protocol));
	if (strlcpy(e->host, host, sizeof(e->host)) >= sizeof(e->host))
		return (-1);
	e->port = port;
	info->nendpoints++;
	return (0);
}

static int
add_unix_endpoint(struct identity *i, const struct identity_subject *s,
    const char **why)
{
	size_t n;

	for (n = 0; n < s->nnames; n++) {
		if (!is_unix(s->names[n]))
			continue;
		if (add_endpoint(&i->info, "bookie-unix",
			s->names[n] + strlen(UNIX_PREFIX), 0) == -1) {
			*why = "path of the Unix socket is too long";
			return (-1);
		}
		return (0);
	}
	return (0);
}

static int
name_bookie(struct identity *i, const struct identity_subject *s,
    const char *host, uint16_t port, const char **why)
{
	int n;

	if (s->id != NULL)
		n = snprintf(i->id, sizeof(i->id), "%s", s->id);
	else if (host[0] != '\0')
		n = snprintf(i->id, sizeof(i->id), "%s:%u", host, port);
	else {
		*why = "a bookie that listens on a Unix socket alone needs "
		       "--id";
		return (-1);
	}
	if (n < 0 || (size_t)n >= sizeof(i->id) ||
	    !bk_bookie_id_narrow(i->id)) {
		*why = "the bookie id may have letters, digits, '.', '_', '-' "
		       "and ':'; use --id";
		return (-1);
	}
	return (0);
}

int
identity_find(struct identity *i, const struct identity_subject *subject,
    const char **why)
{
	char host[256] = "";
	uint16_t port = 0;
	int tcp;

	memset(i, 0, sizeof(*i));
	if (subject->rack != NULL &&
	    strlcpy(i->info.rack, subject->rack, sizeof(i->info.rack)) >=
		sizeof(i->info.rack)) {
		*why = "the rack's name is too long";
		return (-1);
	}
	if (subject->is_local) {
		i->info.pid = getpid();
		if (add_unix_endpoint(i, subject, why) == -1)
			return (-1);
	}
	tcp = find_address(subject, host, sizeof(host), &port, why);
	if (tcp == -1)
		return (-1);
	if (tcp == 1 &&
	    add_endpoint(&i->info, "bookie-rpc", host, port) == -1) {
		*why = "the advertised host is too long";
		return (-1);
	}
	return (name_bookie(i, subject, host, port, why));
}
