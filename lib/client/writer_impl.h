/* writer_impl.h - the inside of a writer, for the files writer*.c. */
#ifndef BK_WRITER_IMPL_H
#define BK_WRITER_IMPL_H

#include "client/guard.h"
#include "client/pipe.h"
#include "client/watch.h"
#include "client/writer.h"

/* An ensemble change (writer_change.c). */
struct bk_change {
	bool running;   /* a call to the store is under way */
	bool unknown;   /* the last one had no answer: it may be done */
	uint32_t again; /* unknown: tick of the next try */
	int64_t first;  /* key of the segment to come: LAC + 1 */
	char **lost;    /* by position; NULL: stays */
	char **spare;
};

struct bk_lac_push;

struct bk_writer {
	LIST_ENTRY(bk_writer) link;
	struct bk_client *c;
	struct bk_guard *guard;
	int64_t ledger_id;
	struct bk_ledger_meta meta;
	int32_t version;
	struct bk_digester digester;
	struct bk_pipe pipe;
	struct bk_ledger_watch *watch;
	struct bk_change change;

	struct bk_writer_events events;
	void *arg;
	struct bk_timer *settle; /* tells the user, once a turn */
	bool settling;           /* the user is being told */
	bool freed;              /* in there: the memory goes afterwards */
	int64_t length;          /* payload bytes of all ids given */
	int64_t told;            /* last entry acked() was called for */
	enum bk_status status;   /* the failure, or BK_OK */
	bool told_failed;
	bool want_room;

	int64_t shared;   /* LAC that bookies know of */
	int64_t lac_sent; /* or about to be */
	int lac_stored;   /* answers to it */
	struct bk_lac_push *pushes;
	struct bk_timer *idle;

	bool closing; /* no more adds */
	bool close_running;
	bool closed;        /* by us, in the metadata */
	uint32_t closed_at; /* tick */
	bool close_ended;   /* close_status is what to tell */
	enum bk_status close_status;
	bk_done_cb *close_cb;
	void *close_arg;
};

/* The end of a writer by an error; the first one counts. */
void bk_writer_fail(struct bk_writer *w, enum bk_status status);
/* Have the user told at the end of the turn. */
void bk_writer_settle(struct bk_writer *w);
/* Make m the metadata; its last segment is the ensemble from now on. */
void bk_writer_adopt_meta(struct bk_writer *w, const struct bk_ledger_meta *m,
    int32_t version);
/* What a record read or about to be changed means for the writer: BK_OK when
 * it is open and ours (9, D4). */
enum bk_status bk_writer_judge(const struct bk_writer *w,
    const struct bk_ledger_meta *m);

/* writer_change.c */
void bk_writer_lost(void *arg);
void bk_writer_tick(void *arg);
void bk_writer_bookies_changed(struct bk_writer *w);
void bk_change_fini(struct bk_writer *w);

/* writer_lac.c */
int bk_writer_lac_init(struct bk_writer *w);
void bk_writer_lac_fini(struct bk_writer *w);
/* Have readers told of the LAC if nothing else tells them. */
void bk_writer_share_lac(struct bk_writer *w);

/* writer_close.c: go on with a close, if it is time. */
void bk_writer_close_step(struct bk_writer *w);

#endif
