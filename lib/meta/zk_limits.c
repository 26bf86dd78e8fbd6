/* zk_limits.c - a set of paths and its size. */
#include "meta/zk_limits.h"

#include <stdlib.h>
#include <string.h>

/* When memory is out an element is not added, its hh.tbl NULL. */
#define HASH_NONFATAL_OOM 1
#include <uthash.h>

#define OVERHEAD 4

struct bk_zk_ephemeral {
	UT_hash_handle hh;
	size_t size;
	char path[];
};

static struct bk_zk_ephemeral *
find(struct bk_zk_ephemerals *e, const char *path)
{
	struct bk_zk_ephemeral *node;

	HASH_FIND_STR(e->paths, path, node);
	return (node);
}

bool
bk_zk_ephemerals_reserve(struct bk_zk_ephemerals *e, size_t pathlen)
{
	if (e->bytes + pathlen + OVERHEAD > BK_ZK_EPHEMERAL_BYTES)
		return (false);
	e->bytes += pathlen + OVERHEAD;
	return (true);
}

void
bk_zk_ephemerals_release(struct bk_zk_ephemerals *e, size_t pathlen)
{
	e->bytes -= pathlen + OVERHEAD;
}

void
bk_zk_ephemerals_add(struct bk_zk_ephemerals *e, const char *path)
{
	size_t len = strlen(path);
	struct bk_zk_ephemeral *node;

	if (find(e, path) != NULL)
		return;
	node = malloc(sizeof(*node) + len + 1);
	if (node == NULL)
		return;
	memcpy(node->path, path, len + 1);
	node->size = len + OVERHEAD;
	HASH_ADD_STR(e->paths, path, node);
	if (node->hh.tbl == NULL)
		free(node);
	else
		e->bytes += node->size;
}

static void
drop(struct bk_zk_ephemerals *e, struct bk_zk_ephemeral *node)
{
	HASH_DEL(e->paths, node);
	e->bytes -= node->size;
	free(node);
}

void
bk_zk_ephemerals_remove(struct bk_zk_ephemerals *e, const char *path)
{
	struct bk_zk_ephemeral *node = find(e, path);

	if (node != NULL)
		drop(e, node);
}

void
bk_zk_ephemerals_clear(struct bk_zk_ephemerals *e)
{
	struct bk_zk_ephemeral *node, *tmp;

	HASH_ITER(hh, e->paths, node, tmp)
		drop(e, node);
}
