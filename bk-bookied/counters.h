/* counters.h - the bookie in figures, as one line of JSON (SIGUSR1). */
#ifndef BOOKIE_COUNTERS_H
#define BOOKIE_COUNTERS_H

struct server;
struct store;

/* The caller frees it; NULL when out of memory. */
char *counters_json(const char *bookie_id, struct server *server,
    struct store *store);

#endif
