/*
 * owner.c - who holds a TCP port: /proc/net/tcp names the socket's inode, and
 * a process has it among its descriptors.
 */
#include "loop/owner.h"

#include <bsd/stdlib.h>
#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define TCP_LISTEN 0x0a

/* The inode of a listening socket on port in one of the tables, or 0. */
static uint64_t
listening_inode(const char *table, uint16_t port)
{
	char line[512];
	unsigned local;
	unsigned state;
	uint64_t inode = 0;
	uint64_t found = 0;
	FILE *f;

	f = fopen(table, "re");
	if (f == NULL)
		return (0);
	while (found == 0 && fgets(line, sizeof(line), f) != NULL) {
		if (sscanf(line,
			"%*d: %*[0-9A-Fa-f]:%x %*[0-9A-Fa-f]:%*x %x "
			"%*x:%*x %*x:%*x %*x %*u %*u %" SCNu64,
			&local, &state, &inode) == 3 &&
		    local == port && state == TCP_LISTEN)
			found = inode;
	}
	(void)fclose(f);
	return (found);
}

static int
has_socket(const char *pid, const char *target)
{
	char path[64];
	char link[64];
	struct dirent *e;
	ssize_t n;
	DIR *dir;
	int found = 0;

	(void)snprintf(path, sizeof(path), "/proc/%.20s/fd", pid);
	dir = opendir(path);
	if (dir == NULL)
		return (0);
	while (!found && (e = readdir(dir)) != NULL) {
		n = readlinkat(dirfd(dir), e->d_name, link, sizeof(link) - 1);
		if (n <= 0)
			continue;
		link[n] = '\0';
		found = strcmp(link, target) == 0;
	}
	(void)closedir(dir);
	return (found);
}

pid_t
bk_port_owner(uint16_t port)
{
	char target[64];
	uint64_t inode;
	const char *wrong;
	struct dirent *e;
	pid_t owner = 0;
	pid_t pid;
	DIR *proc;

	inode = listening_inode("/proc/net/tcp", port);
	if (inode == 0)
		inode = listening_inode("/proc/net/tcp6", port);
	if (inode == 0)
		return (0);
	(void)snprintf(target, sizeof(target), "socket:[%" PRIu64 "]", inode);
	proc = opendir("/proc");
	if (proc == NULL)
		return (0);
	while (owner == 0 && (e = readdir(proc)) != NULL) {
		pid = (pid_t)strtonum(e->d_name, 1, INT32_MAX, &wrong);
		if (wrong == NULL && has_socket(e->d_name, target))
			owner = pid;
	}
	(void)closedir(proc);
	return (owner);
}
