/*
 * ledger_meta_v1.c - format 1: lines of text (spec/metadata.md 3.6). Write
 * quorum, ensemble size, length, a line a segment, and unless OPEN a last line
 * with the end.
 */
#include "meta/ledger_meta_codec.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define NUMBER_MAX 24

static enum bk_status
bad(const char **why, const char *what)
{
	*why = what;
	return (BK_EBADMETA);
}

/* Take what stands before the next of stop, or before the end; the stop goes
 * too. False at the end. */
static bool
take_until(struct bk_bytes *text, uint8_t stop, struct bk_bytes *part)
{
	const uint8_t *at;

	if (text->len == 0)
		return (false);
	at = memchr(text->data, stop, text->len);
	*part = *text;
	if (at == NULL) {
		text->data += text->len;
		text->len = 0;
		return (true);
	}
	part->len = (size_t)(at - text->data);
	text->data = at + 1;
	text->len -= part->len + 1;
	return (true);
}

static bool
take_line(struct bk_bytes *text, struct bk_bytes *line)
{
	if (!take_until(text, '\n', line))
		return (false);
	if (line->len > 0 && line->data[line->len - 1] == '\r')
		line->len--;
	return (true);
}

static bool
parse_number(struct bk_bytes text, int64_t min, int64_t max, int64_t *value)
{
	char copy[NUMBER_MAX];
	char *rest;
	long long v;

	if (text.len == 0 || text.len >= sizeof(copy) || text.data[0] <= ' ')
		return (false);
	memcpy(copy, text.data, text.len);
	copy[text.len] = '\0';
	errno = 0;
	v = strtoll(copy, &rest, 10);
	if (errno != 0 || rest != copy + text.len || v < min || v > max)
		return (false);
	*value = v;
	return (true);
}

static bool
take_number(struct bk_bytes *text, int64_t min, int64_t max, int64_t *value)
{
	struct bk_bytes line;

	return (take_line(text, &line) && parse_number(line, min, max, value));
}

static enum bk_status
parse_segment(struct bk_bytes rest, int64_t first, struct bk_ledger_meta *m,
    const char **why)
{
	int32_t n = m->ensemble_size;
	struct bk_segment *s;
	struct bk_bytes id;

	if ((s = bk_ledger_meta_add_segment(m, first, (size_t)n)) == NULL)
		return (BK_ENOMEM);
	for (int32_t i = 0; i < n; i++) {
		if (!take_until(&rest, '\t', &id) ||
		    memchr(id.data, '\0', id.len) != NULL)
			return (bad(why, "a segment has too few bookies"));
		s->bookies[i] = strndup((const char *)id.data, id.len);
		if (s->bookies[i] == NULL)
			return (BK_ENOMEM);
	}
	if (rest.len > 0)
		return (bad(why, "a segment has too many bookies"));
	return (BK_OK);
}

static void
parse_end(int64_t number, struct bk_ledger_meta *m)
{
	if (number == BK_META_V1_IN_RECOVERY) {
		m->state = BK_LEDGER_IN_RECOVERY;
		return;
	}
	m->state = BK_LEDGER_CLOSED;
	m->last_entry = number;
}

/* Segments, up to the line of the end if there is one. What stands behind
 * that is not looked at. */
static enum bk_status
parse_segments(struct bk_bytes text, struct bk_ledger_meta *m, const char **why)
{
	struct bk_bytes line, field;
	enum bk_status status;
	int64_t number;

	while (take_line(&text, &line)) {
		if (!take_until(&line, '\t', &field) ||
		    !parse_number(field, INT64_MIN, INT64_MAX, &number))
			return (bad(why, "a segment has no first entry"));
		if (line.len == 6 && memcmp(line.data, "CLOSED", 6) == 0) {
			parse_end(number, m);
			break;
		}
		status = parse_segment(line, number, m, why);
		if (status != BK_OK)
			return (status);
	}
	return (BK_OK);
}

enum bk_status
bk_ledger_meta_v1_decode(struct bk_bytes body, struct bk_ledger_meta *m,
    const char **why)
{
	int64_t quorum, ensemble;

	if (!take_number(&body, 1, BK_ENSEMBLE_MAX, &quorum) ||
	    !take_number(&body, 1, BK_ENSEMBLE_MAX, &ensemble) ||
	    !take_number(&body, INT64_MIN, INT64_MAX, &m->length))
		return (bad(why, "a number is missing or out of range"));
	m->write_quorum = (int32_t)quorum;
	m->ack_quorum = (int32_t)quorum;
	m->ensemble_size = (int32_t)ensemble;
	m->digest = BK_DIGEST_CRC32;
	m->has_password = false;
	return (parse_segments(body, m, why));
}

static int
put_segment(const struct bk_segment *s, int32_t n, struct bk_buf *out)
{
	if (bk_buf_printf(out, "%" PRId64, s->first_entry) != 0)
		return (-1);
	for (int32_t i = 0; i < n; i++)
		if (bk_buf_printf(out, "\t%s", s->bookies[i]) != 0)
			return (-1);
	return (bk_buf_put_u8(out, '\n'));
}

int
bk_ledger_meta_v1_encode(const struct bk_ledger_meta *m, struct bk_buf *out)
{
	int64_t end = m->state == BK_LEDGER_CLOSED ? m->last_entry :
						     BK_META_V1_IN_RECOVERY;

	if (bk_buf_printf(out, "%" PRId32 "\n%" PRId32 "\n%" PRId64 "\n",
		m->write_quorum, m->ensemble_size, m->length) != 0)
		return (-1);
	for (size_t i = 0; i < m->nsegments; i++)
		if (put_segment(&m->segments[i], m->ensemble_size, out) != 0)
			return (-1);
	if (m->state == BK_LEDGER_OPEN)
		return (0);
	return (bk_buf_printf(out, "%" PRId64 "\tCLOSED", end));
}
