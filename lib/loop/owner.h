/* owner.h - who holds a TCP port, for the message about a port in use. */
#ifndef BK_OWNER_H
#define BK_OWNER_H

#include <stdint.h>
#include <sys/types.h>

/* The process that listens on a TCP port of this machine, or 0 when /proc does
 * not tell (another user's process, another namespace). */
pid_t bk_port_owner(uint16_t port);

#endif
