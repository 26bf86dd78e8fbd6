/*
 * registry.c - registration payloads, the bookies as a client sees them, and a
 * bookie's own registration, over the store in memory.
 */
#include "meta/registry.h"
#include "t/lib/golden.h"
#include "t/lib/mem_fixture.h"
#include "t/unit/tap.h"

#include <bsd/string.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

/* Payloads. */

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

/* The bookies as a client sees them. */

struct view {
	struct fixture f;
	struct bk_registry *r;
	bool ready;
	enum bk_status status;
	int changes;
};

static void
on_ready(void *arg, enum bk_status status)
{
	struct view *v = arg;

	v->ready = true;
	v->status = status;
}

static void
on_changed(void *arg)
{
	struct view *v = arg;

	v->changes++;
}

static void
view_init(struct view *v)
{
	*v = (struct view){0};
	fixture_init(&v->f);
}

static void
view_open(struct view *v)
{
	v->r = bk_registry_new(&v->f.tree, on_ready, on_changed, v);
	(void)mem_store_run_until(v->f.store, &v->ready);
}

static void
view_fini(struct view *v)
{
	bk_registry_free(v->r);
	fixture_fini(&v->f);
}

/* Bookies as "ID" with w, r and the port behind it. */
static const char *
summary(struct view *v)
{
	static char text[400];
	const struct bk_bookie_info *b;
	size_t len = 0;

	mem_store_run_for(v->f.store, BK_SECOND);
	text[0] = '\0';
	for (size_t i = 0; i < bk_registry_count(v->r); i++) {
		b = bk_registry_at(v->r, i);
		len += (size_t)snprintf(text + len, sizeof(text) - len,
		    "%s%s:%s%s%d", i > 0 ? " " : "", b->id,
		    b->writable ? "w" : "", b->readonly ? "r" : "",
		    b->service != NULL ? b->service->endpoints[0].port : -1);
	}
	return (text);
}

static void
put(struct view *v, const char *where, const char *id, uint16_t port)
{
	char path[200], *text = payload("h", port, 0);

	(void)snprintf(path, sizeof(path), "/ledgers/available%s/%s", where,
	    id);
	mem_put(v->f.store, path, text);
	free(text);
}

static void
watching(void)
{
	struct view v;

	view_init(&v);
	put(&v, "", "b2", 2);
	put(&v, "", "b1", 1);
	put(&v, "/readonly", "b3", 3);
	view_open(&v);
	is_int(v.status, BK_OK, "the bookies are known");
	is_str(summary(&v), "b1:w1 b2:w2 b3:r3", "all of them");
	is_int(v.changes, 0, "nothing has changed since");
	put(&v, "", "b4", 4);
	is_str(summary(&v), "b1:w1 b2:w2 b3:r3 b4:w4", "one comes");
	is_int(v.changes, 1, "which is reported once");
	mem_remove(v.f.store, "/ledgers/available/b2");
	is_str(summary(&v), "b1:w1 b3:r3 b4:w4", "one goes");
	put(&v, "/readonly", "b1", 1);
	is_str(summary(&v), "b1:wr1 b3:r3 b4:w4", "one is in both lists");
	mem_remove(v.f.store, "/ledgers/available/b1");
	is_str(summary(&v), "b1:r1 b3:r3 b4:w4", "and then read-only");
	v.changes = 0;
	put(&v, "", "b4", 44);
	is_str(summary(&v), "b1:r1 b3:r3 b4:w44", "one moves");
	is_int(v.changes, 1, "which is reported");
	put(&v, "/readonly", "b3", 33);
	is_str(summary(&v), "b1:r1 b3:r33 b4:w44", "read-only ones, too");
	v.changes = 0;
	mem_remove(v.f.store, "/ledgers/available/b4");
	put(&v, "", "b4", 45);
	is_str(summary(&v), "b1:r1 b3:r33 b4:w45", "one starts anew");
	for (int i = 0; i < 50; i++)
		put(&v, "", "b5", (uint16_t)(i + 1));
	v.changes = 0;
	is_str(summary(&v), "b1:r1 b3:r33 b4:w45 b5:w50", "much at once");
	is_int(v.changes, 1, "is one change");
	ok(bk_registry_find(v.r, "b4")->writable &&
		bk_registry_find(v.r, "b0") == NULL &&
		bk_registry_at(v.r, 4) == NULL,
	    "one is found by its id");
	view_fini(&v);
}

