/* counters.c - figures of the server and of the store. */
#include "bk-bookied/counters.h"
#include "bk-bookied/serve.h"
#include "bk-bookied/store.h"

#include <jansson.h>

/* A failed set shows in the end: json_dumps() of a missing member is none. */
static void
put(json_t *o, const char *name, uint64_t value)
{
	(void)json_object_set_new(o, name, json_integer((json_int_t)value));
}

static void
put_server(json_t *o, const struct server *server)
{
	struct server_counts c;

	server_counts(server, &c);
	put(o, "connections", server_connections(server));
	put(o, "connections_ever", c.connections);
	put(o, "connections_broken", c.broken);
	put(o, "long_polls", server_polls(server));
	put(o, "adds", c.adds);
	put(o, "reads", c.reads);
	put(o, "fences", c.fences);
	put(o, "answers_ok", c.answers_ok);
	put(o, "answers_not_ok", c.answers_not_ok);
}

static void
put_store(json_t *o, struct store *store)
{
	struct store_figures f;
	int64_t total = 0, free_space = 0;
	const char *why = NULL;
	bool readonly = store_readonly(store, &why);

	store_figures(store, &f);
	put(o, "add_bytes", f.add_bytes);
	put(o, "syncs", f.syncs);
	put(o, "batches", f.batches);
	put(o, "flushes", f.flushes);
	put(o, "merges", f.merges);
	put(o, "memtable_bytes", f.memtable_bytes);
	put(o, "journal_bytes", f.journal_bytes);
	put(o, "ledgers", f.ledgers);
	put(o, "index_files", f.index_files);
	put(o, "log_files", f.log_files);
	put(o, "log_bytes", f.log_bytes);
	put(o, "live_bytes", f.live_bytes);
	if (store_space(store, &total, &free_space) == 0) {
		put(o, "space_total", (uint64_t)total);
		put(o, "space_free", (uint64_t)free_space);
	}
	(void)json_object_set_new(o, "readonly", json_boolean(readonly));
	if (readonly && why != NULL)
		(void)json_object_set_new(o, "readonly_why", json_string(why));
}

char *
counters_json(const char *bookie_id, struct server *server, struct store *store)
{
	json_t *o = json_object();
	char *text;

	if (o == NULL)
		return (NULL);
	(void)json_object_set_new(o, "bookie", json_string(bookie_id));
	put_server(o, server);
	put_store(o, store);
	text = json_dumps(o, JSON_COMPACT);
	json_decref(o);
	return (text);
}
