/*
 * zk_log.h - what ZooKeeper's C client says, in our form: without its time,
 * process and place, and not the same line over and over again (it reports a
 * dead server twenty times a second).
 */
#ifndef BK_ZK_LOG_H
#define BK_ZK_LOG_H

/* A log_callback_fn for zookeeper_init2(). */
void bk_zk_log(const char *line);
/* Set how much the client says by what is shown. */
void bk_zk_log_level(void);

#endif
