/*
 * keys.h - master keys of ledgers, each different one kept once. Most ledgers
 * of a bookie share a few.
 */
#ifndef BOOKIE_KEYS_H
#define BOOKIE_KEYS_H

#include "base/buf.h"

#include <stdbool.h>
#include <stdint.h>

/* The longest key taken; clients send 20 bytes (bookie-protocol.md 4.3). */
#define KEY_MAX 1024
/* Different keys at a time: the number must fit struct ledger. */
#define KEYS_MAX ((1U << 28) - 1)

struct keys;

/* NULL with errno ENOMEM. */
struct keys *keys_new(void);
void keys_free(struct keys *k);

/* The number of this key, 1 or more, counted as used once more; 0 when out of
 * memory. The key is copied. */
uint32_t keys_take(struct keys *k, struct bk_bytes key);
/* Used once less; 0 is ignored. */
void keys_drop(struct keys *k, uint32_t number);
/* The key with this number; valid while it is used. */
struct bk_bytes keys_get(const struct keys *k, uint32_t number);
/* Whether it is that key. The time taken tells nothing of its bytes. */
bool keys_match(const struct keys *k, uint32_t number, struct bk_bytes key);

#endif
