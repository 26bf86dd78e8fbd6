/* loop_calls.c - tickets and time-outs of outstanding requests. */
#include "loop/calls.h"
#include "tap.h"

#define MANY 1000

static void
no_reply(void *arg, const struct bk_response *resp)
{
	(void)arg;
	(void)resp;
}

static struct bk_call *
take(struct bk_calls *calls)
{
	struct bk_call *call = bk_calls_take(calls);

	call->cb = no_reply;
	return (call);
}

static void
tickets(void)
{
	struct bk_calls calls;
	struct bk_call *taken[MANY];
	struct bk_call *again;
	uint64_t old;
	bool found = true;

	bk_calls_init(&calls);
	for (int i = 0; i < MANY; i++)
		taken[i] = take(&calls);
	for (int i = 0; i < MANY; i++)
		found = found && taken[i]->ticket != 0 &&
		    bk_calls_find(&calls, taken[i]->ticket) == taken[i];
	ok(found, "each of many tickets finds its call");
	ok(bk_calls_find(&calls, 0) == NULL, "0 is no ticket");
	ok(bk_calls_find(&calls, UINT64_MAX) == NULL, "nor is any number");

	old = taken[3]->ticket;
	bk_calls_give(&calls, taken[3]);
	ok(bk_calls_find(&calls, old) == NULL, "a ticket ends with its call");
	again = take(&calls);
	ok(again == taken[3], "the slot is used again");
	ok(bk_calls_find(&calls, old) == NULL, "the old ticket stays void");
	ok(bk_calls_find(&calls, again->ticket) == again, "the new one holds");
	bk_calls_fini(&calls);
}

static void
times(void)
{
	static const int64_t timeouts[] = {1, 31, 33, 1000, BK_MS, BK_SECOND,
	    5 * BK_SECOND, 3600 * BK_SECOND};
	struct bk_calls calls;
	struct bk_call *call;
	bool close = true;
	int64_t late;

	bk_calls_init(&calls);
	is_int(bk_calls_next_due(&calls), BK_FOREVER, "nothing is due");
	for (size_t i = 0; i < sizeof(timeouts) / sizeof(timeouts[0]); i++) {
		call = take(&calls);
		close =
		    close && bk_calls_time(&calls, call, timeouts[i], 100) == 0;
		late = call->due - 100 - timeouts[i];
		close = close && late >= 0 && late <= timeouts[i] / 16;
		bk_calls_give(&calls, call);
	}
	ok(close, "a time-out is never early, at most a sixteenth late");
	is_int(bk_calls_next_due(&calls), BK_FOREVER, "all are gone");

	call = take(&calls);
	ok(bk_calls_time(&calls, call, BK_FOREVER, BK_SECOND) == 0 &&
		call->due > BK_SECOND,
	    "for ever does not overflow");
	bk_calls_fini(&calls);
}

static void
order(void)
{
	struct bk_calls calls;
	struct bk_call *slow;
	struct bk_call *fast[3];

	bk_calls_init(&calls);
	slow = take(&calls);
	(void)bk_calls_time(&calls, slow, 512, 0);
	for (int i = 0; i < 3; i++) {
		fast[i] = take(&calls);
		(void)bk_calls_time(&calls, fast[i], 16, i);
	}
	is_int(bk_calls_next_due(&calls), 16, "the shortest comes first");
	ok(bk_calls_due(&calls, 15) == NULL, "not before its time");
	ok(bk_calls_due(&calls, 17) == fast[0], "then the oldest");
	bk_calls_give(&calls, fast[0]);
	bk_calls_give(&calls, fast[1]);
	ok(bk_calls_due(&calls, 17) == NULL, "an answered one never");
	is_int(bk_calls_next_due(&calls), 18, "the next is known");
	bk_calls_give(&calls, fast[2]);
	ok(bk_calls_due(&calls, 512) == slow, "a long one in its own time");
	bk_calls_fini(&calls);
}

int
main(void)
{
	tickets();
	times();
	order();
	return (tap_done());
}
