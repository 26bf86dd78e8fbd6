/*
 * cookie.c - validation at start (metadata.md 5.6), and a new bookie's
 * cookies.
 *
 * A new bookie writes VERSION to every directory first and the store's cookie
 * last. So a crash in between leaves directories that hold nothing but VERSION
 * and no cookie in the store, which is still a new bookie.
 */
#include "bk-bookied/cookie.h"
#include "base/log.h"
#include "bk-bookied/await.h"
#include "bk-bookied/cookiefile.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct check {
	struct bk_loop *loop;
	const struct bk_tree *tree;
	const struct cookie_subject *subject;
	struct bk_cookie ours;
	bool stored; /* the store has a cookie of this id */
	size_t ndirs;
	size_t nwith;        /* directories with a cookie */
	size_t ndata;        /* with data */
	const char *without; /* one without a cookie, or NULL */
	const char *data;    /* one with data, or NULL */
};

/* Directory i of all, journals first. */
static const char *
dir_at(const struct cookie_subject *s, size_t i)
{
	return (i < s->njournal_dirs ? s->journal_dirs[i] :
				       s->ledger_dirs[i - s->njournal_dirs]);
}

/* "A,B" or "2\tA\tB"; NULL when out of memory. */
static char *
join(const char *const *dirs, size_t n, bool counted)
{
	struct bk_buf b;
	size_t i;
	int r = 0;

	bk_buf_init(&b);
	if (counted)
		r = bk_buf_printf(&b, "%zu\t", n);
	for (i = 0; r == 0 && i < n; i++)
		r = bk_buf_printf(&b, "%s%s",
		    i == 0      ? "" :
			counted ? "\t" :
				  ",",
		    dirs[i]);
	if (r == 0)
		r = bk_buf_put_u8(&b, '\0');
	if (r != 0)
		bk_buf_fini(&b);
	return ((char *)b.data);
}

static enum bk_status
make_ours(struct check *k)
{
	const struct cookie_subject *s = k->subject;

	k->ours.layout_version = 5;
	k->ours.bookie_id = strdup(s->bookie_id);
	k->ours.journal_dirs = join(s->journal_dirs, s->njournal_dirs, false);
	k->ours.ledger_dirs = join(s->ledger_dirs, s->nledger_dirs, true);
	if (s->instance_id != NULL)
		k->ours.instance_id = strdup(s->instance_id);
	if (k->ours.bookie_id == NULL || k->ours.journal_dirs == NULL ||
	    k->ours.ledger_dirs == NULL ||
	    (s->instance_id != NULL && k->ours.instance_id == NULL)) {
		bk_log(BK_LOG_ERROR, "cookie: out of memory");
		return (BK_ENOMEM);
	}
	return (BK_OK);
}

static const char *
or_none(const char *text)
{
	return (text != NULL ? text : "none");
}

/* Say what in a cookie is not ours, the plainest first. */
static enum bk_status
mismatch(const struct check *k, const char *where, const struct bk_cookie *c,
    const char *why)
{
	const struct bk_cookie *ours = &k->ours;

	if (strcmp(or_none(c->instance_id), or_none(ours->instance_id)) != 0)
		bk_log(BK_LOG_ERROR,
		    "%s: belongs to another cluster (instance %s, this one is "
		    "%s)",
		    where, or_none(c->instance_id), or_none(ours->instance_id));
	else if (strcmp(c->bookie_id, ours->bookie_id) != 0)
		bk_log(BK_LOG_ERROR, "%s: belongs to bookie %s, this is %s",
		    where, c->bookie_id, ours->bookie_id);
	else
		bk_log(BK_LOG_ERROR, "%s: made with other directories (%s)",
		    where, why);
	return (BK_ECONFIG);
}

static enum bk_status
check_file(struct check *k, const char *dir)
{
	struct cookiefile f;
	const char *why = "";
	enum bk_status status = cookiefile_read(dir, &f);

	if (status == BK_ECONFIG)
		bk_log(BK_LOG_ERROR, "%s/current/VERSION: not a cookie", dir);
	else if (status != BK_OK)
		bk_log(BK_LOG_ERROR, "%s: %s", dir, strerror(errno));
	else if (f.exists && !bk_cookie_matches(&f.cookie, &k->ours, &why))
		status = mismatch(k, dir, &f.cookie, why);
	if (f.exists)
		k->nwith++;
	else if (k->without == NULL)
		k->without = dir;
	if (f.has_data && k->data == NULL)
		k->data = dir;
	cookiefile_fini(&f);
	return (status);
}

