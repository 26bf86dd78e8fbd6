/*
 * holder.c - who holds a name: this process as text, and whether another one
 * of this host is proven dead. A pid alone proves nothing, so the text has the
 * pid's namespace, the boot and the process's start time too. A holder
 * elsewhere is never judged.
 */
#include "client/name.h"

#include <bsd/string.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define BOOT_ID_FILE "/proc/sys/kernel/random/boot_id"
#define BOOT_ID_LEN 36
#define START_TIME_FIELD 22 /* of /proc/PID/stat, proc(5) */

struct holder {
	char host[33];
	long pid;
	unsigned long long pid_namespace;
	char boot[BOOT_ID_LEN + 1];
	unsigned long long start;
};

static int
boot_id(char out[BOOT_ID_LEN + 1])
{
	FILE *f = fopen(BOOT_ID_FILE, "re");
	size_t n;

	if (f == NULL)
		return (-1);
	n = fread(out, 1, BOOT_ID_LEN, f);
	(void)fclose(f);
	out[n] = '\0';
	return (n == BOOT_ID_LEN ? 0 : -1);
}

/* Start time of a process in ticks since boot; -1 when it cannot be told. */
static int
start_time(long pid, unsigned long long *start)
{
	char path[64], line[1024], *p;
	FILE *f;
	size_t n;
	int field;

	(void)snprintf(path, sizeof(path), "/proc/%ld/stat", pid);
	if ((f = fopen(path, "re")) == NULL)
		return (-1);
	n = fread(line, 1, sizeof(line) - 1, f);
	(void)fclose(f);
	line[n] = '\0';
	/* The second field is a name in brackets that may hold anything. */
	if ((p = strrchr(line, ')')) == NULL)
		return (-1);
	for (field = 2; field < START_TIME_FIELD; field++)
		if ((p = strchr(p + 1, ' ')) == NULL)
			return (-1);
	*start = strtoull(p + 1, NULL, 10);
	return (0);
}

/* 0 when it cannot be told. */
static unsigned long long
pid_namespace(void)
{
	struct stat st;

	return (stat("/proc/self/ns/pid", &st) == 0 ?
		(unsigned long long)st.st_ino :
		0);
}

static int
self(struct holder *h)
{
	memset(h, 0, sizeof(*h));
	if (gethostname(h->host, sizeof(h->host) - 1) != 0 ||
	    h->host[0] == '\0')
		(void)strlcpy(h->host, "localhost", sizeof(h->host));
	h->pid = (long)getpid();
	h->pid_namespace = pid_namespace();
	if (boot_id(h->boot) != 0)
		(void)strlcpy(h->boot, "-", sizeof(h->boot));
	return (start_time(h->pid, &h->start));
}

void
bk_holder_self(uint64_t nonce, char out[128])
{
	struct holder h;

	(void)self(&h); /* without a start time the text is only for people */
	(void)snprintf(out, 128, "%s %ld %s %llu %llu %016llx", h.host, h.pid,
	    h.boot, h.start, h.pid_namespace, (unsigned long long)nonce);
}

bool
bk_holder_dead(const char *holder)
{
	struct holder us, them;
	unsigned long long start;

	memset(&them, 0, sizeof(them));
	if (sscanf(holder, "%32s %ld %36s %llu %llu", them.host, &them.pid,
		them.boot, &them.start, &them.pid_namespace) != 5 ||
	    self(&us) != 0 || strcmp(us.host, them.host) != 0 || them.pid <= 0)
		return (false);
	if (strcmp(us.boot, them.boot) != 0)
		return (strlen(them.boot) == BOOT_ID_LEN &&
		    strlen(us.boot) == BOOT_ID_LEN);
	if (them.pid_namespace != us.pid_namespace)
		return (false);
	if (kill((pid_t)them.pid, 0) != 0 && errno == ESRCH)
		return (true);
	return (start_time(them.pid, &start) == 0 && start != them.start);
}
