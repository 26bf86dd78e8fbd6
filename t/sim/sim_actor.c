/* sim_actor.c - see sim_actor.h. */
#include "t/sim/sim_actor.h"

#include <bsd/string.h>
#include <errno.h>
#include <inttypes.h>
#include <string.h>

static uint64_t
mix(uint64_t x)
{
	x ^= x >> 31;
	x *= UINT64_C(0x7fb5d329728ea185);
	x ^= x >> 27;
	x *= UINT64_C(0x81dadef4bc2dd44d);
	return (x ^ x >> 33);
}

static size_t
payload_size(uint64_t key, int64_t entry_id, size_t max)
{
	return ((size_t)(mix(key + (uint64_t)entry_id * 2) % (max + 1)));
}

size_t
sim_payload(uint64_t key, int64_t entry_id, size_t max,
    uint8_t out[SIM_PAYLOAD_MAX])
{
	size_t len = payload_size(key, entry_id, max), i;
	uint64_t x = 0;

	for (i = 0; i < len; i++) {
		if (i % 8 == 0)
			x = mix(key ^ (uint64_t)entry_id << 20 ^ i);
		out[i] = (uint8_t)(x >> i % 8 * 8);
	}
	return (len);
}

int64_t
sim_payload_sum(uint64_t key, int64_t entry_id, size_t max)
{
	int64_t e, sum = 0;

	for (e = 0; e <= entry_id; e++)
		sum += (int64_t)payload_size(key, e, max);
	return (sum);
}

/* Writers. */

static void
write_on(void *arg)
{
	struct sim_writer *a = arg;
	uint8_t payload[SIM_PAYLOAD_MAX];
	int64_t id;
	int n;

	if (a->failed || a->closed || a->w == NULL)
		return;
	for (n = 0; a->pace == 0 || n < a->burst; n++) {
		int64_t e = bk_writer_pushed(a->w) + 1;
		size_t len = sim_payload(a->key, e, a->size_max, payload);

		if (e >= a->entries)
			break;
		if (bk_writer_add(a->w, payload, len, &id) != 0) {
			if (errno != EAGAIN && errno != EPIPE)
				sim_blame(a->process->cluster, "add: %s",
				    strerror(errno));
			break;
		}
		a->pushed = id + 1;
		if (id != e)
			sim_blame(a->process->cluster,
			    "entry %" PRId64 " got id %" PRId64, e, id);
	}
	if (a->pace > 0)
		sim_event_set(a->process->cluster->sim, &a->next, a->pace,
		    write_on, a);
}

static void
writer_closed(void *arg, enum bk_status status)
{
	struct sim_writer *a = arg;
	struct bk_ledger_meta m;
	int32_t version;

	if (a->closed)
		sim_blame(a->process->cluster, "close() came back twice");
	sim_say(a->process->cluster, "writer: closed: %s, acked %" PRId64,
	    bk_status_name(status), a->acked);
	a->closed = true;
	a->ended = true;
	a->close_status = status;
	if (status != BK_OK)
		return;
	/* I7: it is in the store as the writer believes. */
	if (!sim_cluster_record(a->process->cluster, a->ledger_id, &m,
		&version)) {
		sim_blame(a->process->cluster, "closed and not there");
		return;
	}
	if (m.state != BK_LEDGER_CLOSED || m.last_entry != a->acked ||
	    m.length != bk_writer_length(a->w))
		sim_blame(a->process->cluster,
		    "I7: writer closed at %" PRId64 ", the store says %" PRId64,
		    a->acked, m.last_entry);
	bk_ledger_meta_fini(&m);
}

static void
close_if_done(struct sim_writer *a)
{
	if (a->failed || a->acked + 1 >= a->entries) {
		if (a->close && !a->closed)
			bk_writer_close(a->w, writer_closed, a);
		else if (a->failed)
			a->ended = true;
	}
}

static void
acked(void *arg, int64_t last)
{
	struct sim_writer *a = arg;

	sim_mark(a->process->cluster->sim, (uint64_t)last);
	if (last <= a->acked || last > bk_writer_pushed(a->w))
		sim_blame(a->process->cluster,
		    "I4: acked %" PRId64 " after %" PRId64, last, a->acked);
	if (a->failed || a->closed)
		sim_blame(a->process->cluster, "I4: acked after the end");
	a->acked = last;
	close_if_done(a);
}

static void
room(void *arg)
{
	struct sim_writer *a = arg;

	if (a->pace == 0)
		write_on(a);
}

static void
failed(void *arg, enum bk_status status)
{
	struct sim_writer *a = arg;

	if (a->failed || a->closed)
		sim_blame(a->process->cluster, "failed() after the end");
	sim_say(a->process->cluster, "writer: failed: %s, acked %" PRId64,
	    bk_status_name(status), a->acked);
	a->failed = true;
	a->failure = status;
	a->process->barred = true;
	close_if_done(a);
}

static void
replaced(void *arg, const char *lost, const char *spare, int64_t entry)
{
	struct sim_writer *a = arg;

	sim_say(a->process->cluster, "writer: %s -> %s from %" PRId64, lost,
	    spare != NULL ? spare : "none", entry);
	if (spare != NULL)
		a->replaced++;
	else
		a->without++;
	a->replaced_at = entry;
	(void)strlcpy(a->lost, lost, sizeof(a->lost));
	(void)strlcpy(a->spare, spare != NULL ? spare : "", sizeof(a->spare));
}

