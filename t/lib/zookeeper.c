/* zookeeper.c - starting and stopping a ZooKeeper server. */
#include "t/lib/zookeeper.h"

#include "loop/loop.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define LIMIT (60 * BK_SECOND)
#define JARS "/usr/share/java"

static uint16_t
free_port(void)
{
	struct sockaddr_in sin = {.sin_family = AF_INET};
	socklen_t len = sizeof(sin);
	uint16_t port = 0;
	int fd;

	sin.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd == -1)
		return (0);
	if (bind(fd, (struct sockaddr *)&sin, sizeof(sin)) == 0 &&
	    getsockname(fd, (struct sockaddr *)&sin, &len) == 0)
		port = ntohs(sin.sin_port);
	(void)close(fd);
	return (port);
}

static bool
answers(const struct zookeeper *z)
{
	struct sockaddr_in sin = {.sin_family = AF_INET};
	struct timeval limit = {2, 0};
	char answer[4] = "";
	bool yes;
	int fd;

	sin.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	sin.sin_port = htons(z->port);
	fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd == -1)
		return (false);
	(void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
	yes = connect(fd, (struct sockaddr *)&sin, sizeof(sin)) == 0 &&
	    send(fd, "ruok", 4, MSG_NOSIGNAL) == 4 &&
	    recv(fd, answer, 4, MSG_WAITALL) == 4 &&
	    memcmp(answer, "imok", 4) == 0;
	(void)close(fd);
	return (yes);
}

static void
run_java(const struct zookeeper *z)
{
	char config[300], log[300];
	int fd;

	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	(void)snprintf(log, sizeof(log), "%s/log", z->dir);
	(void)snprintf(config, sizeof(config), "%s/zoo.cfg", z->dir);
	fd = open(log, O_WRONLY | O_CREAT | O_APPEND, 0600);
	if (fd == -1 || dup2(fd, 1) == -1 || dup2(fd, 2) == -1)
		_exit(1);
	(void)execlp("java", "java", "-Xmx96m", "-XX:+UseSerialGC",
	    "-XX:TieredStopAtLevel=1", "-Dzookeeper.forceSync=no", "-cp",
	    JARS "/zookeeper.jar:/etc/zookeeper/conf:" JARS "/*",
	    "org.apache.zookeeper.server.quorum.QuorumPeerMain", config,
	    (char *)NULL);
	_exit(127);
}

bool
zookeeper_restart(struct zookeeper *z)
{
	const struct timespec nap = {0, 50000000};
	int64_t deadline = bk_clock_now() + LIMIT;
	int status;

	z->pid = fork();
	if (z->pid == 0)
		run_java(z);
	while (z->pid != -1 && bk_clock_now() < deadline) {
		if (answers(z))
			return (true);
		if (waitpid(z->pid, &status, WNOHANG) == z->pid) {
			z->pid = -1;
			if (WIFEXITED(status) && WEXITSTATUS(status) == 127)
				fprintf(stderr, "java: not found\n");
			break;
		}
		(void)nanosleep(&nap, NULL);
	}
	fprintf(stderr, "zookeeper: does not start, see %s/log\n", z->dir);
	return (false);
}

static bool
write_file(const struct zookeeper *z, const char *name, const char *text)
{
	char path[300];
	FILE *file;

	(void)snprintf(path, sizeof(path), "%s/%s", z->dir, name);
	file = fopen(path, "w");
	if (file == NULL)
		return (false);
	(void)fputs(text, file);
	return (fclose(file) == 0);
}

bool
zookeeper_start(struct zookeeper *z, const char *lines)
{
	const char *tmp = getenv("TMPDIR");
	char config[1000];

	memset(z, 0, sizeof(*z));
	z->pid = -1;
	z->port = free_port();
	(void)snprintf(z->address, sizeof(z->address), "127.0.0.1:%u",
	    (unsigned)z->port);
	(void)snprintf(z->dir, sizeof(z->dir), "%.150s/bk-zookeeper.XXXXXX",
	    tmp != NULL ? tmp : "/tmp");
	if (mkdtemp(z->dir) == NULL)
		return (false);
	(void)snprintf(config, sizeof(config),
	    "tickTime=500\n"
	    "dataDir=%s/data\n"
	    "clientPort=%u\n"
	    "clientPortAddress=127.0.0.1\n"
	    "admin.enableServer=false\n"
	    "4lw.commands.whitelist=*\n"
	    "maxClientCnxns=0\n"
	    "%s",
	    z->dir, (unsigned)z->port, lines);
	if (!write_file(z, "zoo.cfg", config))
		return (false);
	return (zookeeper_restart(z));
}

void
zookeeper_kill(struct zookeeper *z)
{
	if (z->pid == -1)
		return;
	(void)kill(z->pid, SIGKILL);
	(void)waitpid(z->pid, NULL, 0);
	z->pid = -1;
}

void
zookeeper_end(struct zookeeper *z)
{
	pid_t pid;

	zookeeper_kill(z);
	pid = fork();
	if (pid == 0) {
		(void)execlp("rm", "rm", "-rf", z->dir, (char *)NULL);
		_exit(127);
	}
	if (pid > 0)
		(void)waitpid(pid, NULL, 0);
}
