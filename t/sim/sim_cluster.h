/*
 * sim_cluster.h - a cluster in one process: bookies, a metadata store, and any
 * number of client processes, each with its env, its session and its client.
 */
#ifndef T_SIM_CLUSTER_H
#define T_SIM_CLUSTER_H

#include "client/client.h"
#include "t/sim/meta_mem.h"
#include "t/sim/sim_bookie.h"

#include <bsd/sys/queue.h>

#define SIM_BOOKIES_MAX 10
#define SIM_PROCESSES_MAX 12

struct sim_cluster;

/* Changes of registrations that are still to come. */
struct change;
LIST_HEAD(sim_changes, change);

struct sim_process {
	struct sim_cluster *cluster;
	struct bk_env *env;
	struct bk_tree tree;
	struct bk_client client;
	struct sim_event news; /* of a change of the bookies */
	bool living;
	bool barred; /* must not write a record any more (I20) */
};

struct sim_cluster {
	struct sim *sim;
	struct sim_net *net;
	struct bk_env *world; /* the store's */
	struct mem_store *store;
	int nbookies;
	struct sim_bookie *bookies[SIM_BOOKIES_MAX];
	bool registered[SIM_BOOKIES_MAX];
	struct sim_event registration[SIM_BOOKIES_MAX];
	struct sim_process processes[SIM_PROCESSES_MAX];
	int nprocesses;
	unsigned needed; /* calls for help by writers */
	bool loud;       /* print what happens */
	struct sim_changes changes;
	char fault[200]; /* the first thing that does not hold, or "" */

	/* The store's weather. */
	int64_t meta_delay_min, meta_delay_max;
	unsigned lose_request, lose_answer; /* of 1000 writes */
	bool meta_down;                     /* every write gets ESTORE */
	int64_t registration_lag; /* until the lists know of a death or birth */
};

struct sim_cluster *sim_cluster_new(uint64_t seed, int nbookies);
/* All clients' objects must be gone. */
void sim_cluster_free(struct sim_cluster *c);

/* A client process; its objects must be gone before it ends. */
struct sim_process *sim_process_new(struct sim_cluster *c, unsigned version);
void sim_process_end(struct sim_process *p);
/* As by SIGSTOP; the store's connection comes back some time after. */
void sim_process_pause(struct sim_process *p, int64_t ns, int64_t cut_ns);

/* A bookie dies or comes back, and the lists know it after a while. */
void sim_cluster_kill(struct sim_cluster *c, int bookie, bool lose,
    bool silent);
void sim_cluster_start(struct sim_cluster *c, int bookie);
/* Its registration comes or goes, and clients are told. */
void sim_cluster_register(struct sim_cluster *c, int bookie, bool registered);
/* The bookie of that id; -1 if none. */
int sim_cluster_find(const struct sim_cluster *c, const char *id);

/* The record of a ledger as it is in the store, into an uninitialised m; false
 * when there is none. */
bool sim_cluster_record(const struct sim_cluster *c, int64_t ledger_id,
    struct bk_ledger_meta *m, int32_t *version);

/* Something does not hold. */
void sim_blame(struct sim_cluster *c, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* Something happens; printed, as a comment, if it is wanted. */
void sim_say(const struct sim_cluster *c, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* Run until *done, or for ns; whether *done. */
bool sim_cluster_run(struct sim_cluster *c, const bool *done, int64_t ns);

#endif
