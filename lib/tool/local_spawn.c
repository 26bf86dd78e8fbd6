/*
 * local_spawn.c - the processes behind a bookie started on demand. Between us
 * and the bookie stands one that waits until it is ready or has ended, says
 * which, and goes: so the bookie is no child of ours, and leaves no zombie.
 */
#include "tool/local.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <sysexits.h>
#include <unistd.h>

#define PROGRAM "bk-bookied"
#define IDLE_EXIT "30s"
#define READY_FD 3
#define LOG_MAX (1 << 20) /* bytes; then the log begins anew */

static void
exec_bookie(const char *program, char *const *argv)
{
	/* Only a name without a slash is looked for in PATH. */
	(void)execvp(program, argv);
}

/* Beside this program, in ../sbin of it, or in PATH. */
static void
exec_found(char *const *argv)
{
	char self[PATH_MAX], path[2 * PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
	char *slash = NULL;

	if (n > 0) {
		self[n] = '\0';
		slash = strrchr(self, '/');
	}
	if (slash != NULL) {
		*slash = '\0';
		(void)snprintf(path, sizeof(path), "%s/" PROGRAM, self);
		exec_bookie(path, argv);
		(void)snprintf(path, sizeof(path), "%s/../sbin/" PROGRAM, self);
		exec_bookie(path, argv);
	}
	exec_bookie(PROGRAM, argv);
}

void
bk_local_exec(const char *dir, int number)
{
	char cluster[PATH_MAX + 16], home[PATH_MAX], listen[PATH_MAX + 16];
	char id[16];
	const char *const argv[] = {PROGRAM, "--cluster", cluster, "--journal",
	    home, "--data", home, "--id", id, "--listen", listen, "--idle-exit",
	    IDLE_EXIT, "--ready-fd", "3", NULL};

	(void)snprintf(cluster, sizeof(cluster), "local:%s/store", dir);
	(void)snprintf(id, sizeof(id), "b%d", number);
	(void)snprintf(home, sizeof(home), "%s/%s", dir, id);
	(void)snprintf(listen, sizeof(listen), "unix:%s/socket", home);
	exec_found((char *const *)(uintptr_t)argv);
}

static int
open_log(const char *dir)
{
	char path[PATH_MAX];
	struct stat st;
	int fd;

	(void)snprintf(path, sizeof(path), "%s/bookie.log", dir);
	fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
	if (fd != -1 && fstat(fd, &st) == 0 && st.st_size > LOG_MAX &&
	    ftruncate(fd, 0) == -1) {
		(void)close(fd);
		return (-1);
	}
	return (fd);
}

/* A duplicate above the descriptors that mean something; -1 of -1. */
static int
above(int fd)
{
	return (fd == -1 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, READY_FD + 1));
}

/* The bookie binds its socket there before it makes anything. */
static int
make_home(const char *dir, int number)
{
	char path[PATH_MAX];

	(void)snprintf(path, sizeof(path), "%s/b%d", dir, number);
	return (mkdir(path, 0700) == -1 && errno != EEXIST ? -1 : 0);
}

/* Of our caller's world nothing is kept but the environment. */
static int
leave_caller(const char *dir, int report)
{
	int log, null;
	sigset_t none;

	for (int signo = 1; signo < SIGRTMIN; signo++)
		(void)signal(signo, SIG_DFL); /* KILL and STOP say no */
	(void)sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
	(void)setsid();
	(void)umask(077);
	/* Out of the way of what is put in place: 0 to 3 may be closed. */
	report = above(report);
	log = above(open_log(dir));
	null = above(open("/dev/null", O_RDONLY | O_CLOEXEC));
	if (report == -1 || log == -1 || null == -1 || dup2(null, 0) == -1 ||
	    dup2(log, 1) == -1 || dup2(log, 2) == -1 ||
	    dup2(report, READY_FD) == -1 || chdir("/") == -1)
		return (-1);
	closefrom(READY_FD + 1);
	return (0);
}

/* The bookie, until it is ready (0) or has ended (its status, never 0). */
static int
run_bookie(const char *dir, int number)
{
	int ends[2], status;
	pid_t pid;
	char word;

	if (pipe2(ends, O_CLOEXEC) == -1 || (pid = fork()) == -1)
		return (EX_OSERR);
	if (pid == 0) {
		if (dup2(ends[1], READY_FD) != -1)
			bk_local_exec(dir, number);
		dprintf(STDERR_FILENO, PROGRAM ": error: %s\n",
		    strerror(errno));
		_exit(EX_OSERR);
	}
	(void)close(ends[1]);
	if (read(ends[0], &word, 1) == 1)
		return (0);
	if (waitpid(pid, &status, 0) == -1 || !WIFEXITED(status) ||
	    WEXITSTATUS(status) == 0)
		return (EX_OSERR);
	return (WEXITSTATUS(status));
}

pid_t
bk_local_spawn(const char *dir, int number, int *report)
{
	int ends[2], saved;
	uint8_t answer = EX_OSERR;
	pid_t pid;

	if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) == -1)
		return (-1);
	if ((pid = fork()) == 0) {
		if (leave_caller(dir, ends[1]) == 0 &&
		    make_home(dir, number) == 0)
			answer = (uint8_t)run_bookie(dir, number);
		/* Whoever asked may have gone. */
		if (write(READY_FD, &answer, 1) == -1)
			_exit(EX_IOERR);
		_exit(EX_OK);
	}
	saved = errno;
	(void)close(ends[1]);
	if (pid == -1)
		(void)close(ends[0]);
	else
		*report = ends[0];
	errno = saved;
	return (pid);
}
