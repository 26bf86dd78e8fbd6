/*
 * sim_actor.h - who acts in a simulation: a writer, a reader, a recovery, each
 * run by a script and watched by the invariants of client-protocol.md 7.1 that
 * concern it alone. What does not hold is blamed on the cluster.
 */
#ifndef T_SIM_ACTOR_H
#define T_SIM_ACTOR_H

#include "client/reader.h"
#include "client/recover.h"
#include "client/writer.h"
#include "t/sim/sim_cluster.h"

#define SIM_PAYLOAD_MAX 4096

/* What a writer writes: payload of an entry, by the writer's key. Up to max
 * bytes; returns how many. */
size_t sim_payload(uint64_t key, int64_t entry_id, size_t max,
    uint8_t out[SIM_PAYLOAD_MAX]);
/* Its length field: payload bytes of entries 0 to entry_id. */
int64_t sim_payload_sum(uint64_t key, int64_t entry_id, size_t max);

struct sim_writer {
	/* The script. */
	struct sim_process *process;
	struct bk_ledger_params params;
	uint64_t key;
	size_t size_max;
	int64_t entries; /* to write */
	int64_t pace;    /* ns between bursts; 0: as the window allows */
	int burst;
	bool close; /* when all are acknowledged or it has failed */

	/* What came of it. */
	struct bk_writer *w;
	struct sim_event next;
	bool created; /* or not: told either way */
	enum bk_status create_status;
	int64_t ledger_id;
	int64_t pushed; /* ids given */
	int64_t acked;
	bool failed;
	enum bk_status failure;
	bool closed; /* close() has come back */
	enum bk_status close_status;
	bool ended;                 /* nothing more will happen */
	unsigned replaced, without; /* with and without a spare */
	int64_t replaced_at;
	char lost[64], spare[64];
};

/* All but the script zeroed. */
void sim_writer_start(struct sim_writer *a);
/* Write more: raises entries. */
void sim_writer_more(struct sim_writer *a, int64_t entries);
/* As by kill -9. */
void sim_writer_stop(struct sim_writer *a);

struct sim_recovery {
	struct sim_process *process;
	int64_t ledger_id;
	struct bk_password password;
	bool with_password;

	struct bk_recovery *rec;
	bool ended;
	enum bk_status status;
	int64_t last_entry, length;
};
void sim_recovery_start(struct sim_recovery *a);
void sim_recovery_stop(struct sim_recovery *a);

struct sim_reader {
	struct sim_process *process;
	const struct sim_writer *writer; /* whose ledger */
	int64_t ledger_id;
	bool follow; /* until it is closed */
	bool unconfirmed;
	const char *bookie;
	int pause_every; /* entries; 0: never */
	int64_t first;
	bool hold; /* do not begin to read */

	struct bk_reader *r;
	struct sim_event resume;
	bool opened;
	enum bk_status open_status;
	int64_t next; /* entry expected */
	int64_t lac;  /* highest ever told */
	bool ended;
	enum bk_status status;
	const char *from; /* bookie of the last entry */
};
void sim_reader_start(struct sim_reader *a);
/* Begin to read, after hold. */
void sim_reader_go(struct sim_reader *a);
void sim_reader_stop(struct sim_reader *a);

#endif
