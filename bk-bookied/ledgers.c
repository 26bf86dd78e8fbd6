/*
 * ledgers.c - the hot table: an extendible hash of small segments.
 *
 * The top bits of a ledger's hash choose a place of the directory, which points
 * to a segment; the low bits a place in the segment, with linear probing from
 * there. A full segment splits by one more top bit; when it already uses as
 * many as the directory, the directory doubles first.
 */
#include "bk-bookied/ledgers.h"

#include "bk-bookied/mix.h"

#include <errno.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#define SEGMENT_SLOTS 1024
#define SEGMENT_FULL 800 /* splits when it holds so many */
#define DEPTH_MAX 26     /* of the directory: never reached by chance */
#define LAC_IN_MORE INT32_MIN
#define CACHE_LINE 64

struct segment {
	unsigned depth; /* top bits that all its ledgers share */
	unsigned n;
	_Alignas(CACHE_LINE) struct ledger slots[SEGMENT_SLOTS];
};

struct ledgers {
	struct segment **directory;
	unsigned depth; /* the directory has 1 << depth places */
	size_t n;
	struct mix_key mix;
	struct keys *keys;
	struct ledger_more *more;
	uint32_t born; /* low half of a durable position, for new ledgers */
};

static struct segment *
segment_new(unsigned depth)
{
	struct segment *s;

	s = aligned_alloc(CACHE_LINE, sizeof(*s));
	if (s == NULL)
		return (NULL);
	s->depth = depth;
	s->n = 0;
	for (unsigned i = 0; i < SEGMENT_SLOTS; i++)
		s->slots[i].id = -1;
	return (s);
}

struct ledgers *
ledgers_new(void)
{
	struct ledgers *t = calloc(1, sizeof(*t));

	if (t == NULL)
		return (NULL);
	randombytes_buf(&t->mix, sizeof(t->mix));
	t->keys = keys_new();
	t->directory = calloc(1, sizeof(struct segment *));
	if (t->directory != NULL)
		t->directory[0] = segment_new(0);
	if (t->keys == NULL || t->directory == NULL ||
	    t->directory[0] == NULL) {
		ledgers_free(t);
		errno = ENOMEM;
		return (NULL);
	}
	return (t);
}

void
ledgers_free(struct ledgers *t)
{
	struct ledger_more *more, *next;
	struct segment *last = NULL;

	if (t == NULL)
		return;
	HASH_ITER(hh, t->more, more, next) {
		HASH_DEL(t->more, more);
		free(more);
	}
	/* Places that share a segment are neighbours. */
	for (size_t i = 0; t->directory != NULL && i < (size_t)1 << t->depth;
	     i++) {
		if (t->directory[i] != last) {
			last = t->directory[i];
			free(last);
		}
	}
	free(t->directory);
	keys_free(t->keys);
	free(t);
}

static inline size_t
place_of(const struct ledgers *t, uint64_t hash)
{
	return (t->depth == 0 ? 0 : hash >> (64 - t->depth));
}

static inline unsigned
slot_of(uint64_t hash)
{
	return ((unsigned)hash & (SEGMENT_SLOTS - 1));
}

static inline unsigned
next_slot(unsigned i)
{
	return ((i + 1) & (SEGMENT_SLOTS - 1));
}

struct ledger *
ledgers_find(const struct ledgers *t, int64_t id)
{
	uint64_t hash = mix_one(&t->mix, (uint64_t)id);
	struct segment *s = t->directory[place_of(t, hash)];
	unsigned i;

	for (i = slot_of(hash); s->slots[i].id != -1; i = next_slot(i))
		if (s->slots[i].id == id)
			return (&s->slots[i]);
	return (NULL);
}

void
ledgers_prefetch(const struct ledgers *t, int64_t id)
{
	uint64_t hash = mix_one(&t->mix, (uint64_t)id);
	struct segment *s = t->directory[place_of(t, hash)];

	__builtin_prefetch(&s->slots[slot_of(hash)], 1);
}

