/*
 * mem_fixture.h - a tree over the store in memory, and calls made to the end:
 * what the unit tests of lib/meta share. A trace of all changes is kept, in
 * the form of t/data/peer/metadata.txt.
 */
#ifndef T_MEM_FIXTURE_H
#define T_MEM_FIXTURE_H

#include "meta/ledger_tree.h"
#include "t/sim/meta_mem.h"

struct fixture {
	struct mem_store *store;
	struct bk_tree tree; /* root "/ledgers", hierarchical */
	char **trace;        /* lines, ended by NULL */
	size_t ntrace;

	/* The last answer. */
	bool done;
	enum bk_status status;
	int64_t id;
	int32_t version;
	struct bk_ledger_meta m;
};

void fixture_init(struct fixture *f);
void fixture_fini(struct fixture *f);
/* Forget the trace. */
void fixture_clear(struct fixture *f);
/* Trace lines that begin with a text. */
size_t fixture_count(const struct fixture *f, const char *start);

/* Another client's tree on the same store. */
struct bk_tree fixture_tree(struct fixture *f);

/* Callbacks, with the fixture as arg. */
void fixture_on_done(void *arg, enum bk_status status);
void fixture_on_id(void *arg, enum bk_status status, int64_t id);
void fixture_on_meta(void *arg, enum bk_status status,
    const struct bk_ledger_meta *m, int32_t version);
void fixture_on_reply(void *arg, enum bk_status status,
    const struct bk_meta_reply *reply);

/* Run until one of these was called; its status. */
enum bk_status fixture_wait(struct fixture *f);

/* A record of one bookie, to be freed. */
void fixture_record(struct bk_ledger_meta *m);
/* Create a ledger of such a record, with a new id if it is -1. */
enum bk_status fixture_create(struct fixture *f, int64_t id);

/* Lose some calls: every call whose op and path match, up to a number. path
 * is a part of it. */
struct fixture_loss {
	const char *op;
	const char *path;
	int times;
	struct mem_plan plan;
};
/* l NULL: none. It must stay. */
void fixture_lose(struct fixture *f, struct fixture_loss *l);

#endif
