/* inetd.c - what to do with inetd's descriptor when we do not serve it. */
#include "bk-bookied/inetd.h"
#include "base/log.h"
#include "bk-bookied/admin.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <sysexits.h>
#include <unistd.h>

/* inetd shuts a service down that is started too often a minute. */
#define PAUSE_SECONDS 5

int
inetd_pass_on(const char *dir)
{
	if (admin_send_connection(dir, STDIN_FILENO) == 0)
		return (EX_OK);
	if (errno == ENOENT || errno == ECONNREFUSED) {
		bk_log(BK_LOG_ERROR, "%s: no bookie runs there", dir);
		return (EX_UNAVAILABLE);
	}
	bk_log(BK_LOG_ERROR, "%s: cannot hand over the connection: %s", dir,
	    strerror(errno));
	return (errno == EACCES || errno == EPERM ? EX_NOPERM : EX_OSERR);
}

void
inetd_turn_away(void)
{
	int flags = fcntl(STDIN_FILENO, F_GETFL), fd;

	if (flags == -1 ||
	    fcntl(STDIN_FILENO, F_SETFL, flags | O_NONBLOCK) == -1)
		return;
	while ((fd = accept(STDIN_FILENO, NULL, NULL)) != -1)
		(void)close(fd);
	(void)sleep(PAUSE_SECONDS);
}
