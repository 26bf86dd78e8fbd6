/* reader_impl.h - the inside of a reader, for the files reader*.c. */
#ifndef BK_READER_IMPL_H
#define BK_READER_IMPL_H

#include "client/guard.h"
#include "client/lac.h"
#include "client/reader.h"
#include "client/unlock.h"
#include "client/watch.h"

/* A bookie this reader has to do with. */
struct bk_replica {
	SLIST_ENTRY(bk_replica) link;
	char *id;
	struct bk_peer *peer; /* NULL: the id is malformed */
	bool failing;         /* its last answer was none, or a real error, */
	uint32_t failed;      /* at this tick */
	uint32_t good;        /* tick of its last entry */
};

/* One replica asked for one entry. */
struct bk_ask {
	struct bk_fetch *fetch;
	struct bk_replica *replica;
	uint64_t ticket; /* 0: not asked, or answered */
};

/* One entry on its way (reader_fetch.c). */
struct bk_fetch {
	struct bk_reader *reader;
	enum { BK_FETCH_ASKING, BK_FETCH_HAVE, BK_FETCH_FAILED } state;
	int64_t entry_id;
	struct bk_ask *asks; /* in the order to ask */
	int nasks;
	int asked;
	int outstanding;
	enum bk_status status; /* FAILED: the most telling answer */
	uint32_t tick;         /* of the last question */
	uint8_t *copy;         /* HAVE: the entry, verified */
	struct bk_bytes payload;
	struct bk_entry_header header;
	struct bk_replica *from;
};

/* The read under way (reader_read.c). */
struct bk_range {
	bool active;
	bool paused;
	bool refreshing; /* reading the metadata for a failed entry */
	bool to_the_end; /* unconfirmed, as far as anyone has it */
	int64_t head;    /* next to deliver */
	int64_t next;    /* next to ask for */
	int64_t last;
	int64_t refreshed; /* entry the metadata was read for */
	size_t window;     /* entries */
	size_t window_bytes;
	size_t estimate; /* bytes an entry may have */
	struct bk_replica *only;
	bool unconfirmed;
	struct bk_fetch *ring; /* entry e at e modulo window */
	struct bk_ask *asks;
	enum bk_status status; /* not OK: it does not even begin */
	bk_entry_cb *each;
	bk_done_cb *done;
	void *arg;
};

/* One member of the last segment under long poll (reader_wait.c). */
struct bk_poll {
	struct bk_reader *reader;
	struct bk_replica *replica;
	uint64_t ticket;
	bool asking_lac; /* the ticket is of a READ_LAC */
	int64_t since;   /* when it was asked */
	bool later;      /* ask again at the next beat only */
	int64_t seen;    /* LAC it hinted at */
};

struct bk_follow {
	bool active;
	bool over; /* time is up */
	int64_t known;
	bk_done_cb *cb;
	void *arg;
	struct bk_poll *polls; /* of the last segment's members */
	int npolls;
	int32_t version; /* of the record they are taken from */
	int64_t pause;   /* until the next beat */
	bool beating;    /* there will be one */
	struct bk_timer *beat;
	struct bk_timer *deadline;
	bool deleted;
};

struct bk_one; /* bk_reader_read_from(), reader_one.c */

struct bk_reader {
	struct bk_client *c;
	struct bk_guard *guard;
	int64_t ledger_id;
	struct bk_ledger_meta meta;
	int32_t version;
	struct bk_quorum quorum;
	struct bk_digester digester;
	int64_t lac;
	bool closed;

	SLIST_HEAD(, bk_replica) replicas;
	struct bk_replica **ensemble; /* of the segment below */
	size_t ensemble_of;           /* SIZE_MAX: of none */
	unsigned preferred;           /* E = Qw: position asked first */

	struct bk_range range;
	struct bk_follow follow;
	LIST_HEAD(, bk_one) ones;
	struct bk_ledger_watch *watch;
	struct bk_timer *settle;
	struct bk_timer *ticker;
	bool ticking;
	uint32_t tick;
	unsigned calls; /* into the user that have not returned */
	bool freed;     /* in one of them: the memory goes with the last */

	/* While opening. */
	struct bk_credential credential;
	struct bk_lac_query *lac_query;
	bk_reader_cb *open_cb;
	void *open_arg;
	enum bk_status open_status;
};

/* reader.c */
/* Take a record that was read: segments, the end, the least LAC. Nothing older
 * than what is known. -1 when out of memory. */
int bk_reader_adopt(struct bk_reader *r, const struct bk_ledger_meta *m,
    int32_t version);
/* A LAC that a digest vouches for. */
void bk_reader_raise(struct bk_reader *r, int64_t lac);
void bk_reader_settle(struct bk_reader *r);
/* Around a call of the user, who may free the reader in it: leave tells
 * whether the reader is still of use. */
void bk_reader_enter(struct bk_reader *r);
bool bk_reader_leave(struct bk_reader *r);

/* reader_fetch.c */
struct bk_replica *bk_reader_replica(struct bk_reader *r, const char *id);
void bk_replicas_free(struct bk_reader *r);
/* Members of the segment of an entry, by position; NULL out of memory. */
struct bk_replica **bk_reader_ensemble(struct bk_reader *r, int64_t entry_id);
/* Start, or start over, asking for an entry; only NULL: any replica. */
void bk_fetch_start(struct bk_fetch *f, int64_t entry_id,
    struct bk_replica *only);
/* Ask one more replica if none has answered for long, or none is asked; it may
 * have FAILED after that. */
void bk_fetch_tick(struct bk_fetch *f);
/* Whether the ensemble of its entry is another than the one asked. */
bool bk_fetch_moved(struct bk_fetch *f);
void bk_fetch_drop(struct bk_fetch *f);

#define BK_READER_TICK (250 * BK_MS)
void bk_reader_wind(struct bk_reader *r);

/* reader_read.c: what came of a fetch. A whole entry is handed over with the
 * verified slices; they die with the call. */
void bk_range_have(struct bk_fetch *f, struct bk_bytes entry);
void bk_range_failed(struct bk_fetch *f);
void bk_range_settle(struct bk_reader *r);
void bk_range_tick(struct bk_reader *r);
void bk_range_stop(struct bk_reader *r);

/* reader_wait.c */
void bk_follow_settle(struct bk_reader *r);
void bk_follow_stop(struct bk_reader *r);

/* reader_one.c */
void bk_ones_free(struct bk_reader *r);

#endif
