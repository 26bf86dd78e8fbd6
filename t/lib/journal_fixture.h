/*
 * journal_fixture.h - a journal in a directory of its own, and what it said:
 * shared by the journal's unit tests. What cannot go on ends the test.
 */
#ifndef T_JOURNAL_FIXTURE_H
#define T_JOURNAL_FIXTURE_H

#include "bk-bookied/journal.h"
#include "bk-bookied/segment.h"

#include <limits.h>

enum { FIXTURE_DIRS = 3 };

struct journal_fixture {
	struct bk_loop *loop;
	char dirs[FIXTURE_DIRS][PATH_MAX];
	const char *dir_list[FIXTURE_DIRS];
	struct journal_config config; /* one directory, 64 KiB segments */

	/* After journal_fixture_open(). */
	enum bk_status status;
	const char *why;
	struct journal_found found;
	struct journal *journal;
	char **replayed; /* "KIND:first 40 bytes" */
	size_t nreplayed;

	/* Events since then. */
	bool event;
	uint64_t synced;
	int failures;
	int rooms;
};

/* Makes the directories under $TMPDIR; removed by _fini. */
void journal_fixture_init(struct journal_fixture *f);
void journal_fixture_fini(struct journal_fixture *f);
/* An empty directory in place of each. */
void journal_fixture_clear(struct journal_fixture *f);

/* Open, keeping what is replayed; f->status. */
enum bk_status journal_fixture_open(struct journal_fixture *f);
/* Close; its result. */
int journal_fixture_close(struct journal_fixture *f);

/* Append a text padded with its last byte to len bytes; the position or 0. */
uint64_t journal_fixture_put(struct journal_fixture *f, const char *text,
    size_t len);
/* The same, again and again until it is taken, then wait for its sync. */
uint64_t journal_fixture_add(struct journal_fixture *f, const char *text,
    size_t len);
/* End a turn and run the loop until the position is synced; false after
 * failed(), or 10 s. */
bool journal_fixture_wait(struct journal_fixture *f, uint64_t position);
/* Run the loop until there is an event. */
void journal_fixture_run(struct journal_fixture *f);

/* Segments in a directory, in order of epochs: to be freed with
 * segment_list_free(). */
void journal_fixture_segments(struct journal_fixture *f, size_t dir,
    struct segment_list *list);
/* The first segment with the batch of this number: its path, and where the
 * batch stands and how long it is, padded. False if there is none. */
bool journal_fixture_find(struct journal_fixture *f, uint64_t number,
    char path[PATH_MAX], uint64_t *offset, size_t *len);

#endif
