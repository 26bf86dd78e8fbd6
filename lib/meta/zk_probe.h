/*
 * zk_probe.h - why no server answers. The C client only tries on; this looks
 * at each host with a connection of its own: refused, silent, closed at once,
 * or TLS. It says hello in TLS: a server that speaks it answers in TLS, a
 * plain one takes it for a bad length and hangs up.
 */
#ifndef BK_ZK_PROBE_H
#define BK_ZK_PROBE_H

#include "base/status.h"
#include "meta/zk_hosts.h"

struct bk_zk_probe;

/* Look at all hosts, one after the other. done gets the reason with the host's
 * name in it ("zk1:2181: connection refused") and ETLS when a server demands
 * that, else ESTORE; the probe is gone then. NULL when out of memory. */
typedef void bk_zk_probe_cb(void *arg, enum bk_status status,
    const char *reason);
struct bk_zk_probe *bk_zk_probe_new(struct bk_loop *loop,
    const struct bk_zk_hosts *hosts, bk_zk_probe_cb *done, void *arg);
/* Forget it, before done. NULL is fine. */
void bk_zk_probe_cancel(struct bk_zk_probe *p);

#endif
