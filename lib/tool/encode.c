/* encode.c - numbers, hex, base64 and JSON strings into a buffer. */
#include "tool/format.h"

#include <errno.h>
#include <sodium.h>
#include <string.h>

#define DIGITS 20 /* of INT64_MIN, with its sign */

int
bk_put_number(struct bk_buf *out, int64_t n)
{
	uint64_t left = n < 0 ? -(uint64_t)n : (uint64_t)n;
	char text[DIGITS];
	size_t i = sizeof(text);

	do {
		text[--i] = (char)('0' + left % 10);
		left /= 10;
	} while (left > 0);
	if (n < 0)
		text[--i] = '-';
	return (bk_buf_put(out, text + i, sizeof(text) - i));
}

int
bk_put_hex(struct bk_buf *out, struct bk_bytes bytes)
{
	uint8_t *room = bk_buf_reserve(out, 2 * bytes.len + 1);

	if (room == NULL)
		return (-1);
	(void)sodium_bin2hex((char *)room, 2 * bytes.len + 1, bytes.data,
	    bytes.len);
	bk_buf_commit(out, 2 * bytes.len);
	return (0);
}

int
bk_put_base64(struct bk_buf *out, struct bk_bytes bytes)
{
	size_t size = sodium_base64_ENCODED_LEN(bytes.len,
	    sodium_base64_VARIANT_ORIGINAL);
	uint8_t *room = bk_buf_reserve(out, size);

	if (room == NULL)
		return (-1);
	(void)sodium_bin2base64((char *)room, size, bytes.data, bytes.len,
	    sodium_base64_VARIANT_ORIGINAL);
	bk_buf_commit(out, size - 1);
	return (0);
}

/* Length of the UTF-8 sequence at p, 0 when it is none: overlong ones,
 * surrogates and what is above U+10FFFF are none (RFC 3629). */
static size_t
sequence(const uint8_t *p, size_t left)
{
	uint8_t low = 0x80, high = 0xbf;
	size_t n;

	if (p[0] < 0x80)
		return (1);
	if (p[0] < 0xc2 || p[0] > 0xf4)
		return (0);
	n = p[0] < 0xe0 ? 2 : p[0] < 0xf0 ? 3 : 4;
	if (p[0] == 0xe0)
		low = 0xa0;
	else if (p[0] == 0xed)
		high = 0x9f;
	else if (p[0] == 0xf0)
		low = 0x90;
	else if (p[0] == 0xf4)
		high = 0x8f;
	if (left < n || p[1] < low || p[1] > high)
		return (0);
	for (size_t i = 2; i < n; i++)
		if ((p[i] & 0xc0) != 0x80)
			return (0);
	return (n);
}

bool
bk_utf8_valid(struct bk_bytes text)
{
	size_t n;

	for (size_t i = 0; i < text.len; i += n)
		if ((n = sequence(text.data + i, text.len - i)) == 0)
			return (false);
	return (true);
}

/* Append the escape of a byte that may not stand in a JSON string. */
static int
put_escape(struct bk_buf *out, uint8_t byte)
{
	static const char letters[32] = {['\b'] = 'b',
	    ['\t'] = 't',
	    ['\n'] = 'n',
	    ['\f'] = 'f',
	    ['\r'] = 'r'};
	char text[2] = {'\\', (char)byte};

	if (byte == '"' || byte == '\\')
		return (bk_buf_put(out, text, 2));
	if (byte >= 0x20)
		return (bk_buf_put(out, "\\ufffd", 6));
	if (letters[byte] == '\0')
		return (bk_buf_printf(out, "\\u%04x", byte));
	text[1] = letters[byte];
	return (bk_buf_put(out, text, 2));
}

int
bk_json_string(struct bk_buf *out, struct bk_bytes text)
{
	const uint8_t *p = text.data;
	size_t len = bk_buf_len(out), plain = 0, n;

	if (bk_buf_put_u8(out, '"') == -1)
		return (-1);
	for (size_t i = 0; i < text.len; i += n) {
		n = sequence(p + i, text.len - i);
		if (n != 0 && p[i] >= 0x20 && p[i] != '"' && p[i] != '\\')
			continue;
		n = 1;
		if (bk_buf_put(out, p + plain, i - plain) == -1 ||
		    put_escape(out, p[i]) == -1)
			goto fail;
		plain = i + 1;
	}
	if (text.len > plain &&
	    bk_buf_put(out, p + plain, text.len - plain) == -1)
		goto fail;
	if (bk_buf_put_u8(out, '"') == 0)
		return (0);
fail:
	out->end = out->start + len;
	return (-1);
}

int
bk_json_payload(struct bk_buf *out, struct bk_bytes payload)
{
	static const char text[] = "\"payload\":", b64[] = "\"payload_b64\":\"";

	if (bk_utf8_valid(payload)) {
		if (bk_buf_put(out, text, strlen(text)) == -1)
			return (-1);
		return (bk_json_string(out, payload));
	}
	if (bk_buf_put(out, b64, strlen(b64)) == -1 ||
	    bk_put_base64(out, payload) == -1)
		return (-1);
	return (bk_buf_put_u8(out, '"'));
}
