/* stdio_frame.c - a stream cut into entries, however it comes in. */
#include "tool/stdio_frame.h"
#include "tap.h"

#include <stdlib.h>

static const struct bk_framing_spec lines = {.how = BK_FRAME_DELIM,
    .delim = "\n",
    .delim_len = 1,
    .max = 16};

/* Feed the input step bytes at a time; the entries as "[...]", joined, then
 * how it ended. */
static const char *
cut(const struct bk_framing_spec *spec, const char *in, size_t len, size_t step)
{
	static char out[1024];
	struct bk_cutter *c = bk_cutter_new(spec);
	enum bk_status status = BK_ENOENTRY;
	struct bk_cut entry;
	size_t at = 0, room, n = 0;

	for (bool eof = false; !eof && status == BK_ENOENTRY;) {
		uint8_t *to = bk_cutter_room(c, &room);

		if (room > step)
			room = step;
		if (room > len - at)
			room = len - at;
		if (room > 0)
			memcpy(to, in + at, room);
		bk_cutter_commit(c, room);
		at += room;
		if (room == 0) {
			eof = true;
			bk_cutter_eof(c);
		}
		while ((status = bk_cutter_next(c, &entry)) == BK_OK)
			n += (size_t)snprintf(out + n, sizeof(out) - n,
			    "%d[%.*s]%s", (int)entry.number,
			    (int)entry.payload.len,
			    entry.payload.len > 0 ?
				(const char *)entry.payload.data :
				"",
			    entry.ended ? "" : "-");
	}
	(void)snprintf(out + n, sizeof(out) - n, "%s",
	    status == BK_ENOENTRY ? "" : bk_status_name(status));
	if (status != BK_ENOENTRY)
		(void)snprintf(out + strlen(out), sizeof(out) - strlen(out),
		    " at %d, %d left", (int)entry.number,
		    (int)bk_cutter_rest(c).len);
	bk_cutter_free(c);
	return (out);
}

static void
try(const char *what, const struct bk_framing_spec *spec, const char *in,
    size_t len, const char *want)
{
	static const size_t steps[] = {1, 2, 3, 7, 1000};

	for (size_t i = 0; i < sizeof(steps) / sizeof(*steps); i++)
		is_str(cut(spec, in, len, steps[i]), want, "%s, %zu at a time",
		    what, steps[i]);
}

#define TRY(what, spec, in, want) try(what, spec, in, sizeof(in) - 1, want)

static void
test_lines(void)
{
	struct bk_framing_spec s = lines;

	TRY("nothing", &s, "", "");
	TRY("one line", &s, "one\n", "1[one]");
	TRY("no newline at the end", &s, "one\ntwo", "1[one]2[two]-");
	TRY("empty lines", &s, "\n\na\n\n", "1[]2[]3[a]4[]");
	TRY("carriage returns", &s, "a\r\nb\n", "1[a\r]2[b]");
	TRY("a line of just the limit", &s, "0123456789abcdef\nx\n",
	    "1[0123456789abcdef]2[x]");
	TRY("the same without newline", &s, "0123456789abcdef",
	    "1[0123456789abcdef]-");
	s.skip_empty = true;
	TRY("empty lines skipped", &s, "\n\na\n\n", "3[a]");
	s.delim[0] = '\0';
	TRY("NUL", &s, "a\nb\0c\0\0", "1[a\nb]2[c]");
}

static void
test_limits(void)
{
	struct bk_framing_spec s = lines;
	const char big[] = "ok\n0123456789abcdefX\nmore\n";

	is_str(cut(&s, big, sizeof(big) - 1, 1000),
	    "1[ok]ETOOBIG at 2, 23 left",
	    "a line over the limit ends it, and stays");
	is_str(cut(&s, big, sizeof(big) - 1, 1), "1[ok]ETOOBIG at 2, 17 left",
	    "also before its end was seen");
	s.split = true;
	TRY("split", &s, "0123456789abcdefX\nok\n",
	    "1[0123456789abcdef]-1[X]2[ok]");
	TRY("split at the end", &s, "0123456789abcdefX",
	    "1[0123456789abcdef]-1[X]-");
	s.max = 2;
	TRY("split into even pieces", &s, "abcd\nef\n\n",
	    "1[ab]-1[cd]2[ef]3[]");
	memcpy(s.delim, "--", 2);
	s.delim_len = 2;
	TRY("split before a delimiter of two", &s, "abcd--ef-g--",
	    "1[ab]-1[cd]2[ef]-2[-g]");
}

static void
test_long_delimiters(void)
{
	struct bk_framing_spec s = lines;

	memcpy(s.delim, "abab", 4);
	s.delim_len = 4;
	TRY("a delimiter that overlaps itself", &s, "xababababy",
	    "1[x]2[]3[y]-");
	TRY("a part of one at the end", &s, "xababaZaba", "1[x]2[aZaba]-");
	memcpy(s.delim, "\r\n", 2);
	s.delim_len = 2;
	TRY("carriage return and newline", &s, "a\r\n\r\r\nb\r",
	    "1[a]2[\r]3[b\r]-");
	s.max = 1;
	TRY("the limit does not count the delimiter", &s, "a\r\nb\r\n",
	    "1[a]2[b]");
}

