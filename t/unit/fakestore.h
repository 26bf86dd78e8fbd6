/*
 * fakestore.h - the bookie's store as its protocol sees it, in memory and in
 * the test's hands: when changes are synced, when reads come back, when there
 * is no room. Included by one test program, in place of the real store.
 */
#ifndef FAKESTORE_H
#define FAKESTORE_H

#include "bk-bookied/store.h"

#include <stdlib.h>
#include <string.h>

#define FAKE_LEDGERS 64
#define FAKE_ENTRIES 256
#define FAKE_READS 64

struct fake_entry {
	int64_t id;
	uint8_t *data;
	size_t len;
};

struct fake_ledger {
	int64_t id;
	uint8_t key[64];
	size_t keylen;
	bool fenced;
	int64_t lac;
	uint8_t packet[BK_LAC_PACKET_MAX];
	size_t packetlen;
	uint64_t unsynced;
	struct fake_entry entries[FAKE_ENTRIES];
	size_t n;
};

struct store {
	struct fake_ledger ledgers[FAKE_LEDGERS];
	size_t n;
	uint64_t filling; /* position of what is changed now */
	uint64_t synced;
	bool full; /* no room for an add */
	bool slow; /* reads come back by fake_reads_done() */
	bool readonly;
	bool in_doubt;
	bool broken; /* reads end in EIO */
	int reads, releases;
	struct {
		store_read_cb *cb;
		void *arg;
		int64_t ledger_id, entry_id;
	} waiting[FAKE_READS];
	size_t nwaiting;
	void (*moved)(int64_t ledger_id, bool fenced, bool gone);
};

static struct store fake = {.filling = 1};

static inline struct fake_ledger *
fake_find(int64_t id)
{
	size_t i;

	for (i = 0; i < fake.n; i++)
		if (fake.ledgers[i].id == id)
			return (&fake.ledgers[i]);
	return (NULL);
}

static inline struct fake_ledger *
fake_make(int64_t id, struct bk_bytes key)
{
	struct fake_ledger *l = fake_find(id);

	if (l != NULL)
		return (l);
	l = &fake.ledgers[fake.n++];
	l->id = id;
	l->lac = -1;
	l->keylen = key.len;
	if (key.len > 0)
		memcpy(l->key, key.data, key.len);
	return (l);
}

static inline bool
fake_key_fits(const struct fake_ledger *l, struct bk_bytes key)
{
	return (l->keylen == key.len &&
	    (key.len == 0 || memcmp(l->key, key.data, key.len) == 0));
}

static inline uint64_t
fake_unsynced(const struct fake_ledger *l)
{
	return (l->unsynced > fake.synced ? l->unsynced : 0);
}

static inline void
fake_raise(struct fake_ledger *l, int64_t lac)
{
	if (lac <= l->lac)
		return;
	l->lac = lac;
	fake.moved(l->id, false, false);
}

void
store_prefetch(const struct store *s, int64_t ledger_id, int64_t entry_id)
{
	(void)s;
	(void)ledger_id;
	(void)entry_id;
}

enum bk_status
store_add(struct store *s, const struct store_add *add, uint64_t *position)
{
	struct fake_ledger *l;
	struct fake_entry *e;

	*position = 0;
	if (s->full)
		return (BK_ECANCELED);
	if (add->entry.len < 24 || (bk_be64_get(add->entry.data + 8) >> 63))
		return (BK_EBADREQ);
	if (s->readonly && !add->high_priority)
		return (BK_EREADONLY);
	l = fake_make((int64_t)bk_be64_get(add->entry.data), add->master_key);
	*position = fake_unsynced(l);
	if (!fake_key_fits(l, add->master_key))
		return (BK_EUA);
	if (l->fenced && !add->recovery)
		return (BK_EFENCED);
	e = &l->entries[l->n++];
	e->id = (int64_t)bk_be64_get(add->entry.data + 8);
	e->len = add->entry.len;
	e->data = malloc(e->len);
	memcpy(e->data, add->entry.data, e->len);
	l->unsynced = *position = s->filling;
	fake_raise(l, (int64_t)bk_be64_get(e->data + 16));
	return (BK_OK);
}

enum bk_status
store_fence(struct store *s, int64_t ledger_id, struct bk_bytes key,
    uint64_t *position)
{
	struct fake_ledger *l = fake_make(ledger_id, key);

	*position = fake_unsynced(l);
	if (!fake_key_fits(l, key))
		return (BK_EUA);
	if (!l->fenced) {
		l->fenced = true;
		l->unsynced = *position = s->filling;
		s->moved(ledger_id, true, false);
	}
	return (BK_OK);
}

