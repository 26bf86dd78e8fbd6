/*
 * ledger_meta_proto.c - formats 2 and 3: one protobuf message, as text and as
 * bytes behind their length (spec/metadata.md 3.3 to 3.5).
 */
#include "meta/ledger.pb-c.h"
#include "meta/ledger_meta_codec.h"
#include "meta/textproto.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define NUMBER_OF(name) BK__LEDGER_METADATA_FORMAT__##name

_Static_assert((int)BK_LEDGER_OPEN == (int)NUMBER_OF(STATE__OPEN) &&
	(int)BK_LEDGER_IN_RECOVERY == (int)NUMBER_OF(STATE__IN_RECOVERY) &&
	(int)BK_LEDGER_CLOSED == (int)NUMBER_OF(STATE__CLOSED) &&
	(int)BK_DIGEST_CRC32 == (int)NUMBER_OF(DIGEST_TYPE__CRC32) &&
	(int)BK_DIGEST_HMAC == (int)NUMBER_OF(DIGEST_TYPE__HMAC) &&
	(int)BK_DIGEST_CRC32C == (int)NUMBER_OF(DIGEST_TYPE__CRC32C) &&
	(int)BK_DIGEST_DUMMY == (int)NUMBER_OF(DIGEST_TYPE__DUMMY),
    "the record's numbers are the message's");

static enum bk_status
bad(const char **why, const char *what)
{
	*why = what;
	return (BK_EBADMETA);
}

/* Text of our own; a NUL inside has no place in it. */
static enum bk_status
copy_text(const ProtobufCBinaryData *text, char **copy, const char **why)
{
	if (text->len > 0 && memchr(text->data, '\0', text->len) != NULL)
		return (bad(why, "a NUL in a text"));
	*copy = strndup(text->len > 0 ? (char *)text->data : "", text->len);
	return (*copy != NULL ? BK_OK : BK_ENOMEM);
}

static enum bk_status
take_segment(const Bk__LedgerMetadataFormat__Segment *from,
    struct bk_ledger_meta *m, const char **why)
{
	size_t n = from->n_ensemblemember;
	enum bk_status status = BK_OK;
	struct bk_segment *s;

	if (n != (size_t)m->ensemble_size)
		return (bad(why, "a segment is not of the ensemble's size"));
	if ((s = bk_ledger_meta_add_segment(m, from->firstentryid, n)) == NULL)
		return (BK_ENOMEM);
	for (size_t i = 0; i < n && status == BK_OK; i++)
		status =
		    copy_text(&from->ensemblemember[i], &s->bookies[i], why);
	return (status);
}

static enum bk_status
take_custom(const Bk__LedgerMetadataFormat__Custom *from,
    struct bk_ledger_meta *m, const char **why)
{
	char *key = NULL;
	enum bk_status status = copy_text(&from->key, &key, why);

	if (status != BK_OK)
		return (status);
	if (bk_ledger_meta_custom(m, key) != NULL)
		status = bad(why, "a key of custom metadata twice");
	else if (m->ncustom == BK_CUSTOM_MAX)
		status = bad(why, "too much custom metadata");
	else if (bk_ledger_meta_set_custom(m, key, from->value.data,
		     from->value.len) != 0)
		status = BK_ENOMEM;
	free(key);
	return (status);
}

/* Without a digest or with an unknown one it is CRC32. */
static enum bk_digest_type
digest_of(const Bk__LedgerMetadataFormat *from)
{
	if (!from->has_digesttype)
		return (BK_DIGEST_CRC32);
	switch (from->digesttype) {
	case NUMBER_OF(DIGEST_TYPE__HMAC):
	case NUMBER_OF(DIGEST_TYPE__CRC32C):
	case NUMBER_OF(DIGEST_TYPE__DUMMY):
		return ((enum bk_digest_type)from->digesttype);
	default:
		return (BK_DIGEST_CRC32);
	}
}

