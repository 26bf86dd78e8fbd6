/* hash.c - the keyed hash behind uthash. Loop thread only. */
#include "bk-bookied/hash.h"

#include <sodium.h>
#include <string.h>

unsigned
hash_bytes(const void *data, size_t len)
{
	static uint8_t key[crypto_shorthash_KEYBYTES];
	static bool is_drawn;
	uint8_t out[crypto_shorthash_BYTES];
	unsigned hash;

	if (!is_drawn)
		crypto_shorthash_keygen(key);
	is_drawn = true;
	crypto_shorthash(out, data, len, key);
	memcpy(&hash, out, sizeof(hash));
	return (hash);
}
