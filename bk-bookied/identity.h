/*
 * identity.h - a bookie's id and the addresses it tells clients
 * (metadata.md 5.1, 5.2).
 */
#ifndef BOOKIE_IDENTITY_H
#define BOOKIE_IDENTITY_H

#include "meta/registry.h"

#include <stdbool.h>
#include <stddef.h>

struct identity {
	char id[256];
	struct bk_service_info info;
};

struct identity_subject {
	const char *id;           /* asked for, or NULL: the address */
	const char *advertise;    /* HOST, HOST:PORT, [V6]:PORT, or NULL */
	const char *rack;         /* or NULL */
	const char *const *names; /* addresses bound, "unix:PATH" among them */
	size_t nnames;
	bool is_local; /* embedded store: loopback is as good as
	                                any, Unix sockets and pid are told */
};

/* Work out both. 0, or -1 with *why (static or thread-local text). */
int identity_find(struct identity *i, const struct identity_subject *subject,
    const char **why);

#endif
