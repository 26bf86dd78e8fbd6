/*
 * ledger_tree.h - where ledgers lie in the store: ids, paths, listing, and the
 * compare-and-set of a record (spec/metadata.md 1, 2, 4).
 *
 * Callbacks come from the loop, once for each call; only ENOMEM may come at
 * once. The tree must stay until then. A write whose answer is lost (ESTORE,
 * ESESSION) is looked after and tried again, with growing pauses, for as long
 * as the tree is patient; a caller that gets ESTORE or ESESSION does not know
 * whether it was done. ECANCELED: the store was closed.
 */
#ifndef BK_LEDGER_TREE_H
#define BK_LEDGER_TREE_H

#include "meta/ledger_meta.h"
#include "meta/meta.h"

enum bk_layout {
	BK_LAYOUT_HIERARCHICAL, /* short below 2^31 - 1, else long */
	BK_LAYOUT_LONG,
	BK_LAYOUT_LEGACY, /* short only */
	BK_LAYOUT_FLAT,
};

/* A cluster's tree: the store, its root, its layout. Plain data. */
struct bk_tree {
	struct bk_meta *meta;
	char root[BK_PATH_MAX + 1];
	enum bk_layout layout;
	int64_t patience; /* ns a lost call is tried again; 0: 30 s */
};

/* Path of a ledger's node under root, and back. 0, or -1: an id that the layout
 * does not know (negative, over 31 bits), not the path of a ledger, too long;
 * the path is "" then, which the store refuses with EINVAL. */
int bk_ledger_path(const struct bk_tree *tree, int64_t ledger_id,
    char path[BK_PATH_MAX + 1]);
int bk_ledger_path_parse(const struct bk_tree *tree, const char *path,
    int64_t *ledger_id);

/* LAYOUT's text (1.2), static; and back, of versions 1 and 2: 0, or -1 for one
 * that names nothing we know. */
const char *bk_layout_text(enum bk_layout layout);
int bk_layout_parse(struct bk_bytes text, enum bk_layout *layout);
/* "hierarchical", "longhierarchical", "flat" as in a URI; -1 if unknown. */
int bk_layout_by_name(const char *name, enum bk_layout *layout);

typedef void bk_done_cb(void *arg, enum bk_status status);

/* Read LAYOUT, behind a sync, and settle tree->layout; when it is missing but
 * root exists, create it (demanded, or hierarchical). demanded_name NULL: take
 * what is there. A mismatch is ECONFIG, a missing root ENONODE, an unreadable
 * LAYOUT EBADMETA. tree->meta and root are set by the caller. */
void bk_tree_open(struct bk_tree *tree, const char *demanded_name,
    bk_done_cb *cb, void *arg);
/* Make a new cluster of tree->layout (1.5 initnewcluster): one multi of four
 * nodes, then LAYOUT. EEXIST when root exists. Parents of root are created. */
void bk_tree_init(struct bk_tree *tree, bk_done_cb *cb, void *arg);
/* INSTANCEID's text, or ENONODE. Valid during the callback. */
typedef void bk_text_cb(void *arg, enum bk_status status, const char *text);
void bk_tree_instance(const struct bk_tree *tree, bk_text_cb *cb, void *arg);

/* A new ledger id (2.2, 2.3); ETOOBIG when the layout's have run out. */
typedef void bk_id_cb(void *arg, enum bk_status status, int64_t id);
void bk_ledger_new_id(const struct bk_tree *tree, bk_id_cb *cb, void *arg);

/* Create the node of a ledger whose id is generated (ledger_id -1: again with a
 * new id on a clash) or chosen (EEXIST on a clash). A creation token is put
 * into the record, whatever m has, and tells our own first try after a lost
 * answer. The callback gets the id; the node's version is 0. m is copied. */
void bk_ledger_create_node(const struct bk_tree *tree, int64_t ledger_id,
    const struct bk_ledger_meta *m, bk_id_cb *cb, void *arg);

/* Read a record, with a watch on its node if wanted. m belongs to the callee
 * of the callback only during it (copy what you keep). ENOLEDGER when there is
 * no such node, EBADMETA when it cannot be read. */
typedef void bk_ledger_meta_cb(void *arg, enum bk_status status,
    const struct bk_ledger_meta *m, int32_t version);
void bk_ledger_read(const struct bk_tree *tree, int64_t ledger_id,
    struct bk_watch w, bk_ledger_meta_cb *cb, void *arg);

/*
 * The one update loop (4.1). Starting from the caller's record and version
 * (m NULL: read first), asks decide(); lost races and lost answers re-read and
 * ask again, the former without limit.
 *
 * decide(arg, m, status) has the same arg as the callback. It sees a private
 * copy, may change it, and returns
 *   BK_UPDATE_WRITE  write it by compare-and-set
 *   BK_UPDATE_DONE   nothing to do: success, adopt it as it is
 *   BK_UPDATE_STOP   give up; the callback gets what *status was set to
 * It must go by what the record says alone: after a lost answer that may be
 * what it wrote itself, which then has to be BK_UPDATE_DONE.
 *
 * The callback gets the record as stored, adopted or given up on, with its
 * version; NULL with any other error. ENOLEDGER: the node is gone.
 */
enum bk_update { BK_UPDATE_WRITE, BK_UPDATE_DONE, BK_UPDATE_STOP };
typedef enum bk_update bk_update_fn(void *arg, struct bk_ledger_meta *m,
    enum bk_status *status);
void bk_ledger_update(const struct bk_tree *tree, int64_t ledger_id,
    const struct bk_ledger_meta *m, int32_t version, bk_update_fn *decide,
    bk_ledger_meta_cb *cb, void *arg);

/* Delete a ledger's node, any version, and prune empty directories (2.5).
 * A missing node is success. */
void bk_ledger_remove(const struct bk_tree *tree, int64_t ledger_id,
    bk_done_cb *cb, void *arg);

/* Walk all ledgers that were there at the call, ascending. each() is called per
 * id, with the same arg as cb; false stops the walk (ECANCELED). Any error but
 * a vanished directory ends it with that error: a short listing must never
 * pass for a whole one (2.6). */
typedef bool bk_each_ledger_cb(void *arg, int64_t ledger_id);
void bk_ledger_walk(const struct bk_tree *tree, bk_each_ledger_cb *each,
    bk_done_cb *cb, void *arg);

#endif