static struct ledger *
segment_add(struct segment *s, uint64_t hash)
{
	unsigned i;

	for (i = slot_of(hash); s->slots[i].id != -1; i = next_slot(i))
		continue;
	s->n++;
	return (&s->slots[i]);
}

static int
directory_double(struct ledgers *t)
{
	size_t n = (size_t)1 << t->depth;
	struct segment **directory;

	directory = malloc(2 * n * sizeof(struct segment *));
	if (directory == NULL)
		return (-1);
	for (size_t i = 0; i < n; i++)
		directory[2 * i] = directory[2 * i + 1] = t->directory[i];
	free(t->directory);
	t->directory = directory;
	t->depth++;
	return (0);
}

/* Give half of what the segment at this place may hold to a new one. */
static int
split(struct ledgers *t, size_t place)
{
	struct segment *s = t->directory[place];
	struct segment *low, *high;
	size_t span, first;
	uint64_t hash;

	low = segment_new(s->depth + 1);
	high = segment_new(s->depth + 1);
	if (low == NULL || high == NULL) {
		free(low);
		free(high);
		return (-1);
	}
	for (unsigned i = 0; i < SEGMENT_SLOTS; i++) {
		if (s->slots[i].id == -1)
			continue;
		hash = mix_one(&t->mix, (uint64_t)s->slots[i].id);
		*segment_add(hash >> (63 - s->depth) & 1 ? high : low, hash) =
		    s->slots[i];
	}
	span = (size_t)1 << (t->depth - s->depth);
	first = place & ~(span - 1);
	for (size_t i = 0; i < span; i++)
		t->directory[first + i] = i < span / 2 ? low : high;
	free(s);
	return (0);
}

struct ledger *
ledgers_add(struct ledgers *t, int64_t id)
{
	uint64_t hash = mix_one(&t->mix, (uint64_t)id);
	struct segment *s;
	struct ledger *l;

	while ((s = t->directory[place_of(t, hash)])->n >= SEGMENT_FULL) {
		if ((s->depth == t->depth &&
			(t->depth == DEPTH_MAX || directory_double(t) == -1)) ||
		    split(t, place_of(t, hash)) == -1) {
			errno = ENOMEM;
			return (NULL);
		}
	}
	l = segment_add(s, hash);
	*l = (struct ledger){.id = id, .last_entry = -1, .changed = t->born};
	t->n++;
	return (l);
}

/* Free a slot, and move up what was probed past it. */
static void
segment_drop(const struct ledgers *t, struct segment *s, unsigned hole)
{
	unsigned i, home;

	for (i = next_slot(hole); s->slots[i].id != -1; i = next_slot(i)) {
		home = slot_of(mix_one(&t->mix, (uint64_t)s->slots[i].id));
		/* It stays if its home lies after the hole. */
		if (((i - home) & (SEGMENT_SLOTS - 1)) <
		    ((i - hole) & (SEGMENT_SLOTS - 1)))
			continue;
		s->slots[hole] = s->slots[i];
		hole = i;
	}
	s->slots[hole].id = -1;
	s->n--;
}

static void
more_drop(struct ledgers *t, struct ledger *l, struct ledger_more *more)
{
	HASH_DEL(t->more, more);
	free(more);
	l->more = 0;
}

void
ledgers_drop(struct ledgers *t, struct ledger *l)
{
	struct segment *s;

	if (l->more)
		more_drop(t, l, ledgers_more(t, l));
	keys_drop(t->keys, l->key);
	s = t->directory[place_of(t, mix_one(&t->mix, (uint64_t)l->id))];
	segment_drop(t, s, (unsigned)(l - s->slots));
	t->n--;
}

size_t
ledgers_count(const struct ledgers *t)
{
	return (t->n);
}

