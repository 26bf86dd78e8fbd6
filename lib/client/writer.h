/*
 * writer.h - the one writer of a ledger: pipelined adds, acknowledged in order,
 * replacement of lost bookies, close (client-protocol.md 1).
 *
 * A writer that learned of a fence, of IN_RECOVERY, of CLOSED, or of a vanished
 * ledger never writes its metadata again (9, D2) and fails with EFENCED,
 * ECLOSED or ENOLEDGER. One event loop owns it.
 */
#ifndef BK_WRITER_H
#define BK_WRITER_H

#include "client/client.h"

struct bk_writer;

struct bk_ledger_params {
	int64_t ledger_id; /* -1: generated */
	int ensemble_size;
	int write_quorum;
	int ack_quorum;
	enum bk_digest_type digest;
	struct bk_password password;
	const struct bk_custom *custom; /* copied */
	size_t ncustom;
};

/* All but replaced() come from the loop, never from inside a call, and may free
 * the writer. replaced() must not, and may come from bk_writer_add(). */
struct bk_writer_events {
	/* Entries up to and including last_entry are acknowledged; called in
	 * order, may cover many. */
	void (*acked)(void *arg, int64_t last_entry);
	/* The window has room again after bk_writer_add() returned EAGAIN. */
	void (*room)(void *arg);
	/* The writer is finished by an error; entries above the last acked
	 * have an unknown outcome. Called once; no acked() after it.
	 * EFENCED, ECLOSED, ENOLEDGER: another client has it. EOUTCOME: too
	 * few bookies left for an ack quorum, and none came in time. ETIMEOUT:
	 * an add took longer than add_timeout. EUA, ETLS, ESASL, ... */
	void (*failed)(void *arg, enum bk_status status);
	/* A bookie was replaced from entry on (spare may be NULL: going on
	 * without it). For the one warning line. May be NULL. */
	void (*replaced)(void *arg, const char *lost, const char *spare,
	    int64_t entry);
};

typedef void bk_writer_cb(void *arg, enum bk_status status,
    struct bk_writer *w);

/* Check E >= Qw >= Qa >= 1 and E <= BK_ENSEMBLE_MAX. BK_OK or BK_EINVAL. */
enum bk_status bk_ledger_params_check(const struct bk_ledger_params *p);

/* Choose an ensemble, create the ledger, hand over its writer. ENOTENOUGH
 * creates nothing. params and events are copied. */
void bk_writer_create(struct bk_client *c, const struct bk_ledger_params *p,
    const struct bk_writer_events *events, void *arg, bk_writer_cb *cb,
    void *cb_arg);
/* The writer of a ledger that exists already: open, empty, and known to be
 * ours (bk-add ID: claimed by a compare-and-set before). m and events are
 * copied. NULL with errno EINVAL (not open) or ENOMEM. A later change of m's
 * custom metadata by anyone counts as another owner: EFENCED. */
struct bk_writer *bk_writer_adopt(struct bk_client *c, int64_t ledger_id,
    const struct bk_ledger_meta *m, int32_t version,
    const struct bk_password *password, const struct bk_writer_events *events,
    void *arg);

/* Add one entry; the payload is copied before return. 0 and its id in
 * *entry_id; -1 with errno EAGAIN (window full, wait for room()), EMSGSIZE
 * (over BK_PAYLOAD_MAX, no id used), EPIPE (the writer has failed or is
 * closing), ENOMEM. */
int bk_writer_add(struct bk_writer *w, const void *payload, size_t len,
    int64_t *entry_id);

/* Wait for what is in flight, then close the ledger in the metadata.
 * BK_OK: CLOSED at the last acknowledged entry. Otherwise the truth: what
 * failed() was or is told too, EFENCED when a recovery is under way, ECLOSED
 * when it was closed at another end, ESTORE when the store did not answer.
 * A writer that failed leaves the metadata alone. Once per writer. */
void bk_writer_close(struct bk_writer *w, bk_done_cb *cb, void *arg);
/* Forget it without closing (crash-like). NULL is fine. No callbacks after. */
void bk_writer_free(struct bk_writer *w);

int64_t bk_writer_ledger(const struct bk_writer *w);
int64_t bk_writer_lac(const struct bk_writer *w);    /* last acked, -1 */
int64_t bk_writer_pushed(const struct bk_writer *w); /* last id used, -1 */
int64_t bk_writer_length(const struct bk_writer *w); /* acked bytes */
/* The metadata as the writer knows it, and its version. */
const struct bk_ledger_meta *bk_writer_meta(const struct bk_writer *w,
    int32_t *version);

#endif
