/*
 * bookie_codec.h - what the two versions' codecs offer to bookie_msg.c. Not
 * for use outside this folder.
 */
#ifndef BK_BOOKIE_CODEC_H
#define BK_BOOKIE_CODEC_H

#include "wire/bookie_msg.h"

/* Contracts as bk_request_decode() and so on in bookie_msg.h. body_last leaves
 * the body itself to the caller and puts the fields behind it before it. */
enum bk_status bk_v2_request_decode(const uint8_t *p, size_t len,
    struct bk_request *req);
enum bk_status bk_v2_response_decode(const uint8_t *p, size_t len,
    struct bk_response *resp);
int bk_v2_request_encode(const struct bk_request *req, bool body_last,
    struct bk_buf *out);
int bk_v2_response_encode(const struct bk_response *resp, bool body_last,
    struct bk_buf *out);

enum bk_status bk_v3_request_decode(const uint8_t *p, size_t len,
    struct bk_request *req);
enum bk_status bk_v3_response_decode(const uint8_t *p, size_t len,
    struct bk_response *resp);
int bk_v3_request_encode(const struct bk_request *req, bool body_last,
    struct bk_buf *out);
int bk_v3_response_encode(const struct bk_response *resp, bool body_last,
    struct bk_buf *out);

/* The protobuf AuthMessage, alone in v2 and inside v3: plugin name and
 * payload, both required. BK_OK or BK_EPROTO. */
enum bk_status bk_auth_message_decode(struct bk_bytes bytes,
    struct bk_bytes *plugin, struct bk_bytes *payload);

/* Append a length and a payload of `inline` bytes plus extra more that the
 * caller sends: reserve room, or NULL with errno ENOMEM or EMSGSIZE. The
 * returned place is behind the length; commit with bk_buf_commit(out, 4 +
 * inline bytes). */
uint8_t *bk_frame_begin(struct bk_buf *out, size_t inline_len, size_t extra);

#endif
