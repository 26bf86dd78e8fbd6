/*
 * zk_answer.h - completions that ZooKeeper's C client calls, each with the
 * struct bk_call as its data, whose store is set.
 */
#ifndef BK_ZK_ANSWER_H
#define BK_ZK_ANSWER_H

#include "meta/meta_zk.h"

void bk_zk_void_done(int rc, const void *data);
void bk_zk_stat_done(int rc, const struct Stat *stat, const void *data);
void bk_zk_data_done(int rc, const char *value, int len,
    const struct Stat *stat, const void *data);
void bk_zk_string_done(int rc, const char *value, const void *data);
void bk_zk_strings_done(int rc, const struct String_vector *strings,
    const struct Stat *stat, const void *data);
/* The results are what the call owns. */
void bk_zk_multi_done(int rc, const void *data);
/* A watcher; its context is the store. */
void bk_zk_watcher(zhandle_t *zh, int type, int state, const char *path,
    void *ctx);

/* A return code of the client in our terms. */
enum bk_status bk_zk_status(int rc);
/* The server wants another login. */
void bk_zk_fail_by_sasl(struct meta_zk *m);

bool bk_zk_is_ephemeral(enum bk_node_kind kind);
bool bk_zk_makes_ephemeral(const struct bk_call *call);

#endif
