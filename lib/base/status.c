/* status.c - the table behind status.h. */
#include "base/status.h"

#include <stddef.h>
#include <sysexits.h>

struct entry {
	const char *name;
	const char *text;
	int exit;
};

static const struct entry table[BK_NSTATUS] = {
    [BK_OK] = {"OK", "done", EX_OK},
    [BK_ENOLEDGER] = {"ENOLEDGER", "no such ledger", EX_NOINPUT},
    [BK_ENOENTRY] = {"ENOENTRY", "no such entry", EX_NOINPUT},
    [BK_EBADREQ] = {"EBADREQ", "bad request", EX_PROTOCOL},
    [BK_EIO] = {"EIO", "storage error", EX_IOERR},
    [BK_EUA] = {"EUA", "wrong password", EX_NOPERM},
    [BK_EBADVERSION] = {"EBADVERSION", "protocol version not spoken",
	EX_PROTOCOL},
    [BK_EFENCED] = {"EFENCED", "fenced by another writer", EX_NOPERM},
    [BK_EREADONLY] = {"EREADONLY", "bookie is read-only", EX_UNAVAILABLE},
    [BK_ETOOMANY] = {"ETOOMANY", "too many requests", EX_TEMPFAIL},
    [BK_EUNKNOWNSTATE] = {"EUNKNOWNSTATE", "bookie may have lost entries",
	EX_UNAVAILABLE},
    [BK_EUNREACHABLE] = {"EUNREACHABLE", "not reachable", EX_UNAVAILABLE},
    [BK_ETIMEOUT] = {"ETIMEOUT", "no answer in time", EX_TEMPFAIL},
    [BK_EDIGEST] = {"EDIGEST", "digest mismatch", EX_PROTOCOL},
    [BK_EPROTO] = {"EPROTO", "peer broke the protocol", EX_PROTOCOL},
    [BK_ETLS] = {"ETLS", "peer demands TLS", EX_CONFIG},
    [BK_ESASL] = {"ESASL", "peer demands a login", EX_CONFIG},
    [BK_ENOTENOUGH] = {"ENOTENOUGH", "not enough bookies", EX_UNAVAILABLE},
    [BK_ECLOSED] = {"ECLOSED", "ledger is closed", EX_NOPERM},
    [BK_EUNDECIDED] = {"EUNDECIDED", "too few bookies answered to recover",
	EX_TEMPFAIL},
    [BK_EOUTCOME] = {"EOUTCOME", "may or may not be stored", EX_TEMPFAIL},
    [BK_ENOTCLOSED] = {"ENOTCLOSED", "ledger is not closed", EX_TEMPFAIL},
    [BK_ENONODE] = {"ENONODE", "no such node", EX_NOINPUT},
    [BK_EEXIST] = {"EEXIST", "exists already", EX_CANTCREAT},
    [BK_EVERSION] = {"EVERSION", "changed by someone else", EX_TEMPFAIL},
    [BK_ENOTEMPTY] = {"ENOTEMPTY", "not empty", EX_CANTCREAT},
    [BK_ESTORE] = {"ESTORE", "metadata store not reachable", EX_UNAVAILABLE},
    [BK_ESESSION] = {"ESESSION", "metadata session expired", EX_TEMPFAIL},
    [BK_EACCESS] = {"EACCESS", "not permitted", EX_NOPERM},
    [BK_EBADMETA] = {"EBADMETA", "unreadable metadata", EX_PROTOCOL},
    [BK_EHELD] = {"EHELD", "held by another writer", EX_TEMPFAIL},
    [BK_EINVAL] = {"EINVAL", "makes no sense", EX_USAGE},
    [BK_ETOOBIG] = {"ETOOBIG", "over the limit", EX_DATAERR},
    [BK_ENOMEM] = {"ENOMEM", "out of memory", EX_OSERR},
    [BK_ESYS] = {"ESYS", "system error", EX_OSERR},
    [BK_ENOSPACE] = {"ENOSPACE", "no space left", EX_IOERR},
    [BK_EDAMAGE] = {"EDAMAGE", "local data is damaged", EX_IOERR},
    [BK_ECONFIG] = {"ECONFIG", "does not fit the configuration", EX_CONFIG},
    [BK_ECANCELED] = {"ECANCELED", "given up", EX_TEMPFAIL},
};

static const struct entry *
lookup(enum bk_status status)
{
	static const struct entry unknown = {"E?", "unknown result",
	    EX_SOFTWARE};

	if ((unsigned)status >= BK_NSTATUS)
		return (&unknown);
	return (&table[status]);
}

const char *
bk_status_name(enum bk_status status)
{
	return (lookup(status)->name);
}

const char *
bk_status_text(enum bk_status status)
{
	return (lookup(status)->text);
}

int
bk_status_exit(enum bk_status status)
{
	return (lookup(status)->exit);
}

int
bk_status_negative(enum bk_status status)
{
	return (status == BK_ENOENTRY || status == BK_ENOLEDGER);
}
