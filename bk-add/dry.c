/* dry.c - reading and counting, and a look at the bookies (-n). */
#include "bk-add/add.h"
#include "bk-add/input.h"
#include "tool/common.h"
#include "tool/opt.h"
#include "tool/session.h"

#include <inttypes.h>
#include <stdio.h>
#include <sysexits.h>

struct count {
	struct input *input;
	uint64_t nentries, nbytes, largest;
	bool done;
};

static void
count(void *arg)
{
	struct count *c = arg;
	struct input_entry e;
	enum input_result r;

	while ((r = input_next(c->input, &e)) == INPUT_ENTRY) {
		c->nentries++;
		c->nbytes += e.cut.payload.len;
		if (c->largest < e.cut.payload.len)
			c->largest = e.cut.payload.len;
	}
	c->done = r != INPUT_WAIT;
}

static int
count_input(const struct options *o, struct count *c)
{
	struct bk_loop *loop = bk_loop_new();
	int status = EX_OSERR;

	c->input = input_new(o);
	if (loop != NULL && c->input != NULL &&
	    input_start(c->input, loop, count, c) == 0) {
		count(c);
		(void)bk_loop_run_until(loop, &c->done, BK_FOREVER);
		status = input_exit(c->input);
	}
	input_free(c->input);
	bk_loop_free(loop);
	return (status);
}

static void
show_bookies(const struct bk_session *s, const struct options *o)
{
	struct bk_ledger_params p = o->params;

	bk_session_quorum(s, &p);
	if (o->is_name)
		printf("ensemble %d, write quorum %d, ack quorum %d\n",
		    p.ensemble_size, p.write_quorum, p.ack_quorum);
	printf("bookies");
	for (size_t i = 0; i < bk_registry_count(s->registry); i++) {
		const struct bk_bookie_info *b = bk_registry_at(s->registry, i);

		if (b->writable)
			printf(" %s", b->id);
	}
	putchar('\n');
}

int
dry_run(const struct options *o)
{
	struct bk_session_config config = {
	    .cluster = bk_common.cluster,
	    .auth_file = bk_common.auth_file,
	    .bookies = true,
	};
	struct count c = {0};
	struct bk_session *s;
	int status = count_input(o, &c);
	enum bk_status opened;

	if (status != EX_OK)
		return (status);
	printf("entries %" PRIu64 "\nbytes %" PRIu64 "\nlargest %" PRIu64 "\n",
	    c.nentries, c.nbytes, c.largest);
	opened = bk_session_open(&config, &s);
	if (opened == BK_OK)
		show_bookies(s, o);
	else if (opened == BK_ENONODE)
		printf("bookies\n"); /* the first use starts them */
	bk_session_close(s);
	if (opened != BK_OK && opened != BK_ENONODE)
		return (bk_status_exit(opened));
	return (bk_close_stdout());
}
