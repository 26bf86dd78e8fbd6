/* daemon.c - background, pid file, user, signals. */
#include "bk-bookied/daemon.h"
#include "base/log.h"
#include "bk-bookied/logging.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <sysexits.h>
#include <unistd.h>

/* To the parent that waits; -1: none does. */
static int parent = -1;

/* The child is ready, or has ended: pass its word on. */
static void
wait_for_child(pid_t child, int from)
{
	int status;
	char c;
	ssize_t n;

	do
		n = read(from, &c, 1);
	while (n == -1 && errno == EINTR);
	if (n == 1)
		_exit(EX_OK);
	while (waitpid(child, &status, 0) == -1)
		if (errno != EINTR)
			_exit(EX_OSERR);
	_exit(WIFEXITED(status) ? WEXITSTATUS(status) : EX_SOFTWARE);
}

void
daemon_begin(void)
{
	int ends[2];
	pid_t child;

	if (pipe2(ends, O_CLOEXEC) == -1 || (child = fork()) == -1) {
		bk_log(BK_LOG_ERROR, "cannot go to the background: %s",
		    strerror(errno));
		exit(EX_OSERR);
	}
	if (child != 0) {
		(void)close(ends[1]);
		wait_for_child(child, ends[0]);
	}
	(void)close(ends[0]);
	(void)setsid();
	parent = ends[1];
}

void
daemon_ready(void)
{
	int null;

	if (parent == -1)
		return;
	logging_to_syslog();
	if ((null = open("/dev/null", O_RDWR | O_CLOEXEC)) != -1) {
		(void)dup2(null, STDIN_FILENO);
		(void)dup2(null, STDOUT_FILENO);
		(void)dup2(null, STDERR_FILENO);
		(void)close(null);
	}
	/* A parent that has gone does not want to know. */
	if (write(parent, "\n", 1) == -1)
		bk_log(BK_LOG_DEBUG, "the parent has gone");
	(void)close(parent);
	parent = -1;
}

static int
write_pid(int fd)
{
	char text[32];
	int n = snprintf(text, sizeof(text), "%ld\n", (long)getpid());

	if (ftruncate(fd, 0) == -1 || write(fd, text, (size_t)n) != n)
		return (-1);
	return (0);
}

int
daemon_pidfile(const char *path)
{
	/* Kept open for the lock. */
	int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0644);

	if (fd == -1) {
		bk_log(BK_LOG_ERROR, "%s: %s", path, strerror(errno));
		return (EX_CANTCREAT);
	}
	if (flock(fd, LOCK_EX | LOCK_NB) == -1) {
		bk_log(BK_LOG_ERROR, "%s: locked: another one is running",
		    path);
		return (EX_CONFIG);
	}
	if (write_pid(fd) == -1) {
		bk_log(BK_LOG_ERROR, "%s: %s", path, strerror(errno));
		return (EX_IOERR);
	}
	return (0);
}

/* The ids that "USER[:GROUP]" names; name is cut at the colon. -1 if unknown. */
static int
find_ids(char *name, uid_t *uid, gid_t *gid)
{
	char *group = strchr(name, ':');
	struct passwd *p;
	struct group *g;

	if (group != NULL)
		*group++ = '\0';
	if ((p = getpwnam(name)) == NULL)
		return (-1);
	*uid = p->pw_uid;
	*gid = p->pw_gid;
	if (group == NULL)
		return (0);
	if ((g = getgrnam(group)) == NULL)
		return (-1);
	*gid = g->gr_gid;
	return (0);
}

static int
switch_to(const char *name, uid_t uid, gid_t gid)
{
	uid_t r, e, s;
	gid_t rg, eg, sg;

	if (initgroups(name, gid) == -1 || setresgid(gid, gid, gid) == -1 ||
	    setresuid(uid, uid, uid) == -1)
		return (-1);
	if (getresuid(&r, &e, &s) == -1 || getresgid(&rg, &eg, &sg) == -1 ||
	    r != uid || e != uid || s != uid || rg != gid || eg != gid ||
	    sg != gid) {
		errno = EPERM;
		return (-1);
	}
	return (0);
}

int
daemon_become(const char *user)
{
	char name[256];
	uid_t uid;
	gid_t gid;

	if (snprintf(name, sizeof(name), "%s", user) >= (int)sizeof(name) ||
	    find_ids(name, &uid, &gid) == -1) {
		bk_log(BK_LOG_ERROR, "%s: no such user or group", user);
		return (EX_CONFIG);
	}
	if (switch_to(name, uid, gid) == -1) {
		bk_log(BK_LOG_ERROR, "cannot become %s: %s", user,
		    strerror(errno));
		return (EX_NOPERM);
	}
	return (0);
}

void
daemon_ignore_signals(void)
{
	static const int deaf[] = {SIGPIPE, SIGALRM, SIGVTALRM, SIGPROF,
	    SIGPOLL, SIGPWR, SIGSTKFLT, SIGXFSZ};
	size_t i;
	int signo;

	for (i = 0; i < sizeof(deaf) / sizeof(deaf[0]); i++)
		(void)signal(deaf[i], SIG_IGN);
	for (signo = SIGRTMIN; signo <= SIGRTMAX; signo++)
		(void)signal(signo, SIG_IGN);
}

long
daemon_raise_descriptors(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) == -1)
		return (1024);
	limit.rlim_cur = limit.rlim_max;
	(void)setrlimit(RLIMIT_NOFILE, &limit);
	if (getrlimit(RLIMIT_NOFILE, &limit) == -1 ||
	    limit.rlim_cur > 1024 * 1024)
		return (1024 * 1024);
	return ((long)limit.rlim_cur);
}
