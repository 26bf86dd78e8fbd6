/* journal.c - what is appended comes back; room, segments, directories. */
#include "bk-bookied/disk.h"
#include "t/lib/journal_fixture.h"
#include "t/unit/tap.h"

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

static size_t
count_segments(struct journal_fixture *f, size_t dir, uint64_t *bytes)
{
	struct segment_list list;
	struct segment *s;
	size_t n = 0;

	*bytes = 0;
	journal_fixture_segments(f, dir, &list);
	TAILQ_FOREACH(s, &list, link) {
		*bytes += s->size;
		n++;
	}
	segment_list_free(&list);
	return (n);
}

static void
test_empty(struct journal_fixture *f)
{
	is_int(journal_fixture_open(f), BK_OK,
	    "an empty directory is a journal");
	is_int(f->found.batches, 0, "with nothing in it");
	is_int(journal_synced(f->journal), 0, "nothing is synced");
	is_int(journal_filling(f->journal), 1, "the first batch will be 1");
	is_int(journal_fixture_close(f), 0, "it closes");
}

static void
test_records(struct journal_fixture *f)
{
	struct bk_bytes three[3] = {{(const uint8_t *)"a", 1}, {NULL, 0},
	    {(const uint8_t *)"bc", 2}};
	uint64_t position;

	(void)journal_fixture_open(f);
	position = journal_fixture_put(f, "one", 3);
	journal_turn_end(f->journal);
	is_int(f->synced, position,
	    "when idle, one record is durable as the turn ends");
	is_int(journal_fixture_add(f, "two", 3), position + 1,
	    "the next batch has the next position");
	position = journal_append(f->journal, JOURNAL_FENCE, three, 3, false);
	is_int(journal_fixture_put(f, "three", 5), position,
	    "records of one turn share a batch");
	is_int(journal_filling(f->journal), position, "it is the filling one");
	is_int(journal_append(f->journal, JOURNAL_LAC, NULL, 0, true), position,
	    "a record may be empty");
	ok(journal_fixture_wait(f, position), "they are synced");
	(void)journal_fixture_close(f);

	is_int(journal_fixture_open(f), BK_OK, "it opens again");
	is_int(f->found.batches, 3, "there are three batches");
	is_int(f->found.last, position, "up to the last");
	is_int(f->nreplayed, 5, "five records come back");
	is_str(f->replayed[0], "1:one", "the first");
	is_str(f->replayed[1], "1:two", "the second");
	is_str(f->replayed[2], "3:abc", "one in pieces, whole");
	is_str(f->replayed[3], "1:three", "in order");
	is_str(f->replayed[4], "4:", "an empty one");
	is_int(journal_synced(f->journal), position, "all that is durable");
	is_int(journal_fixture_add(f, "x", 1), position + 1,
	    "positions go on from there");
	(void)journal_fixture_close(f);
}

/* Many batches over many segments, some records cut in two. */
static void
test_many(struct journal_fixture *f)
{
	char text[32];
	uint64_t last = 0;
	bool grows = true, same = true;
	size_t i;

	(void)journal_fixture_open(f);
	for (i = 0; i < 1000; i++) {
		uint64_t position;

		(void)snprintf(text, sizeof(text), "%05zu", i);
		position = journal_fixture_add(f, text, 5 + i * 7 % 9000);
		grows = grows && position >= last;
		last = position;
	}
	ok(grows, "positions never fall");
	(void)journal_fixture_close(f);
	is_int(journal_fixture_open(f), BK_OK,
	    "a journal of many segments is replayed");
	is_int(f->nreplayed, 1000, "every record of it");
	for (i = 0; i < f->nreplayed; i++) {
		(void)snprintf(text, sizeof(text), "1:%05zu", i);
		same = same && strncmp(f->replayed[i], text, 7) == 0;
	}
	ok(same, "in order");
	ok(journal_live_bytes(f->journal) > 4000000, "replay reads all of it");
}

static void
test_checkpoint(struct journal_fixture *f)
{
	uint64_t bytes, half = f->found.last / 2, last = f->found.last;
	size_t before = count_segments(f, 0, &bytes), left;

	journal_checkpoint(f->journal, half);
	(void)journal_fixture_close(f);
	(void)journal_fixture_open(f);
	left = f->nreplayed;
	ok(f->found.first > 1 && f->found.first <= half + 1,
	    "a checkpoint lets older segments go, and no later ones");
	ok(count_segments(f, 0, &bytes) < before,
	    "spare ones beyond a few are removed");

	journal_checkpoint(f->journal, last);
	is_int(journal_fixture_close(f), 0, "after a checkpoint of everything");
	(void)journal_fixture_open(f);
	is_int(f->nreplayed, 0, "the journal is empty (not %zu)", left);
	ok(journal_filling(f->journal) > last, "positions do not repeat");
	ok(count_segments(f, 0, &bytes) <= 12, "a few segments stay");
	(void)journal_fixture_close(f);
}

