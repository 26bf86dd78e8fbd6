/*
 * bookie_list.h - every bookie there is: those with a cookie and those that
 * are registered, each asked for its disk space.
 */
#ifndef LEDGER_BOOKIE_LIST_H
#define LEDGER_BOOKIE_LIST_H

#include "tool/session.h"

struct bookie_item {
	char id[256];
	bool has_cookie;
	bool registered, writable;
	bool answered;       /* within a second */
	bool refused;        /* no connection */
	int64_t total, free; /* bytes; -1 unknown */
	int64_t pid;         /* 0 unknown */
	char address[1100];  /* "host:port", "unix:PATH", "" */
};

struct bookie_list {
	struct bookie_item *item; /* sorted by id */
	size_t n;
};

/* Fill; free with bookie_list_fini(). ENOMEM, or what the store said. */
enum bk_status bookie_list_read(struct bk_session *s, struct bookie_list *l);
void bookie_list_fini(struct bookie_list *l);
/* "up", "silent" (registered, no answer), "down". */
const char *bookie_state(const struct bookie_item *b);

#endif