static void
test_frames(void)
{
	struct bk_framing_spec s = {.how = BK_FRAME_LENGTH, .max = 16};
	const char big[] = "\0\0\0\1a\0\0\0\21x";

	TRY("frames", &s, "\0\0\0\2ab\0\0\0\0\0\0\0\1\n", "1[ab]2[]3[\n]");
	TRY("half a length", &s, "\0\0\0\1a\0\0", "1[a]EPROTO at 2, 2 left");
	TRY("half a frame", &s, "\0\0\0\2a", "EPROTO at 1, 5 left");
	is_str(cut(&s, big, sizeof(big) - 1, 1000), "1[a]ETOOBIG at 2, 5 left",
	    "a frame over the limit");
	s.skip_empty = true;
	TRY("empty frames skipped", &s, "\0\0\0\0\0\0\0\1a\0\0\0\0", "2[a]");
}

static void
test_whole(void)
{
	struct bk_framing_spec s = {.how = BK_FRAME_WHOLE, .max = 16};

	TRY("whole", &s, "a\nb\n", "1[a\nb\n]");
	TRY("whole, nothing", &s, "", "1[]");
	TRY("whole, of just the limit", &s, "0123456789abcdef",
	    "1[0123456789abcdef]");
	is_str(cut(&s, "0123456789abcdefX", 17, 1000), "ETOOBIG at 1, 17 left",
	    "whole, over the limit");
	s.split = true;
	TRY("whole, split", &s, "0123456789abcdefX",
	    "1[0123456789abcdef]-1[X]");
	s.skip_empty = true;
	TRY("whole, empty skipped", &s, "", "");
}

static void
test_raw(void)
{
	struct bk_framing_spec s = {.how = BK_FRAME_RAW, .chunk = 4, .max = 16};

	is_str(cut(&s, "abcdefghij", 10, 1000), "1[abcd]2[efgh]3[ij]",
	    "raw: chunks of the size asked for");
	is_str(cut(&s, "abcdef", 6, 3), "1[abc]2[def]", "raw: as they come");
}

/* How many bytes a program may read that is to leave the next entry alone. */
static void
test_needs(void)
{
	struct bk_framing_spec s = lines;
	struct bk_cutter *c = bk_cutter_new(&s);
	struct bk_cut entry;
	size_t room;

	is_int(bk_cutter_needs(c), 0, "nothing begun, nothing needed");
	memcpy(bk_cutter_room(c, &room), "a\nb", 3);
	bk_cutter_commit(c, 3);
	while (bk_cutter_next(c, &entry) == BK_OK)
		continue;
	is_int(bk_cutter_needs(c), 1, "a line begun: byte by byte");
	memcpy(bk_cutter_room(c, &room), "\n", 1);
	bk_cutter_commit(c, 1);
	is_int(bk_cutter_next(c, &entry), BK_OK, "the line ends");
	is_int(bk_cutter_needs(c), 0, "then nothing is needed");
	bk_cutter_free(c);

	s.how = BK_FRAME_LENGTH;
	c = bk_cutter_new(&s);
	memcpy(bk_cutter_room(c, &room), "\0", 1);
	bk_cutter_commit(c, 1);
	is_int(bk_cutter_needs(c), 3, "the rest of a length");
	memcpy(bk_cutter_room(c, &room), "\0\0\11x", 4);
	bk_cutter_commit(c, 4);
	is_int(bk_cutter_needs(c), 8, "the rest of a frame");
	bk_cutter_free(c);
}

static void
test_delims(void)
{
	char out[BK_DELIM_MAX];
	size_t len = 0;

	ok(bk_delim_parse("\\r\\n", out, &len) == 0 && len == 2 &&
		memcmp(out, "\r\n", 2) == 0,
	    "\\r\\n is two bytes");
	ok(bk_delim_parse("\\0\\x41\\\\=", out, &len) == 0 && len == 4 &&
		memcmp(out, "\0A\\=", 4) == 0,
	    "NUL, hexadecimal, backslash");
	ok(bk_delim_parse("0123456789abcdef", out, &len) == 0 && len == 16,
	    "16 bytes");
	is_int(bk_delim_parse("0123456789abcdefg", out, &len), -1, "not 17");
	is_int(bk_delim_parse("", out, &len), -1, "not none");
	is_int(bk_delim_parse("\\", out, &len), -1, "not a lone backslash");
	is_int(bk_delim_parse("\\q", out, &len), -1, "not \\q");
	is_int(bk_delim_parse("\\x1", out, &len), -1, "not half a byte");
}

static void
test_put(void)
{
	struct bk_framing_spec s = lines;
	struct bk_bytes a = {(const uint8_t *)"a", 1};
	struct bk_buf out;

	bk_buf_init(&out);
	bk_frame_put(&s, a, true, &out);
	bk_frame_put(&s, a, false, &out);
	s.how = BK_FRAME_LENGTH;
	bk_frame_put(&s, a, true, &out);
	is_mem(bk_buf_head(&out), bk_buf_len(&out), "a\na\0\0\0\1a", 8,
	    "entries are put as they stood");
	bk_buf_fini(&out);
}

int
main(void)
{
	test_lines();
	test_limits();
	test_long_delimiters();
	test_frames();
	test_whole();
	test_raw();
	test_needs();
	test_delims();
	test_put();
	return (tap_done());
}
