/* log.c - lines to standard error or to a callback. */
#include "base/log.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#define LINE_MAX_BYTES 1000

static struct {
	const char *program;
	enum bk_severity max;
	bool show_severity;
	bk_log_fn *fn;
	void *arg;
} state = {.program = "bk", .max = BK_LOG_WARNING};

void
bk_log_init(const char *program, enum bk_severity max, bool show_severity)
{
	state.program = program;
	state.max = max;
	state.show_severity = show_severity;
}

const char *
bk_log_program(void)
{
	return (state.program);
}

void
bk_log_level(enum bk_severity max)
{
	state.max = max;
}

bool
bk_log_shows(enum bk_severity severity)
{
	return (severity <= state.max);
}

void
bk_log_to(bk_log_fn *fn, void *arg)
{
	state.fn = fn;
	state.arg = arg;
}

/* One write(2) a line, so that lines of several processes do not mix. */
static void
to_stderr(enum bk_severity severity, const char *line)
{
	static const char *const word[] = {"error: ", "warning: ", "info: ",
	    "debug: "};
	char out[LINE_MAX_BYTES + 128];
	int n;

	n = snprintf(out, sizeof(out), "%s: %s%s\n", state.program,
	    state.show_severity ? word[severity] : "", line);
	if (n < 0)
		return;
	if ((size_t)n >= sizeof(out)) {
		n = (int)sizeof(out) - 1;
		out[n - 1] = '\n';
	}
	/* Nobody is left to tell when standard error cannot be written. */
	if (write(STDERR_FILENO, out, (size_t)n) == -1)
		return;
}

void
bk_vlog(enum bk_severity severity, const char *fmt, va_list ap)
{
	char line[LINE_MAX_BYTES + 1];
	int saved = errno;

	if (bk_log_shows(severity)) {
		(void)vsnprintf(line, sizeof(line), fmt, ap);
		if (state.fn != NULL)
			state.fn(state.arg, severity, line);
		else
			to_stderr(severity, line);
	}
	errno = saved;
}

void
bk_log(enum bk_severity severity, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	bk_vlog(severity, fmt, ap);
	va_end(ap);
}
