/* recover_impl.h - the inside of a recovery, for the files recover*.c. */
#ifndef BK_RECOVER_IMPL_H
#define BK_RECOVER_IMPL_H

#include "client/guard.h"
#include "client/lac.h"
#include "client/pipe.h"
#include "client/recover.h"
#include "client/unlock.h"

#define BK_RECOVER_TICK (100 * BK_MS)

/* One replica asked for one entry. */
struct bk_recover_ask {
	struct bk_recover_fetch *fetch;
	int position;
	uint64_t ticket; /* 0: not asked, or answered */
};

/* One entry that is looked for (recover_read.c). */
struct bk_recover_fetch {
	struct bk_recovery *rec;
	int64_t entry_id;
	enum bk_verdict verdict;
	struct bk_recover_ask *asks; /* Qw, in the order to ask */
	int asked;
	int answered;
	int positive;
	int negative;
	uint32_t tick;  /* of the last question */
	uint8_t *entry; /* PRESENT: packed anew, of malloc */
	size_t len;
	size_t payload;
	int64_t length; /* its length field */
};

enum bk_recover_phase {
	BK_RECOVER_MARK,  /* until IN_RECOVERY is there */
	BK_RECOVER_FENCE, /* until coverage */
	BK_RECOVER_FENCED,
	BK_RECOVER_READ,   /* until an entry is absent; re-adds go on */
	BK_RECOVER_ADD,    /* until the last re-add has its quorum */
	BK_RECOVER_LENGTH, /* asking for the length of entry lac0 */
	BK_RECOVER_CLOSE,  /* until CLOSED is there */
};

struct bk_recovery {
	struct bk_client *c;
	struct bk_guard *guard;
	int64_t ledger_id;
	struct bk_credential credential;
	bk_recover_cb *cb;
	void *arg;
	int64_t deadline;        /* of trying again */
	struct bk_timer *begin;  /* the first try, and each one after */
	struct bk_timer *step;   /* go on, from the loop */
	struct bk_timer *ticker; /* while entries are looked for */
	struct bk_timer *grace;

	/* One try; all of it is forgotten before the next. */
	enum bk_recover_phase phase;
	enum bk_status failure; /* ends the try */
	struct bk_unlocked ledger;
	struct bk_ledger_meta meta; /* as of IN_RECOVERY */
	struct bk_lac_query *fence;
	struct bk_lac_result found;
	int64_t lac0;

	struct bk_recover_fetch *ring;
	struct bk_recover_ask *asks;
	struct bk_peer **peers; /* of the last segment, by position */
	uint64_t silent;        /* positions that failed to answer */
	int64_t head, next;     /* entries looked for */
	size_t estimate;        /* bytes an entry may have */
	int64_t grace_for;      /* entry the grace runs for, or -1 */
	bool grace_over;
	uint32_t tick;
	bool ticking;

	struct bk_pipe pipe; /* re-adds */
	bool piping;
	int64_t length; /* of the last entry re-added */
	bool lingering;
	uint32_t linger_since;
	struct bk_segment *changed; /* ensembles in memory, by rising key */
	size_t nchanged;

	int length_asked; /* replicas asked for entry lac0 */
	uint64_t length_ticket;
	int64_t length_deadline;
};

/* recover.c */
/* Go on from the loop. */
void bk_recover_step(struct bk_recovery *rec);
/* The same, and this try has failed. */
void bk_recover_fail(struct bk_recovery *rec, enum bk_status status);
/* The end; not from within an event of a part. */
void bk_recover_finish(struct bk_recovery *rec, enum bk_status status,
    int64_t last_entry, int64_t length);
const struct bk_segment *bk_recover_last(const struct bk_recovery *rec);

/* recover_read.c */
int bk_recover_read_start(struct bk_recovery *rec);
void bk_recover_read_go_on(struct bk_recovery *rec);
void bk_recover_read_stop(struct bk_recovery *rec);
void bk_recover_ticked(void *arg);
void bk_recover_grace_over(void *arg);

/* recover_add.c */
int bk_recover_add_start(struct bk_recovery *rec);
/* Replace members that are down, if possible. */
void bk_recover_add_mend(struct bk_recovery *rec);
/* Whether all is at its quorum, and members that are slow had their time. */
bool bk_recover_add_done(struct bk_recovery *rec);
void bk_recover_add_stop(struct bk_recovery *rec);

/* recover_close.c */
void bk_recover_close(struct bk_recovery *rec);
void bk_recover_ask_length(struct bk_recovery *rec);

#endif
