/* main.c - bk-read: the sources, one after the other, to standard output. */
#include "bk-read/read.h"

#include "base/log.h"
#include "tool/common.h"

#include <string.h>
#include <sysexits.h>

static void
drained(void *arg)
{
	struct reading *r = arg;

	if (r->reader != NULL && !r->stop)
		bk_reader_resume(r->reader);
}

static void
failed(void *arg)
{
	struct reading *r = arg;

	r->stop = true;
	bk_loop_stop(r->s->loop);
}

static int
read_sources(struct reading *r)
{
	int i, code, status = EX_OK;

	r->out = output_open(r->s->loop, r->o, drained, failed, r);
	if (r->out == NULL)
		return (bk_session_fail(BK_ESYS, "standard output"));
	for (i = 0; i < r->o->nsources && !r->stop; i++) {
		code = walk_source(r, r->o->sources[i]);
		status = code != EX_OK ? code : status;
	}
	if ((code = output_close(r->out)) != 0) {
		bk_log(BK_LOG_ERROR, "standard output: %s", strerror(code));
		return (EX_IOERR);
	}
	return (status);
}

/* Without a local store yet there is nothing to read; waiting for a name means
 * waiting for the store too. */
static int
nothing(const struct options *o)
{
	return (bk_session_fail(BK_ENOLEDGER, "%s", o->sources[0]));
}

int
main(int argc, char **argv)
{
	struct options o;
	struct bk_session_config config;
	struct reading r = {.o = &o};
	enum bk_status status;
	int code;

	options_parse(&o, argc, argv);
	config = (struct bk_session_config){
	    .cluster = bk_common.cluster,
	    .auth_file = bk_common.auth_file,
	    .bookies = true,
	    .need_any = true,
	    .create = o.wait,
	};
	status = bk_session_open(&config, &r.s);
	if (status == BK_ENONODE)
		return (nothing(&o));
	if (status != BK_OK)
		return (bk_status_exit(status));
	r.left = o.count;
	r.stop = o.count == 0;
	code = read_sources(&r);
	r.over = true;
	bk_session_close(r.s);
	return (code);
}
