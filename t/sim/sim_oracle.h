/*
 * sim_oracle.h - the invariants of client-protocol.md 7.1 that concern the
 * store and the bookies: records as they change, and everything at the end.
 */
#ifndef T_SIM_ORACLE_H
#define T_SIM_ORACLE_H

#include "t/sim/sim_actor.h"

struct sim_oracle {
	struct sim_cluster *c;
	struct bk_tree tree; /* for paths only */
	int64_t ledger_id;   /* of the record below; -1: none yet */
	struct bk_ledger_meta last;
};

/* Watch the one ledger's record from now on: I6, I10, I11. */
void sim_oracle_init(struct sim_oracle *o, struct sim_cluster *c);
void sim_oracle_fini(struct sim_oracle *o);

/* At the end, all healed and the ledger closed: every entry up to the end has
 * its copies and its content, and what was acknowledged is among them: I1, I2,
 * I5, I14. */
void sim_oracle_judge(struct sim_oracle *o, const struct sim_writer *w);

#endif
