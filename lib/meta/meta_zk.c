/* meta_zk.c - ZooKeeper behind the face. */
#include "meta/meta_stores.h"

struct bk_meta *
bk_meta_zk_open(struct bk_loop *loop, const struct bk_cluster_uri *uri,
    const struct bk_meta_config *config, enum bk_status *status,
    const char **why)
{
	(void)loop;
	(void)uri;
	(void)config;
	*status = BK_ECONFIG;
	*why = "ZooKeeper comes next";
	return (NULL);
}
