/* options.h - what bk-add was asked to do. */
#ifndef ADD_OPTIONS_H
#define ADD_OPTIONS_H

#include "client/writer.h"
#include "tool/format.h"
#include "tool/stdio_frame.h"

struct options {
	const char *target; /* as given */
	bool is_name;
	int64_t ledger_id; /* if it is no name */
	const char *const *files;
	size_t nfiles;       /* 0: standard input */
	const char *message; /* -m, or NULL */

	struct bk_framing_spec framing;
	struct bk_format *format; /* -o, or NULL */
	bool tee;
	const char *unacked; /* file, or NULL */
	bool keep;           /* payloads are needed until acknowledged */
	bool dry_run;

	struct bk_ledger_params params; /* quorum sizes 0: not given */
	bool fence;
	int64_t roll_size, roll_time;
	size_t window_entries, window_bytes; /* 0: not given */
};

/* Ends the program on usage errors. */
void options_parse(struct options *o, int argc, char **argv);
void options_fini(struct options *o);

#endif
