/*
 * metrics.c - bk-ledger metrics: the cluster's figures in Prometheus' text
 * format, for the textfile collector, or with --http as one answer to inetd.
 */
#include "bk-ledger/bookie_list.h"
#include "bk-ledger/call.h"
#include "bk-ledger/command.h"

#include "tool/common.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>

static struct {
	bool http;
} opt;

static void
head(struct bk_buf *out, const char *name, const char *help)
{
	(void)bk_buf_printf(out, "# HELP %s %s\n# TYPE %s gauge\n", name, help,
	    name);
}

/* Bookie ids have no character that a label would have to escape but the
 * backslash Java lets pass. */
static void
sample(struct bk_buf *out, const char *name, const char *bookie, int64_t value)
{
	(void)bk_buf_printf(out, "%s{bookie=\"", name);
	for (; *bookie != '\0'; bookie++)
		(void)bk_buf_printf(out, *bookie == '\\' ? "\\%c" : "%c",
		    *bookie);
	(void)bk_buf_printf(out, "\"} %" PRId64 "\n", value);
}

static void
put_bookies(struct bk_buf *out, const struct bookie_list *l)
{
	size_t i;

	head(out, "bk_bookie_up",
	    "Whether the bookie is registered and "
	    "answers.");
	for (i = 0; i < l->n; i++)
		sample(out, "bk_bookie_up", l->item[i].id, l->item[i].answered);
	head(out, "bk_bookie_writable", "Whether it takes new entries.");
	for (i = 0; i < l->n; i++)
		sample(out, "bk_bookie_writable", l->item[i].id,
		    l->item[i].writable);
	head(out, "bk_bookie_free_bytes", "Usable space of its disks.");
	for (i = 0; i < l->n; i++)
		if (l->item[i].free >= 0)
			sample(out, "bk_bookie_free_bytes", l->item[i].id,
			    l->item[i].free);
	head(out, "bk_bookie_size_bytes", "Size of its disks.");
	for (i = 0; i < l->n; i++)
		if (l->item[i].total >= 0)
			sample(out, "bk_bookie_size_bytes", l->item[i].id,
			    l->item[i].total);
}

static enum bk_status
gather(struct bk_session *s, struct bk_buf *out)
{
	struct bookie_list l;
	enum bk_status status;
	int64_t *ids;
	size_t n;

	if ((status = bookie_list_read(s, &l)) != BK_OK)
		return (status);
	put_bookies(out, &l);
	bookie_list_fini(&l);
	if ((status = call_walk(s, &ids, &n)) != BK_OK)
		return (status);
	free(ids);
	head(out, "bk_ledgers", "Ledgers in the metadata store.");
	(void)bk_buf_printf(out, "bk_ledgers %zu\n", n);
	return (BK_OK);
}

/* Whatever was asked for gets the figures; the request is read to its end, so
 * that closing does not reset the connection. */
static void
read_request(void)
{
	char line[4096];

	while (fgets(line, sizeof(line), stdin) != NULL &&
	    line[strspn(line, "\r\n")] != '\0')
		;
}

int
command_metrics(int argc, char **argv)
{
	static const char *const examples[] = {"bk-ledger metrics",
	    "bk-ledger metrics > /var/lib/prometheus/node-exporter/bk.prom",
	    "bk-ledger metrics --http < request", NULL};
	struct bk_opt opts[] = {
	    {0, "http", BK_OPT_FLAG, .value = &opt.http,
		.help = "read an HTTP request, answer it (inetd)"},
	    BK_COMMON_OPTS,
	    BK_OPT_END,
	};
	struct bk_program program = {.name = "bk-ledger",
	    .command = "metrics",
	    .usage = "[--http]",
	    .purpose = "figures in Prometheus' text format",
	    .examples = examples,
	    .opts = opts};
	struct bk_session *s;
	enum bk_status status;
	struct bk_buf text;
	int code = EX_OK, closed;

	if (bk_opt_parse(&program, argc, argv) != argc)
		bk_usage("metrics takes no operand");
	if (opt.http)
		read_request();
	if ((s = call_open(CALL_BOOKIES)) == NULL)
		return (call_nothing(0, argv));
	bk_buf_init(&text);
	if ((status = gather(s, &text)) != BK_OK)
		code = bk_session_fail(status, "metrics");
	if (opt.http)
		(void)printf("HTTP/1.0 %s\r\nContent-Type: text/plain; "
			     "version=0.0.4\r\nContent-Length: %zu\r\n\r\n",
		    code == EX_OK ? "200 OK" : "503 Service Unavailable",
		    bk_buf_len(&text));
	(void)fwrite(bk_buf_head(&text), 1, bk_buf_len(&text), stdout);
	bk_buf_fini(&text);
	bk_session_close(s);
	closed = bk_close_stdout();
	return (closed != EX_OK ? closed : code);
}
