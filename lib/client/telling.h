/*
 * telling.h - of two failed answers, the one that says more: a real error
 * beats an absence, and anything beats not having reached the bookie
 * (client-protocol.md 2.2). Private to lib/client.
 */
#ifndef BK_TELLING_H
#define BK_TELLING_H

#include "base/status.h"

static inline int
bk_telling_rank(enum bk_status status)
{
	switch (status) {
	case BK_OK:
		return (0);
	case BK_ENOLEDGER:
		return (1);
	case BK_ENOENTRY:
		return (2);
	case BK_EUNREACHABLE:
		return (3);
	case BK_ETIMEOUT:
		return (4);
	case BK_EDIGEST:
		return (6);
	default:
		return (5);
	}
}

static inline enum bk_status
bk_more_telling(enum bk_status a, enum bk_status b)
{
	return (bk_telling_rank(b) > bk_telling_rank(a) ? b : a);
}

#endif
