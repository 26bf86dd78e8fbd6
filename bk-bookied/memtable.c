/*
 * memtable.c - an arena of chunks, and a hash of references to its entries.
 *
 * Eight entries with consecutive ids share a cache line of the hash, so that a
 * ledger added to in order touches few lines; what else falls there spills
 * into the lines after. A slot holds 32 bits of the hash, enough to grow the
 * table without a look at the entries.
 */
#include "bk-bookied/memtable.h"

#include "bk-bookied/mix.h"

#include <errno.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#define UNIT 8
#define CHUNK_UNITS (1U << 17)
#define CHUNK ((size_t)CHUNK_UNITS * UNIT)
#define BIG (CHUNK / 4) /* what is larger gets memory of its own */
#define SLOTS_MIN 1024
#define NO_CHUNK UINT32_MAX
#define NEIGHBOURS 8 /* entries that share a cache line of slots */

#define CELL_LEN 0x3fffffffU
#define CELL_DEAD (1U << 30)
#define CELL_STATE (1U << 31)

struct cell {
	uint32_t len;      /* of bytes, with the two bits above */
	uint32_t previous; /* reference of its ledger's entry before */
	uint8_t bytes[];
};

struct chunk {
	uint8_t *data;
	size_t used; /* more than CHUNK if big */
	bool is_big;
};

struct slot {
	uint32_t tag;
	uint32_t ref; /* 0: free */
};

struct memtable_pool {
	uint8_t **chunks;
	size_t n, cap;
	uint32_t slots; /* what the last memtable grew to */
	struct mix_key mix;
};

struct memtable {
	struct memtable_pool *pool;
	uint32_t number;
	uint32_t base;
	struct chunk *chunks;
	uint32_t nchunks, chunks_cap;
	uint32_t filling; /* the chunk that takes small records */
	uint8_t *big;     /* memory for a prepared big cell */
	size_t big_size;
	struct slot *slots;
	uint32_t nslots; /* power of two */
	uint32_t nentries;
	uint32_t nstates;
	size_t bytes;
};

struct memtable_pool *
memtable_pool_new(void)
{
	struct memtable_pool *pool = calloc(1, sizeof(*pool));

	if (pool == NULL)
		return (NULL);
	pool->slots = SLOTS_MIN;
	randombytes_buf(&pool->mix, sizeof(pool->mix));
	return (pool);
}

void
memtable_pool_trim(struct memtable_pool *pool)
{
	while (pool->n > 0)
		free(pool->chunks[--pool->n]);
	pool->slots = SLOTS_MIN;
}

void
memtable_pool_free(struct memtable_pool *pool)
{
	if (pool == NULL)
		return;
	memtable_pool_trim(pool);
	free(pool->chunks);
	free(pool);
}

static uint8_t *
pool_take(struct memtable_pool *pool)
{
	if (pool->n > 0)
		return (pool->chunks[--pool->n]);
	return (malloc(CHUNK));
}

static void
pool_give(struct memtable_pool *pool, uint8_t *chunk)
{
	uint8_t **grown;
	size_t cap;

	if (pool->n == pool->cap) {
		cap = pool->cap == 0 ? 64 : pool->cap * 2;
		grown = realloc(pool->chunks, cap * sizeof(uint8_t *));
		if (grown == NULL) {
			free(chunk);
			return;
		}
		pool->chunks = grown;
		pool->cap = cap;
	}
	pool->chunks[pool->n++] = chunk;
}

struct memtable *
memtable_new(struct memtable_pool *pool, uint32_t number, uint32_t base)
{
	struct memtable *m = calloc(1, sizeof(*m));

	if (m == NULL)
		return (NULL);
	m->pool = pool;
	m->number = number;
	m->base = base;
	m->filling = NO_CHUNK;
	m->nslots = pool->slots;
	m->slots = calloc(m->nslots, sizeof(*m->slots));
	if (m->slots == NULL) {
		free(m);
		errno = ENOMEM;
		return (NULL);
	}
	m->bytes = m->nslots * sizeof(*m->slots);
	return (m);
}

uint32_t
memtable_base_first(void)
{
	return (CHUNK_UNITS);
}

