/*
 * ledger_meta_codec.c - the header line that all formats share, and what a
 * record must say so that Java opens it (spec/metadata.md 3.1, 3.3).
 */
#include "meta/ledger_meta_codec.h"

#include <errno.h>
#include <string.h>

#define HEADER "BookieMetadataFormatVersion\t"
#define HEADER_LEN (sizeof(HEADER) - 1)
#define VERSION_DIGITS_MAX 9

/* Read the header; the version, and the body behind it. */
static int
split_header(struct bk_bytes data, int *version, struct bk_bytes *body)
{
	const uint8_t *p, *end;
	int digits = 0;

	if (data.len < HEADER_LEN || memcmp(data.data, HEADER, HEADER_LEN) != 0)
		return (-1);
	p = data.data + HEADER_LEN;
	end = data.data + data.len;
	*version = 0;
	for (; p < end && *p >= '0' && *p <= '9'; p++) {
		if (++digits > VERSION_DIGITS_MAX)
			return (-1);
		*version = *version * 10 + (*p - '0');
	}
	if (digits == 0 || p == end || *p != '\n')
		return (-1);
	p++;
	*body = (struct bk_bytes){p, (size_t)(end - p)};
	return (0);
}

/* What is only known of closed ledgers is ignored in others. */
static void
settle_end(struct bk_ledger_meta *m)
{
	if (m->state != BK_LEDGER_CLOSED) {
		m->last_entry = -1;
		m->length = 0;
	}
}

static const char *
fault_of_segments(const struct bk_ledger_meta *m)
{
	int64_t before = -1;

	if (m->nsegments == 0)
		return ("no segment");
	for (size_t i = 0; i < m->nsegments; i++) {
		if (m->segments[i].first_entry <= before)
			return ("segments do not ascend");
		before = m->segments[i].first_entry;
		for (int32_t j = 0; j < m->ensemble_size; j++)
			if (!bk_bookie_id_valid(m->segments[i].bookies[j]))
				return ("a bookie id is malformed");
	}
	return (NULL);
}

/* Why the record cannot be used, or NULL. The decoders have compared each
 * segment's size with the ensemble's. */
static const char *
fault_of(const struct bk_ledger_meta *m)
{
	if (m->ensemble_size > BK_ENSEMBLE_MAX)
		return ("the ensemble is too large");
	if (m->ack_quorum < 1 || m->write_quorum < m->ack_quorum ||
	    m->ensemble_size < m->write_quorum)
		return ("the quorums make no sense");
	if (m->last_entry < -1 || m->length < 0)
		return ("the end of the ledger makes no sense");
	return (fault_of_segments(m));
}

static enum bk_status
decode_body(int version, struct bk_bytes body, struct bk_ledger_meta *m,
    const char **why)
{
	switch (version) {
	case 1:
		return (bk_ledger_meta_v1_decode(body, m, why));
	case 2:
		return (bk_ledger_meta_v2_decode(body, m, why));
	case 3:
		return (bk_ledger_meta_v3_decode(body, m, why));
	default:
		*why = "the format is unknown";
		return (BK_EBADMETA);
	}
}

enum bk_status
bk_ledger_meta_decode(struct bk_bytes data, struct bk_ledger_meta *m,
    const char **why)
{
	const char *fault = NULL;
	struct bk_bytes body;
	enum bk_status status;
	int version;

	bk_ledger_meta_init(m);
	if (split_header(data, &version, &body) != 0) {
		fault = "no header of ledger metadata";
		status = BK_EBADMETA;
	} else {
		m->format = version;
		status = decode_body(version, body, m, &fault);
	}
	if (status == BK_OK) {
		settle_end(m);
		fault = fault_of(m);
		if (fault != NULL)
			status = BK_EBADMETA;
	}
	if (status != BK_OK)
		bk_ledger_meta_fini(m);
	if (why != NULL)
		*why = fault;
	return (status);
}

static int
encode_body(const struct bk_ledger_meta *m, struct bk_buf *out)
{
	switch (m->format) {
	case 1:
		return (bk_ledger_meta_v1_encode(m, out));
	case 2:
		return (bk_ledger_meta_v2_encode(m, out));
	case 3:
		return (bk_ledger_meta_v3_encode(m, out));
	default:
		errno = EINVAL;
		return (-1);
	}
}

int
bk_ledger_meta_encode(const struct bk_ledger_meta *m, struct bk_buf *out)
{
	size_t before = bk_buf_len(out);

	if (bk_buf_printf(out, HEADER "%d\n", m->format) == 0 &&
	    encode_body(m, out) == 0)
		return (0);
	out->end = out->start + before;
	return (-1);
}
