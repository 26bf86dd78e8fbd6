/*
 * local.c - start N of ourselves, say when all are ready, hand signals on, and
 * end with the last of them. A bookie that dies is not started again: that is
 * what there is to try out.
 */
#include "bk-bookied/local.h"
#include "base/log.h"
#include "bk-bookied/daemon.h"
#include "bk-bookied/options.h"
#include "bk-bookied/place.h"
#include "loop/listen.h"
#include "tool/common.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <sysexits.h>
#include <unistd.h>

#define BOOKIES_MAX 99
#define READY_FD 3

struct child {
	pid_t pid; /* 0: has ended */
	int ready; /* its word comes from here */
	char id[24];
};

static struct child children[BOOKIES_MAX];
static size_t nchildren;

/* Signals are handed on as they come; nothing else is done here. */
static void
hand_on(int signo)
{
	size_t i;

	for (i = 0; i < nchildren; i++)
		if (children[i].pid > 0)
			(void)kill(children[i].pid, signo);
}

static void
catch_signals(void)
{
	static const int caught[] = {SIGTERM, SIGINT, SIGHUP, SIGUSR1, SIGUSR2};
	struct sigaction action = {.sa_handler = hand_on};
	size_t i;

	(void)sigemptyset(&action.sa_mask);
	for (i = 0; i < sizeof(caught) / sizeof(caught[0]); i++)
		(void)sigaction(caught[i], &action, NULL);
}

/* The child: becomes a bookie of its own. */
static void
become_bookie(const struct child *c, const char *cluster, const char *dir,
    const struct options *o, int ready)
{
	char memory[32];
	char *argv[20];
	size_t n = 0;

	(void)snprintf(memory, sizeof(memory), "%" PRId64, o->memory);
	argv[n++] = (char *)(uintptr_t) "bk-bookied";
	argv[n++] = (char *)(uintptr_t) "--cluster";
	argv[n++] = (char *)(uintptr_t)cluster;
	argv[n++] = (char *)(uintptr_t) "--id";
	argv[n++] = (char *)(uintptr_t)c->id;
	argv[n++] = (char *)(uintptr_t) "--data";
	argv[n++] = (char *)(uintptr_t)dir;
	argv[n++] = (char *)(uintptr_t) "--memory";
	argv[n++] = memory;
	argv[n++] = (char *)(uintptr_t) "--ready-fd";
	argv[n++] = (char *)(uintptr_t) "3";
	if (bk_common.quiet)
		argv[n++] = (char *)(uintptr_t) "-q";
	if (bk_common.verbose > 0)
		argv[n++] = (char *)(uintptr_t) "-v";
	if (o->log_time)
		argv[n++] = (char *)(uintptr_t) "--log-time";
	argv[n] = NULL;
	if (dup2(ready, READY_FD) == READY_FD)
		(void)execv("/proc/self/exe", argv);
	bk_log(BK_LOG_ERROR, "%s: cannot start: %s", c->id, strerror(errno));
	_exit(EX_OSERR);
}

static int
start_one(struct child *c, const char *cluster, const char *state,
    const struct options *o)
{
	char *dir = place_join(state, c->id);
	int ends[2];

	if (dir == NULL || pipe2(ends, O_CLOEXEC) == -1)
		goto fail;
	if ((c->pid = fork()) == -1)
		goto fail;
	if (c->pid == 0)
		become_bookie(c, cluster, dir, o, ends[1]);
	free(dir);
	(void)close(ends[1]);
	c->ready = ends[0];
	return (0);
fail:
	bk_log(BK_LOG_ERROR, "%s: cannot start: %s", c->id, strerror(errno));
	free(dir);
	return (-1);
}

/* Whether a child became ready; it says so, or ends. */
static bool
is_ready(struct child *c)
{
	char word;
	ssize_t n;

	do
		n = read(c->ready, &word, 1);
	while (n == -1 && errno == EINTR);
	(void)close(c->ready);
	return (n == 1);
}

/* The first status that is not 0, of all that end. */
static int
wait_for_all(void)
{
	size_t left = nchildren, i;
	int status, first = 0;
	pid_t pid;

	while (left > 0) {
		pid = waitpid(-1, &status, 0);
		if (pid == -1 && errno == EINTR)
			continue;
		if (pid == -1)
			break;
		for (i = 0; i < nchildren; i++) {
			if (children[i].pid != pid)
				continue;
			children[i].pid = 0;
			left--;
			if (WIFSIGNALED(status))
				bk_log(BK_LOG_WARNING, "%s: ended by signal %d",
				    children[i].id, WTERMSIG(status));
			else if (first == 0)
				first = WEXITSTATUS(status);
		}
	}
	return (first);
}

static int
start_all(const struct options *o, const char *cluster, const char *state)
{
	struct child *c;
	size_t i;

	for (i = 0; i < (size_t)o->local; i++) {
		c = &children[i];
		(void)snprintf(c->id, sizeof(c->id), "b%zu", i + 1);
		if (start_one(c, cluster, state, o) == -1) {
			hand_on(SIGTERM);
			return (-1);
		}
		nchildren++;
	}
	for (i = 0; i < nchildren; i++) {
		if (is_ready(&children[i]))
			continue;
		hand_on(SIGTERM);
		return (-1);
	}
	return (0);
}

/* "local:DIR/store" keeps its bookies in DIR, as with nothing configured. */
static char *
state_of(const char *cluster)
{
	const char *dir = cluster + strlen("local:");
	const char *slash = strrchr(dir, '/');

	if (slash == NULL)
		return (strdup("."));
	return (strndup(dir, (size_t)(slash - dir)));
}

static int
run_in(const struct options *o, const char *cluster, const char *state)
{
	int started, status;

	catch_signals();
	started = start_all(o, cluster, state);
	if (started == 0) {
		bk_log(BK_LOG_INFO, "%zu bookies under %s are ready", nchildren,
		    state);
		bk_ready_tell((int)o->ready_fd);
		daemon_ready();
	}
	status = wait_for_all();
	return (started == -1 && status == 0 ? EX_OSERR : status);
}

int
local_run(const struct options *o)
{
	char *cluster = NULL, *state = NULL;
	int status = EX_OSERR;

	if (bk_common.cluster == NULL) {
		if ((state = place_state_dir()) != NULL &&
		    asprintf(&cluster, "local:%s/store", state) == -1)
			cluster = NULL;
	} else if (strncmp(bk_common.cluster, "local:", 6) != 0)
		bk_usage("--local is for the embedded store");
	else {
		cluster = strdup(bk_common.cluster);
		state = state_of(bk_common.cluster);
	}
	if (cluster != NULL && state != NULL)
		status = run_in(o, cluster, state);
	free(cluster);
	free(state);
	return (status);
}
