/*
 * name.h - names: a word that stands for a chain of ledgers, so that people
 * can write to the same thing again tomorrow (design/meta.md 5).
 *
 * A name has one writer at a time, its holder. Only the last ledger of its
 * chain is ever open. Writing goes through a struct bk_name_writer, which
 * opens, rolls and closes ledgers behind one numbering of entries; reading
 * through a struct bk_name_reader, which walks the ledgers in order.
 */
#ifndef BK_NAME_H
#define BK_NAME_H

#include "client/reader.h"
#include "client/writer.h"
#include "meta/chain.h"

/* Writing. */

struct bk_name_params {
	const char *name;
	struct bk_ledger_params ledger; /* for each ledger of the chain; quorum
	                                    sizes 0: the name's, or the
	                                    client's default for a new name */
	bool fence;         /* take over from a holder that still lives */
	int64_t roll_bytes; /* payload per ledger; 0: the name's, or none */
	int64_t roll_age;   /* ns per ledger; 0 likewise */
};

struct bk_name_writer;

struct bk_name_events {
	/* All entries up to this one are acknowledged: the last one's ledger
	 * and entry id; called in order, at least once per ledger. */
	void (*acked)(void *arg, int64_t ledger_id, int64_t entry_id);
	void (*room)(void *arg);
	void (*failed)(void *arg, enum bk_status status);
	void (*replaced)(void *arg, const char *lost, const char *spare,
	    int64_t entry);
};

/* EHELD: holder tells who ("host pid 123"). */
typedef void bk_name_writer_cb(void *arg, enum bk_status status,
    const char *holder, struct bk_name_writer *w);

/* Open a name to write: make it if missing, become its holder, recover and
 * close its last ledger if that is open, append a fresh ledger. Everything in
 * params and events is copied. */
void bk_name_writer_open(struct bk_client *c,
    const struct bk_name_params *params, const struct bk_name_events *events,
    void *arg, bk_name_writer_cb *cb, void *cb_arg);
/* As bk_writer_add(), into the ledger in progress; -1 EAGAIN also while the
 * chain rolls. */
int bk_name_writer_add(struct bk_name_writer *w, const void *payload,
    size_t len, int64_t *ledger_id, int64_t *entry_id);
/* Wait for what is in flight, close the ledger, mark the chain ended, let the
 * holder go. The writer stays until freed. */
void bk_name_writer_close(struct bk_name_writer *w, bk_done_cb *cb, void *arg);
void bk_name_writer_free(struct bk_name_writer *w);
const struct bk_chain *bk_name_writer_chain(const struct bk_name_writer *w);

/* Reading. */

struct bk_name_reader;

/* One ledger of a chain, for the one who reads: its place and id. */
struct bk_name_place {
	uint64_t position;
	int64_t ledger_id;
};

typedef void bk_name_reader_cb(void *arg, enum bk_status status,
    struct bk_name_reader *r);
/* Look a name up and read its chain; ENOLEDGER when there is no such name. */
void bk_name_reader_open(struct bk_client *c, const char *name,
    bk_name_reader_cb *cb, void *arg);
void bk_name_reader_free(struct bk_name_reader *r);
const struct bk_chain *bk_name_reader_chain(const struct bk_name_reader *r);

/* The ledger at the first position >= position that the chain still holds.
 * ENOENTRY: the chain has none there (yet). */
typedef void bk_name_place_cb(void *arg, enum bk_status status,
    const struct bk_name_place *place);
void bk_name_reader_at(struct bk_name_reader *r, uint64_t position,
    bk_name_place_cb *cb, void *arg);
/* Call cb once when the chain has changed since it was last read (a roll, its
 * end, a truncation), with the fresh chain read; ECANCELED never. One wait at
 * a time; a second call replaces the first. */
void bk_name_reader_wait(struct bk_name_reader *r, bk_done_cb *cb, void *arg);

/* Changing. */

/* Drop the ledgers before position from the chain, then delete them; never the
 * last one. */
void bk_name_truncate(struct bk_client *c, const char *name, uint64_t position,
    bk_done_cb *cb, void *arg);
/* Delete a name and its ledgers, leaving the chain node as a tombstone.
 * EHELD while a holder lives. */
void bk_name_delete(struct bk_client *c, const char *name, bk_done_cb *cb,
    void *arg);
/* Change a name's settings (quorums, rolls, keep rules) by compare-and-set;
 * fields of -1 stay as they are. */
void bk_name_set(struct bk_client *c, const char *name,
    const struct bk_chain *settings, bk_done_cb *cb, void *arg);

/* All names, sorted; the array lives until the callback returns. */
typedef void bk_names_cb(void *arg, enum bk_status status,
    const char *const *names, size_t n);
void bk_names_list(struct bk_client *c, bk_names_cb *cb, void *arg);

/*
 * Who holds a name: "host pid boot-id start-time pid-namespace nonce". The text
 * of this process, with a nonce that tells its own holds apart; and whether a
 * holder's text is of a process of this host that is proven dead (another boot,
 * no such pid, or a pid of another start time).
 */
void bk_holder_self(uint64_t nonce, char out[128]);
bool bk_holder_dead(const char *holder);

#endif