void
memtable_free(struct memtable *m)
{
	if (m == NULL)
		return;
	for (uint32_t i = 0; i < m->nchunks; i++) {
		if (m->chunks[i].is_big)
			free(m->chunks[i].data);
		else if (m->chunks[i].data != NULL)
			pool_give(m->pool, m->chunks[i].data);
	}
	m->pool->slots = m->nslots;
	free(m->big);
	free(m->chunks);
	free(m->slots);
	free(m);
}

uint32_t
memtable_number(const struct memtable *m)
{
	return (m->number);
}

uint32_t
memtable_base(const struct memtable *m)
{
	return (m->base);
}

uint32_t
memtable_end(const struct memtable *m)
{
	return (m->base + m->nchunks * CHUNK_UNITS);
}

size_t
memtable_bytes(const struct memtable *m)
{
	return (m->bytes);
}

size_t
memtable_count(const struct memtable *m)
{
	return ((size_t)m->nentries + m->nstates);
}

/* The arena. */

static struct cell *
cell_at(const struct memtable *m, uint32_t ref)
{
	uint32_t at = ref - m->base;

	/* Every cell begins at a multiple of UNIT. */
	return ((struct cell *)(void *)(m->chunks[at / CHUNK_UNITS].data +
	    (size_t)(at % CHUNK_UNITS) * UNIT));
}

static size_t
cell_size(uint32_t len)
{
	return (
	    (sizeof(struct cell) + (len & CELL_LEN) + UNIT - 1) / UNIT * UNIT);
}

/* Room in the table for n more chunks. */
static int
chunks_reserve(struct memtable *m, uint32_t n)
{
	uint32_t cap = m->chunks_cap == 0 ? 16 : m->chunks_cap;
	struct chunk *grown;

	if (m->nchunks + n <= m->chunks_cap)
		return (0);
	while (cap < m->nchunks + n)
		cap *= 2;
	grown = realloc(m->chunks, cap * sizeof(*grown));
	if (grown == NULL)
		return (-1);
	m->chunks = grown;
	m->chunks_cap = cap;
	return (0);
}

static int
reserve_big(struct memtable *m, size_t size)
{
	uint8_t *big;

	if (chunks_reserve(m, (uint32_t)(size / CHUNK) + 1) == -1)
		return (-1);
	big = realloc(m->big, size);
	if (big == NULL)
		return (-1);
	m->big = big;
	m->big_size = size;
	return (0);
}

/* Make sure that cell_new() will find room for this many bytes. */
static int
reserve(struct memtable *m, size_t size)
{
	uint8_t *data;

	if (size > BIG)
		return (reserve_big(m, size));
	if (m->filling != NO_CHUNK &&
	    m->chunks[m->filling].used + size <= CHUNK)
		return (0);
	if (chunks_reserve(m, 1) == -1)
		return (-1);
	data = pool_take(m->pool);
	if (data == NULL)
		return (-1);
	m->filling = m->nchunks++;
	m->chunks[m->filling] = (struct chunk){.data = data};
	m->bytes += CHUNK;
	return (0);
}

/* The prepared memory becomes as many chunks as it spans. */
static uint32_t
place_big(struct memtable *m)
{
	uint32_t first = m->nchunks;
	size_t at;

	for (at = 0; at < m->big_size; at += CHUNK)
		m->chunks[m->nchunks++] = (struct chunk){0};
	m->chunks[first] = (struct chunk){m->big, m->big_size, true};
	m->bytes += m->big_size;
	m->big = NULL;
	return (m->base + first * CHUNK_UNITS);
}

static uint32_t
place_small(struct memtable *m, size_t size)
{
	struct chunk *c = &m->chunks[m->filling];
	uint32_t ref;

	ref = m->base + m->filling * CHUNK_UNITS + (uint32_t)(c->used / UNIT);
	c->used += size;
	return (ref);
}

/* A copy of the bytes in the arena; room is reserved. */
static uint32_t
cell_new(struct memtable *m, struct bk_bytes bytes, uint32_t bits,
    uint32_t previous)
{
	size_t size = cell_size((uint32_t)bytes.len);
	struct cell *cell;
	uint32_t ref;

	ref = size > BIG ? place_big(m) : place_small(m, size);
	cell = cell_at(m, ref);
	cell->len = (uint32_t)bytes.len | bits;
	cell->previous = previous;
	memcpy(cell->bytes, bytes.data, bytes.len);
	return (ref);
}

/* The hash. */

