/*
 * meta.h - the metadata store, whichever it is: versioned nodes in a tree,
 * compare-and-set, multi, sequence numbers, ephemeral nodes tied to a session,
 * children, watches, sync. What ZooKeeper offers and no more
 * (design/meta.md 1). meta_zk.c and meta_lmdb.c stand behind it; the simulator
 * brings a third.
 *
 * Every call is asynchronous: it copies what it is given, and its callback
 * comes from the loop exactly once, in the order of the calls, never inside
 * the call. A call that fails at once (bad path, out of memory) reports that
 * through the callback too. Outstanding calls when the store is closed get
 * ECANCELED, before bk_meta_close() returns; nothing is called after it. Where
 * there is no memory even to note a call, its callback comes at once.
 *
 * A result of ESTORE means "unknown whether done"; the caller looks, never
 * guesses (spec/metadata.md 1.4). The face itself repeats only reads.
 *
 * Paths are absolute, UTF-8, no empty component, no "." or "..", no control
 * characters, at most BK_PATH_MAX bytes; data at most BK_NODE_MAX, and a multi
 * with all its paths too. What breaks this gets EINVAL or ETOOBIG, maybe ahead
 * of calls made earlier.
 */
#ifndef BK_META_H
#define BK_META_H

#include "base/buf.h"
#include "base/status.h"
#include "loop/loop.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define BK_PATH_MAX 500
#define BK_NODE_MAX 1000000
#define BK_ANY_VERSION (-1)

struct bk_meta;

enum bk_node_kind {
	BK_NODE_PERSISTENT,
	BK_NODE_EPHEMERAL,
	BK_NODE_SEQUENTIAL, /* persistent, ten digits appended */
	BK_NODE_EPHEMERAL_SEQUENTIAL,
};

/* Who may use a node (metadata.md, conventions). */
enum bk_node_acl {
	BK_ACL_CONF, /* open, or creator-all when credentials were given */
	BK_ACL_OPEN,
};

struct bk_node_stat {
	int32_t version;    /* of the data */
	int32_t cversion;   /* of the list of children */
	int64_t created_ms; /* wall clock, for people only */
	uint64_t owner;     /* session of an ephemeral node, else 0 */
	uint32_t nchildren;
};

/* What a callback gets; all of it dies when the callback returns. Fields that
 * do not belong to the call are zero. */
struct bk_meta_reply {
	const char *path;            /* create: the name really made */
	struct bk_bytes data;        /* get */
	struct bk_node_stat stat;    /* get, exists, set, children */
	const char *const *children; /* children: names, sorted by strcmp */
	size_t nchildren;
	size_t failed; /* multi: index of the op that failed */
};

typedef void bk_meta_cb(void *arg, enum bk_status status,
    const struct bk_meta_reply *reply);

enum bk_watch_event {
	BK_WATCH_CREATED,
	BK_WATCH_CHANGED,
	BK_WATCH_DELETED,
	BK_WATCH_CHILDREN,
	BK_WATCH_SESSION, /* the session ended: set the watch anew */
};

/* One-shot: called at most once per setting. */
typedef void bk_watch_cb(void *arg, enum bk_watch_event event,
    const char *path);

/* A watch to set with a read; fn NULL sets none. */
struct bk_watch {
	bk_watch_cb *fn;
	void *arg;
};
#define BK_NO_WATCH ((struct bk_watch){NULL, NULL})

enum bk_meta_state {
	BK_META_CONNECTING, /* not (or no longer) in touch; the session lives */
	BK_META_CONNECTED,
	BK_META_NEW_SESSION, /* connected with a fresh session: the ephemeral
	                       nodes and watches of the old one are gone */
	BK_META_FAILED, /* will not come back by itself; the reason tells */
};

/* State changes; reason is text for people ("connection refused", "the store
 * demands TLS"), status says what kind of failure it is. */
typedef void bk_meta_state_cb(void *arg, enum bk_meta_state state,
    enum bk_status status, const char *reason);

struct bk_meta_op {
	enum { BK_OP_CREATE, BK_OP_SET, BK_OP_DELETE, BK_OP_CHECK } kind;
	const char *path;
	struct bk_bytes data;   /* CREATE, SET */
	int32_t version;        /* SET, DELETE, CHECK */
	enum bk_node_kind node; /* CREATE: no sequential kinds */
	enum bk_node_acl acl;   /* CREATE */
};

struct bk_meta_ops {
	void (*close)(struct bk_meta *m);
	/* ENOENT etc. come as BK_ENONODE, BK_EEXIST, BK_EVERSION,
	 * BK_ENOTEMPTY, BK_EACCESS, BK_ESTORE, BK_ESESSION. */
	void (*create)(struct bk_meta *m, const char *path,
	    struct bk_bytes data, enum bk_node_kind kind, enum bk_node_acl acl,
	    bk_meta_cb *cb, void *arg);
	void (*get)(struct bk_meta *m, const char *path, struct bk_watch w,
	    bk_meta_cb *cb, void *arg);
	/* BK_OK with stat, or BK_ENONODE; the watch is set in both cases. */
	void (*exists)(struct bk_meta *m, const char *path, struct bk_watch w,
	    bk_meta_cb *cb, void *arg);
	void (*set)(struct bk_meta *m, const char *path, struct bk_bytes data,
	    int32_t version, bk_meta_cb *cb, void *arg);
	void (*remove)(struct bk_meta *m, const char *path, int32_t version,
	    bk_meta_cb *cb, void *arg);
	void (*children)(struct bk_meta *m, const char *path, struct bk_watch w,
	    bk_meta_cb *cb, void *arg);
	void (*multi)(struct bk_meta *m, const struct bk_meta_op *ops,
	    size_t nops, bk_meta_cb *cb, void *arg);
	/* Reads after its callback see all writes before its call. */
	void (*sync)(struct bk_meta *m, const char *path, bk_meta_cb *cb,
	    void *arg);
	/* Drop every watch set with this fn and arg. */
	void (*unwatch)(struct bk_meta *m, bk_watch_cb *fn, void *arg);
	uint64_t (*session)(struct bk_meta *m); /* 0 before the first */
	/* A pause before another try: BK_OK after delay ns, whatever else is
	 * outstanding. */
	void (*pause)(struct bk_meta *m, int64_t delay, bk_meta_cb *cb,
	    void *arg);
	/* The clock pauses go by: monotonic ns. */
	int64_t (*now)(struct bk_meta *m);
	/* Read every node and compare what is read with what the store says it
	 * holds: BK_OK or EBADMETA. NULL where a store does that by itself. */
	void (*verify)(struct bk_meta *m, bk_meta_cb *cb, void *arg);
};

