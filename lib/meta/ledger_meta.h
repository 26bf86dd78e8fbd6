/*
 * ledger_meta.h - a ledger's metadata record and its bytes in formats 1, 2 and
 * 3 (spec/metadata.md 3). A record read and written again keeps its format,
 * ctime and custom metadata (3.2, trap 5). Pure: no I/O.
 */
#ifndef BK_LEDGER_META_H
#define BK_LEDGER_META_H

#include "base/buf.h"
#include "base/status.h"
#include "sums/digest.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define BK_ENSEMBLE_MAX 64 /* bookies a segment may name with us */
#define BK_PASSWORD_MAX 4096
#define BK_CUSTOM_MAX 256 /* custom metadata pairs */

enum bk_ledger_state {
	BK_LEDGER_OPEN = 1,
	BK_LEDGER_IN_RECOVERY = 2,
	BK_LEDGER_CLOSED = 3,
};

/* One stretch of a ledger: E bookie ids from first_entry on. */
struct bk_segment {
	int64_t first_entry;
	char **bookies; /* ensemble_size owned strings */
};

struct bk_custom {
	char *key;
	uint8_t *value;
	size_t len;
};

struct bk_ledger_meta {
	int format; /* 1, 2 or 3 */
	int32_t ensemble_size;
	int32_t write_quorum;
	int32_t ack_quorum;
	enum bk_ledger_state state;
	int64_t last_entry; /* -1 unless CLOSED */
	int64_t length;     /* bytes of payload; 0 unless CLOSED */
	enum bk_digest_type digest;
	bool has_password;
	uint8_t *password;
	size_t password_len;
	bool has_ctime;
	int64_t ctime_ms;
	int64_t ctoken; /* format 3; 0 after any update */
	struct bk_segment *segments;
	size_t nsegments;
	struct bk_custom *custom;
	size_t ncustom;
};

/* An empty record of format 3: OPEN, no segments, last_entry -1, CRC32C, and
 * an empty password, since a record always carries one (trap 2). */
void bk_ledger_meta_init(struct bk_ledger_meta *m);
/* Free what it holds; it is as after init. */
void bk_ledger_meta_fini(struct bk_ledger_meta *m);
/* Deep copy into an uninitialised dst; -1 when out of memory. */
int bk_ledger_meta_copy(struct bk_ledger_meta *dst,
    const struct bk_ledger_meta *src);

/* Decode a node's data into an uninitialised m. BK_OK, BK_EBADMETA (with *why,
 * static text, if why is not NULL) or BK_ENOMEM; m is initialised in each
 * case. Enforces what Java requires to open a ledger (3.3). */
enum bk_status bk_ledger_meta_decode(struct bk_bytes data,
    struct bk_ledger_meta *m, const char **why);
/* Encode in m->format, appended to out; 0, or -1 with errno ENOMEM, or EINVAL
 * when the format is unknown. What a format has no place for is left out, as
 * Java does it. Sets nothing; a caller that updates clears ctoken. */
int bk_ledger_meta_encode(const struct bk_ledger_meta *m, struct bk_buf *out);

/* Append a segment with copies of the ensemble_size ids; -1 with errno ENOMEM,
 * or EINVAL when first_entry is not above the last segment's. */
int bk_ledger_meta_append(struct bk_ledger_meta *m, int64_t first_entry,
    const char *const *bookies);
/* Replace the bookie at a position of a segment; -1 when out of memory. */
int bk_ledger_meta_replace(struct bk_ledger_meta *m, size_t segment,
    int position, const char *bookie);
/* Index of the segment of an entry: greatest first_entry <= entry, or 0. */
size_t bk_ledger_meta_segment(const struct bk_ledger_meta *m, int64_t entry);
/* Whether any segment names the bookie. */
bool bk_ledger_meta_names(const struct bk_ledger_meta *m, const char *bookie);
/* Set a pair, replacing the one of that key; -1 with errno ENOMEM, or E2BIG
 * above BK_CUSTOM_MAX. */
int bk_ledger_meta_set_custom(struct bk_ledger_meta *m, const char *key,
    const void *value, size_t len);
/* The pair of that key, or NULL. */
const struct bk_custom *bk_ledger_meta_custom(const struct bk_ledger_meta *m,
    const char *key);
/* -1 with errno ENOMEM, or E2BIG above BK_PASSWORD_MAX. */
int bk_ledger_meta_set_password(struct bk_ledger_meta *m, const void *password,
    size_t len);
/* "OPEN", "IN_RECOVERY" or "CLOSED". Static. */
const char *bk_ledger_state_name(enum bk_ledger_state state);

/* Whether id may name a bookie: what Java accepts (5.1). */
bool bk_bookie_id_valid(const char *id);
/* Whether it is also in the narrow set used for new ids: [A-Za-z0-9._:-],
 * not "." or "..". */
bool bk_bookie_id_narrow(const char *id);

#endif
