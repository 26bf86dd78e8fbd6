/* stdio_frame.c - any stream under any framing: what is cut, put together
 * again, is the stream. */
#include "tool/stdio_frame.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
read_some(struct bk_cutter *c, const uint8_t **data, size_t *size, size_t step)
{
	size_t room;
	uint8_t *to = bk_cutter_room(c, &room);

	if (room > step)
		room = step;
	if (room > *size)
		room = *size;
	if (room == 0) {
		bk_cutter_eof(c);
		return;
	}
	memcpy(to, *data, room);
	bk_cutter_commit(c, room);
	*data += room;
	*size -= room;
}

static void
run(const struct bk_framing_spec *spec, const uint8_t *data, size_t size,
    size_t step)
{
	struct bk_cutter *c = bk_cutter_new(spec);
	struct bk_buf again;
	struct bk_bytes whole = {data, size}, rest;
	enum bk_status status = BK_ENOENTRY;
	bool eof = false;
	struct bk_cut cut;

	bk_buf_init(&again);
	while (status == BK_ENOENTRY && !eof) {
		eof = size == 0;
		read_some(c, &data, &size, step);
		while ((status = bk_cutter_next(c, &cut)) == BK_OK) {
			if (cut.payload.len > spec->max)
				abort();
			bk_frame_put(spec, cut.payload, cut.ended, &again);
		}
		if (status == BK_ENOENTRY && !eof && bk_cutter_needs(c) == 0 &&
		    bk_cutter_rest(c).len > 0)
			abort();
	}
	rest = bk_cutter_rest(c);
	if (rest.len > 0)
		bk_buf_put(&again, rest.data, rest.len);
	bk_buf_put(&again, data, size);
	if (!spec->skip_empty &&
	    (bk_buf_len(&again) != whole.len ||
		(whole.len > 0 &&
		    memcmp(again.data, whole.data, whole.len) != 0)))
		abort();
	bk_buf_fini(&again);
	bk_cutter_free(c);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct bk_framing_spec spec = {.max = 8, .chunk = 5};

	if (size < 4)
		return (0);
	spec.how = data[0] & 3;
	spec.split = data[0] & 4;
	spec.skip_empty = data[0] & 8;
	spec.delim_len = 1 + (data[0] >> 4) % 3;
	memcpy(spec.delim, data + 1, spec.delim_len);
	if (spec.how == BK_FRAME_LENGTH)
		spec.max = 300;
	run(&spec, data + 4, size - 4, 1 + data[1] % 40);
	return (0);
}