/* An entry of 5 MB among segments of 64 KiB. */
static void
test_large(struct journal_fixture *f)
{
	struct bk_bytes big = {(const uint8_t *)"", JOURNAL_RECORD_MAX + 1};
	uint64_t first;

	(void)journal_fixture_open(f);
	is_int(journal_append(f->journal, JOURNAL_ENTRY, &big, 1, false), 0,
	    "a record over the limit is refused");
	is_int(errno, EMSGSIZE, "as such");
	first = journal_fixture_add(f, "before", 6);
	ok(journal_fixture_add(f, "large", 5 << 20) > first + 50,
	    "one of 5 MB goes over many segments");
	(void)journal_fixture_add(f, "after", 5);
	journal_checkpoint(f->journal, first + 1);
	(void)journal_fixture_close(f);
	is_int(journal_fixture_open(f), BK_OK, "they are replayed");
	is_int(f->nreplayed, 3,
	    "all three, since the large one has no part"
	    " before its last that could go");
	is_int(strncmp(f->replayed[1], "1:largeeee", 10), 0, "the large one");
	journal_checkpoint(f->journal, journal_filling(f->journal) - 1);
	(void)journal_fixture_close(f);
}

static void
test_dirs(struct journal_fixture *f)
{
	uint64_t a, b, c;
	size_t i;

	f->config.ndirs = 2;
	(void)journal_fixture_open(f);
	for (i = 0; i < 50; i++)
		(void)journal_fixture_add(f, "in two", 9000);
	(void)journal_fixture_close(f);
	ok(count_segments(f, 0, &a) > 2 && count_segments(f, 1, &b) > 2,
	    "with two directories, segments are in both");
	f->config.ndirs = 3;
	is_int(journal_fixture_open(f), BK_OK, "a third directory is added");
	is_int(f->nreplayed, 50, "all is replayed");
	for (i = 0; i < 50; i++)
		(void)journal_fixture_add(f, "in three", 9000);
	(void)journal_fixture_close(f);
	ok(count_segments(f, 2, &c) > 2, "it gets segments");
	is_int(journal_fixture_open(f), BK_OK, "three are replayed");
	is_int(f->nreplayed, 100, "in one order");
	is_str(strncmp(f->replayed[0], "1:in two", 8) == 0 ? "two" : "three",
	    "two", "of the batches");
	(void)journal_fixture_close(f);

	f->config.ndirs = 1;
	is_int(journal_fixture_open(f), BK_EDAMAGE,
	    "without one of them, batches are missing");
	ok(strstr(f->why, "missing") != NULL, "and it says so: %s", f->why);
	f->dir_list[1] = "/nonexistent";
	f->config.ndirs = 2;
	is_int(journal_fixture_open(f), BK_ESYS,
	    "a directory that is not there is an error");
	ok(strstr(f->why, "/nonexistent") != NULL, "that names it");
	f->dir_list[1] = f->dir_list[0];
	is_int(journal_fixture_open(f), BK_ECONFIG,
	    "so is one that is named twice");
	f->dir_list[1] = f->dirs[1];
	f->config.ndirs = 1;
}

/* Sizes begin small and double. */
static void
test_growth(struct journal_fixture *f)
{
	uint64_t bytes;
	size_t i;

	f->config.segment_max = 512 * 1024;
	(void)journal_fixture_open(f);
	for (i = 0; i < 60; i++)
		(void)journal_fixture_add(f, "grow", 60000);
	(void)count_segments(f, 0, &bytes);
	ok(bytes > 60 * 60000, "segments hold what was written");
	journal_checkpoint(f->journal, journal_filling(f->journal) - 1);
	for (i = 0; i < 60; i++)
		(void)journal_fixture_add(f, "grow", 60000);
	(void)journal_fixture_close(f);
	ok(count_segments(f, 0, &bytes) < 30 && bytes > 10 * 512 * 1024,
	    "and grow with the load, the small ones going");
	f->config.segment_max = 64 * 1024;
}

int
main(void)
{
	struct journal_fixture f;

	journal_fixture_init(&f);
	test_empty(&f);
	test_records(&f);
	journal_fixture_clear(&f);
	test_many(&f);
	test_checkpoint(&f);
	journal_fixture_clear(&f);
	test_large(&f);
	journal_fixture_clear(&f);
	test_dirs(&f);
	journal_fixture_clear(&f);
	test_growth(&f);
	journal_fixture_fini(&f);
	return (tap_done());
}
