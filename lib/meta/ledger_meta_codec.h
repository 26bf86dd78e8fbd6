/*
 * ledger_meta_codec.h - the bodies of the three formats, behind the header
 * line; private to ledger_meta*.c. Decoders fill an initialised record and do
 * not judge what it says; ledger_meta_codec.c does that for all of them.
 */
#ifndef BK_LEDGER_META_CODEC_H
#define BK_LEDGER_META_CODEC_H

#include "meta/ledger_meta.h"

/* In format 1 the last entry of a ledger IN_RECOVERY. */
#define BK_META_V1_IN_RECOVERY (-102)

/* BK_OK, BK_ENOMEM, or BK_EBADMETA with *why. */
enum bk_status bk_ledger_meta_v1_decode(struct bk_bytes body,
    struct bk_ledger_meta *m, const char **why);
enum bk_status bk_ledger_meta_v2_decode(struct bk_bytes body,
    struct bk_ledger_meta *m, const char **why);
enum bk_status bk_ledger_meta_v3_decode(struct bk_bytes body,
    struct bk_ledger_meta *m, const char **why);

/* 0, or -1 with errno ENOMEM. */
int bk_ledger_meta_v1_encode(const struct bk_ledger_meta *m,
    struct bk_buf *out);
int bk_ledger_meta_v2_encode(const struct bk_ledger_meta *m,
    struct bk_buf *out);
int bk_ledger_meta_v3_encode(const struct bk_ledger_meta *m,
    struct bk_buf *out);

/* Append a segment whose bookies, room for n, are NULL and to be filled;
 * NULL when out of memory. Nothing is checked. */
struct bk_segment *bk_ledger_meta_add_segment(struct bk_ledger_meta *m,
    int64_t first_entry, size_t n);

#endif
