/*
 * status.h - one table of results for every layer: what a bookie answers, what
 * the metadata store answers, and what goes wrong on this side.
 *
 * Each status has a short name for machines ("ENOENTRY"), a text for people
 * ("no such entry") and the exit status a program ends with when this is the
 * reason (sysexits.h; bk(7) lists them).
 */
#ifndef BK_STATUS_H
#define BK_STATUS_H

enum bk_status {
	BK_OK = 0,

	/* What a bookie answers (bookie wire, result codes). */
	BK_ENOLEDGER,     /* the bookie has nothing of this ledger */
	BK_ENOENTRY,      /* the ledger is known, the entry is not there */
	BK_EBADREQ,       /* the request makes no sense */
	BK_EIO,           /* the bookie's storage failed, or it cannot prove an
	                     absence */
	BK_EUA,           /* wrong password (master key) */
	BK_EBADVERSION,   /* protocol version not spoken */
	BK_EFENCED,       /* another client recovers this ledger */
	BK_EREADONLY,     /* the bookie takes no new entries */
	BK_ETOOMANY,      /* the bookie is overloaded; try again */
	BK_EUNKNOWNSTATE, /* the bookie may have lost entries of this ledger */

	/* What a client finds out about bookies and ledgers. */
	BK_EUNREACHABLE, /* no connection, or lost before the answer */
	BK_ETIMEOUT,     /* no answer in time */
	BK_EDIGEST,      /* the entry's digest is wrong */
	BK_EPROTO,       /* the peer broke the protocol */
	BK_ETLS,         /* the peer demands TLS */
	BK_ESASL,        /* the peer demands SASL or another login */
	BK_ENOTENOUGH,   /* too few bookies */
	BK_ECLOSED,      /* the ledger is closed */
	BK_EUNDECIDED,   /* recovery could not tell present from absent */
	BK_EOUTCOME,     /* may or may not have been stored */
	BK_ENOTCLOSED,   /* the ledger is still open */

	/* What the metadata store answers. */
	BK_ENONODE,   /* no such node */
	BK_EEXIST,    /* exists already */
	BK_EVERSION,  /* compare-and-set lost */
	BK_ENOTEMPTY, /* the node has children */
	BK_ESTORE,    /* the store was lost before it answered: unknown */
	BK_ESESSION,  /* the session has expired */
	BK_EACCESS,   /* the store refuses this identity */
	BK_EBADMETA,  /* unreadable or inconsistent metadata */

	/* What is wrong on this side. */
	BK_EHELD,     /* the name has another writer */
	BK_EINVAL,    /* an argument makes no sense */
	BK_ETOOBIG,   /* larger than a stated limit */
	BK_ENOMEM,    /* out of memory */
	BK_ESYS,      /* a system call failed; errno tells */
	BK_ENOSPACE,  /* local disk full */
	BK_EDAMAGE,   /* local data is damaged */
	BK_ECONFIG,   /* configuration, disk format or cookie does not fit */
	BK_ECANCELED, /* given up on request */

	BK_NSTATUS
};

/* Name for machines, such as "ENOENTRY". Static; never NULL. */
const char *bk_status_name(enum bk_status status);

/* Text for people, such as "no such entry"; lower case, no full stop. Static;
 * never NULL, also for a value out of range. */
const char *bk_status_text(enum bk_status status);

/* Exit status of a program that ends for this reason (0, 64 to 78). */
int bk_status_exit(enum bk_status status);

/* Whether a bookie said truthfully that it does not have it: ENOENTRY or
 * ENOLEDGER. Nothing else is ever counted as absence (client-protocol.md 0). */
int bk_status_negative(enum bk_status status);

#endif
