/*
 * chain.h - a chain of ledgers under one id: the codec of its nodes and its
 * one multi, nothing else (design/meta.md 5). Names add holders, hubs add
 * owners.
 *
 * Ours live beside Apache's root: for ROOT "/ledgers" under "/ledgers-bk"
 * (never inside ROOT, metadata.md trap 22):
 *   names/NAME            the chain id, as text
 *   chains/ID             the chain's record (below)
 *   chains/ID/pNNNNNNNNNN pages of 1000 ledgers
 *   chains/ID/holder      ephemeral: who writes
 */
#ifndef BK_CHAIN_H
#define BK_CHAIN_H

#include "meta/ledger_tree.h"

#define BK_CHAIN_PAGE 1000
#define BK_NAME_MAX 200 /* bytes of a name */

enum bk_chain_state {
	BK_CHAIN_WRITING = 1,
	BK_CHAIN_ENDED = 2,
	BK_CHAIN_DELETED = 3
};

/* A chain's record. Text, one "key value" line each, first line "bkchain 1";
 * keys whose value is 0 or "" may be missing, unknown ones are passed over. */
struct bk_chain {
	int64_t id;
	uint64_t epoch; /* + 1 at each opening to write */
	enum bk_chain_state state;
	uint64_t first;   /* position of the oldest ledger kept */
	uint64_t count;   /* positions ever given; the next is count */
	char holder[128]; /* host, pid, boot id, start time; "" if none */
	int32_t ensemble_size, write_quorum, ack_quorum; /* of the name */
	int64_t deleted_ms; /* wall clock, tombstone; 0 */
	/* kept by the name: limits of truncation, 0 = none */
	int64_t keep_age_ms, keep_bytes, keep_count;
	int64_t roll_bytes, roll_age_ms;
};

/* Appended; 0, or -1 with errno ENOMEM, or EINVAL for a holder with control
 * characters. */
int bk_chain_encode(const struct bk_chain *c, struct bk_buf *out);
/* BK_OK, EBADMETA, or ECONFIG for a version that is not ours. */
enum bk_status bk_chain_decode(struct bk_bytes data, struct bk_chain *c);

/* A page: ledger ids of positions [1000 p, 1000 p + 1000), one a line behind a
 * first line "bkpage 1"; "-" (here -1) for one that was truncated away. */
struct bk_chain_page {
	int64_t ledgers[BK_CHAIN_PAGE];
	size_t n;
};
int bk_chain_page_encode(const struct bk_chain_page *p, struct bk_buf *out);
enum bk_status bk_chain_page_decode(struct bk_bytes data,
    struct bk_chain_page *p);

/* 1 to BK_NAME_MAX bytes of [A-Za-z0-9._-] and UTF-8 above 0x7f, not starting
 * with "." or "-", not all digits (a number is a ledger id). */
bool bk_name_valid(const char *name);

/* Paths; 0, or -1 and "" when too long. */
int bk_chain_root(const struct bk_tree *t, char path[BK_PATH_MAX + 1]);
int bk_name_path(const struct bk_tree *t, const char *name,
    char path[BK_PATH_MAX + 1]);
int bk_chain_path(const struct bk_tree *t, int64_t chain_id,
    char path[BK_PATH_MAX + 1]);
int bk_chain_page_path(const struct bk_tree *t, int64_t chain_id, uint64_t page,
    char path[BK_PATH_MAX + 1]);
int bk_chain_holder_path(const struct bk_tree *t, int64_t chain_id,
    char path[BK_PATH_MAX + 1]);

/* Custom metadata key under which a ledger names its chain. */
#define BK_CHAIN_KEY "bk.chain"

/* A chain as read, with the versions needed for its next multi. */
struct bk_chain_at {
	struct bk_chain chain;
	int32_t version;
	struct bk_chain_page last_page; /* the one of position count - 1 */
	int32_t page_version;           /* -1: none yet, count is 0 */
};

typedef void bk_chain_cb(void *arg, enum bk_status status,
    const struct bk_chain_at *at);

/* Read a chain and its last page, as they were at one time. ENONODE when there
 * is no such chain. w: on the chain's node, set when the chain is there. */
void bk_chain_read(const struct bk_tree *t, int64_t chain_id, struct bk_watch w,
    bk_chain_cb *cb, void *arg);
/* Read one page; ENONODE when there is none, also when all its ledgers were
 * truncated away. */
typedef void bk_chain_page_cb(void *arg, enum bk_status status,
    const struct bk_chain_page *page, int32_t version);
void bk_chain_page_read(const struct bk_tree *t, int64_t chain_id,
    uint64_t page, bk_chain_page_cb *cb, void *arg);
/* The chain of a name, or ENONODE. */
void bk_name_lookup(const struct bk_tree *t, const char *name, bk_id_cb *cb,
    void *arg);
/* Make a name with an empty chain; EEXIST when it is there (then look up).
 * Of settings count the quorums, the limits and the state (0: WRITING, so that
 * who follows it waits for its first writer). */
void bk_name_create(const struct bk_tree *t, const char *name,
    const struct bk_chain *settings, bk_id_cb *cb, void *arg);

/* Further operations in a chain's multi, at most. */
#define BK_CHAIN_MORE 4

/*
 * The one multi that changes a chain: set the chain's record (or check it, when
 * it stays the same) at at->version, set or create its last page where that
 * changed, then up to BK_CHAIN_MORE further operations (holder node, check of a
 * ledger's metadata version, older pages). next says what is to be; its
 * versions are not looked at, and it may go on to the page after at's, no
 * further. The callback gets next with its new versions. EVERSION when anything
 * moved; EEXIST, ENONODE, ... from a further operation; after ESTORE or
 * ESESSION the caller re-reads and compares epoch and count with what it
 * wanted.
 */
void bk_chain_commit(const struct bk_tree *t, const struct bk_chain_at *at,
    const struct bk_chain_at *next, const struct bk_meta_op *more, size_t nmore,
    bk_chain_cb *cb, void *arg);

#endif
