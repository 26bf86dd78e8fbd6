/*
 * store_fixture.h - a bookie's store in a directory of its own, on a loop, with
 * calls that wait for their outcome.
 */
#ifndef STORE_FIXTURE_H
#define STORE_FIXTURE_H

#include "bk-bookied/store.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ST_PATH 128
#define ST_DIRS 4

struct store_fixture {
	struct bk_loop *loop;
	struct store *store;        /* NULL while closed */
	struct store_config config; /* to be changed before opening */
	char root[ST_PATH];
	char paths[ST_DIRS][ST_PATH];
	const char *journal_dirs[1];
	const char *ledger_dirs[ST_DIRS - 1];
	struct store_replay replay; /* of the last open */
	const char *why;
	/* What events told. */
	uint64_t synced;
	bool has_room;
	bool has_failed;
	bool is_readonly;
	unsigned nmodes;
	int64_t moved; /* ledger, last */
	bool moved_fenced, moved_gone;
};

/* A new temporary directory with a journal and nledger_dirs for ledgers; ends
 * the test if there is none. */
void st_init(struct store_fixture *f, size_t nledger_dirs);
/* Close if open, and remove everything. */
void st_fini(struct store_fixture *f);
enum bk_status st_open(struct store_fixture *f);
void st_close(struct store_fixture *f);
/* Close and open: ends the test if that fails. */
void st_reopen(struct store_fixture *f);

/* Run the loop until the position is synced (0: at once). False if the store
 * failed, or after some seconds. */
bool st_wait(struct store_fixture *f, uint64_t position);
/* Run the loop until *done, at most some seconds. */
bool st_until(struct store_fixture *f, const bool *done);
/* Let the loop turn for so long. */
void st_turn(struct store_fixture *f, int64_t ns);

/* An entry: header with this LAC, no digest, then len bytes that depend on
 * ledger, entry and seed. Returns its size; out has room for it. */
size_t st_entry(uint8_t *out, int64_t ledger_id, int64_t entry_id, int64_t lac,
    size_t len, unsigned seed);
/* Whether these bytes are that entry. */
bool st_is_entry(struct bk_bytes bytes, int64_t ledger_id, int64_t entry_id,
    size_t len, unsigned seed);

/* Key of all ledgers unless a test says otherwise. */
extern const struct bk_bytes st_key;

/* Add an entry of 100 bytes with seed 0, and LAC entry_id - 1; waits for room
 * and for the sync. */
enum bk_status st_add(struct store_fixture *f, int64_t ledger_id,
    int64_t entry_id);
enum bk_status st_recovery_add(struct store_fixture *f, int64_t ledger_id,
    int64_t entry_id);
enum bk_status st_add_as(struct store_fixture *f, struct store_add *add,
    int64_t ledger_id, int64_t entry_id, size_t len, unsigned seed);
enum bk_status st_fence(struct store_fixture *f, int64_t ledger_id);
/* Read, and wait for it; to be released. */
struct store_entry st_read(struct store_fixture *f, int64_t ledger_id,
    int64_t entry_id);
/* Read, compare with an entry of st_add(), release. The status, or EDIGEST
 * if it was another entry. */
enum bk_status st_check(struct store_fixture *f, int64_t ledger_id,
    int64_t entry_id);
/* Ids of a ledger's entries as "0-3 5 8-9"; "ENOLEDGER" and so on. Static. */
const char *st_list(struct store_fixture *f, int64_t ledger_id);

/* Files in the ledger directories whose names end so. */
size_t st_files(const struct store_fixture *f, const char *suffix);
/* Change one byte in the i-th of them, in order of names, at this offset. */
bool st_damage(const struct store_fixture *f, const char *suffix, size_t i,
    long offset);
bool st_remove(const struct store_fixture *f, const char *suffix, size_t i);

#endif
