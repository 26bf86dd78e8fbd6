/*
 * registry.h - bookies in the store: registration payloads, the lists of
 * writable and read-only bookies, cookies (spec/metadata.md 5, 6.1).
 */
#ifndef BK_REGISTRY_H
#define BK_REGISTRY_H

#include "meta/ledger_tree.h"

/* What a registration says (5.2). */
struct bk_endpoint {
	char id[64];       /* "bookie" */
	char protocol[32]; /* "bookie-rpc" */
	char host[1024];   /* name, address, or the path of a Unix socket when
	                       protocol is "bookie-unix" (ours, embedded store) */
	uint16_t port;
};
#define BK_ENDPOINTS_MAX 8

struct bk_service_info {
	struct bk_endpoint endpoints[BK_ENDPOINTS_MAX];
	size_t nendpoints;
	/* Properties we understand; Java keeps what it does not know. */
	int64_t pid;    /* property "pid" on the embedded store; 0 unknown */
	char rack[128]; /* property "rack": network location; "" unknown */
};

/* Encode, appended; decode ("" means: parse the id as host:port). BK_OK or
 * BK_EBADMETA. */
int bk_service_info_encode(const struct bk_service_info *info,
    struct bk_buf *out);
enum bk_status bk_service_info_decode(struct bk_bytes data,
    const char *bookie_id, struct bk_service_info *info);
/* The endpoint a client connects to: first "bookie-unix" that exists on this
 * host (embedded), else first "bookie-rpc"; NULL if none. */
const struct bk_endpoint *bk_service_endpoint(
    const struct bk_service_info *info);

/* Cookie text (5.5), identical in the store and in VERSION files. */
struct bk_cookie {
	int layout_version; /* 5 when written by us */
	char *bookie_id;
	char *journal_dirs; /* joined by "," */
	char *ledger_dirs;  /* "N\tDIR\tDIR" with real TABs */
	char *index_dirs;   /* the same, or NULL */
	char *instance_id;  /* or NULL */
};
void bk_cookie_fini(struct bk_cookie *c);
/* Appended, always in version 5; 0, or -1 with errno ENOMEM. */
int bk_cookie_encode(const struct bk_cookie *c, struct bk_buf *out);
/* Into an uninitialised c; BK_OK, BK_EBADMETA or BK_ENOMEM. Versions 3 (lines)
 * and from 4 on (text of a message). c is to be freed with bk_cookie_fini()
 * only when it is BK_OK. */
enum bk_status bk_cookie_decode(struct bk_bytes text, struct bk_cookie *c);
/* Whether the stored one is of the same bookie, directories and cluster (5.6
 * Match); *why names the field that differs. */
bool bk_cookie_matches(const struct bk_cookie *stored,
    const struct bk_cookie *ours, const char **why);

/* The cookie's node as the store has it; ENONODE when there is none. */
void bk_cookie_read(const struct bk_tree *tree, const char *bookie_id,
    bk_meta_cb *cb, void *arg);
/* Create it and the list of cookies; EEXIST when there is one already. */
void bk_cookie_create(const struct bk_tree *tree, const char *bookie_id,
    struct bk_bytes text, bk_done_cb *cb, void *arg);

/*
 * The bookies as a client knows them: both lists watched, service info cached
 * (6.1). One per program.
 */
struct bk_registry;

struct bk_bookie_info {
	const char *id;
	bool writable;                         /* in the writable list */
	bool readonly;                         /* in the read-only list */
	const struct bk_service_info *service; /* NULL when not readable */
};

/* Start watching. ready(status) is called once, when both lists and all
 * service infos have been read the first time, or with the error that kept
 * the writable list from being read: ENONODE where there is no cluster. It goes
 * on watching in any case. changed() after every later change, once for all
 * that come together; may be NULL. NULL when out of memory. Names that cannot
 * be bookies are passed over, unreadable service infos are NULL. */
struct bk_registry *bk_registry_new(const struct bk_tree *tree,
    bk_done_cb *ready, void (*changed)(void *arg), void *arg);
/* No callback after this. To be called before the store is closed; NULL is
 * fine. */
void bk_registry_free(struct bk_registry *r);
/* Known (registered) bookies, sorted by id; valid until the loop turns. */
size_t bk_registry_count(const struct bk_registry *r);
const struct bk_bookie_info *bk_registry_at(const struct bk_registry *r,
    size_t index);
const struct bk_bookie_info *bk_registry_find(const struct bk_registry *r,
    const char *bookie_id);

/* A bookie's own registration, kept alive over session loss (5.3). */
struct bk_registration;
/* Register; state() is told BK_OK each time the node stands, EEXIST when it is
 * a predecessor's, whose end is waited for while serving (design/bookie.md 6),
 * or the error that made it give up (ENONODE: no such cluster). The node is
 * made anew when somebody deletes it. The payload is copied. NULL when out of
 * memory. */
struct bk_registration *bk_registration_new(const struct bk_tree *tree,
    const char *bookie_id, struct bk_bytes payload, bool readonly,
    bk_done_cb *state, void *arg);
/* Switch list: create in the new one, then delete from the old one. */
void bk_registration_mode(struct bk_registration *r, bool readonly);
/* The store has a new session (BK_META_NEW_SESSION): register again. */
void bk_registration_renew(struct bk_registration *r);
/* Delete what this session put into the lists, then call done (may be NULL);
 * the registration is freed. done may come at once, as it does for NULL. To be
 * called before the store is closed, which ends it with ECANCELED. */
void bk_registration_free(struct bk_registration *r, bk_done_cb *done,
    void *arg);

#endif