static void
malformed(void)
{
	struct view v;

	view_init(&v);
	mem_put(v.f.store, "/ledgers/available/b1", "nonsense");
	mem_put(v.f.store, "/ledgers/available/free-form", "");
	mem_put(v.f.store, "/ledgers/available/a,b", "");
	mem_put(v.f.store, "/ledgers/available/ReadOnly", "");
	mem_put(v.f.store, "/ledgers/available/old:77", "");
	view_open(&v);
	is_int(v.status, BK_OK, "odd registrations do no harm");
	is_str(summary(&v), "b1:w-1 free-form:w-1 old:77:w77",
	    "who cannot be read is listed all the same");
	put(&v, "", "b1", 1);
	is_str(summary(&v), "b1:w1 free-form:w-1 old:77:w77",
	    "until it can be");
	mem_put(v.f.store, "/ledgers/available/b1", "nonsense");
	is_str(summary(&v), "b1:w-1 free-form:w-1 old:77:w77", "and back");
	view_fini(&v);
}

static void
lists_that_are_missing(void)
{
	struct view v;

	view_init(&v);
	view_open(&v);
	is_int(v.status, BK_ENONODE, "no cluster, no bookies");
	put(&v, "", "b1", 1);
	is_str(summary(&v), "b1:w1", "but they may come");
	is_int(v.changes, 1, "which is reported");
	put(&v, "/readonly", "b2", 2);
	is_str(summary(&v), "b1:w1 b2:r2", "so may the read-only ones");
	mem_remove(v.f.store, "/ledgers/available/readonly/b2");
	mem_remove(v.f.store, "/ledgers/available/readonly");
	is_str(summary(&v), "b1:w1", "and go");
	put(&v, "/readonly", "b3", 3);
	is_str(summary(&v), "b1:w1 b3:r3", "and come back");
	view_fini(&v);
}

static void
watching_through_losses(void)
{
	struct fixture_loss losses[] = {
	    {"children", "/readonly", 3, {.refuse = BK_ESTORE}},
	    {"get", "/b1", 3, {.refuse = BK_ESTORE}},
	    {"children", "/available", 3, {.refuse = BK_ESTORE}},
	};
	struct view v;

	for (size_t i = 0; i < 3; i++) {
		view_init(&v);
		put(&v, "", "b1", 1);
		put(&v, "/readonly", "b2", 2);
		fixture_lose(&v.f, &losses[i]);
		view_open(&v);
		is_int(v.status, i < 2 ? BK_OK : BK_ESTORE,
		    "the writable list has to be read");
		is_str(summary(&v), "b1:w1 b2:r2", "loss %zu is made good", i);
		view_fini(&v);
	}
	view_init(&v);
	put(&v, "", "b1", 1);
	view_open(&v);
	mem_client_expire(v.f.tree.meta);
	put(&v, "", "b1", 11);
	put(&v, "", "b2", 2);
	is_str(summary(&v), "b1:w11 b2:w2", "a session's end is survived");
	mem_client_cut(v.f.tree.meta);
	mem_remove(v.f.store, "/ledgers/available/b1");
	is_str(summary(&v), "b1:w11 b2:w2", "out of touch nothing changes");
	mem_client_heal(v.f.tree.meta);
	is_str(summary(&v), "b2:w2", "until it is back");
	view_fini(&v);
}

