/*
 * The store as the bookie's protocol uses it: keys, fences, duplicates, LACs,
 * lists, removal; in memory, after a flush, after a start.
 */
#include "t/lib/store_fixture.h"
#include "t/unit/tap.h"

#include <stdlib.h>

static enum bk_status
add_with_key(struct store_fixture *f, int64_t ledger_id, int64_t entry_id,
    const char *key)
{
	struct store_add add = {
	    .master_key = {(const uint8_t *)key, strlen(key)},
	};

	return (st_add_as(f, &add, ledger_id, entry_id, 10, 0));
}

static void
adds_and_reads(struct store_fixture *f)
{
	struct store_entry entry;
	struct store_ledger l;

	is_int(st_add(f, 1, 0), BK_OK, "an entry is added");
	is_int(st_check(f, 1, 0), BK_OK, "and read back");
	is_int(st_check(f, 1, 1), BK_ENOENTRY, "one after it is not there");
	is_int(st_check(f, 2, 0), BK_ENOLEDGER, "nor another ledger");
	is_int(st_add(f, 1, 7), BK_OK, "ids may have gaps");
	is_int(st_add(f, 1, 3), BK_OK, "and come in any order");
	entry = st_read(f, 1, -1);
	ok(entry.status == BK_OK && st_is_entry(entry.bytes, 1, 7, 100, 0),
	    "entry -1 is the one with the highest id");
	store_entry_release(&entry);
	store_ledger(f->store, 1, &l);
	ok(l.known && !l.fenced && !l.in_doubt, "the ledger is known");
	is_int(l.last_entry, 7, "its last entry is");
	is_int(l.lac, 6, "its LAC is the greatest seen");
	is_int(l.unsynced, 0, "everything of it is durable");
	is_str(st_list(f, 1), "0 3 7", "its entries are listed");
	is_str(st_list(f, 2), "ENOLEDGER", "an unknown one's are not");
}

static void
keys(struct store_fixture *f)
{
	is_int(add_with_key(f, 10, 0, "open"), BK_OK,
	    "a ledger begins with the key of its first add");
	is_int(add_with_key(f, 10, 1, "oper"), BK_EUA,
	    "another key is refused");
	is_int(add_with_key(f, 10, 1, "ope"), BK_EUA, "a shorter one too");
	is_int(add_with_key(f, 10, 1, ""), BK_EUA, "an empty one too");
	is_int(add_with_key(f, 10, 1, "open"), BK_OK, "the right one is not");
	is_int(add_with_key(f, 11, 0, ""), BK_OK, "a key may be empty");
	is_int(add_with_key(f, 11, 1, "x"), BK_EUA, "and then is compared");
	is_int(st_fence(f, 10), BK_EUA, "a fence needs the key");
}

static void
bad_requests(struct store_fixture *f)
{
	static uint8_t big[BK_ENTRY_MAX + 1];
	struct store_add add = {.master_key = st_key};
	uint64_t position;

	is_int(st_add(f, -1, 0), BK_EBADREQ, "a negative ledger id");
	is_int(st_add(f, 1, -1), BK_EBADREQ, "a negative entry id");
	add.entry = (struct bk_bytes){big, 23};
	is_int(store_add(f->store, &add, &position), BK_EBADREQ,
	    "an entry of 23 bytes");
	add.entry.len = sizeof(big);
	is_int(store_add(f->store, &add, &position), BK_EBADREQ,
	    "an entry over the limit");
	is_int(store_fence(f->store, -5, st_key, &position), BK_EBADREQ,
	    "a fence of a negative ledger id");
	is_int(st_add_as(f, &add, 20, 0, BK_ENTRY_MAX - 32, 1), BK_OK,
	    "an entry at the limit is taken");
}

