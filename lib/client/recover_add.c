/*
 * recover_add.c - what was found goes back to an ack quorum, in order
 * (client-protocol.md 3.1 step 6, 3.2).
 *
 * A member that fails is replaced in memory only: the new ensembles are written
 * by the close, together with the end. Written any earlier they would make the
 * next recovery read from members that never got the data.
 */
#include "client/recover_impl.h"

#include "client/pick.h"

#include <stdlib.h>
#include <string.h>

#define LINGER ((uint32_t)(BK_SECOND / BK_PIPE_TICK))

static void
go_on(void *arg)
{
	bk_recover_step(arg);
}

static void
fatal(void *arg, enum bk_status status)
{
	struct bk_recovery *rec = arg;

	bk_pipe_stop(&rec->pipe);
	bk_recover_fail(rec, status);
}

static const struct bk_pipe_events events = {
    .advanced = go_on,
    .lost = go_on,
    .fatal = fatal,
    .idle = go_on,
    .tick = go_on,
};

int
bk_recover_add_start(struct bk_recovery *rec)
{
	struct bk_pipe_config config = {
	    .c = rec->c,
	    .ledger_id = rec->ledger_id,
	    .quorum = rec->ledger.quorum,
	    .flags = BK_REQ_RECOVERY | BK_REQ_HIGH_PRIORITY,
	    .key = rec->ledger.key,
	    .first = rec->lac0 + 1,
	    .bookies = bk_recover_last(rec)->bookies,
	};

	if (bk_pipe_init(&rec->pipe, &config, &events, rec) != 0)
		return (-1);
	rec->piping = true;
	rec->lingering = false;
	return (0);
}

static void
free_list(char **list, int n)
{
	int i;

	for (i = 0; list != NULL && i < n; i++)
		free(list[i]);
	free(list);
}

void
bk_recover_add_stop(struct bk_recovery *rec)
{
	size_t i;

	if (!rec->piping)
		return;
	for (i = 0; i < rec->nchanged; i++)
		free_list(rec->changed[i].bookies,
		    rec->ledger.quorum.ensemble_size);
	free(rec->changed);
	rec->changed = NULL;
	rec->nchanged = 0;
	bk_pipe_fini(&rec->pipe);
	rec->piping = false;
}

/* The current ensemble with spares for the members that are down; NULL when
 * out of memory, *any false when there is no spare. */
static char **
with_spares(struct bk_recovery *rec, bool *any)
{
	const char *members[BK_ENSEMBLE_MAX] = {NULL};
	const char *spares[BK_ENSEMBLE_MAX];
	int e = rec->ledger.quorum.ensemble_size, i;
	size_t n, used = 0;
	char **list = calloc((size_t)e, sizeof(char *));

	for (i = 0; i < e; i++)
		members[i] = rec->pipe.members[i].id;
	n = bk_pick(rec->c, members, (size_t)e,
	    (size_t)__builtin_popcountll(rec->pipe.down), true, spares);
	*any = n > 0;
	for (i = 0; list != NULL && i < e; i++) {
		bool down = (rec->pipe.down >> i & 1) != 0;
		const char *id = down && used < n ? spares[used++] : members[i];

		if ((list[i] = strdup(id)) == NULL) {
			free_list(list, e);
			return (NULL);
		}
	}
	return (list);
}

/* Remember an ensemble from the first entry not yet re-added on; list is
 * taken. */
static int
remember(struct bk_recovery *rec, char **list)
{
	struct bk_segment *last, *more;

	if (rec->nchanged > 0) {
		last = &rec->changed[rec->nchanged - 1];
		if (last->first_entry == rec->pipe.head) {
			free_list(last->bookies,
			    rec->ledger.quorum.ensemble_size);
			last->bookies = list;
			return (0);
		}
	}
	more = realloc(rec->changed, (rec->nchanged + 1) * sizeof(*more));
	if (more == NULL) {
		free_list(list, rec->ledger.quorum.ensemble_size);
		return (-1);
	}
	rec->changed = more;
	more[rec->nchanged++] = (struct bk_segment){rec->pipe.head, list};
	return (0);
}

/* No spare: on without the member if the quorum can be had, else wait for one
 * for a while. */
static void
do_without(struct bk_recovery *rec)
{
	if (!bk_pipe_blocked(&rec->pipe))
		return;
	bk_pipe_call_for_help(&rec->pipe);
	if (bk_pipe_starved(&rec->pipe))
		bk_recover_fail(rec, BK_ENOTENOUGH);
}

void
bk_recover_add_mend(struct bk_recovery *rec)
{
	char **list;
	bool any;

	if (rec->pipe.down == 0 || rec->failure != BK_OK ||
	    bk_pipe_pending(&rec->pipe) == 0)
		return;
	if ((list = with_spares(rec, &any)) == NULL) {
		bk_recover_fail(rec, BK_ENOMEM);
		return;
	}
	if (!any) {
		free_list(list, rec->ledger.quorum.ensemble_size);
		do_without(rec);
		return;
	}
	if (remember(rec, list) != 0 || bk_pipe_adopt(&rec->pipe, list) != 0)
		bk_recover_fail(rec, BK_ENOMEM);
}

bool
bk_recover_add_done(struct bk_recovery *rec)
{
	if (rec->failure != BK_OK || bk_pipe_pending(&rec->pipe) > 0)
		return (false);
	if (rec->pipe.tail == rec->pipe.next)
		return (true);
	if (!rec->lingering) {
		rec->lingering = true;
		rec->linger_since = rec->pipe.tick;
	}
	return (rec->pipe.tick - rec->linger_since > LINGER);
}
