/*
 * call.h - the library's asynchronous calls, waited for: a command does one
 * thing after the other. All run the session's loop until the answer is there.
 */
#ifndef LEDGER_CALL_H
#define LEDGER_CALL_H

#include "client/name.h"
#include "tool/session.h"

/* What of a cluster a command needs. */
enum call_need {
	CALL_STORE,   /* the metadata store */
	CALL_BOOKIES, /* and who the bookies are, as it stands */
	CALL_ANSWERS, /* and that some run: local ones are started */
	CALL_WRITES,  /* and that all run; a missing local store is made */
};

/* Open the session named by the common options; exits with a clear line when
 * that fails. NULL: there is no local store yet, so there is nothing. */
struct bk_session *call_open(enum call_need need);
/* What a command says of its operands when there is nothing: each is no such
 * ledger (66); without operands that is fine. */
int call_nothing(int noperands, char **operands);

/* A command's operand: a ledger's id, or a name. */
struct target {
	const char *text;
	bool is_name;
	int64_t ledger_id;
};
/* Exits 64 on what is neither. */
struct target call_target(const char *operand);

/* BK_OK fills m (the caller's to fini) and *version. */
enum bk_status call_read(struct bk_session *s, int64_t ledger_id,
    struct bk_ledger_meta *m, int32_t *version);
/* Recover and close; the end as closed. password NULL: the stored one. */
enum bk_status call_recover(struct bk_session *s, int64_t ledger_id,
    const struct bk_password *password, int64_t *last, int64_t *length);
enum bk_status call_remove(struct bk_session *s, int64_t ledger_id);
/* A name's chain. ENOLEDGER when there is no such name. */
enum bk_status call_chain(struct bk_session *s, const char *name,
    struct bk_chain *chain);
/* The ledgers of a name, oldest first; *places is the caller's to free. */
enum bk_status call_places(struct bk_session *s, const char *name,
    struct bk_name_place **places, size_t *n);
/* The chain a ledger's custom metadata names; -1 if none. */
int64_t call_chain_id(const struct bk_ledger_meta *m);
/* The name whose chain has this id, or NULL; the first call reads all names.
 * Lives as long as the session. */
const char *call_chain_name(struct bk_session *s, int64_t chain_id);
/* The name that holds a ledger, or NULL: its custom metadata names a chain
 * that still has it. */
const char *call_owner(struct bk_session *s, int64_t ledger_id,
    const struct bk_ledger_meta *m);
/* All ledger ids, ascending; the caller's to free. */
enum bk_status call_walk(struct bk_session *s, int64_t **ids, size_t *n);
/* A node's data as text, at most len - 1 bytes. */
enum bk_status call_get(struct bk_session *s, const char *path, char *out,
    size_t len);

/* For calls that end in a bk_done_cb: begin with call_wait(), hand over
 * call_done and &w, then take call_result(). */
struct call_wait {
	struct bk_session *session;
	bool done;
	enum bk_status status;
};
void call_done(void *arg, enum bk_status status);
enum bk_status call_result(struct call_wait *w);

#endif
