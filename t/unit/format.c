/* format.c - format strings and what goes into JSON. */
#include "tool/format.h"
#include "tap.h"

#include <stdlib.h>

static const struct item {
	int64_t entry;
	const char *payload;
	size_t len;
} plain = {41, "hello", 5}, odd = {INT64_MIN, "a\0b\"\xff", 5};

static struct bk_bytes
bytes_of(const void *data, size_t len)
{
	struct bk_bytes b = {data, len};

	return (b);
}

static void
value(void *arg, char letter, struct bk_value *v)
{
	const struct item *item = arg;

	v->kind = BK_V_INT;
	switch (letter) {
	case 'e':
		v->number = item->entry;
		break;
	case 'S':
	case 'R':
		v->number = (int64_t)item->len;
		break;
	case 'T':
		v->number = 1234567890123;
		break;
	case 's':
		v->kind = BK_V_BYTES;
		v->bytes = bytes_of(item->payload, item->len);
		break;
	default:
		v->kind = BK_V_NONE;
	}
}

static void
formats(const char *text, const void *item, const char *want, size_t len)
{
	const char *why;
	struct bk_format *f = bk_format_parse(text, "eSRTsn", &why);
	struct bk_buf out;

	bk_buf_init(&out);
	if (!ok(f != NULL, "%s is a format", text))
		return;
	bk_format_put(f, value, (void *)(uintptr_t)item, &out);
	is_mem(out.data, bk_buf_len(&out), want, len, "%s prints", text);
	bk_format_free(f);
	bk_buf_fini(&out);
}

#define FORMATS(text, item, want) formats(text, item, want, sizeof(want) - 1)

static void
refuses(const char *text, const char *want)
{
	const char *why = "";
	struct bk_format *f = bk_format_parse(text, "es", &why);

	ok(f == NULL, "%s is no format", text);
	ok(strstr(why, want) != NULL, "because: %s", why);
	bk_format_free(f);
}

static void
test_formats(void)
{
	const char *why;
	struct bk_format *f;

	FORMATS("", &plain, "");
	FORMATS("100%%\\n", &plain, "100%\n");
	FORMATS("%e %s\\n", &plain, "41 hello\n");
	FORMATS("%S%s", &plain, "5hello");
	FORMATS("%R%s", &plain, "\0\0\0\5hello");
	FORMATS("%s", &odd, "a\0b\"\xff");
	FORMATS("%e", &odd, "-9223372036854775808");
	FORMATS("%s{hex}|%s{b64}|%s{json}", &odd,
	    "61006222ff|YQBiIv8=|\"a\\u0000b\\\"\\ufffd\"");
	FORMATS("%e{hex}%%{hex}", &plain, "29%{hex}");
	FORMATS("%n|%n{json}", &plain, "|null");
	FORMATS("%T{iso} %T", &plain, "2009-02-13T23:31:30.123Z 1234567890123");
	FORMATS("\\x41\\t\\0\\\\", &plain, "A\t\0\\");
	refuses("%x", "%x");
	refuses("%", "ends in %");
	refuses("%s{rot13}", "rot13");
	refuses("%s{hex", "hex");
	refuses("\\q", "escape");

	f = bk_format_parse("%e %s", "es", &why);
	ok(bk_format_uses(f, 's') && !bk_format_uses(f, 'S'),
	    "a format tells what it asks for");
	bk_format_free(f);
}

static void
json(const char *text, size_t len, const char *want)
{
	struct bk_buf out;

	bk_buf_init(&out);
	bk_json_payload(&out, bytes_of(text, len));
	is_mem(out.data, bk_buf_len(&out), want, strlen(want), "as JSON: %s",
	    want);
	bk_buf_fini(&out);
}

static void
test_json(void)
{
	json("", 0, "\"payload\":\"\"");
	json("a\b\t\n\f\r\"\\/\x1f\x7f", 11,
	    "\"payload\":\"a\\b\\t\\n\\f\\r\\\"\\\\/\\u001f\x7f\"");
	json("gr\xc3\xbc\xc3\x9f \xe2\x82\xac \xf0\x9f\x98\x80", 15,
	    "\"payload\":\"gr\xc3\xbc\xc3\x9f \xe2\x82\xac "
	    "\xf0\x9f\x98\x80\"");
	json("a\0b", 3, "\"payload\":\"a\\u0000b\"");
	json("a\0b\"\xff", 5, "\"payload_b64\":\"YQBiIv8=\"");
}

static void
test_utf8(void)
{
	static const struct {
		const char *text;
		size_t len;
		bool valid;
	} cases[] = {{"", 0, true}, {"\0", 1, true}, {"\x7f", 1, true},
	    {"\x80", 1, false}, {"\xc1\xbf", 2, false}, {"\xc2\x80", 2, true},
	    {"\xc2", 1, false}, {"\xe0\x9f\xbf", 3, false},
	    {"\xe0\xa0\x80", 3, true}, {"\xed\x9f\xbf", 3, true},
	    {"\xed\xa0\x80", 3, false}, {"\xef\xbf\xbf", 3, true},
	    {"\xef\xbf", 2, false}, {"\xf0\x8f\xbf\xbf", 4, false},
	    {"\xf0\x90\x80\x80", 4, true}, {"\xf4\x8f\xbf\xbf", 4, true},
	    {"\xf4\x90\x80\x80", 4, false}, {"\xf5\x80\x80\x80", 4, false},
	    {"\xf0\x90\x80", 3, false}, {"\xe2\x28\xa1", 3, false},
	    {"\xfe", 1, false}};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		is_int(bk_utf8_valid(bytes_of(cases[i].text, cases[i].len)),
		    cases[i].valid, "case %zu is %sUTF-8", i,
		    cases[i].valid ? "" : "not ");
}

int
main(void)
{
	test_formats();
	test_json();
	test_utf8();
	return (tap_done());
}