void
ledgers_each(const struct ledgers *t, void (*fn)(void *arg, struct ledger *l),
    void *arg)
{
	struct segment *last = NULL;

	for (size_t i = 0; i < (size_t)1 << t->depth; i++) {
		if (t->directory[i] == last)
			continue;
		last = t->directory[i];
		for (unsigned j = 0; j < SEGMENT_SLOTS; j++)
			if (last->slots[j].id != -1)
				fn(arg, &last->slots[j]);
	}
}

struct keys *
ledgers_keys(const struct ledgers *t)
{
	return (t->keys);
}

int
ledgers_set_key(struct ledgers *t, struct ledger *l, struct bk_bytes key)
{
	uint32_t number = keys_take(t->keys, key);

	if (number == 0)
		return (-1);
	keys_drop(t->keys, l->key);
	l->key = number & KEYS_MAX;
	return (0);
}

void
ledgers_drop_key(struct ledgers *t, struct ledger *l)
{
	keys_drop(t->keys, l->key);
	l->key = 0;
}

struct ledger_more *
ledgers_more(const struct ledgers *t, const struct ledger *l)
{
	struct ledger_more *more = NULL;

	if (l->more)
		HASH_FIND(hh, t->more, &l->id, sizeof(l->id), more);
	return (more);
}

struct ledger_more *
ledgers_more_make(struct ledgers *t, struct ledger *l)
{
	struct ledger_more *more = ledgers_more(t, l);

	if (more != NULL)
		return (more);
	more = calloc(1, sizeof(*more));
	if (more == NULL)
		return (NULL);
	more->id = l->id;
	more->lac = -1;
	HASH_ADD(hh, t->more, id, sizeof(more->id), more);
	if (more->lost) {
		free(more);
		errno = ENOMEM;
		return (NULL);
	}
	l->more = 1;
	return (more);
}

void
ledgers_more_trim(struct ledgers *t, struct ledger *l)
{
	struct ledger_more *more = ledgers_more(t, l);

	if (more != NULL && more->floor == 0 && more->packet_len == 0 &&
	    more->gone_until == 0 && l->lac_gap != LAC_IN_MORE)
		more_drop(t, l, more);
}

int64_t
ledgers_lac(const struct ledgers *t, const struct ledger *l)
{
	const struct ledger_more *more;

	if (l->lac_gap != LAC_IN_MORE)
		return (l->last_entry - l->lac_gap);
	more = ledgers_more(t, l);
	return (more != NULL ? more->lac : -1);
}

/* Express this LAC against the last entry as it is now. */
static void
put_lac(struct ledgers *t, struct ledger *l, int64_t lac)
{
	struct ledger_more *more;
	int64_t gap;

	if (!__builtin_sub_overflow(l->last_entry, lac, &gap) &&
	    gap > INT32_MIN && gap <= INT32_MAX) {
		l->lac_gap = (int32_t)gap;
		return;
	}
	/* Without memory for it the LAC is -1: too low is harmless. */
	l->lac_gap = LAC_IN_MORE;
	more = ledgers_more_make(t, l);
	if (more != NULL)
		more->lac = lac;
}

bool
ledgers_raise_lac(struct ledgers *t, struct ledger *l, int64_t lac)
{
	if (lac <= ledgers_lac(t, l))
		return (false);
	put_lac(t, l, lac);
	return (true);
}

void
ledgers_raise_last(struct ledgers *t, struct ledger *l, int64_t entry_id)
{
	int64_t lac;

	if (entry_id <= l->last_entry)
		return;
	lac = ledgers_lac(t, l);
	l->last_entry = entry_id;
	put_lac(t, l, lac);
}

struct age {
	uint64_t filling, synced;
};

static void
age(void *arg, struct ledger *l)
{
	const struct age *a = arg;

	if (ledger_changed_at(l, a->filling) <= a->synced)
		l->changed = (uint32_t)a->synced;
}

void
ledgers_age(struct ledgers *t, uint64_t filling, uint64_t synced)
{
	struct age a = {filling, synced};

	ledgers_each(t, age, &a);
	t->born = (uint32_t)synced;
}
