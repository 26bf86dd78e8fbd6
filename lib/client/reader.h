/*
 * reader.h - reading a ledger: open without recovery, read in order with
 * digest check and next replica, follow by long poll (client-protocol.md 2).
 *
 * Never writes metadata, never fences. Never shows an entry above the
 * confirmed one unless asked to.
 */
#ifndef BK_READER_H
#define BK_READER_H

#include "client/client.h"

struct bk_reader;

typedef void bk_reader_cb(void *arg, enum bk_status status,
    struct bk_reader *r);

/* Read metadata, check the password against the stored one (password NULL:
 * take the stored one), and learn the LAC: from the metadata when CLOSED, else
 * from the bookies, at least last key - 1 (9, D6). EUA, ENOLEDGER, ... */
void bk_reader_open(struct bk_client *c, int64_t ledger_id,
    const struct bk_password *password, bk_reader_cb *cb, void *arg);
/* Drops everything outstanding; no callbacks after. NULL is fine. */
void bk_reader_free(struct bk_reader *r);

int64_t bk_reader_ledger(const struct bk_reader *r);
/* Confirmed as far as known: last entry when closed. -1 if none. */
int64_t bk_reader_lac(const struct bk_reader *r);
bool bk_reader_closed(const struct bk_reader *r);
const struct bk_ledger_meta *bk_reader_meta(const struct bk_reader *r);

/* One entry. payload dies when the callback returns. bookie: who had it. */
struct bk_read_entry {
	int64_t entry_id;
	struct bk_bytes payload;
	struct bk_entry_header header;
	const char *bookie;
};

/* Called for each entry in ascending order, from the loop; return false to
 * pause after this one: the reader keeps what it has and goes on at
 * bk_reader_resume(). It may free the reader, and return anything then. */
typedef bool bk_entry_cb(void *arg, const struct bk_read_entry *entry);

struct bk_read_options {
	bool unconfirmed;      /* also above the LAC (clamped when closed) */
	const char *bookie;    /* only this replica, or NULL */
	size_t window_entries; /* read ahead; 0: 512 */
	size_t window_bytes;   /* 4 MiB; one entry may always be on its way */
};

/*
 * Read entries first..last in order (last = INT64_MAX: to the LAC as known at
 * the call, or with unconfirmed to the first entry that nobody has). One read
 * at a time per reader. done(BK_OK) after the last one; EINVAL when last is
 * above the LAC or below first; ENOENTRY only when every replica
 * denied it after a fresh look at the metadata (9, D8); EDIGEST when a copy is
 * bad and no other is good; else what went wrong. Entries before the failed
 * one have been delivered.
 */
void bk_reader_read(struct bk_reader *r, int64_t first, int64_t last,
    const struct bk_read_options *options, bk_entry_cb *each, bk_done_cb *done,
    void *arg);
void bk_reader_resume(struct bk_reader *r);

/*
 * Wait until the LAC is above known, or the ledger is closed, or timeout (ns).
 * BK_OK: look at bk_reader_lac() and bk_reader_closed(); ETIMEOUT: neither;
 * ENOLEDGER: it was deleted. BK_FOREVER waits for ever. Long poll with v3, else
 * polling; the metadata is watched from the first call on. One at a time,
 * but a read may be under way beside it.
 */
void bk_reader_wait(struct bk_reader *r, int64_t known, int64_t timeout_ns,
    bk_done_cb *cb, void *arg);

/* Read one entry from one named bookie, no other replica asked, for check and
 * verify: the answer's status, payload and header after the digest check. */
typedef void bk_one_cb(void *arg, enum bk_status status,
    const struct bk_read_entry *entry);
void bk_reader_read_from(struct bk_reader *r, const char *bookie,
    int64_t entry_id, bk_one_cb *cb, void *arg);

#endif