static void
fences(struct store_fixture *f)
{
	struct store_ledger l;

	is_int(st_add(f, 30, 0), BK_OK, "a ledger is begun");
	is_int(st_fence(f, 30), BK_OK, "and fenced");
	ok(f->moved == 30 && f->moved_fenced, "which is told");
	is_int(st_fence(f, 30), BK_OK, "fencing again is no error");
	is_int(st_add(f, 30, 1), BK_EFENCED, "its writer is refused");
	is_int(add_with_key(f, 30, 1, "x"), BK_EUA, "the key is checked first");
	is_int(st_recovery_add(f, 30, 1), BK_OK, "a recovery is not");
	is_int(st_fence(f, 31), BK_OK, "an unknown ledger is fenced");
	store_ledger(f->store, 31, &l);
	ok(l.known && l.fenced, "and known from then on");
	is_int(st_check(f, 31, 0), BK_ENOENTRY, "it has no entry");
	is_int(st_check(f, 31, -1), BK_ENOENTRY, "not even a last one");
	is_int(st_add(f, 31, 0), BK_EFENCED, "and takes none");
	is_str(st_list(f, 31), "", "its list is empty");
}

/* Everything is put into the batch before anything is synced. */
static void
positions(struct store_fixture *f)
{
	uint8_t bytes[64];
	struct store_add add = {.master_key = st_key};
	struct store_add stranger = {.master_key = {bytes, 3}};
	struct store_ledger l;
	uint64_t first, again, wrong, fence, refused;

	add.entry = (struct bk_bytes){bytes, st_entry(bytes, 40, 0, -1, 20, 0)};
	stranger.entry = add.entry;
	is_int(store_add(f->store, &add, &first), BK_OK, "an add");
	ok(first > 0, "waits for its sync");
	is_int(store_add(f->store, &add, &again), BK_OK, "the same add again");
	is_int(again, first, "waits for the same");
	is_int(store_add(f->store, &stranger, &wrong), BK_EUA, "a wrong key");
	is_int(wrong, first, "is refused when the right one is durable");
	is_int(store_fence(f->store, 40, st_key, &fence), BK_OK, "a fence");
	ok(fence >= first, "waits for its own sync");
	bk_be64_put(bytes + 8, 1);
	is_int(store_add(f->store, &add, &refused), BK_EFENCED, "a fenced add");
	is_int(refused, fence, "is refused when the fence is durable");
	is_int(store_force(f->store, 40), fence, "force covers all of it");
	store_ledger(f->store, 40, &l);
	is_int(l.unsynced, fence, "which is what is told of the ledger");
	ok(st_wait(f, fence), "the sync comes");
	is_int(store_force(f->store, 40), 0, "then nothing is waited for");
	is_int(store_add(f->store, &add, &refused), BK_EFENCED, "as before");
	is_int(refused, 0, "and at once");
}

static void
duplicates(struct store_fixture *f)
{
	struct store_add add = {.master_key = st_key};
	struct store_entry entry;

	is_int(st_add(f, 50, 0), BK_OK, "an entry");
	is_int(st_add_as(f, &add, 50, 0, 100, 9), BK_OK,
	    "comes again with other bytes");
	entry = st_read(f, 50, 0);
	ok(st_is_entry(entry.bytes, 50, 0, 100, 0) ||
		st_is_entry(entry.bytes, 50, 0, 100, 9),
	    "one of them is read back whole");
	store_entry_release(&entry);
}

static enum bk_status
write_lac(struct store_fixture *f, int64_t ledger_id, int64_t lac)
{
	uint8_t packet[20] = {0};
	enum bk_status status;
	uint64_t position;

	bk_be64_put(packet, (uint64_t)ledger_id);
	bk_be64_put(packet + 8, (uint64_t)lac);
	status = store_write_lac(f->store, st_key,
	    (struct bk_bytes){packet, sizeof(packet)}, &position);
	return (st_wait(f, position) ? status : BK_ETIMEOUT);
}

