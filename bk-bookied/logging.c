/* logging.c - the log's callback. */
#include "bk-bookied/logging.h"
#include "base/log.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <syslog.h>
#include <time.h>
#include <unistd.h>

#define PROGRAM "bk-bookied"

static bool with_time;
static bool with_level;

static const struct {
	const char *word;
	int priority; /* of syslog(3) */
} severities[] = {
    [BK_LOG_ERROR] = {"error", LOG_ERR},
    [BK_LOG_WARNING] = {"warning", LOG_WARNING},
    [BK_LOG_INFO] = {"info", LOG_INFO},
    [BK_LOG_DEBUG] = {"debug", LOG_DEBUG},
};

/* Whether JOURNAL_STREAM names our standard error. */
static bool
journal_reads_us(void)
{
	const char *stream = getenv("JOURNAL_STREAM");
	uintmax_t device, inode;
	struct stat st;

	return (stream != NULL &&
	    sscanf(stream, "%ju:%ju", &device, &inode) == 2 &&
	    fstat(STDERR_FILENO, &st) == 0 && st.st_dev == device &&
	    st.st_ino == inode);
}

static void
put_time(char *out, size_t len)
{
	struct timespec now;
	struct tm tm;
	char seconds[32], zone[8];

	out[0] = '\0';
	if (clock_gettime(CLOCK_REALTIME, &now) == -1 ||
	    localtime_r(&now.tv_sec, &tm) == NULL ||
	    strftime(seconds, sizeof(seconds), "%Y-%m-%dT%H:%M:%S", &tm) == 0 ||
	    strftime(zone, sizeof(zone), "%z", &tm) == 0)
		return;
	(void)snprintf(out, len, "%s.%03ld%s ", seconds, now.tv_nsec / 1000000,
	    zone);
}

static void
to_stderr(void *arg, enum bk_severity severity, const char *line)
{
	char out[1200], level[8] = "", time[64] = "";
	int n;

	(void)arg;
	if (with_level)
		(void)snprintf(level, sizeof(level), "<%d>",
		    severities[severity].priority);
	if (with_time)
		put_time(time, sizeof(time));
	n = snprintf(out, sizeof(out), "%s%s" PROGRAM ": %s: %s\n", level, time,
	    severities[severity].word, line);
	/* One write a line; nobody is left to tell when it fails. */
	if (n > 0 && write(STDERR_FILENO, out, (size_t)n) == -1)
		return;
}

static void
to_syslog(void *arg, enum bk_severity severity, const char *line)
{
	(void)arg;
	syslog(severities[severity].priority, "%s: %s",
	    severities[severity].word, line);
}

void
logging_to_syslog(void)
{
	openlog(PROGRAM, LOG_PID, LOG_DAEMON);
	bk_log_to(to_syslog, NULL);
}

void
logging_init(const struct logging_config *config)
{
	enum bk_severity max = BK_LOG_INFO;

	if (config->quiet)
		max = BK_LOG_ERROR;
	else if (config->verbose > 0)
		max = BK_LOG_DEBUG;
	bk_log_init(PROGRAM, max, true);
	with_time = config->time;
	with_level = journal_reads_us();
	if (config->syslog)
		logging_to_syslog();
	else
		bk_log_to(to_stderr, NULL);
}