/* Freed and closed at each moment of its beginning. */
static void
watching_ends(void)
{
	struct view v;

	for (int64_t ns = 0; ns < 10 * BK_MS; ns += BK_MS / 2) {
		view_init(&v);
		put(&v, "", "b1", 1);
		v.r = bk_registry_new(&v.f.tree, on_ready, on_changed, &v);
		mem_store_run_for(v.f.store, ns);
		bk_registry_free(v.r);
		v.ready = false;
		mem_store_run(v.f.store);
		ok(!v.ready, "nothing is called after its end");
		v.r = bk_registry_new(&v.f.tree, on_ready, on_changed, &v);
		view_fini(&v);
	}
}

/* A bookie's own registration. */

struct own {
	struct fixture f;
	struct bk_registration *r;
	int stood;
	enum bk_status failed;
};

static void
on_state(void *arg, enum bk_status status)
{
	struct own *o = arg;

	if (status == BK_OK)
		o->stood++;
	else
		o->failed = status;
}

static void
own_init(struct own *o, bool readonly)
{
	*o = (struct own){0};
	fixture_init(&o->f);
	mem_put(o->f.store, "/ledgers/available/readonly", "");
	o->r = bk_registration_new(&o->f.tree, "b",
	    (struct bk_bytes){(const uint8_t *)"me", 2}, readonly, on_state, o);
}

static void
own_fini(struct own *o)
{
	bk_registration_free(o->r, fixture_on_done, &o->f);
	is_int(fixture_wait(&o->f), BK_OK, "a registration is given back");
	fixture_fini(&o->f);
}

/* "w", "r", "wr" or "": the lists the bookie is in, after a while. */
static const char *
lists_of(struct own *o)
{
	static char text[3];
	struct bk_node_stat stat;
	struct bk_bytes data;
	size_t n = 0;

	mem_store_run_for(o->f.store, BK_SECOND);
	if (mem_get(o->f.store, "/ledgers/available/b", &data, &stat))
		text[n++] = 'w';
	if (mem_get(o->f.store, "/ledgers/available/readonly/b", &data, &stat))
		text[n++] = 'r';
	text[n] = '\0';
	return (text);
}

static void
registering(void)
{
	static const char *const steps[] = {
	    "create /ledgers/available/b ephemeral 6d65",
	    "create /ledgers/available/readonly/b ephemeral 6d65",
	    "delete /ledgers/available/b - -",
	    "create /ledgers/available/b ephemeral 6d65",
	    "delete /ledgers/available/readonly/b - -",
	};
	struct own o;

	own_init(&o, false);
	fixture_clear(&o.f);
	is_str(lists_of(&o), "w", "a bookie is in its list");
	is_int(o.stood, 1, "and told so");
	bk_registration_mode(o.r, true);
	is_str(lists_of(&o), "r", "it becomes read-only");
	is_int(o.stood, 2, "and is told so");
	bk_registration_mode(o.r, true);
	is_str(lists_of(&o), "r", "and stays so");
	bk_registration_mode(o.r, false);
	is_str(lists_of(&o), "w", "and becomes writable again");
	is_int(o.f.ntrace, 5, "all that in five steps");
	for (size_t i = 0; i < 5 && i < o.f.ntrace; i++)
		is_str(o.f.trace[i], steps[i], "created before deleted");
	mem_remove(o.f.store, "/ledgers/available/b");
	is_str(lists_of(&o), "w", "a node that is deleted is made anew");
	bk_registration_mode(o.r, true);
	bk_registration_mode(o.r, false);
	bk_registration_mode(o.r, true);
	is_str(lists_of(&o), "r", "the last mode counts");
	own_fini(&o);
}

static void
registering_read_only(void)
{
	struct own o;

	own_init(&o, true);
	is_str(lists_of(&o), "r", "a bookie starts read-only");
	own_fini(&o);
	own_init(&o, true);
	mem_remove(o.f.store, "/ledgers/available/readonly");
	is_str(lists_of(&o), "r", "the list is made where it is missing");
	own_fini(&o);
	own_init(&o, true);
	mem_remove(o.f.store, "/ledgers/available/readonly");
	mem_remove(o.f.store, "/ledgers/available");
	is_str(lists_of(&o), "", "but no cluster");
	is_int(o.failed, BK_ENONODE, "which is reported");
	own_fini(&o);
}

