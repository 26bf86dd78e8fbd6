/*
 * mem_tree.h - the nodes of the simulated store: what ZooKeeper's server does
 * with each call, at once and in memory. Time, sessions that end and lost
 * answers are meta_mem.h's.
 */
#ifndef T_MEM_TREE_H
#define T_MEM_TREE_H

#include "meta/meta.h"

/* A path with a sequence number. */
#define MEM_PATH_ROOM (BK_PATH_MAX + 12)

struct mem_tree;

/* Told of each change that watches wait for, once it stands. */
typedef void mem_change_fn(void *arg, enum bk_watch_event event,
    const char *path);
/* Told of each change in the form of t/data/peer/metadata.txt: "create PATH KIND
 * HEX", "set:vN PATH - HEX", "delete PATH - -", with "multi:" before those of
 * a multi. */
typedef void mem_trace_fn(void *arg, const char *line);

struct mem_tree *mem_tree_new(mem_change_fn *changed, void *arg);
void mem_tree_free(struct mem_tree *t);
void mem_tree_trace(struct mem_tree *t, mem_trace_fn *fn, void *arg);

/* made: the path with its sequence number; at the node's creation now_ms. */
enum bk_status mem_tree_create(struct mem_tree *t, const char *path,
    struct bk_bytes data, enum bk_node_kind kind, uint64_t session,
    int64_t now_ms, char made[MEM_PATH_ROOM]);
enum bk_status mem_tree_set(struct mem_tree *t, const char *path,
    struct bk_bytes data, int32_t version, struct bk_node_stat *stat);
enum bk_status mem_tree_remove(struct mem_tree *t, const char *path,
    int32_t version);
/* All or nothing; *failed is the operation at fault. */
enum bk_status mem_tree_multi(struct mem_tree *t, const struct bk_meta_op *ops,
    size_t nops, uint64_t session, int64_t now_ms, size_t *failed);
/* Bytes that are valid until the next change. */
enum bk_status mem_tree_get(struct mem_tree *t, const char *path,
    struct bk_bytes *data, struct bk_node_stat *stat);
/* Names, sorted; to be freed with each of its names. */
enum bk_status mem_tree_children(struct mem_tree *t, const char *path,
    char ***names, size_t *n, struct bk_node_stat *stat);
/* The number that the next sequential child gets. */
void mem_tree_set_sequence(struct mem_tree *t, const char *path, int64_t next);
/* Remove the ephemeral nodes of a session. */
void mem_tree_end_session(struct mem_tree *t, uint64_t session);

#endif