static uint32_t
tag_of(const struct memtable *m, int64_t ledger_id, int64_t entry_id)
{
	uint64_t id = (uint64_t)entry_id;
	uint64_t hash;

	hash = mix_two(&m->pool->mix, (uint64_t)ledger_id, id / NEIGHBOURS);
	return (((uint32_t)hash & ~(NEIGHBOURS - 1U)) |
	    (uint32_t)(id % NEIGHBOURS));
}

static bool
is_entry(const struct cell *cell, int64_t ledger_id, int64_t entry_id)
{
	return ((int64_t)bk_be64_get(cell->bytes) == ledger_id &&
	    (int64_t)bk_be64_get(cell->bytes + 8) == entry_id &&
	    (cell->len & CELL_DEAD) == 0);
}

/* The slot of an entry, or the free one where it would go. */
static uint32_t
probe(const struct memtable *m, uint32_t tag, int64_t ledger_id,
    int64_t entry_id)
{
	uint32_t mask = m->nslots - 1;
	uint32_t i;

	for (i = tag & mask; m->slots[i].ref != 0; i = (i + 1) & mask)
		if (m->slots[i].tag == tag &&
		    is_entry(cell_at(m, m->slots[i].ref), ledger_id, entry_id))
			break;
	return (i);
}

static int
slots_double(struct memtable *m)
{
	uint32_t n = m->nslots * 2;
	struct slot *slots;
	uint32_t j;

	slots = calloc(n, sizeof(*slots));
	if (slots == NULL)
		return (-1);
	for (uint32_t i = 0; i < m->nslots; i++) {
		if (m->slots[i].ref == 0)
			continue;
		j = m->slots[i].tag & (n - 1);
		while (slots[j].ref != 0)
			j = (j + 1) & (n - 1);
		slots[j] = m->slots[i];
	}
	free(m->slots);
	m->slots = slots;
	m->bytes += m->nslots * sizeof(*slots);
	m->nslots = n;
	return (0);
}

enum memtable_room
memtable_prepare(struct memtable *m, int64_t ledger_id, int64_t entry_id,
    size_t len, struct memtable_place *place)
{
	place->tag = tag_of(m, ledger_id, entry_id);
	place->slot = probe(m, place->tag, ledger_id, entry_id);
	if (m->slots[place->slot].ref != 0)
		return (MEMTABLE_HAS);
	if (m->nentries >= m->nslots / 3 * 2) {
		if (slots_double(m) == -1)
			return (MEMTABLE_ENOMEM);
		place->slot = probe(m, place->tag, ledger_id, entry_id);
	}
	if (reserve(m, cell_size((uint32_t)len)) == -1)
		return (MEMTABLE_ENOMEM);
	return (MEMTABLE_FREE);
}

uint32_t
memtable_put(struct memtable *m, const struct memtable_place *place,
    struct bk_bytes entry, uint32_t previous)
{
	uint32_t ref = cell_new(m, entry, 0, previous);

	m->slots[place->slot] = (struct slot){place->tag, ref};
	m->nentries++;
	return (ref);
}

int
memtable_prepare_state(struct memtable *m, size_t len)
{
	return (reserve(m, cell_size((uint32_t)len)));
}

void
memtable_put_state(struct memtable *m, struct bk_bytes state)
{
	(void)cell_new(m, state, CELL_STATE, 0);
	m->nstates++;
}

static struct bk_bytes
bytes_of(const struct cell *cell)
{
	struct bk_bytes bytes = {cell->bytes, cell->len & CELL_LEN};

	return (bytes);
}

struct bk_bytes
memtable_find(const struct memtable *m, int64_t ledger_id, int64_t entry_id)
{
	uint32_t i;

	i = probe(m, tag_of(m, ledger_id, entry_id), ledger_id, entry_id);
	if (m->slots[i].ref == 0)
		return ((struct bk_bytes){0});
	return (bytes_of(cell_at(m, m->slots[i].ref)));
}

void
memtable_prefetch(const struct memtable *m, int64_t ledger_id, int64_t entry_id)
{
	uint32_t tag = tag_of(m, ledger_id, entry_id);

	__builtin_prefetch(&m->slots[tag & (m->nslots - 1)], 1);
}

bool
memtable_holds(const struct memtable *m, uint32_t ref)
{
	return (ref - m->base < m->nchunks * CHUNK_UNITS);
}

