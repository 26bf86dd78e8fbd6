/*
 * options.h - what bk-bookied is told, by command line and config files.
 */
#ifndef BOOKIE_OPTIONS_H
#define BOOKIE_OPTIONS_H

#include "tool/opt.h"

#include <stdbool.h>
#include <stdint.h>

struct options {
	struct bk_opt_list journal; /* directories */
	struct bk_opt_list data;
	struct bk_opt_list listen; /* addresses, as bk_listen_bind() takes */
	const char *advertise;     /* HOST or HOST:PORT */
	const char *id;
	const char *rack;
	bool read_only;
	bool accept_damage;
	int64_t memory;       /* bytes of a memtable */
	int64_t journal_size; /* bytes a journal segment grows to */
	int64_t ballast;      /* bytes per data directory; -1: default */
	int64_t gc_interval;  /* ns; -1: default */
	int64_t idle_exit;    /* ns; 0: never */
	bool stay_listed;
	int64_t max_connections;
	int64_t session_timeout; /* ns */

	bool test;
	int64_t local; /* number of bookies; 0: one, ourselves */
	bool daemon;
	const char *user; /* USER or USER:GROUP */
	const char *pidfile;
	const char *ports_file;
	int64_t ready_fd; /* -1: none */
	bool log_time;
	bool syslog;
};

/* Parse; exits as bk_opt_parse() does, and on what makes no sense. */
void options_parse(struct options *o, int argc, char **argv);
/* Read the config files again, into a fresh o. 0, or -1 after saying why. */
int options_reload(struct options *o);

#endif
