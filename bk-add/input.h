/*
 * input.h - entries out of standard input, files or an argument, as the writer
 * has room for them.
 */
#ifndef ADD_INPUT_H
#define ADD_INPUT_H

#include "bk-add/options.h"
#include "loop/loop.h"

struct input;

enum input_result {
	INPUT_ENTRY, /* here is one */
	INPUT_WAIT,  /* ready() is called when there may be more */
	INPUT_END,
	INPUT_BAD, /* reported; nothing more comes */
};

/* An entry, and where it is from. */
struct input_entry {
	struct bk_cut cut;
	size_t source; /* index of the file */
};

/* NULL when out of memory. */
struct input *input_new(const struct options *o);
void input_free(struct input *in);
/* To be called before the first input_next(). 0, or -1. */
int input_start(struct input *in, struct bk_loop *loop,
    void (*ready)(void *arg), void *arg);
/* The payload is valid until the next ready(). */
enum input_result input_next(struct input *in, struct input_entry *e);
/* The exit status after INPUT_BAD. */
int input_exit(const struct input *in);
/* Read only what ends the entry already begun; the rest of standard input is
 * our successor's. */
void input_stop(struct input *in);
/* Read nothing more, and forget what was read. */
void input_cut(struct input *in);

/* "line 42", "FILE: frame 3"; until the next call. */
const char *input_place(const struct input *in, size_t source, uint64_t number);
/* Whether something was read and not given out as an entry; where it is. */
bool input_has_rest(const struct input *in, size_t *source, uint64_t *number);
/* Copy to a descriptor what was read and not given out, and, if all is set,
 * what was not read, as it stands. 0, or -1 with errno. */
int input_drain(struct input *in, int fd, bool all);

#endif
