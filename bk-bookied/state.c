/* state.c - the state of a ledger to bytes and back. */
#include "bk-bookied/state.h"

#include <string.h>

#define LOG_AT 8

enum {
	STATE_FENCED = 1 << 0,
	STATE_DOUBT = 1 << 1,
	STATE_GONE = 1 << 2,
	STATE_KEY = 1 << 3,
	STATE_KNOWN = (1 << 4) - 1,
};

size_t
state_size(const struct ledger_state *s)
{
	return (STATE_HEAD + s->key.len + s->packet.len);
}

void
state_encode(const struct ledger_state *s, uint8_t *out)
{
	unsigned flags = (s->fenced ? STATE_FENCED : 0) |
	    (s->doubt ? STATE_DOUBT : 0) | (s->gone ? STATE_GONE : 0) |
	    (s->has_key ? STATE_KEY : 0);

	bk_be64_put(out, (uint64_t)s->ledger_id);
	bk_be32_put(out + LOG_AT, s->log);
	bk_be32_put(out + 12, s->floor);
	bk_be64_put(out + 16, (uint64_t)s->gone_until);
	out[24] = (uint8_t)flags;
	out[25] = (uint8_t)s->packet.len;
	bk_be16_put(out + 26, (uint16_t)s->key.len);
	out += STATE_HEAD;
	if (s->key.len > 0)
		memcpy(out, s->key.data, s->key.len);
	if (s->packet.len > 0)
		memcpy(out + s->key.len, s->packet.data, s->packet.len);
}

bool
state_decode(struct bk_cursor *r, struct ledger_state *s)
{
	size_t key_len, packet_len;
	uint8_t flags;

	s->ledger_id = (int64_t)bk_cursor_u64(r);
	s->log = bk_cursor_u32(r);
	s->floor = bk_cursor_u32(r);
	s->gone_until = (int64_t)bk_cursor_u64(r);
	flags = bk_cursor_u8(r);
	packet_len = bk_cursor_u8(r);
	key_len = bk_cursor_u16(r);
	s->key = bk_cursor_bytes(r, key_len);
	s->packet = bk_cursor_bytes(r, packet_len);
	s->fenced = flags & STATE_FENCED;
	s->doubt = flags & STATE_DOUBT;
	s->gone = flags & STATE_GONE;
	s->has_key = flags & STATE_KEY;
	return (!r->failed && s->ledger_id >= STATE_ALL && key_len <= KEY_MAX &&
	    packet_len <= BK_LAC_PACKET_MAX && (flags & ~STATE_KNOWN) == 0);
}

void
state_set_log(uint8_t *encoded, uint32_t log)
{
	bk_be32_put(encoded + LOG_AT, log);
}
