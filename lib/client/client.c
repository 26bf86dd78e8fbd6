/* client.c - defaults, and news for all writers of a client. */
#include "client/client.h"

#include "client/writer_impl.h"

#define MIB ((size_t)1024 * 1024)

void
bk_client_defaults(struct bk_client *c)
{
	if (c->request_timeout == 0)
		c->request_timeout = 5 * BK_SECOND;
	if (c->replace_timeout == 0)
		c->replace_timeout = 10 * BK_SECOND;
	if (c->add_timeout == 0)
		c->add_timeout = 120 * BK_SECOND;
	if (c->window_entries == 0)
		c->window_entries = 16384;
	if (c->window_bytes == 0)
		c->window_bytes = 16 * MIB;
	if (c->peer_bytes == 0)
		c->peer_bytes = 32 * MIB;
	if (c->ensemble_size == 0) {
		c->ensemble_size = c->write_quorum = 3;
		c->ack_quorum = 2;
	}
}

void
bk_client_bookies_changed(struct bk_client *c)
{
	struct bk_writer *w;

	LIST_FOREACH(w, &c->writers, link)
		bk_writer_bookies_changed(w);
}
