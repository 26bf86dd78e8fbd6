/*
 * place.h - where a bookie's things lie: its cluster, directories, socket and
 * id, from the options or, with nothing configured, in the state directory of
 * the embedded cluster (design/meta.md 4).
 */
#ifndef BOOKIE_PLACE_H
#define BOOKIE_PLACE_H

#include <stdbool.h>
#include <stddef.h>

struct options;

struct place {
	char *cluster;          /* a BK_CLUSTER text */
	bool is_local;          /* it is an embedded one */
	const char *id;         /* asked for, or NULL */
	char *listen;           /* where to listen if nothing is said */
	char **journal;         /* directories as configured */
	char **journal_current; /* DIR/current of each */
	size_t njournal;
	char **data;
	char **data_current;
	size_t ndata;
};

/* 0, or the exit status after saying why. */
int place_find(struct place *p, const struct options *o);
void place_fini(struct place *p);

/* The state directory, as in tool/local.h; the caller frees it. NULL after
 * saying why. */
char *place_state_dir(void);
/* mkdir -p; the last one is the user's alone. 0, or -1 with errno. */
int place_make_dir(const char *dir);
/* "A/B"; the caller frees it. NULL when out of memory. */
char *place_join(const char *a, const char *b);

#endif