struct bk_bytes
memtable_at(const struct memtable *m, uint32_t ref)
{
	const struct cell *cell = cell_at(m, ref);

	if (cell->len & CELL_DEAD)
		return ((struct bk_bytes){0});
	return (bytes_of(cell));
}

uint32_t
memtable_previous(const struct memtable *m, uint32_t ref)
{
	return (cell_at(m, ref)->previous);
}

void
memtable_kill(struct memtable *m, uint32_t ref)
{
	cell_at(m, ref)->len |= CELL_DEAD;
}

/* In order, for the flush. */

/* Collect what has these bits, in the order it was put (big ones apart). */
static size_t
collect(const struct memtable *m, uint32_t bits, struct memtable_item *items)
{
	const struct cell *cell;
	size_t n = 0;
	size_t at;
	uint32_t ref;

	for (uint32_t i = 0; i < m->nchunks; i++) {
		for (at = 0; at < m->chunks[i].used;
		     at += cell_size(cell->len)) {
			ref = m->base + i * CHUNK_UNITS + (uint32_t)(at / UNIT);
			cell = cell_at(m, ref);
			if ((cell->len & ~CELL_LEN) != bits)
				continue;
			items[n].ledger_id = bk_be64_get(cell->bytes);
			items[n].entry_id = bits == CELL_STATE ?
			    0 :
			    bk_be64_get(cell->bytes + 8);
			items[n++].ref = ref;
		}
	}
	return (n);
}

/* Byte number b of an item's key, 0 the lowest of the entry id. */
static inline unsigned
key_byte(const struct memtable_item *item, unsigned b)
{
	uint64_t half = b < 8 ? item->entry_id : item->ledger_id;

	return ((half >> (b % 8 * 8)) & 0xff);
}

/* One stable pass by one byte of the key. */
static void
pass(const struct memtable_item *from, struct memtable_item *to, size_t n,
    unsigned b)
{
	size_t place[256] = {0};
	size_t sum = 0;
	size_t count;

	for (size_t i = 0; i < n; i++)
		place[key_byte(&from[i], b)]++;
	for (unsigned v = 0; v < 256; v++) {
		count = place[v];
		place[v] = sum;
		sum += count;
	}
	for (size_t i = 0; i < n; i++)
		to[place[key_byte(&from[i], b)]++] = from[i];
}

/* Stable radix sort by the bytes that differ: ids are mostly alike. Returns
 * which of the two arrays holds the result. */
static struct memtable_item *
sort(struct memtable_item *a, struct memtable_item *b, size_t n)
{
	struct memtable_item *swap;
	uint64_t ledgers = 0, entries = 0;

	for (size_t i = 1; i < n; i++) {
		ledgers |= a[i].ledger_id ^ a[0].ledger_id;
		entries |= a[i].entry_id ^ a[0].entry_id;
	}
	for (unsigned byte = 0; byte < 16; byte++) {
		if (((byte < 8 ? entries : ledgers) >> (byte % 8 * 8) & 0xff) ==
		    0)
			continue;
		pass(a, b, n, byte);
		swap = a;
		a = b;
		b = swap;
	}
	return (a);
}

static int
sorted(const struct memtable *m, uint32_t bits, size_t max,
    struct memtable_item **items, size_t *n)
{
	struct memtable_item *a, *b;

	a = malloc((max + 1) * sizeof(*a));
	b = malloc((max + 1) * sizeof(*b));
	if (a == NULL || b == NULL) {
		free(a);
		free(b);
		return (-1);
	}
	*n = collect(m, bits, a);
	*items = sort(a, b, *n);
	free(*items == a ? b : a);
	return (0);
}

int
memtable_entries(const struct memtable *m, struct memtable_item **items,
    size_t *n)
{
	return (sorted(m, 0, m->nentries, items, n));
}

int
memtable_states(const struct memtable *m, struct memtable_item **items,
    size_t *n)
{
	struct memtable_item *all;
	size_t kept = 0;

	if (sorted(m, CELL_STATE, m->nstates, items, n) == -1)
		return (-1);
	all = *items;
	for (size_t i = 0; i < *n; i++)
		if (i + 1 == *n || all[i].ledger_id != all[i + 1].ledger_id)
			all[kept++] = all[i];
	*n = kept;
	return (0);
}
