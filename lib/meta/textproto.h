/*
 * textproto.h - protobuf's text form, for messages that protobuf-c knows:
 * ledger metadata of format 2, cookies, under-replication marks, locks and
 * votes (spec/metadata.md 3.5). Fields of type int32, int64, enum and bytes,
 * and repeated messages; nothing else occurs there.
 *
 * The reader takes what Java's takes: any white space and comments, fields in
 * any order, the last one of several, enums by name or number, both quotes,
 * adjacent literals, lists in brackets. Unknown fields, and required ones
 * that are missing, are errors. The writer prints as Java prints: one field a
 * line, in the order of their numbers, two blanks of indentation.
 */
#ifndef BK_TEXTPROTO_H
#define BK_TEXTPROTO_H

#include "base/buf.h"
#include "base/status.h"

#include <protobuf-c/protobuf-c.h>

/* BK_OK and the message in *m, to be freed with
 * protobuf_c_message_free_unpacked(m, NULL); BK_EBADMETA with *why (static
 * text, if why is not NULL); BK_ENOMEM. */
enum bk_status bk_text_decode(struct bk_bytes text,
    const ProtobufCMessageDescriptor *type, ProtobufCMessage **m,
    const char **why);

/* Append the text of m; 0, or -1 with errno ENOMEM. */
int bk_text_encode(const ProtobufCMessage *m, struct bk_buf *out);

#endif
