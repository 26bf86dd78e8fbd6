/* keys.c - a hash of keys by their bytes, and an array of them by number. */
#include "bk-bookied/keys.h"

#include "bk-bookied/hash.h"

#include <sodium.h>
#include <stdlib.h>
#include <string.h>

struct key {
	UT_hash_handle hh;
	uint32_t number;
	uint32_t uses;
	bool lost; /* the table had no memory for it */
	size_t len;
	uint8_t bytes[];
};

struct keys {
	struct key *table;
	struct key **by_number; /* [0] is never used */
	uint32_t n;             /* numbers given out, 0 included */
	uint32_t cap;
	uint32_t *unused; /* numbers below n without a key */
	uint32_t nunused;
};

struct keys *
keys_new(void)
{
	struct keys *k = calloc(1, sizeof(*k));

	if (k == NULL)
		return (NULL);
	k->n = 1;
	return (k);
}

void
keys_free(struct keys *k)
{
	if (k == NULL)
		return;
	HASH_CLEAR(hh, k->table);
	for (uint32_t i = 1; i < k->n; i++)
		free(k->by_number[i]);
	free(k->by_number);
	free(k->unused);
	free(k);
}

/* Room for one more number, in both arrays. */
static int
grow(struct keys *k)
{
	uint32_t cap = k->cap == 0 ? 16 : k->cap * 2;
	struct key **by_number;
	uint32_t *unused;

	if (k->nunused > 0 || k->n < k->cap)
		return (0);
	if (k->n > KEYS_MAX)
		return (-1);
	by_number = realloc(k->by_number, cap * sizeof(struct key *));
	if (by_number == NULL)
		return (-1);
	k->by_number = by_number;
	unused = realloc(k->unused, cap * sizeof(*unused));
	if (unused == NULL)
		return (-1);
	k->unused = unused;
	k->cap = cap;
	return (0);
}

static struct key *
add(struct keys *k, struct bk_bytes bytes)
{
	struct key *key;

	if (grow(k) == -1)
		return (NULL);
	key = calloc(1, sizeof(*key) + bytes.len);
	if (key == NULL)
		return (NULL);
	key->len = bytes.len;
	if (bytes.len > 0)
		memcpy(key->bytes, bytes.data, bytes.len);
	HASH_ADD_KEYPTR(hh, k->table, key->bytes, key->len, key);
	if (key->lost) {
		free(key);
		return (NULL);
	}
	key->number = k->nunused > 0 ? k->unused[--k->nunused] : k->n++;
	k->by_number[key->number] = key;
	return (key);
}

uint32_t
keys_take(struct keys *k, struct bk_bytes bytes)
{
	const void *data = bytes.len > 0 ? (const void *)bytes.data : "";
	struct key *key;

	HASH_FIND(hh, k->table, data, bytes.len, key);
	if (key == NULL)
		key = add(k, bytes);
	if (key == NULL)
		return (0);
	key->uses++;
	return (key->number);
}

void
keys_drop(struct keys *k, uint32_t number)
{
	struct key *key;

	if (number == 0)
		return;
	key = k->by_number[number];
	if (--key->uses > 0)
		return;
	HASH_DEL(k->table, key);
	k->by_number[number] = NULL;
	k->unused[k->nunused++] = number;
	free(key);
}

struct bk_bytes
keys_get(const struct keys *k, uint32_t number)
{
	const struct key *key = k->by_number[number];
	struct bk_bytes bytes = {key->bytes, key->len};

	return (bytes);
}

bool
keys_match(const struct keys *k, uint32_t number, struct bk_bytes bytes)
{
	const struct key *key = k->by_number[number];

	if (key->len != bytes.len)
		return (false);
	return (bytes.len == 0 ||
	    sodium_memcmp(key->bytes, bytes.data, bytes.len) == 0);
}