static enum bk_status
check_files(struct check *k)
{
	enum bk_status status = BK_OK;
	size_t i;

	for (i = 0; status == BK_OK && i < k->ndirs; i++)
		status = check_file(k, dir_at(k->subject, i));
	return (status);
}

/* The store's cookie of this id, if it has one. */
static enum bk_status
check_stored(struct check *k)
{
	const char *id = k->subject->bookie_id, *why = "";
	struct bk_cookie stored;
	struct await w;
	enum bk_status status;

	await_init(&w);
	bk_cookie_read(k->tree, id, await_reply, &w);
	status = await(&w, k->loop);
	if (status == BK_OK) {
		k->stored = true;
		status = bk_cookie_decode(await_data(&w), &stored);
		if (status == BK_OK) {
			if (!bk_cookie_matches(&stored, &k->ours, &why))
				status = mismatch(k, "cookie in the store",
				    &stored, why);
			bk_cookie_fini(&stored);
		} else
			bk_log(BK_LOG_ERROR, "cookie of %s in the store: %s",
			    id, bk_status_text(status));
	} else if (status == BK_ENONODE)
		status = BK_OK;
	else
		bk_log(BK_LOG_ERROR, "cookie of %s: %s", id,
		    bk_status_text(status));
	await_fini(&w);
	return (status);
}

static enum bk_status
write_files(struct check *k, struct bk_bytes text)
{
	const char *dir;
	size_t i;

	for (i = 0; i < k->ndirs; i++) {
		dir = dir_at(k->subject, i);
		if (cookiefile_write(dir, text) == -1) {
			bk_log(BK_LOG_ERROR, "%s: %s", dir, strerror(errno));
			return (errno == ENOSPC ? BK_ENOSPACE : BK_ESYS);
		}
	}
	return (BK_OK);
}

static enum bk_status
create_stored(struct check *k, struct bk_bytes text)
{
	const char *id = k->subject->bookie_id;
	struct await w;
	enum bk_status status;

	await_init(&w);
	bk_cookie_create(k->tree, id, text, await_done, &w);
	status = await(&w, k->loop);
	await_fini(&w);
	if (status == BK_EEXIST)
		bk_log(BK_LOG_ERROR,
		    "bookie %s was made elsewhere at the same time", id);
	else if (status != BK_OK)
		bk_log(BK_LOG_ERROR, "cookie of %s: %s", id,
		    bk_status_text(status));
	return (status == BK_EEXIST ? BK_ECONFIG : status);
}

static enum bk_status
make_new(struct check *k)
{
	struct bk_bytes text;
	struct bk_buf b;
	enum bk_status status = BK_ENOMEM;

	bk_buf_init(&b);
	if (bk_cookie_encode(&k->ours, &b) == 0) {
		text = (struct bk_bytes){bk_buf_head(&b), bk_buf_len(&b)};
		status = write_files(k, text);
		if (status == BK_OK)
			status = create_stored(k, text);
	}
	bk_buf_fini(&b);
	if (status == BK_OK)
		bk_log(BK_LOG_INFO, "bookie %s is new", k->subject->bookie_id);
	return (status);
}

/* All that was found matches: is it complete? */
static enum bk_status
conclude(struct check *k)
{
	const char *id = k->subject->bookie_id;

	if (k->nwith == k->ndirs && k->stored)
		return (BK_OK);
	if (!k->stored && k->data == NULL)
		return (make_new(k));
	if (k->without != NULL && (k->stored || k->nwith > 0))
		bk_log(BK_LOG_ERROR,
		    "%s: no cookie there, though bookie %s has used it; is "
		    "the right disk mounted?",
		    k->without, id);
	else if (k->without != NULL)
		bk_log(BK_LOG_ERROR,
		    "%s: not empty, and not a bookie's directory", k->data);
	else
		bk_log(BK_LOG_ERROR,
		    "bookie %s has data, but the cluster does not know it: "
		    "wrong cluster, or its cookie was deleted",
		    id);
	return (BK_ECONFIG);
}

enum bk_status
cookie_check(struct bk_loop *loop, const struct bk_tree *tree,
    const struct cookie_subject *subject)
{
	struct check k = {
	    .loop = loop,
	    .tree = tree,
	    .subject = subject,
	    .ndirs = subject->njournal_dirs + subject->nledger_dirs,
	};
	enum bk_status status = make_ours(&k);

	if (status == BK_OK)
		status = check_files(&k);
	if (status == BK_OK)
		status = check_stored(&k);
	if (status == BK_OK)
		status = conclude(&k);
	bk_cookie_fini(&k.ours);
	return (status);
}
