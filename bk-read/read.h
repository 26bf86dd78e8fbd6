/*
 * read.h - bk-read's parts: what is asked for, the walk through the ledgers,
 * output, the place of the last run.
 */
#ifndef READ_READ_H
#define READ_READ_H

#include "client/name.h"
#include "tool/session.h"
#include "tool/stdio_frame.h"

#include <stdbool.h>
#include <stdint.h>

struct options {
	struct bk_framing_spec framing;
	bool json, follow, for_ever, verify, recover, unconfirmed, wait;
	const char *format; /* NULL: the framing's */
	const char *bookie; /* only this one, or NULL */
	const char *cursor; /* file, or NULL */
	int64_t from, to;   /* entries counted from 0; to INT64_MAX */
	int64_t last;       /* only the last so many; -1: all */
	int64_t count;      /* at most so many; -1: all */
	int64_t wait_for;   /* ns; BK_FOREVER */
	struct bk_password password;
	bool has_password;
	char **sources;
	int nsources;
};

/* Exits on --help, --version and usage errors. */
void options_parse(struct options *o, int argc, char **argv);

/* One ledger of what is read, oldest first. */
struct place {
	uint64_t position; /* in the chain; 0 for a ledger by id */
	int64_t ledger_id;
};

/* output.c: entries to standard output. Ends the program when the reader has
 * left (as by SIGPIPE); other errors show in output_error(). */
struct output;
struct output *output_open(struct bk_loop *loop, const struct options *o,
    void (*drained)(void *arg), void (*failed)(void *arg), void *arg);
/* Whether more may be put before drained(). */
bool output_put(struct output *out, const struct bk_read_entry *e,
    int64_t ledger_id, const char *name, int64_t lac);
/* Nothing is left to be written. */
bool output_empty(const struct output *out);
int output_error(const struct output *out); /* errno value, 0: none */
/* Write all that is left; 0, or an errno value. */
int output_close(struct output *out);

/* cursor.c: where the last run stopped. */
struct cursor {
	int64_t ledger_id; /* -1: nowhere yet */
	int64_t entry_id;  /* the last one written out */
};
/* The place of this source in the file; a file that is not there is fine. 0,
 * or an exit status after saying why. */
int cursor_read(const char *path, const char *source, struct cursor *c);
/* Replace the file. 0, or an exit status after saying why. */
int cursor_write(const char *path, const char *source, const struct cursor *c);

/* Everything a run shares. */
struct reading {
	const struct options *o;
	struct bk_session *s;
	struct output *out;
	const char *source;
	const char *name; /* the source's, or NULL: a ledger by id */
	struct bk_name_reader *chain;
	struct bk_reader *reader; /* of the ledger being read */
	int64_t ledger_id;        /* its id */
	int64_t left;             /* of --count; -1: no limit */
	int64_t next;             /* next entry of the ledger */
	struct cursor at;         /* last entry put out */
	bool revived;             /* local bookies were started again */
	bool gap;                 /* entries are gone: exit 1 in the end */
	bool stop;                /* enough, or output failed */
	bool waiting;             /* for the turn's answer */
	bool over;                /* answers that still come are not wanted */
	enum bk_status status;
};

/* Read one source to its end. The exit status. */
int walk_source(struct reading *r, const char *source);
/* Wait for r->waiting to end; the status. */
enum bk_status reading_wait(struct reading *r);
void reading_done(void *arg, enum bk_status status);
/* Open the reader of a ledger into r->reader, local bookies revived once. */
enum bk_status reading_open(struct reading *r, int64_t ledger_id);

/* verify.c: all replicas of entries first to last, compared. 0, 1 when there
 * is a difference, or an exit status after saying why. */
int verify_entries(struct reading *r, int64_t first, int64_t last);

#endif