static void
explicit_lacs(struct store_fixture *f)
{
	uint8_t packet[BK_LAC_PACKET_MAX];
	struct store_ledger l;
	uint64_t position;

	is_int(st_add(f, 60, 5), BK_OK, "a ledger");
	is_int(store_explicit_lac(f->store, 60, packet), 0, "without one");
	f->moved = -1;
	is_int(write_lac(f, 60, 5), BK_OK, "gets an explicit LAC");
	is_int(f->moved, 60, "which is told, as it rose");
	store_ledger(f->store, 60, &l);
	ok(l.has_explicit_lac && l.lac == 5, "and counts");
	is_int(store_explicit_lac(f->store, 60, packet), 20, "it is kept");
	is_int(write_lac(f, 60, 2), BK_OK, "a lower one");
	(void)store_explicit_lac(f->store, 60, packet);
	is_int((int64_t)bk_be64_get(packet + 8), 2, "replaces it");
	store_ledger(f->store, 60, &l);
	is_int(l.lac, 5, "but the LAC does not fall");
	is_int(write_lac(f, 61, 1), BK_OK, "an unknown ledger is created");
	store_ledger(f->store, 61, &l);
	ok(l.known && l.last_entry == -1 && l.lac == 1, "by its LAC");
	is_int(store_write_lac(f->store, st_key, (struct bk_bytes){packet, 15},
		   &position),
	    BK_EBADREQ, "a packet of 15 bytes");
	is_int(store_write_lac(f->store, (struct bk_bytes){packet, 2},
		   (struct bk_bytes){packet, 20}, &position),
	    BK_EUA, "a wrong key");
}

static void
far_lacs(struct store_fixture *f)
{
	struct store_ledger l;
	int64_t far = INT64_C(1) << 40;

	is_int(st_add(f, 70, 0), BK_OK, "a ledger with few entries here");
	is_int(write_lac(f, 70, far), BK_OK, "and a LAC far above them");
	store_ledger(f->store, 70, &l);
	is_int(l.lac, far, "has that LAC");
	is_int(st_add(f, 70, far + 1), BK_OK, "an entry far up");
	store_ledger(f->store, 70, &l);
	is_int(l.lac, far, "leaves it");
	is_int(l.last_entry, far + 1, "and is the last one");
}

static void
check_all(struct store_fixture *f, const char *when)
{
	struct store_entry entry;
	struct store_ledger l;
	uint8_t packet[BK_LAC_PACKET_MAX];

	is_int(st_check(f, 1, 3), BK_OK, "%s: an entry", when);
	is_int(st_check(f, 1, 4), BK_ENOENTRY, "%s: a gap", when);
	is_str(st_list(f, 1), "0 3 7", "%s: a list", when);
	is_int(add_with_key(f, 10, 2, "oper"), BK_EUA, "%s: a key", when);
	is_int(add_with_key(f, 11, 1, "x"), BK_EUA, "%s: an empty key", when);
	is_int(st_add(f, 30, 2), BK_EFENCED, "%s: a fence", when);
	is_int(st_add(f, 31, 0), BK_EFENCED, "%s: a fence alone", when);
	entry = st_read(f, 20, 0);
	ok(st_is_entry(entry.bytes, 20, 0, BK_ENTRY_MAX - 32, 1),
	    "%s: the largest entry", when);
	store_entry_release(&entry);
	store_ledger(f->store, 1, &l);
	ok(l.known && l.last_entry == 7 && l.lac == 6, "%s: last entry and LAC",
	    when);
	store_ledger(f->store, 60, &l);
	ok(l.has_explicit_lac && l.lac >= 4, "%s: explicit LAC", when);
	(void)store_explicit_lac(f->store, 60, packet);
	is_int((int64_t)bk_be64_get(packet + 8), 2, "%s: its packet", when);
	store_ledger(f->store, 70, &l);
	is_int(l.lac, INT64_C(1) << 40, "%s: a LAC far up", when);
}

static bool
has_id(struct store *s, int64_t id)
{
	int64_t *ids;
	size_t n;
	bool has = false;

	if (store_ledgers(s, &ids, &n) == -1)
		return (false);
	for (size_t i = 0; i < n; i++)
		has = has || ids[i] == id;
	free(ids);
	return (has);
}

