/*
 * cluster_uri.c - any text as the name of a cluster: what is taken is made of
 * parts that are valid, and says the same when it is put together again.
 */
#include "meta/meta.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
require(bool holds)
{
	if (!holds)
		abort();
}

static void
check_again(const struct bk_cluster_uri *uri)
{
	size_t size = strlen(uri->hosts) + strlen(uri->root) + 100;
	struct bk_cluster_uri again;
	const char *why;
	char *text;

	text = malloc(size);
	if (text == NULL)
		return;
	(void)snprintf(text, size, "zk%s%s://%s%s",
	    uri->layout != NULL ? "+" : "",
	    uri->layout != NULL ? uri->layout : "", uri->hosts, uri->root);
	require(bk_cluster_uri_parse(text, &again, &why) == 0);
	require(strcmp(again.hosts, uri->hosts) == 0);
	require(strcmp(again.root, uri->root) == 0);
	bk_cluster_uri_fini(&again);
	free(text);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct bk_cluster_uri uri;
	const char *why = NULL;
	char *text;

	text = malloc(size + 1);
	if (text == NULL)
		return (0);
	memcpy(text, data, size);
	text[size] = '\0';
	if (bk_cluster_uri_parse(text, &uri, &why) != 0) {
		require(why != NULL);
	} else if (uri.kind == BK_CLUSTER_ZK) {
		require(bk_meta_path_valid(uri.root));
		check_again(&uri);
		bk_cluster_uri_fini(&uri);
	} else {
		require(uri.dir[0] != '\0');
		bk_cluster_uri_fini(&uri);
	}
	free(text);
	return (0);
}
