/* tree_call.c - paths under the root, and trying again. */
#include "meta/tree_call.h"

#include "env/env.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define PATIENCE (30 * BK_SECOND)
#define PAUSE_FIRST (50 * BK_MS)
#define PAUSE_MAX BK_SECOND

void
bk_tree_path(const struct bk_tree *tree, char path[BK_PATH_MAX + 1],
    const char *fmt, ...)
{
	size_t root = strlen(tree->root);
	va_list ap;
	int n;

	memcpy(path, tree->root, root);
	va_start(ap, fmt);
	n = vsnprintf(path + root, BK_PATH_MAX + 1 - root, fmt, ap);
	va_end(ap);
	if (n < 0 || root + (size_t)n > BK_PATH_MAX)
		path[0] = '\0';
}

int64_t
bk_digits_value(const char *text)
{
	int64_t v = 0;

	if (*text == '\0')
		return (-1);
	for (; *text != '\0'; text++) {
		if (*text < '0' || *text > '9' ||
		    v > (INT64_MAX - (*text - '0')) / 10)
			return (-1);
		v = v * 10 + (*text - '0');
	}
	return (v);
}

bool
bk_answer_lost(enum bk_status status)
{
	return (status == BK_ESTORE || status == BK_ESESSION);
}

bool
bk_retry_later(const struct bk_tree *tree, struct bk_retry *r, bk_meta_cb *cb,
    void *arg)
{
	int64_t now = bk_meta_now(tree->meta);

	if (r->pause == 0) {
		r->deadline =
		    now + (tree->patience > 0 ? tree->patience : PATIENCE);
		r->pause = PAUSE_FIRST;
	} else if (r->pause < PAUSE_MAX) {
		r->pause *= 2;
	}
	if (now >= r->deadline)
		return (false);
	bk_meta_pause(tree->meta, r->pause, cb, arg);
	return (true);
}
