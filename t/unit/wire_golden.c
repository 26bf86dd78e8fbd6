/*
 * wire_golden.c - frames that real Java peers exchanged (4.17.3, 4.10.0,
 * 4.8.2, 4.3.2; both protocols): each is taken apart, put together again and
 * must be the same bytes.
 */
#include "t/lib/golden.h"
#include "tap.h"
#include "wire/bookie_msg.h"

#include <stdlib.h>

/* Put back together what was decoded; false when a step fails. */
static bool
again(const uint8_t *payload, size_t len, bool request, struct bk_buf *out)
{
	struct bk_request req;
	struct bk_response resp;

	if (request)
		return (bk_request_decode(payload, len, &req) == BK_OK &&
		    bk_request_encode(&req, out) == 0);
	return (bk_response_decode(payload, len, &resp) == BK_OK &&
	    bk_response_encode(&resp, out) == 0);
}

/* "b1c1> HEX # reading"; true if the line is a frame. */
static bool
parse_line(const char *line, bool *request, const char **hex, size_t *len)
{
	const char *p = strpbrk(line, "<>");

	if (line[0] != 'b' || p == NULL || p - line > 6 || p[1] != ' ')
		return (false);
	*request = *p == '>';
	*hex = p + 2;
	*len = strcspn(*hex, " ");
	return (true);
}

static void
replay_line(const char *file, int number, const char *line, int *frames)
{
	struct bk_buf out;
	const char *hex;
	char *text;
	uint8_t *frame;
	size_t hexlen, len;
	bool request;

	if (!parse_line(line, &request, &hex, &hexlen))
		return;
	text = strndup(hex, hexlen);
	frame = golden_bytes(text, &len);
	bk_buf_init(&out);
	if (len < 4 || bk_be32_get(frame) != len - 4 ||
	    !again(frame + 4, len - 4, request, &out))
		ok(false, "%s:%d is a frame we understand: %.60s", file, number,
		    strchr(line, '#'));
	else if (bk_buf_len(&out) != len ||
	    memcmp(bk_buf_head(&out), frame, len) != 0)
		is_mem(bk_buf_head(&out), bk_buf_len(&out), frame, len,
		    "%s:%d comes out as it went in", file, number);
	(*frames)++;
	bk_buf_fini(&out);
	free(frame);
	free(text);
}

static void
replay(const char *file, int atleast)
{
	char **lines = golden_lines(file);
	int i, frames = 0;

	for (i = 0; lines[i] != NULL; i++)
		replay_line(file, i + 1, lines[i], &frames);
	ok(frames >= atleast, "%s: all %d frames come out as they went in",
	    file, frames);
	golden_free(lines);
}

int
main(void)
{
	replay("peer/bookie-v2.txt", 110);
	replay("peer/bookie-v3.txt", 110);
	replay("peer/quorum.txt", 140);
	replay("peer/old-clients.txt", 70);
	return (tap_done());
}