/* The face calls through ops; a backend embeds this as its first member. */
struct bk_meta {
	const struct bk_meta_ops *ops;
	const char *kind;           /* "zookeeper", "embedded", "simulated" */
	bk_meta_state_cb *on_state; /* may be NULL */
	void *state_arg;
};

/* Where a cluster's metadata lives: a parsed BK_CLUSTER (cli.md 3.4). */
struct bk_cluster_uri {
	enum { BK_CLUSTER_ZK, BK_CLUSTER_LOCAL } kind;
	char *hosts;  /* zk: "h1:2181,h2:2181" */
	char *root;   /* zk: ledgers root, "/ledgers"; local: "/ledgers" */
	char *dir;    /* local: directory of the store */
	char *layout; /* zk+LAYOUT: "hierarchical", ...; NULL: not demanded */
};

/* Parse "zk://h1,h2:2181/ledgers", "zk+hierarchical://h1;h2/ledgers",
 * "local:DIR". Fills *why (static text) when it returns -1. Free with
 * bk_cluster_uri_fini(). */
int bk_cluster_uri_parse(const char *text, struct bk_cluster_uri *uri,
    const char **why);
void bk_cluster_uri_fini(struct bk_cluster_uri *uri);

struct bk_meta_config {
	int64_t session_timeout; /* ns; ZooKeeper only; default 10 s */
	int64_t connect_timeout; /* ns until FAILED when never connected */
	const char *auth_file;   /* ZooKeeper digest "user:password", or NULL */
	bool own_thread;         /* embedded: write from a helper thread
	                               (daemons); tools write in place */
	bool read_only;          /* embedded: open no session, only read */
	bool create;             /* embedded: make the store if missing */
	const char *label;       /* embedded: "host pid" text for messages */
};

/* Open the store named by uri. Returns at once; state changes and results
 * follow from the loop. on_state may be called before the first result. NULL
 * with *why (static or thread-local text) and *status when it cannot even
 * begin (bad directory, network file system, out of memory). */
struct bk_meta *bk_meta_open(struct bk_loop *loop,
    const struct bk_cluster_uri *uri, const struct bk_meta_config *config,
    bk_meta_state_cb *on_state, void *arg, enum bk_status *status,
    const char **why);
/* End the session (its ephemeral nodes go) and free. NULL is fine. */
void bk_meta_close(struct bk_meta *m);

/* Calls through ops, after checking paths and sizes. */
void bk_meta_create(struct bk_meta *m, const char *path, struct bk_bytes data,
    enum bk_node_kind kind, enum bk_node_acl acl, bk_meta_cb *cb, void *arg);
void bk_meta_get(struct bk_meta *m, const char *path, struct bk_watch w,
    bk_meta_cb *cb, void *arg);
void bk_meta_exists(struct bk_meta *m, const char *path, struct bk_watch w,
    bk_meta_cb *cb, void *arg);
void bk_meta_set(struct bk_meta *m, const char *path, struct bk_bytes data,
    int32_t version, bk_meta_cb *cb, void *arg);
void bk_meta_remove(struct bk_meta *m, const char *path, int32_t version,
    bk_meta_cb *cb, void *arg);
void bk_meta_children(struct bk_meta *m, const char *path, struct bk_watch w,
    bk_meta_cb *cb, void *arg);
void bk_meta_multi(struct bk_meta *m, const struct bk_meta_op *ops, size_t nops,
    bk_meta_cb *cb, void *arg);
void bk_meta_sync(struct bk_meta *m, const char *path, bk_meta_cb *cb,
    void *arg);
void bk_meta_unwatch(struct bk_meta *m, bk_watch_cb *fn, void *arg);
uint64_t bk_meta_session(struct bk_meta *m);
void bk_meta_pause(struct bk_meta *m, int64_t delay, bk_meta_cb *cb, void *arg);
int64_t bk_meta_now(struct bk_meta *m);
void bk_meta_verify(struct bk_meta *m, bk_meta_cb *cb, void *arg);

/* Whether a path keeps the rules above. */
bool bk_meta_path_valid(const char *path);

/* Create a node and its missing parents (persistent, empty), again in a loop
 * while parents vanish (metadata.md 1.3). */
void bk_meta_create_path(struct bk_meta *m, const char *path,
    struct bk_bytes data, enum bk_node_kind kind, enum bk_node_acl acl,
    bk_meta_cb *cb, void *arg);

#endif
