/*
 * cookiefile.h - the cookie of one directory: DIR/current/VERSION.
 */
#ifndef BOOKIE_COOKIEFILE_H
#define BOOKIE_COOKIEFILE_H

#include "base/buf.h"
#include "base/status.h"
#include "meta/registry.h"

#include <stdbool.h>

/* What is known of a directory before anything is changed in it. */
struct cookiefile {
	bool exists;   /* VERSION is there, and cookie is filled */
	bool has_data; /* anything but VERSION is there */
	struct bk_cookie cookie;
};

/* Look. BK_OK; BK_ECONFIG (VERSION is no cookie) or BK_ESYS with errno. */
enum bk_status cookiefile_read(const char *dir, struct cookiefile *f);
void cookiefile_fini(struct cookiefile *f);
/* Make DIR, with its parents, and DIR/current, and write VERSION, durably. 0,
 * or -1 with errno. */
int cookiefile_write(const char *dir, struct bk_bytes text);

#endif
