/* main.c - bk-bookied: how it was started, and on to the bookie. */
#include "bk-bookied/bookie.h"
#include "bk-bookied/daemon.h"
#include "bk-bookied/inetd.h"
#include "bk-bookied/local.h"
#include "bk-bookied/logging.h"
#include "bk-bookied/options.h"
#include "bk-bookied/place.h"

#include "base/log.h"
#include "loop/listen.h"
#include "tool/common.h"

#include <stdbool.h>
#include <stdlib.h>
#include <sysexits.h>

/* Started by inetd with sockets that listen, and not yet past the options: an
 * exit now would have us started again at once. */
static bool turns_away;

static void
at_exit(void)
{
	if (turns_away)
		inetd_turn_away();
}

static void
begin_logging(const struct options *o, const struct bk_inherited *in)
{
	struct logging_config config = {
	    .quiet = bk_common.quiet,
	    .verbose = bk_common.verbose,
	    .time = o->log_time,
	    .syslog = o->syslog,
	};

	logging_init(&config);
	/* Standard error may be the connection itself. */
	if (in->how == BK_START_INETD_NOWAIT)
		logging_to_syslog();
}

/* One connection, for the bookie that runs. */
static int
pass_on(const struct options *o)
{
	struct place place;
	int status = place_find(&place, o);

	if (status == 0)
		status = inetd_pass_on(place.data[0]);
	place_fini(&place);
	return (status);
}

int
main(int argc, char **argv)
{
	struct bk_inherited in;
	struct options options;
	const char *why;
	int status;

	if (bk_inherited_find(&in, &why) != 0) {
		bk_log_init("bk-bookied", BK_LOG_INFO, true);
		bk_log(BK_LOG_ERROR, "inherited sockets: %s", why);
		return (EX_CONFIG);
	}
	/* Standard error is a listening socket then: a usage error must not end
	 * in SIGPIPE. */
	if (in.how == BK_START_INETD_WAIT) {
		daemon_ignore_signals();
		turns_away = atexit(at_exit) == 0;
	}
	options_parse(&options, argc, argv);
	turns_away = false;
	begin_logging(&options, &in);
	if (options.test)
		return (bookie_test(&options));
	daemon_ignore_signals();
	if (in.how == BK_START_INETD_NOWAIT)
		return (pass_on(&options));
	if (options.daemon)
		daemon_begin();
	status =
	    options.local > 0 ? local_run(&options) : bookie_run(&options, &in);
	if (status == EX_CONFIG && in.how == BK_START_INETD_WAIT)
		inetd_turn_away();
	return (status);
}
