/* format.c - any format string over any payload; what is JSON must be lossless
 * or say that it is not. */
#include "tool/format.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
value(void *arg, char letter, struct bk_value *v)
{
	v->kind = letter == 's' ? BK_V_BYTES :
	    letter == 'n'       ? BK_V_NONE :
				  BK_V_INT;
	v->bytes = *(struct bk_bytes *)arg;
	v->number = (int64_t)v->bytes.len * 0x123456789;
	if (letter == 'e')
		v->number = -v->number;
}

static void
check_json(struct bk_bytes text)
{
	struct bk_buf out;
	json_t *string;

	bk_buf_init(&out);
	if (bk_json_string(&out, text) == -1)
		abort();
	string = json_loadb((char *)out.data, bk_buf_len(&out),
	    JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);
	if (string == NULL)
		abort();
	if (bk_utf8_valid(text) &&
	    (json_string_length(string) != text.len ||
		(text.len > 0 &&
		    memcmp(json_string_value(string), text.data, text.len) !=
			0)))
		abort();
	json_decref(string);
	bk_buf_fini(&out);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	size_t cut = strnlen((const char *)data, size);
	char *text = strndup((const char *)data, size);
	struct bk_bytes payload = {data + cut, size - cut};
	struct bk_format *f;
	struct bk_buf out;
	const char *why;

	check_json(payload);
	bk_buf_init(&out);
	f = bk_format_parse(text, "esSRTn", &why);
	if (f != NULL && bk_format_put(f, value, &payload, &out) == -1)
		abort();
	bk_format_free(f);
	bk_buf_fini(&out);
	free(text);
	return (0);
}
