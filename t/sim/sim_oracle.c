/* sim_oracle.c - see sim_oracle.h. */
#include "t/sim/sim_oracle.h"

#include "quorum/quorum.h"

#include <bsd/string.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static bool
same_list(const struct bk_ledger_meta *m, const struct bk_segment *a,
    const struct bk_segment *b)
{
	int i;

	for (i = 0; i < m->ensemble_size; i++)
		if (strcmp(a->bookies[i], b->bookies[i]) != 0)
			return (false);
	return (true);
}

/* I10: keys rise from 0, members are distinct. */
static void
check_shape(struct sim_cluster *c, const struct bk_ledger_meta *m)
{
	size_t s;
	int i, j;

	if (m->nsegments == 0 || m->segments[0].first_entry != 0)
		sim_blame(c, "I10: no segment at 0");
	for (s = 0; s < m->nsegments; s++) {
		const struct bk_segment *at = &m->segments[s];

		if (s > 0 && at->first_entry <= at[-1].first_entry)
			sim_blame(c, "I10: keys do not rise");
		for (i = 0; i < m->ensemble_size; i++)
			for (j = 0; j < i; j++)
				if (strcmp(at->bookies[i], at->bookies[j]) == 0)
					sim_blame(c, "I10: %s twice",
					    at->bookies[i]);
	}
	if (m->state == BK_LEDGER_CLOSED &&
	    m->segments[m->nsegments - 1].first_entry > m->last_entry + 1)
		sim_blame(c, "I10: a segment beyond the end");
}

/* I11: only the last segment changes, or further ones come. */
static void
check_segments(struct sim_cluster *c, const struct bk_ledger_meta *was,
    const struct bk_ledger_meta *is)
{
	size_t s;

	if (is->nsegments < was->nsegments)
		sim_blame(c, "I11: a segment is gone");
	for (s = 0; s < was->nsegments && s < is->nsegments; s++) {
		const struct bk_segment *a = &was->segments[s];
		const struct bk_segment *b = &is->segments[s];

		if (a->first_entry != b->first_entry)
			sim_blame(c, "I11: key %" PRId64 " became %" PRId64,
			    a->first_entry, b->first_entry);
		if (s + 1 < was->nsegments && !same_list(was, a, b))
			sim_blame(c, "I11: an earlier segment changed");
	}
}

static void
check_change(struct sim_cluster *c, const struct bk_ledger_meta *was,
    const struct bk_ledger_meta *is)
{
	if (is->state < was->state)
		sim_blame(c, "I6: %s became %s",
		    bk_ledger_state_name(was->state),
		    bk_ledger_state_name(is->state));
	if (was->state == BK_LEDGER_CLOSED &&
	    (is->last_entry != was->last_entry || is->length != was->length))
		sim_blame(c, "I6: a closed end moved");
	check_segments(c, was, is);
}

static void
traced(void *arg, const char *line)
{
	struct sim_oracle *o = arg;
	struct bk_ledger_meta m;
	char path[BK_PATH_MAX + 1];
	int64_t id;
	int32_t version;

	if (sscanf(line, "%*s %500s", path) != 1 ||
	    bk_ledger_path_parse(&o->tree, path, &id) != 0 ||
	    !sim_cluster_record(o->c, id, &m, &version))
		return;
	sim_say(o->c,
	    "store: v%d %s, %zu segments from %" PRId64 ", end %" PRId64,
	    version, bk_ledger_state_name(m.state), m.nsegments,
	    m.segments[m.nsegments - 1].first_entry, m.last_entry);
	sim_mark(o->c->sim, (uint64_t)version);
	check_shape(o->c, &m);
	if (o->ledger_id == id)
		check_change(o->c, &o->last, &m);
	bk_ledger_meta_fini(&o->last);
	o->last = m;
	o->ledger_id = id;
}

void
sim_oracle_init(struct sim_oracle *o, struct sim_cluster *c)
{
	memset(o, 0, sizeof(*o));
	o->c = c;
	o->ledger_id = -1;
	o->tree.layout = BK_LAYOUT_HIERARCHICAL;
	(void)strlcpy(o->tree.root, "/ledgers", sizeof(o->tree.root));
	bk_ledger_meta_init(&o->last);
	mem_store_trace(c->store, traced, o);
}

void
sim_oracle_fini(struct sim_oracle *o)
{
	mem_store_trace(o->c->store, NULL, NULL);
	bk_ledger_meta_fini(&o->last);
}

/* Whether a bookie has a good copy. */
static bool
has_good_copy(const struct sim_oracle *o, const struct sim_writer *w,
    const struct bk_digester *d, const char *bookie, int64_t entry_id)
{
	int i = sim_cluster_find(o->c, bookie);
	uint8_t want[SIM_PAYLOAD_MAX];
	struct bk_entry_header h;
	struct bk_bytes entry, payload;
	size_t len;

	if (i < 0 ||
	    !sim_bookie_holds(o->c->bookies[i], w->ledger_id, entry_id, &entry))
		return (false);
	len = sim_payload(w->key, entry_id, w->size_max, want);
	return (bk_entry_verify(d, entry, w->ledger_id, entry_id, &h,
		    &payload) == BK_OK &&
	    payload.len == len &&
	    (len == 0 || memcmp(payload.data, want, len) == 0) &&
	    h.length == sim_payload_sum(w->key, entry_id, w->size_max));
}

/* I2: on members of the write set by the closing record. */
static void
check_copies(struct sim_oracle *o, const struct sim_writer *w)
{
	const struct bk_ledger_meta *m = &o->last;
	struct bk_quorum q = {m->ensemble_size, m->write_quorum, m->ack_quorum};
	struct bk_digester d;
	int64_t e;

	(void)bk_digester_init(&d, m->digest, m->password, m->password_len);
	for (e = 0; e <= m->last_entry; e++) {
		const struct bk_segment *s =
		    &m->segments[bk_ledger_meta_segment(m, e)];
		int i, n = 0;

		for (i = 0; i < m->write_quorum; i++)
			n += has_good_copy(o, w, &d,
			    s->bookies[bk_quorum_position(&q, e, i)], e);
		if (n < m->ack_quorum)
			sim_blame(o->c,
			    "I2: entry %" PRId64 " of 0 to %" PRId64
			    " has %d copies",
			    e, m->last_entry, n);
	}
}

void
sim_oracle_judge(struct sim_oracle *o, const struct sim_writer *w)
{
	const struct bk_ledger_meta *m = &o->last;

	if (o->ledger_id != w->ledger_id || m->state != BK_LEDGER_CLOSED) {
		sim_blame(o->c, "I16: the ledger is not closed");
		return;
	}
	if (w->acked > m->last_entry)
		sim_blame(o->c,
		    "I5: %" PRId64 " acknowledged, closed at %" PRId64,
		    w->acked, m->last_entry);
	if (m->last_entry >= w->pushed)
		sim_blame(o->c, "closed above what was ever written");
	if (m->length != sim_payload_sum(w->key, m->last_entry, w->size_max))
		sim_blame(o->c, "I14: length %" PRId64 " for 0 to %" PRId64,
		    m->length, m->last_entry);
	check_copies(o, w);
}