static enum bk_status
take_numbers(const Bk__LedgerMetadataFormat *from, struct bk_ledger_meta *m,
    const char **why)
{
	if (from->ensemblesize < 1 || from->ensemblesize > BK_ENSEMBLE_MAX)
		return (bad(why, "the ensemble size is out of range"));
	if (from->state < NUMBER_OF(STATE__OPEN) ||
	    from->state > NUMBER_OF(STATE__CLOSED))
		return (bad(why, "the state is unknown"));
	m->ensemble_size = from->ensemblesize;
	m->write_quorum = from->quorumsize;
	m->ack_quorum =
	    from->has_ackquorumsize ? from->ackquorumsize : from->quorumsize;
	m->state = (enum bk_ledger_state)from->state;
	m->length = from->length;
	m->last_entry = from->lastentryid;
	m->digest = digest_of(from);
	m->has_ctime = from->has_ctime;
	m->ctime_ms = from->ctime;
	m->ctoken = from->ctoken;
	return (BK_OK);
}

static enum bk_status
take_password(const Bk__LedgerMetadataFormat *from, struct bk_ledger_meta *m,
    const char **why)
{
	m->has_password = from->has_password;
	if (!from->has_password)
		return (BK_OK);
	if (from->password.len > BK_PASSWORD_MAX)
		return (bad(why, "the password is too long"));
	if (bk_ledger_meta_set_password(m, from->password.data,
		from->password.len) != 0)
		return (BK_ENOMEM);
	return (BK_OK);
}

static enum bk_status
take_message(const Bk__LedgerMetadataFormat *from, struct bk_ledger_meta *m,
    const char **why)
{
	enum bk_status status = take_numbers(from, m, why);

	if (status == BK_OK)
		status = take_password(from, m, why);
	for (size_t i = 0; i < from->n_segment && status == BK_OK; i++)
		status = take_segment(from->segment[i], m, why);
	for (size_t i = 0; i < from->n_custommetadata && status == BK_OK; i++)
		status = take_custom(from->custommetadata[i], m, why);
	return (status);
}

enum bk_status
bk_ledger_meta_v2_decode(struct bk_bytes body, struct bk_ledger_meta *m,
    const char **why)
{
	ProtobufCMessage *message;
	enum bk_status status;

	status = bk_text_decode(body, &bk__ledger_metadata_format__descriptor,
	    &message, why);
	if (status != BK_OK)
		return (status);
	status = take_message((Bk__LedgerMetadataFormat *)message, m, why);
	protobuf_c_message_free_unpacked(message, NULL);
	return (status);
}

enum bk_status
bk_ledger_meta_v3_decode(struct bk_bytes body, struct bk_ledger_meta *m,
    const char **why)
{
	Bk__LedgerMetadataFormat *message;
	enum bk_status status;
	struct bk_cursor r;
	uint64_t len;

	bk_cursor_init(&r, body.data, body.len);
	len = bk_cursor_varint(&r);
	if (r.failed)
		return (bad(why, "no length"));
	/* Java takes a length beyond the end, and bytes behind the message. */
	if (len > bk_cursor_left(&r))
		len = bk_cursor_left(&r);
	message = bk__ledger_metadata_format__unpack(NULL, (size_t)len, r.p);
	if (message == NULL)
		return (bad(why, "not a message of ledger metadata"));
	status = take_message(message, m, why);
	bk__ledger_metadata_format__free_unpacked(message, NULL);
	return (status);
}

/*
 * A record as a message that borrows all its bytes, with arrays of its own.
 */
struct borrowed {
	Bk__LedgerMetadataFormat message;
	Bk__LedgerMetadataFormat__Segment *segments;
	Bk__LedgerMetadataFormat__Segment **segment_list;
	ProtobufCBinaryData *bookies;
	Bk__LedgerMetadataFormat__Custom *custom;
	Bk__LedgerMetadataFormat__Custom **custom_list;
};

static ProtobufCBinaryData
borrow_text(char *text)
{
	return ((ProtobufCBinaryData){strlen(text), (uint8_t *)text});
}

static void
lend_segment(const struct bk_segment *from, size_t ensemble,
    ProtobufCBinaryData *bookies, Bk__LedgerMetadataFormat__Segment *to)
{
	bk__ledger_metadata_format__segment__init(to);
	to->firstentryid = from->first_entry;
	to->ensemblemember = bookies;
	to->n_ensemblemember = ensemble;
	for (size_t i = 0; i < ensemble; i++)
		bookies[i] = borrow_text(from->bookies[i]);
}