static void
created(void *arg, enum bk_status status, struct bk_writer *w)
{
	struct sim_writer *a = arg;

	a->created = true;
	a->create_status = status;
	a->w = w;
	if (status != BK_OK) {
		a->ended = true;
		return;
	}
	a->ledger_id = bk_writer_ledger(w);
	write_on(a);
	close_if_done(a);
}

void
sim_writer_start(struct sim_writer *a)
{
	static const struct bk_writer_events events = {
	    .acked = acked,
	    .room = room,
	    .failed = failed,
	    .replaced = replaced,
	};

	a->acked = -1;
	a->ledger_id = -1;
	bk_writer_create(&a->process->client, &a->params, &events, a, created,
	    a);
}

void
sim_writer_more(struct sim_writer *a, int64_t entries)
{
	a->entries = entries;
	write_on(a);
}

void
sim_writer_stop(struct sim_writer *a)
{
	sim_event_stop(&a->next);
	bk_writer_free(a->w);
	a->w = NULL;
	a->ended = true;
}

/* Recoveries. */

static void
recovered(void *arg, enum bk_status status, int64_t last_entry, int64_t length)
{
	struct sim_recovery *a = arg;

	sim_mark(a->process->cluster->sim, (uint64_t)last_entry);
	sim_say(a->process->cluster, "recovery: %s, end %" PRId64,
	    bk_status_name(status), last_entry);
	a->rec = NULL;
	a->ended = true;
	a->status = status;
	a->last_entry = last_entry;
	a->length = length;
}

void
sim_recovery_start(struct sim_recovery *a)
{
	a->ended = false;
	a->rec = sim_need(bk_recover(&a->process->client, a->ledger_id,
	    a->with_password ? &a->password : NULL, recovered, a));
}

void
sim_recovery_stop(struct sim_recovery *a)
{
	bk_recover_abort(a->rec);
	a->rec = NULL;
	a->ended = true;
}

/* Readers. */

static void read_on(struct sim_reader *a);

static void
watch_lac(struct sim_reader *a)
{
	int64_t lac = bk_reader_lac(a->r);

	if (lac < a->lac)
		sim_blame(a->process->cluster,
		    "I8: a reader's LAC went from %" PRId64 " to %" PRId64,
		    a->lac, lac);
	a->lac = lac;
}

static bool
each(void *arg, const struct bk_read_entry *entry)
{
	struct sim_reader *a = arg;
	uint8_t want[SIM_PAYLOAD_MAX];
	size_t len = sim_payload(a->writer->key, entry->entry_id,
	    a->writer->size_max, want);

	sim_mark(a->process->cluster->sim, (uint64_t)entry->entry_id);
	if (entry->entry_id != a->next)
		sim_blame(a->process->cluster,
		    "I3: read %" PRId64 " where %" PRId64 " was due",
		    entry->entry_id, a->next);
	if (entry->payload.len != len ||
	    (len > 0 && memcmp(entry->payload.data, want, len) != 0))
		sim_blame(a->process->cluster,
		    "I3: entry %" PRId64 " has another content",
		    entry->entry_id);
	a->from = entry->bookie;
	a->next = entry->entry_id + 1;
	watch_lac(a);
	return (a->pause_every == 0 || a->next % a->pause_every != 0);
}

static void
go_on(void *arg)
{
	struct sim_reader *a = arg;

	if (a->r != NULL && !a->ended) {
		bk_reader_resume(a->r);
		sim_event_set(a->process->cluster->sim, &a->resume, 5 * BK_MS,
		    go_on, a);
	}
}

static void
waited(void *arg, enum bk_status status)
{
	struct sim_reader *a = arg;

	watch_lac(a);
	if (status == BK_OK || status == BK_ETIMEOUT) {
		read_on(a);
		return;
	}
	a->ended = true;
	a->status = status;
}

static void
have_read(void *arg, enum bk_status status)
{
	struct sim_reader *a = arg;

	if (status == BK_OK && a->follow &&
	    !(bk_reader_closed(a->r) && a->next > bk_reader_lac(a->r))) {
		bk_reader_wait(a->r, a->next - 1, BK_SECOND, waited, a);
		return;
	}
	a->ended = true;
	a->status = status;
}

static void
read_on(struct sim_reader *a)
{
	struct bk_read_options options = {
	    .unconfirmed = a->unconfirmed,
	    .bookie = a->bookie,
	};

	bk_reader_read(a->r, a->next, INT64_MAX, &options, each, have_read, a);
}

static void
opened(void *arg, enum bk_status status, struct bk_reader *r)
{
	struct sim_reader *a = arg;

	a->opened = true;
	a->open_status = status;
	a->r = r;
	if (status != BK_OK) {
		a->ended = true;
		a->status = status;
		return;
	}
	watch_lac(a);
	if (!a->hold)
		sim_reader_go(a);
}

void
sim_reader_go(struct sim_reader *a)
{
	if (a->pause_every > 0)
		go_on(a);
	read_on(a);
}

void
sim_reader_start(struct sim_reader *a)
{
	a->ended = false;
	a->opened = false;
	a->next = a->first;
	a->lac = -1;
	a->r = NULL;
	bk_reader_open(&a->process->client, a->ledger_id, NULL, opened, a);
}

void
sim_reader_stop(struct sim_reader *a)
{
	sim_event_stop(&a->resume);
	bk_reader_free(a->r);
	a->r = NULL;
	a->ended = true;
}