enum bk_status
store_write_lac(struct store *s, struct bk_bytes key, struct bk_bytes packet,
    uint64_t *position)
{
	struct fake_ledger *l;

	*position = 0;
	l = fake_make((int64_t)bk_be64_get(packet.data), key);
	if (!fake_key_fits(l, key))
		return (BK_EUA);
	memcpy(l->packet, packet.data, packet.len);
	l->packetlen = packet.len;
	l->unsynced = *position = s->filling;
	fake_raise(l, (int64_t)bk_be64_get(packet.data + 8));
	return (BK_OK);
}

uint64_t
store_force(struct store *s, int64_t ledger_id)
{
	struct fake_ledger *l = fake_find(ledger_id);

	(void)s;
	return (l != NULL ? fake_unsynced(l) : 0);
}

static inline int64_t
fake_last(const struct fake_ledger *l)
{
	int64_t last = -1;
	size_t i;

	for (i = 0; i < l->n; i++)
		if (l->entries[i].id > last)
			last = l->entries[i].id;
	return (last);
}

void
store_ledger(struct store *s, int64_t ledger_id, struct store_ledger *out)
{
	struct fake_ledger *l = fake_find(ledger_id);

	*out = (struct store_ledger){.last_entry = -1,
	    .lac = -1,
	    .in_doubt = s->in_doubt};
	if (l == NULL)
		return;
	out->known = true;
	out->fenced = l->fenced;
	out->last_entry = fake_last(l);
	out->lac = l->lac;
	out->has_explicit_lac = l->packetlen > 0;
	out->unsynced = fake_unsynced(l);
}

size_t
store_explicit_lac(struct store *s, int64_t ledger_id,
    uint8_t packet[BK_LAC_PACKET_MAX])
{
	struct fake_ledger *l = fake_find(ledger_id);

	(void)s;
	if (l == NULL)
		return (0);
	memcpy(packet, l->packet, l->packetlen);
	return (l->packetlen);
}

void
store_entry_release(struct store_entry *e)
{
	if (e->owner != NULL)
		fake.releases++;
	e->owner = NULL;
}

static inline void
fake_read(int64_t ledger_id, int64_t entry_id, struct store_entry *e)
{
	struct fake_ledger *l = fake_find(ledger_id);
	enum bk_status absent = fake.in_doubt ? BK_EUNKNOWNSTATE : BK_ENOENTRY;
	size_t i;

	*e = (struct store_entry){.status = absent};
	if (fake.broken)
		e->status = BK_EIO;
	else if (l == NULL && !fake.in_doubt)
		e->status = BK_ENOLEDGER;
	if (l == NULL || fake.broken)
		return;
	if (entry_id == -1)
		entry_id = fake_last(l);
	for (i = 0; i < l->n; i++) {
		if (l->entries[i].id != entry_id)
			continue;
		e->status = BK_OK;
		e->bytes.data = l->entries[i].data;
		e->bytes.len = l->entries[i].len;
		e->owner = l;
		fake.reads++;
		return;
	}
}

bool
store_read(struct store *s, int64_t ledger_id, int64_t entry_id, bool urgent,
    struct store_entry *entry, store_read_cb *cb, void *arg)
{
	size_t n = s->nwaiting;

	(void)urgent;
	if (!s->slow || n == FAKE_READS) {
		fake_read(ledger_id, entry_id, entry);
		return (true);
	}
	s->waiting[n].cb = cb;
	s->waiting[n].arg = arg;
	s->waiting[n].ledger_id = ledger_id;
	s->waiting[n].entry_id = entry_id;
	s->nwaiting++;
	return (false);
}

/* Every read that waits comes back, and those these lead to. */
static inline void
fake_reads_done(void)
{
	struct store_entry e;
	size_t i;

	for (i = 0; i < fake.nwaiting; i++) {
		fake_read(fake.waiting[i].ledger_id, fake.waiting[i].entry_id,
		    &e);
		fake.waiting[i].cb(fake.waiting[i].arg, &e);
	}
	fake.nwaiting = 0;
}

void
store_list(struct store *s, int64_t ledger_id, store_list_cb *cb, void *arg)
{
	struct fake_ledger *l = fake_find(ledger_id);
	struct store_run runs[FAKE_ENTRIES];
	size_t i;

	(void)s;
	if (l == NULL) {
		cb(arg, BK_ENOLEDGER, NULL, 0);
		return;
	}
	for (i = 0; i < l->n; i++)
		runs[i].first = runs[i].last = l->entries[i].id;
	cb(arg, BK_OK, runs, l->n);
}

bool
store_readonly(const struct store *s, const char **why)
{
	if (why != NULL)
		*why = "the test says so";
	return (s->readonly);
}

int
store_space(struct store *s, int64_t *total, int64_t *free_space)
{
	(void)s;
	*total = 1000000;
	*free_space = 400000;
	return (0);
}

static inline void
fake_fini(void)
{
	size_t i, k;

	for (i = 0; i < fake.n; i++)
		for (k = 0; k < fake.ledgers[i].n; k++)
			free(fake.ledgers[i].entries[k].data);
}

#endif