static void
registering_through_losses(void)
{
	struct fixture_loss losses[] = {
	    {"create", "/b", 2, {.fate = MEM_LOSE_REQUEST}},
	    {"create", "/b", 1, {.fate = MEM_LOSE_ANSWER}},
	    {"create", "/b", 1, {.refuse = BK_ESESSION}},
	    {"exists", "/b", 1, {.refuse = BK_ESTORE}},
	    {"remove", "/b", 2, {.fate = MEM_LOSE_REQUEST}},
	    {"remove", "/b", 1, {.fate = MEM_LOSE_ANSWER}},
	};
	struct own o;

	for (size_t i = 0; i < sizeof(losses) / sizeof(*losses); i++) {
		own_init(&o, false);
		fixture_lose(&o.f, &losses[i]);
		bk_registration_mode(o.r, true);
		is_str(lists_of(&o), "r", "loss %zu is made good", i);
		is_int(o.stood, 1, "and nothing said of it");
		own_fini(&o);
	}
	losses[0].plan.refuse = BK_EACCESS;
	losses[0].times = 1;
	own_init(&o, false);
	bk_registration_renew(o.r);
	fixture_lose(&o.f, &losses[0]);
	is_str(lists_of(&o), "w", "the first one stands");
	is_int(o.failed, BK_EACCESS, "a refusal is reported");
	own_fini(&o);
}

static void
registering_anew(void)
{
	struct own o;

	own_init(&o, false);
	is_str(lists_of(&o), "w", "a bookie");
	mem_client_expire(o.f.tree.meta);
	is_str(lists_of(&o), "w", "whose session ends is back at once");
	is_int(o.stood, 2, "and told so");
	mem_client_cut(o.f.tree.meta);
	bk_registration_mode(o.r, true);
	is_str(lists_of(&o), "w", "out of touch nothing happens");
	mem_client_heal(o.f.tree.meta);
	is_str(lists_of(&o), "r", "but afterwards");
	mem_client_expire(o.f.tree.meta);
	bk_registration_renew(o.r);
	bk_registration_renew(o.r);
	is_str(lists_of(&o), "r", "it may be told twice");
	own_fini(&o);
}

/* A bookie that was killed and started again. */
static void
registering_after_a_crash(void)
{
	struct bk_tree before;
	struct own o;

	own_init(&o, false);
	bk_registration_free(o.r, NULL, NULL);
	mem_store_run(o.f.store);
	before = fixture_tree(&o.f);
	bk_meta_create(before.meta, "/ledgers/available/b",
	    (struct bk_bytes){(const uint8_t *)"old", 3}, BK_NODE_EPHEMERAL,
	    BK_ACL_CONF, fixture_on_reply, &o.f);
	is_int(fixture_wait(&o.f), BK_OK, "a predecessor");
	mem_client_crash(before.meta, 5 * BK_SECOND);
	o.stood = 0;
	fixture_clear(&o.f);
	o.r = bk_registration_new(&o.f.tree, "b",
	    (struct bk_bytes){(const uint8_t *)"me", 2}, false, on_state, &o);
	is_str(lists_of(&o), "w", "is still listed");
	is_int(o.f.ntrace, 0, "which is not touched");
	is_int(o.stood, 0, "nor taken for ours");
	is_int(o.failed, BK_EEXIST, "and that is told");
	mem_store_run_for(o.f.store, 5 * BK_SECOND);
	is_str(lists_of(&o), "w", "when it goes there is ours");
	is_int(o.stood, 1, "which is told, too");
	is_int(o.f.ntrace, 2, "at once");
	own_fini(&o);
}