static void
lend_custom(const struct bk_custom *from, Bk__LedgerMetadataFormat__Custom *to)
{
	bk__ledger_metadata_format__custom__init(to);
	to->has_key = true;
	to->key = borrow_text(from->key);
	to->has_value = true;
	to->value = (ProtobufCBinaryData){from->len, from->value};
}

static void
lend_numbers(const struct bk_ledger_meta *m, Bk__LedgerMetadataFormat *to)
{
	to->quorumsize = m->write_quorum;
	to->ensemblesize = m->ensemble_size;
	to->length = m->length;
	to->has_lastentryid = true;
	to->lastentryid = m->last_entry;
	to->state = (Bk__LedgerMetadataFormat__State)m->state;
	to->has_digesttype = true;
	to->digesttype = (Bk__LedgerMetadataFormat__DigestType)m->digest;
	to->has_password = m->has_password;
	to->password = (ProtobufCBinaryData){m->password_len, m->password};
	to->has_ackquorumsize = true;
	to->ackquorumsize = m->ack_quorum;
	to->has_ctime = m->has_ctime;
	to->ctime = m->ctime_ms;
	to->has_ctoken = m->format == 3;
	to->ctoken = m->ctoken;
}

static void
borrowed_fini(struct borrowed *b)
{
	free(b->segments);
	free(b->segment_list);
	free(b->bookies);
	free(b->custom);
	free(b->custom_list);
}

/* Room for n of each; at least one, so that NULL means out of memory. */
static int
borrowed_init(struct borrowed *b, const struct bk_ledger_meta *m)
{
	size_t segments = m->nsegments + 1, custom = m->ncustom + 1;

	b->segments = reallocarray(NULL, segments, sizeof(*b->segments));
	b->segment_list = reallocarray(NULL, segments,
	    sizeof(Bk__LedgerMetadataFormat__Segment *));
	b->bookies = reallocarray(NULL, segments * (size_t)m->ensemble_size,
	    sizeof(*b->bookies));
	b->custom = reallocarray(NULL, custom, sizeof(*b->custom));
	b->custom_list = reallocarray(NULL, custom,
	    sizeof(Bk__LedgerMetadataFormat__Custom *));
	if (b->segments != NULL && b->segment_list != NULL &&
	    b->bookies != NULL && b->custom != NULL && b->custom_list != NULL)
		return (0);
	borrowed_fini(b);
	return (-1);
}

static int
borrow(const struct bk_ledger_meta *m, struct borrowed *b)
{
	size_t ensemble = (size_t)m->ensemble_size;

	if (borrowed_init(b, m) != 0)
		return (-1);
	bk__ledger_metadata_format__init(&b->message);
	lend_numbers(m, &b->message);
	for (size_t i = 0; i < m->nsegments; i++) {
		lend_segment(&m->segments[i], ensemble,
		    &b->bookies[i * ensemble], &b->segments[i]);
		b->segment_list[i] = &b->segments[i];
	}
	b->message.segment = b->segment_list;
	b->message.n_segment = m->nsegments;
	for (size_t i = 0; i < m->ncustom; i++) {
		lend_custom(&m->custom[i], &b->custom[i]);
		b->custom_list[i] = &b->custom[i];
	}
	b->message.custommetadata = b->custom_list;
	b->message.n_custommetadata = m->ncustom;
	return (0);
}

int
bk_ledger_meta_v2_encode(const struct bk_ledger_meta *m, struct bk_buf *out)
{
	struct borrowed b;
	int rc;

	if (borrow(m, &b) != 0)
		return (-1);
	rc = bk_text_encode(&b.message.base, out);
	borrowed_fini(&b);
	return (rc);
}

int
bk_ledger_meta_v3_encode(const struct bk_ledger_meta *m, struct bk_buf *out)
{
	struct borrowed b;
	uint8_t *room;
	size_t len;
	int rc = -1;

	if (borrow(m, &b) != 0)
		return (-1);
	len = bk__ledger_metadata_format__get_packed_size(&b.message);
	if (bk_buf_put_varint(out, len) == 0 &&
	    (room = bk_buf_reserve(out, len)) != NULL) {
		bk__ledger_metadata_format__pack(&b.message, room);
		bk_buf_commit(out, len);
		rc = 0;
	}
	borrowed_fini(&b);
	return (rc);
}
