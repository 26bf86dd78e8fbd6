/* meta_stores.h - the stores behind the face (meta.h tells the rules). */
#ifndef BK_META_STORES_H
#define BK_META_STORES_H

#include "meta/meta.h"

/* As bk_meta_open(), which fills in the face's part. */
struct bk_meta *bk_meta_zk_open(struct bk_loop *loop,
    const struct bk_cluster_uri *uri, const struct bk_meta_config *config,
    enum bk_status *status, const char **why);
struct bk_meta *bk_meta_lmdb_open(struct bk_loop *loop,
    const struct bk_cluster_uri *uri, const struct bk_meta_config *config,
    enum bk_status *status, const char **why);

#endif
