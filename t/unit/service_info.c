/*
 * service_info.c - registration payloads as Java writes them, odd ones, and
 * which endpoint is taken.
 */
#include "meta/registry.h"
#include "t/lib/golden.h"
#include "t/unit/tap.h"

#include <bsd/string.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

/* Encoded, as text that mem_put() takes: none of these has a NUL. */
static char *
payload(const char *host, uint16_t port, int64_t pid)
{
	struct bk_service_info info = {.nendpoints = 1, .pid = pid};
	struct bk_buf out;
	char *text;

	(void)strlcpy(info.endpoints[0].id, "bookie", 64);
	(void)strlcpy(info.endpoints[0].protocol, "bookie-rpc", 32);
	(void)strlcpy(info.endpoints[0].host, host, 256);
	info.endpoints[0].port = port;
	bk_buf_init(&out);
	is_int(bk_service_info_encode(&info, &out), 0, "a payload");
	text = strndup((char *)bk_buf_head(&out), bk_buf_len(&out));
	bk_buf_fini(&out);
	return (text);
}

static void
what_java_wrote(void)
{
	char **lines = golden_lines("peer/metadata.txt"), hex[2000], path[200];
	struct bk_service_info info;
	struct bk_buf out;
	uint8_t *bytes;
	size_t len, n = 0;

	for (char **line = lines; *line != NULL; line++) {
		if (strstr(*line, "/available/") == NULL ||
		    sscanf(*line, "create %199s %*s %1999[0-9a-f]", path,
			hex) != 2)
			continue;
		bytes = golden_bytes(hex, &len);
		is_int(bk_service_info_decode((struct bk_bytes){bytes, len},
			   "x", &info),
		    BK_OK, "%s can be read", path);
		ok(info.nendpoints == 1 &&
			strcmp(info.endpoints[0].id, "bookie") == 0 &&
			strcmp(info.endpoints[0].protocol, "bookie-rpc") == 0 &&
			strcmp(info.endpoints[0].host, "127.0.0.1") == 0 &&
			info.endpoints[0].port / 10 == 328,
		    "it says where the bookie is");
		bk_buf_init(&out);
		is_int(bk_service_info_encode(&info, &out), 0, "written");
		is_mem(bk_buf_head(&out), bk_buf_len(&out), bytes, len,
		    "to the same bytes");
		bk_buf_fini(&out);
		free(bytes);
		n++;
	}
	is_int(n, 8, "registrations in metadata.txt");
	golden_free(lines);
}

static const char spec_example[] =
    "32 21 0a06626f6f6b6965 10ed18"
    "1a0831302e302e302e31 220a626f6f6b69652d727063";

static void
the_example(void)
{
	struct bk_service_info info;
	char *text = payload("10.0.0.1", 3181, 0);
	size_t len;
	uint8_t *bytes = golden_bytes(spec_example, &len);

	is_mem(text, strlen(text), bytes, len, "the specification's example");
	free(bytes);
	free(text);
	text = payload("h", 1, 4711);
	is_int(bk_service_info_decode((struct bk_bytes){(uint8_t *)text,
					  strlen(text)},
		   "x", &info),
	    BK_OK, "one with a process");
	is_int(info.pid, 4711, "which is read back");
	free(text);
}

static enum bk_status
decode_hex(const char *hex, const char *id, struct bk_service_info *info)
{
	size_t len;
	uint8_t *bytes = golden_bytes(hex, &len);
	enum bk_status status =
	    bk_service_info_decode((struct bk_bytes){bytes, len}, id, info);

	free(bytes);
	return (status);
}

static void
odd_payloads(void)
{
	static const struct {
		const char *hex, *id;
		enum bk_status status;
		size_t n;
	} cases[] = {
	    {"-", "host:3181", BK_OK, 1},
	    {"-", "host:3181:more", BK_OK, 1},
	    {"-", "free-form", BK_EBADMETA, 0},
	    {"-", ":3181", BK_EBADMETA, 0},
	    {"-", "host:", BK_EBADMETA, 0},
	    {"-", "host:65536", BK_EBADMETA, 0},
	    {"-", "host:x", BK_EBADMETA, 0},
	    {"ff", "b", BK_EBADMETA, 0},
	    {"32 21", "b", BK_EBADMETA, 0},
	    /* an endpoint without a port */
	    {"32 09 0a0161 1a0162 220163", "b", BK_EBADMETA, 0},
	    /* port 70000, then a NUL in the host: left out */
	    {"32 0d 0a0161 10f0a204 1a0162 220163", "b", BK_OK, 0},
	    {"32 0b 0a0161 1001 1a0100 220163", "b", BK_OK, 0},
	    /* with auth, an extension and a property of no interest */
	    {"32 11 0a0161 1001 1a0162 220163 2a0164 320165 3a06 0a0161 120162",
		"b", BK_OK, 1},
	    {"0a0161", "b", BK_OK, 0},
	};
	struct bk_service_info info;

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		is_int(decode_hex(cases[i].hex, cases[i].id, &info),
		    cases[i].status, "payload %zu", i);
		is_int(info.nendpoints, cases[i].n, "its endpoints");
	}
	is_int(decode_hex("-", "host:3181:more", &info), BK_OK, "an old one");
	is_str(info.endpoints[0].host, "host", "is parsed");
	is_int(info.endpoints[0].port, 3181, "up to its port");
}

static void
endpoints(void)
{
	struct bk_service_info info = {.nendpoints = 3};
	struct sockaddr_un sun = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);
	const char *tmp = getenv("TMPDIR");

	(void)snprintf(sun.sun_path, sizeof(sun.sun_path), "%s/bk-reg.%d",
	    tmp != NULL ? tmp : "/tmp", (int)getpid());
	(void)strlcpy(info.endpoints[0].protocol, "http", 32);
	(void)strlcpy(info.endpoints[1].protocol, "bookie-rpc", 32);
	(void)strlcpy(info.endpoints[2].protocol, "bookie-unix", 32);
	(void)strlcpy(info.endpoints[2].host, sun.sun_path, 256);
	ok(bk_service_endpoint(&info) == &info.endpoints[1],
	    "a socket that is not here is passed over");
	is_int(bind(fd, (struct sockaddr *)&sun, sizeof(sun)), 0, "a socket");
	ok(bk_service_endpoint(&info) == &info.endpoints[2],
	    "one that is here comes first");
	(void)unlink(sun.sun_path);
	(void)close(fd);
	info.nendpoints = 1;
	ok(bk_service_endpoint(&info) == NULL, "there may be none");
}

int
main(void)
{
	what_java_wrote();
	the_example();
	odd_payloads();
	endpoints();
	return (tap_done());
}