static void
registering_in_the_wrong_list(void)
{
	struct bk_tree before;
	struct own o;

	own_init(&o, true);
	is_str(lists_of(&o), "r", "a bookie");
	before = fixture_tree(&o.f);
	bk_meta_create(before.meta, "/ledgers/available/b",
	    (struct bk_bytes){NULL, 0}, BK_NODE_EPHEMERAL, BK_ACL_CONF,
	    fixture_on_reply, &o.f);
	is_int(fixture_wait(&o.f), BK_OK,
	    "and a predecessor in the other list");
	bk_registration_renew(o.r);
	is_str(lists_of(&o), "r", "which goes");
	bk_meta_close(before.meta);
	own_fini(&o);
}

/* Left by a bookie that stays listed while it is away. */
static void
registering_over_a_persistent_one(void)
{
	struct bk_node_stat stat;
	struct bk_bytes data;
	struct own o;

	own_init(&o, false);
	bk_registration_free(o.r, NULL, NULL);
	mem_store_run(o.f.store);
	mem_put(o.f.store, "/ledgers/available/b", "stays");
	o.r = bk_registration_new(&o.f.tree, "b",
	    (struct bk_bytes){(const uint8_t *)"me", 2}, false, on_state, &o);
	is_str(lists_of(&o), "w", "a persistent node is replaced");
	ok(mem_get(o.f.store, "/ledgers/available/b", &data, &stat) &&
		data.len == 2 && stat.owner != 0,
	    "by ours");
	own_fini(&o);
}

/* Given back at each moment of its beginning: nothing stays. */
static void
giving_back(void)
{
	struct own o;

	for (int steps = 0; steps < 8; steps++) {
		own_init(&o, false);
		mem_store_plan(o.f.store, NULL, NULL);
		for (int i = 0; i < steps; i++)
			mem_store_step(o.f.store);
		bk_registration_free(o.r, fixture_on_done, &o.f);
		is_int(fixture_wait(&o.f), BK_OK, "after %d steps", steps);
		is_str(lists_of(&o), "", "nothing stays");
		fixture_fini(&o.f);
	}
}

/* The store is closed in the middle. */
static void
closing_the_store(void)
{
	struct own o;
	struct view v;

	for (int steps = 0; steps < 8; steps++) {
		own_init(&o, false);
		for (int i = 0; i < steps; i++)
			mem_store_step(o.f.store);
		bk_registration_renew(o.r);
		bk_meta_close(o.f.tree.meta);
		is_int(o.failed, BK_ECANCELED, "told after %d steps", steps);
		o.f.tree = fixture_tree(&o.f);
		bk_registration_free(o.r, fixture_on_done, &o.f);
		is_int(fixture_wait(&o.f), BK_OK, "and freed");
		fixture_fini(&o.f);
		own_init(&o, false);
		for (int i = 0; i < steps; i++)
			mem_store_step(o.f.store);
		bk_registration_renew(o.r);
		bk_registration_free(o.r, fixture_on_done, &o.f);
		bk_meta_close(o.f.tree.meta);
		ok(o.f.done, "freed with it");
		o.f.tree = fixture_tree(&o.f);
		fixture_fini(&o.f);

		view_init(&v);
		put(&v, "", "b1", 1);
		v.r = bk_registry_new(&v.f.tree, on_ready, on_changed, &v);
		for (int i = 0; i < steps; i++)
			mem_store_step(v.f.store);
		bk_registry_free(v.r);
		bk_meta_close(v.f.tree.meta);
		v.f.tree = fixture_tree(&v.f);
		fixture_fini(&v.f);
	}
}

int
main(void)
{
	what_java_wrote();
	the_example();
	odd_payloads();
	endpoints();
	watching();
	malformed();
	lists_that_are_missing();
	watching_through_losses();
	watching_ends();
	registering();
	registering_read_only();
	registering_through_losses();
	registering_anew();
	registering_after_a_crash();
	registering_in_the_wrong_list();
	registering_over_a_persistent_one();
	giving_back();
	closing_the_store();
	return (tap_done());
}
