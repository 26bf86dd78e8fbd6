/*
 * cluster_uri.c - the text that names a cluster (cli.md 3.4, metadata.md 8).
 *
 *	zk://HOST[:PORT]{,HOST[:PORT]}/ROOT
 *	zk+LAYOUT://HOST[:PORT]{;HOST[:PORT]}/ROOT
 *	local:DIR
 */
#include "base/buf.h"
#include "meta/meta.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define ZK_PORT "2181"
#define HOSTS_MAX 64
#define HOST_MAX 255
#define TEXT_MAX 20000

static const char *const layouts[] = {"flat", "hierarchical",
    "longhierarchical", "ms", NULL};

static bool
is_word(const char *text, size_t len, const char *word)
{
	return (strlen(word) == len && strncasecmp(text, word, len) == 0);
}

/* "+LAYOUT", "+null" or nothing; what further "+" say is ignored. */
static int
parse_layout(const char *text, size_t len, struct bk_cluster_uri *uri,
    const char **why)
{
	const char *plus;

	if (len == 0)
		return (0);
	text++;
	len--;
	plus = memchr(text, '+', len);
	if (plus != NULL)
		len = (size_t)(plus - text);
	if (is_word(text, len, "null"))
		return (0);
	for (size_t i = 0; layouts[i] != NULL; i++) {
		if (is_word(text, len, layouts[i])) {
			uri->layout = strdup(layouts[i]);
			*why = "out of memory";
			return (uri->layout == NULL ? -1 : 0);
		}
	}
	*why = "unknown layout after zk+";
	return (-1);
}

static bool
host_valid(const char *host, size_t len)
{
	static const char allowed[] =
	    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_";

	return (len > 0 && len <= HOST_MAX && strspn(host, allowed) >= len);
}

static bool
v6_valid(const char *host, size_t len)
{
	return (len > 0 && len <= HOST_MAX &&
	    strspn(host, "0123456789abcdefABCDEF:.%") >= len);
}

static bool
port_valid(const char *port, size_t len)
{
	return (len > 0 && len <= 5 && strspn(port, "0123456789") >= len &&
	    atoi(port) > 0 && atoi(port) <= 65535);
}

/* One "host", "host:port", "[v6]" or "[v6]:port", appended with its port. */
static int
parse_host(const char *text, size_t len, struct bk_buf *hosts, const char **why)
{
	const char *end = text + len, *port;
	bool valid;

	*why = "malformed host";
	if (len > 0 && text[0] == '[') {
		port = memchr(text, ']', len);
		if (port == NULL)
			return (-1);
		port++;
		valid = v6_valid(text + 1, (size_t)(port - text) - 2);
	} else {
		port = memchr(text, ':', len);
		if (port == NULL)
			port = end;
		valid = host_valid(text, (size_t)(port - text));
	}
	if (!valid)
		return (-1);
	if (port != end) {
		*why = "malformed port";
		if (*port != ':' ||
		    !port_valid(port + 1, (size_t)(end - port) - 1))
			return (-1);
	}
	*why = "out of memory";
	if (bk_buf_len(hosts) > 0 && bk_buf_put(hosts, ",", 1) != 0)
		return (-1);
	if (bk_buf_put(hosts, text, len) != 0)
		return (-1);
	if (port == end)
		return (bk_buf_put(hosts, ":" ZK_PORT, sizeof(ZK_PORT)));
	return (0);
}

/* Hosts apart by "," or ";"; empty ones in between are passed over. */
static int
parse_hosts(const char *text, size_t len, struct bk_cluster_uri *uri,
    const char **why)
{
	const char *end = text + len;
	struct bk_buf hosts;
	size_t n = 0, step;
	int r = 0;

	bk_buf_init(&hosts);
	while (r == 0 && text < end) {
		step = strcspn(text, ",;");
		if (step > (size_t)(end - text))
			step = (size_t)(end - text);
		if (step > 0) {
			*why = "too many hosts";
			r = ++n > HOSTS_MAX ? -1 : 0;
			if (r == 0)
				r = parse_host(text, step, &hosts, why);
		}
		text += step + (text + step < end);
	}
	if (r == 0) {
		*why = "no host";
		r = n > 0 ? bk_buf_put_u8(&hosts, 0) : -1;
	}
	if (r == 0) {
		*why = "out of memory";
		uri->hosts = strdup((const char *)bk_buf_head(&hosts));
		r = uri->hosts == NULL ? -1 : 0;
	}
	bk_buf_fini(&hosts);
	return (r);
}

static int
parse_zk(const char *text, struct bk_cluster_uri *uri, const char **why)
{
	const char *authority = strstr(text, "://"), *root;

	uri->kind = BK_CLUSTER_ZK;
	if (authority == NULL) {
		*why = "\"://\" expected after zk";
		return (-1);
	}
	if (parse_layout(text, (size_t)(authority - text), uri, why) != 0)
		return (-1);
	authority += 3;
	root = authority + strcspn(authority, "/");
	if (parse_hosts(authority, (size_t)(root - authority), uri, why) != 0)
		return (-1);
	if (root[0] == '\0' || root[1] == '\0') {
		*why = "the path of the ledgers root is missing";
		return (-1);
	}
	if (!bk_meta_path_valid(root)) {
		*why = "malformed path of the ledgers root";
		return (-1);
	}
	*why = "out of memory";
	uri->root = strdup(root);
	return (uri->root == NULL ? -1 : 0);
}

static int
parse_local(const char *dir, struct bk_cluster_uri *uri, const char **why)
{
	uri->kind = BK_CLUSTER_LOCAL;
	if (dir[0] == '\0') {
		*why = "a directory is expected after local:";
		return (-1);
	}
	*why = "out of memory";
	uri->dir = strdup(dir);
	uri->root = strdup("/ledgers");
	return (uri->dir == NULL || uri->root == NULL ? -1 : 0);
}

int
bk_cluster_uri_parse(const char *text, struct bk_cluster_uri *uri,
    const char **why)
{
	int r = -1;

	memset(uri, 0, sizeof(*uri));
	if (strlen(text) > TEXT_MAX)
		*why = "too long";
	else if (strncasecmp(text, "zk", 2) == 0 && strchr(":+", text[2]) &&
	    text[2] != '\0')
		r = parse_zk(text + 2, uri, why);
	else if (strncasecmp(text, "local:", 6) == 0)
		r = parse_local(text + 6, uri, why);
	else
		*why = "neither zk://HOST/ROOT nor local:DIR";
	if (r != 0)
		bk_cluster_uri_fini(uri);
	return (r);
}

void
bk_cluster_uri_fini(struct bk_cluster_uri *uri)
{
	free(uri->hosts);
	free(uri->root);
	free(uri->dir);
	free(uri->layout);
	memset(uri, 0, sizeof(*uri));
}