static void
removal(struct store_fixture *f)
{
	uint64_t position;

	is_int(st_add(f, 80, 0), BK_OK, "a ledger that is flushed");
	st_reopen(f);
	is_int(st_add(f, 80, 1), BK_OK, "and goes on in memory");
	is_int(store_remove(f->store, 80), BK_OK, "is removed");
	ok(f->moved == 80 && f->moved_gone, "which is told");
	is_int(store_remove(f->store, 80), BK_ENOLEDGER, "only once");
	is_int(st_check(f, 80, 0), BK_ENOLEDGER, "nothing of it is read");
	is_str(st_list(f, 80), "ENOLEDGER", "or listed");
	ok(!has_id(f->store, 80), "it is not among the ledgers");
	is_int(add_with_key(f, 80, 5, "new"), BK_OK,
	    "a ledger of this id may begin, with another key");
	is_int(st_check(f, 80, 1), BK_ENOENTRY, "and is another one");
	is_str(st_list(f, 80), "5", "with its own entries");
	st_reopen(f);
	is_str(st_list(f, 80), "5", "also after a start");
	is_int(st_check(f, 80, 0), BK_ENOENTRY, "nothing comes back");
	is_int(st_fence(f, 30), BK_OK, "a fenced ledger");
	is_int(store_remove(f->store, 30), BK_OK, "is removed");
	is_int(st_add(f, 30, 9), BK_EFENCED, "adds are still refused");
	is_int(st_recovery_add(f, 30, 9), BK_EFENCED, "of any kind");
	is_int(store_fence(f->store, 30, st_key, &position), BK_ENOLEDGER,
	    "there is nothing to fence");
	is_int(st_check(f, 30, 0), BK_ENOLEDGER, "or to read");
	st_reopen(f);
	is_int(st_add(f, 30, 9), BK_EFENCED, "remembered after a start");
	is_int(st_check(f, 30, 0), BK_ENOLEDGER, "and still gone");
}

static void
readonly(struct store_fixture *f)
{
	struct store_add urgent = {.master_key = st_key, .high_priority = true};
	const char *why = "";

	ok(!store_readonly(f->store, &why), "the store is writable");
	store_set_readonly(f->store, true);
	ok(store_readonly(f->store, &why), "until the operator says so");
	is_int(st_add(f, 1, 8), BK_EREADONLY, "then adds are refused");
	is_int(write_lac(f, 60, 9), BK_EREADONLY, "and explicit LACs");
	is_int(st_add_as(f, &urgent, 1, 8, 10, 0), BK_OK,
	    "but not those of a recovery");
	is_int(st_fence(f, 1), BK_OK, "nor fences");
	is_int(st_check(f, 1, 0), BK_OK, "nor reads");
	store_set_readonly(f->store, false);
	is_int(st_add(f, 2, 0), BK_OK, "and it can be undone");
}

static void
in_use(struct store_fixture *f)
{
	struct store_fixture second = *f;

	second.store = NULL;
	is_int(st_open(&second), BK_ECONFIG,
	    "a directory in use is not opened again");
	ok(strstr(second.why, "in use by pid ") != NULL, "and says by whom");
}

int
main(void)
{
	struct store_fixture f;

	st_init(&f, 2);
	is_int(st_open(&f), BK_OK, "an empty store opens");
	adds_and_reads(&f);
	keys(&f);
	bad_requests(&f);
	fences(&f);
	positions(&f);
	duplicates(&f);
	explicit_lacs(&f);
	far_lacs(&f);
	check_all(&f, "in memory");
	st_reopen(&f);
	is_int(f.replay.batches, 0, "after a clean end nothing is replayed");
	check_all(&f, "after a start");
	removal(&f);
	readonly(&f);
	in_use(&f);
	ok(!f.has_failed, "nothing failed");
	st_fini(&f);
	return (tap_done());
}
