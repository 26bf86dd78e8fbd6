/* cluster_uri.c - the text that names a cluster: what is taken, what is not. */
#include "meta/meta.h"
#include "t/unit/tap.h"

#include <stdlib.h>

static void
takes_zk(const char *text, const char *hosts, const char *root,
    const char *layout)
{
	struct bk_cluster_uri uri;
	const char *why = "";

	if (!ok(bk_cluster_uri_parse(text, &uri, &why) == 0, "%s is taken",
		text)) {
		printf("# %s\n", why);
		return;
	}
	is_int(uri.kind, BK_CLUSTER_ZK, "as a ZooKeeper cluster");
	is_str(uri.hosts, hosts, "with its hosts");
	is_str(uri.root, root, "and its root");
	is_str(uri.layout, layout, "and layout");
	ok(uri.dir == NULL, "without a directory");
	bk_cluster_uri_fini(&uri);
}

static void
takes_local(const char *text, const char *dir)
{
	struct bk_cluster_uri uri;
	const char *why = "";

	if (!ok(bk_cluster_uri_parse(text, &uri, &why) == 0, "%s is taken",
		text))
		return;
	is_int(uri.kind, BK_CLUSTER_LOCAL, "as a local cluster");
	is_str(uri.dir, dir, "with its directory");
	is_str(uri.root, "/ledgers", "and the usual root");
	bk_cluster_uri_fini(&uri);
}

static void
refuses(const char *text, const char *reason)
{
	struct bk_cluster_uri uri;
	const char *why = "";

	ok(bk_cluster_uri_parse(text, &uri, &why) == -1, "\"%.40s\" is not",
	    text);
	is_str(why, reason, "and why");
	ok(uri.hosts == NULL && uri.dir == NULL && uri.root == NULL,
	    "nothing is left behind");
}

static void
refuses_long(void)
{
	char *text = malloc(30001);

	memset(text, 'x', 30000);
	memcpy(text, "local:", 6);
	text[30000] = '\0';
	refuses(text, "too long");
	free(text);
}

static void
refuses_many(void)
{
	char text[1000] = "zk://";

	for (int i = 0; i < 65; i++)
		strcat(text, "h,");
	strcat(text, "/l");
	refuses(text, "too many hosts");
}

int
main(void)
{
	takes_zk("zk://h/ledgers", "h:2181", "/ledgers", NULL);
	takes_zk("zk://h1:2181,h2:2182/ledgers", "h1:2181,h2:2182", "/ledgers",
	    NULL);
	takes_zk("zk+hierarchical://zk1:2181;zk2;zk3:99/a/b",
	    "zk1:2181,zk2:2181,zk3:99", "/a/b", "hierarchical");
	takes_zk("ZK+LongHierarchical+more://h/l", "h:2181", "/l",
	    "longhierarchical");
	takes_zk("zk+flat://h/l", "h:2181", "/l", "flat");
	takes_zk("zk+null://h/l", "h:2181", "/l", NULL);
	takes_zk("zk://a,,b;/l", "a:2181,b:2181", "/l", NULL);
	takes_zk("zk://[::1],[fd00::2]:1/l", "[::1]:2181,[fd00::2]:1", "/l",
	    NULL);
	takes_zk("zk://10.0.0.1:65535/l", "10.0.0.1:65535", "/l", NULL);
	takes_local("local:/var/lib/bk", "/var/lib/bk");
	takes_local("LOCAL:here", "here");

	refuses("", "neither zk://HOST/ROOT nor local:DIR");
	refuses("zk", "neither zk://HOST/ROOT nor local:DIR");
	refuses("zks://h/l", "neither zk://HOST/ROOT nor local:DIR");
	refuses("etcd://h/l", "neither zk://HOST/ROOT nor local:DIR");
	refuses("zk:h/l", "\"://\" expected after zk");
	refuses("zk+://h/l", "unknown layout after zk+");
	refuses("zk+legacyhierarchical://h/l", "unknown layout after zk+");
	refuses("zk:///l", "no host");
	refuses("zk://,/l", "no host");
	refuses("zk://h", "the path of the ledgers root is missing");
	refuses("zk://h/", "the path of the ledgers root is missing");
	refuses("zk://h/l/", "malformed path of the ledgers root");
	refuses("zk://h//l", "malformed path of the ledgers root");
	refuses("zk://h/../l", "malformed path of the ledgers root");
	refuses("zk://h:/l", "malformed port");
	refuses("zk://h:0/l", "malformed port");
	refuses("zk://h:65536/l", "malformed port");
	refuses("zk://h:2181x/l", "malformed port");
	refuses("zk://u@h/l", "malformed host");
	refuses("zk://h h/l", "malformed host");
	refuses("zk://[::1/l", "malformed host");
	refuses("zk://[]/l", "malformed host");
	refuses("zk://[::1]2/l", "malformed port");
	refuses("zk://::1/l", "malformed host");
	refuses("local:", "a directory is expected after local:");
	refuses_long();
	refuses_many();
	return (tap_done());
}
