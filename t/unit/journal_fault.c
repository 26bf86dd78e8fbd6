/* journal_fault.c - a full disk, and calls that fail. */
#include "t/lib/disk_fault.h"
#include "t/lib/journal_fixture.h"
#include "t/unit/tap.h"

#include <errno.h>

#define ENTRY 30000
#define SEGMENTS 4 /* made in an empty directory: one in use, three ready */

/* Append until it is refused for another reason than "not yet"; that reason. */
static int
fill(struct journal_fixture *f)
{
	int i;

	for (i = 0; i < 1000; i++) {
		if (journal_fixture_add(f, "fill", ENTRY) == 0)
			return (errno);
	}
	return (0);
}

/* Append as soon as there is room. */
static void
insist(struct journal_fixture *f, const char *text, size_t len)
{
	while (journal_fixture_add(f, text, len) == 0)
		journal_fixture_run(f);
}

static uint64_t
fence(struct journal_fixture *f)
{
	struct bk_bytes bytes = {(const uint8_t *)"12345678", 8};

	return (journal_append(f->journal, JOURNAL_FENCE, &bytes, 1, true));
}

static void
test_no_space(struct journal_fixture *f)
{
	struct bk_bytes large = {(const uint8_t *)f->dirs[0], 0};
	size_t normal, i;
	uint64_t last = 0;

	(void)journal_fixture_open(f);
	(void)journal_fixture_add(f, "first", 5);
	disk_fault_arm(DISK_FILL, 0, -1, ENOSPC);
	is_int(fill(f), ENOSPC, "on a full disk, adds are refused");
	ok(journal_full(f->journal), "the journal says that it is full");
	for (i = 0; i < 20; i++)
		last = fence(f);
	ok(last != 0, "a fence is still taken");
	ok(journal_fixture_wait(f, last), "and made durable");
	large.data = (const uint8_t *)"recovered";
	large.len = 9;
	ok(journal_append(f->journal, JOURNAL_ENTRY, &large, 1, true) != 0,
	    "so is a recovery add");
	is_int(journal_fixture_put(f, "x", 1), 0, "but no small add");
	is_int(errno, ENOSPC, "for the same reason");
	(void)journal_fixture_close(f);

	is_int(journal_fixture_open(f), BK_OK, "it opens on a full disk");
	normal = f->nreplayed;
	ok(normal > 20, "with all that was accepted");
	while ((last = fence(f)) != 0 || errno == EAGAIN) {
		if (last != 0)
			(void)journal_fixture_wait(f, last);
		else
			journal_fixture_run(f);
	}
	printf("# last errno %d last synced %lu found %zu\n", errno, (unsigned long)f->synced, normal);
	is_int(errno, ENOSPC, "in the end fences are refused too");
	journal_fixture_close(f);
	is_int(journal_fixture_open(f), BK_OK, "it opens without any segment");
	ok(f->nreplayed > normal, "with all fences");

	journal_checkpoint(f->journal, journal_filling(f->journal) - 1);
	insist(f, "again", 5);
	ok(!journal_full(f->journal),
	    "a checkpoint makes room without any space");
	disk_fault_disarm();
	insist(f, "more", ENTRY);
	is_int(fill(f), 0, "and with space there is no end");
	(void)journal_fixture_close(f);
	journal_fixture_clear(f);
}

/* The write of a batch finds no space: not on blocks that are there, but on
 * file systems that allocate anew. */
static void
test_write_waits(struct journal_fixture *f)
{
	uint64_t position;

	(void)journal_fixture_open(f);
	disk_fault_arm(DISK_WRITE, 0, 2, ENOSPC);
	position = journal_fixture_put(f, "patience", 8);
	ok(journal_fixture_wait(f, position),
	    "a write that finds no space is made later");
	is_int(f->failures, 0, "that is no failure");
	disk_fault_arm(DISK_WRITE, 0, -1, ENOSPC);
	while (journal_fixture_put(f, "in vain", 7) == 0)
		journal_fixture_run(f);
	journal_turn_end(f->journal);
	is_int(journal_fixture_close(f), -1,
	    "closing says if it could not be made");
	disk_fault_disarm();
	(void)journal_fixture_open(f);
	is_int(f->nreplayed, 1, "then it is not there");
	(void)journal_fixture_close(f);
	journal_fixture_clear(f);
}

/* op of the next batch fails; many: by the thread. */
static void
test_failure(struct journal_fixture *f, enum disk_op op, bool many,
    const char *what)
{
	int i, made = disk_fault_count(DISK_SYNC_DIR);
	uint64_t before;

	(void)journal_fixture_open(f);
	before = journal_fixture_add(f, "before", 6);
	while (disk_fault_count(DISK_SYNC_DIR) < made + SEGMENTS)
		journal_fixture_run_for(f, BK_MS);
	disk_fault_arm(op, 0, 1, EIO);
	for (i = 0; i < (many ? 100 : 1); i++)
		(void)journal_fixture_put(f, "doubtful", 8);
	ok(!journal_fixture_wait(f, journal_filling(f->journal)),
	    "a failed %s syncs nothing", what);
	is_int(f->failures, 1, "it is told once");
	ok(strstr(f->why, "journal.") != NULL && strstr(f->why, what) != NULL &&
		strstr(f->why, "Input/output") != NULL,
	    "with its reason: %s", f->why);
	is_int(journal_fixture_put(f, "after", 5), 0, "nothing more is taken");
	is_int(errno, EIO, "after that");
	journal_turn_end(f->journal);
	is_int(journal_fixture_close(f), -1, "closing tells it again");
	is_int(f->synced, before, "the call is not tried again");
	is_int(f->failures, 1, "no other event came");
	disk_fault_disarm();
	is_int(journal_fixture_open(f), BK_OK, "the next start is fine");
	is_str(f->replayed[0], "1:before", "with what was acknowledged");
	(void)journal_fixture_close(f);
	journal_fixture_clear(f);
}

/* At the start, each call in turn. */
static void
test_start(struct journal_fixture *f, enum disk_op op, const char *what)
{
	int skip, failed = 0;

	for (skip = 0; skip < 20; skip++) {
		(void)journal_fixture_open(f);
		(void)journal_fixture_add(f, "kept", 4);
		(void)journal_fixture_close(f);
		disk_fault_arm(op, skip, 1, EIO);
		if (journal_fixture_open(f) != BK_OK)
			failed++;
		(void)journal_fixture_close(f);
		disk_fault_disarm();
		if (journal_fixture_open(f) != BK_OK || f->nreplayed != 1)
			break;
		journal_checkpoint(f->journal, journal_filling(f->journal) - 1);
		(void)journal_fixture_close(f);
	}
	is_int(skip, 20, "a %s that fails at the start harms nothing", what);
	ok(failed > 0, "and the start says so");
	journal_fixture_clear(f);
}

int
main(void)
{
	struct journal_fixture f;

	disk_fault_watch();
	journal_fixture_init(&f);
	test_no_space(&f);
	test_write_waits(&f);
	test_failure(&f, DISK_SYNC, false, "sync");
	test_failure(&f, DISK_SYNC, true, "sync");
	test_failure(&f, DISK_WRITE, false, "write");
	test_failure(&f, DISK_WRITE, true, "write");
	test_start(&f, DISK_WRITE, "write");
	test_start(&f, DISK_SYNC, "sync");
	test_start(&f, DISK_SYNC_DIR, "sync of the directory");
	test_start(&f, DISK_RENAME, "rename");
	journal_fixture_fini(&f);
	return (tap_done());
}
