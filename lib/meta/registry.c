/*
 * registry.c - the bookies as a client knows them (spec/metadata.md 6.1).
 *
 * Both lists are watched, and so is each bookie's node. An event has its list
 * or node read again; what is read is put into one sorted array. While reads
 * are outstanding nothing is reported: then all that changed is one change.
 */
#include "meta/registry.h"
#include "meta/tree_call.h"

#include "env/env.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PAUSE (200 * BK_MS)

struct bookie {
	struct bk_bookie_info info;
	char *id;
	struct bk_service_info service;
};

/* One of the two lists. */
struct list {
	struct bk_registry *registry;
	bool readonly;
	bool reading;
	bool again; /* an event came while it was being read */
};

struct bk_registry {
	const struct bk_tree *tree;
	struct list lists[2];
	struct bookie **bookies; /* sorted by id */
	size_t n;
	bool ready;    /* ready() was called */
	bool changed;  /* since the last report */
	bool dead;     /* freed but for what is outstanding */
	size_t reads;  /* outstanding */
	size_t pauses; /* before another try */
	bk_done_cb *on_ready;
	void (*on_changed)(void *arg);
	void *arg;
};

/* A service info being read. The bookie may be gone when the answer comes, so
 * it is looked up again. */
struct fetch {
	struct bk_registry *registry;
	bool readonly; /* the list it is looked for in */
	char id[];
};

static void read_list(struct list *l);
static void fetch_service(struct bk_registry *r, const char *id, bool readonly);

static void
bookie_free(struct bookie *b)
{
	free(b->id);
	free(b);
}

static void
destroy(struct bk_registry *r)
{
	for (size_t i = 0; i < r->n; i++)
		bookie_free(r->bookies[i]);
	free(r->bookies);
	free(r);
}

static void
destroy_unless_busy(struct bk_registry *r)
{
	if (r->reads == 0 && r->pauses == 0)
		destroy(r);
}

/* An answer has come: report if it was the last one. Frees a dead registry,
 * which must not be touched after this. */
static void
read_over(struct bk_registry *r, enum bk_status status)
{
	r->reads--;
	if (r->dead) {
		destroy_unless_busy(r);
		return;
	}
	if (!r->ready && (status != BK_OK || r->reads == 0)) {
		r->ready = true;
		r->changed = false;
		r->on_ready(r->arg, status);
	} else if (r->ready && r->reads == 0 && r->changed) {
		r->changed = false;
		if (r->on_changed != NULL)
			r->on_changed(r->arg);
	}
}

/* The array. */

/* Where the bookie of an id is, or belongs. */
static size_t
place_of(const struct bk_registry *r, const char *id)
{
	size_t low = 0, high = r->n, mid;

	while (low < high) {
		mid = low + (high - low) / 2;
		if (strcmp(r->bookies[mid]->id, id) < 0)
			low = mid + 1;
		else
			high = mid;
	}
	return (low);
}

static struct bookie *
find(const struct bk_registry *r, const char *id)
{
	size_t at = place_of(r, id);

	if (at == r->n || strcmp(r->bookies[at]->id, id) != 0)
		return (NULL);
	return (r->bookies[at]);
}

static struct bookie *
add(struct bk_registry *r, const char *id)
{
	struct bookie **grown, *b;
	size_t at = place_of(r, id);

	grown = reallocarray(r->bookies, r->n + 1, sizeof(struct bookie *));
	if (grown == NULL)
		return (NULL);
	r->bookies = grown;
	if ((b = calloc(1, sizeof(*b))) == NULL)
		return (NULL);
	if ((b->id = strdup(id)) == NULL) {
		free(b);
		return (NULL);
	}
	b->info.id = b->id;
	memmove(&grown[at + 1], &grown[at],
	    (r->n - at) * sizeof(struct bookie *));
	grown[at] = b;
	r->n++;
	return (b);
}

/* Drop the bookies that are in neither list. */
static void
drop_absent(struct bk_registry *r)
{
	size_t kept = 0;

	for (size_t i = 0; i < r->n; i++) {
		struct bookie *b = r->bookies[i];

		if (b->info.writable || b->info.readonly)
			r->bookies[kept++] = b;
		else
			bookie_free(b);
	}
	r->n = kept;
}

/* Service infos. */

static void
set_service(struct bk_registry *r, struct bookie *b,
    const struct bk_service_info *service)
{
	bool had = b->info.service != NULL;

	if (service == NULL) {
		r->changed |= had;
		b->info.service = NULL;
		return;
	}
	if (had && memcmp(&b->service, service, sizeof(*service)) == 0)
		return;
	b->service = *service;
	b->info.service = &b->service;
	r->changed = true;
}

static void
take_service(struct bk_registry *r, const char *id, struct bk_bytes data)
{
	struct bookie *b = find(r, id);
	struct bk_service_info service;

	if (b == NULL)
		return;
	if (bk_service_info_decode(data, id, &service) == BK_OK)
		set_service(r, b, &service);
	else
		set_service(r, b, NULL);
}

/* A bookie's node changed or went, or all watches did. */
static void
on_bookie_event(void *arg, enum bk_watch_event event, const char *path)
{
	struct bk_registry *r = arg;
	const char *id = strrchr(path, '/') + 1;

	(void)event;
	if (find(r, id) != NULL)
		fetch_service(r, id, false);
}

static void
on_fetch_again(void *arg, enum bk_status status,
    const struct bk_meta_reply *reply)
{
	struct fetch *f = arg;
	struct bk_registry *r = f->registry;

	(void)reply;
	r->pauses--;
	if (r->dead)
		destroy_unless_busy(r);
	else if (status == BK_OK && find(r, f->id) != NULL)
		fetch_service(r, f->id, false);
	free(f);
}

static void
on_service(void *arg, enum bk_status status, const struct bk_meta_reply *reply)
{
	struct fetch *f = arg;
	struct bk_registry *r = f->registry;
	struct bookie *b = r->dead ? NULL : find(r, f->id);

	if (b != NULL && status == BK_OK) {
		take_service(r, f->id, reply->data);
	} else if (b != NULL && status == BK_ENONODE && !f->readonly) {
		fetch_service(r, f->id, true);
	} else if (b != NULL && status == BK_ENONODE) {
		set_service(r, b, NULL); /* its list will say that it went */
	} else if (b != NULL && status != BK_ECANCELED) {
		r->pauses++;
		bk_meta_pause(r->tree->meta, PAUSE, on_fetch_again, f);
		f = NULL;
	}
	free(f);
	read_over(r, BK_OK);
}

/* Read what a bookie says of itself: in the writable list, and if it is not
 * there in the other. */
static void
fetch_service(struct bk_registry *r, const char *id, bool readonly)
{
	struct fetch *f = malloc(sizeof(*f) + strlen(id) + 1);
	char path[BK_PATH_MAX + 1];

	if (f == NULL)
		return; /* it stays as it is known */
	f->registry = r;
	f->readonly = readonly;
	memcpy(f->id, id, strlen(id) + 1);
	bk_tree_path(r->tree, path, "/available/%s%s",
	    readonly ? "readonly/" : "", id);
	r->reads++;
	bk_meta_get(r->tree->meta, path, (struct bk_watch){on_bookie_event, r},
	    on_service, f);
}

/* The lists. */

static bool *
flag_of(struct bookie *b, const struct list *l)
{
	return (l->readonly ? &b->info.readonly : &b->info.writable);
}

static bool
listed(const struct bk_meta_reply *reply, const char *id)
{
	size_t low = 0, high = reply->nchildren, mid;
	int order;

	while (low < high) {
		mid = low + (high - low) / 2;
		order = strcmp(reply->children[mid], id);
		if (order == 0)
			return (true);
		if (order < 0)
			low = mid + 1;
		else
			high = mid;
	}
	return (false);
}

static void
take_name(struct list *l, const char *id)
{
	struct bk_registry *r = l->registry;
	struct bookie *b = find(r, id);
	bool *flag;

	if (b == NULL && (!bk_bookie_id_valid(id) || (b = add(r, id)) == NULL))
		return;
	if (b->info.service == NULL)
		fetch_service(r, id, l->readonly);
	flag = flag_of(b, l);
	r->changed |= !*flag;
	*flag = true;
}

static void
take_list(struct list *l, const struct bk_meta_reply *reply)
{
	struct bk_registry *r = l->registry;

	for (size_t i = 0; i < reply->nchildren; i++)
		take_name(l, reply->children[i]);
	for (size_t i = 0; i < r->n; i++) {
		bool *flag = flag_of(r->bookies[i], l);

		if (*flag && !listed(reply, r->bookies[i]->id)) {
			*flag = false;
			r->changed = true;
		}
	}
	drop_absent(r);
}

/* The list was read, or could not be: on to what is due next. */
static void
list_over(struct list *l, enum bk_status status)
{
	l->reading = false;
	if (l->again && !l->registry->dead && status != BK_ECANCELED)
		read_list(l);
	read_over(l->registry, status);
}

static void
on_list_event(void *arg, enum bk_watch_event event, const char *path)
{
	struct list *l = arg;

	(void)event;
	(void)path;
	if (l->reading)
		l->again = true;
	else
		read_list(l);
}

static void
on_list_again(void *arg, enum bk_status status,
    const struct bk_meta_reply *reply)
{
	struct list *l = arg;

	(void)reply;
	l->registry->pauses--;
	l->reading = false;
	if (l->registry->dead)
		destroy_unless_busy(l->registry);
	else if (status == BK_OK)
		read_list(l);
}

/* The read-only list may be missing; then it is waited for. */
static void
on_list_missing(void *arg, enum bk_status status,
    const struct bk_meta_reply *reply)
{
	struct list *l = arg;

	(void)reply;
	if (status == BK_OK)
		l->again = true; /* it has come meanwhile */
	list_over(l, status == BK_ECANCELED ? status : BK_OK);
}

static void
list_path(const struct list *l, char path[BK_PATH_MAX + 1])
{
	bk_tree_path(l->registry->tree, path, "/available%s",
	    l->readonly ? "/readonly" : "");
}

static void
on_list(void *arg, enum bk_status status, const struct bk_meta_reply *reply)
{
	struct list *l = arg;
	struct bk_registry *r = l->registry;
	char path[BK_PATH_MAX + 1];

	if (r->dead || status == BK_ECANCELED) {
		list_over(l, status);
	} else if (status == BK_OK) {
		take_list(l, reply);
		list_over(l, BK_OK);
	} else if (status == BK_ENONODE && l->readonly) {
		take_list(l, &(struct bk_meta_reply){0});
		list_path(l, path);
		bk_meta_exists(r->tree->meta, path,
		    (struct bk_watch){on_list_event, l}, on_list_missing, l);
	} else {
		/* It counts as being read until it is tried again. */
		r->pauses++;
		bk_meta_pause(r->tree->meta, PAUSE, on_list_again, l);
		read_over(r, l->readonly ? BK_OK : status);
	}
}

static void
ignore(void *arg, enum bk_status status, const struct bk_meta_reply *reply)
{
	(void)arg;
	(void)status;
	(void)reply;
}

/* Behind a sync, since a new session may look at a server that lags. */
static void
read_list(struct list *l)
{
	struct bk_meta *meta = l->registry->tree->meta;
	char path[BK_PATH_MAX + 1];

	l->reading = true;
	l->again = false;
	l->registry->reads++;
	list_path(l, path);
	bk_meta_sync(meta, path, ignore, NULL);
	bk_meta_children(meta, path, (struct bk_watch){on_list_event, l},
	    on_list, l);
}

struct bk_registry *
bk_registry_new(const struct bk_tree *tree, bk_done_cb *ready,
    void (*changed)(void *arg), void *arg)
{
	struct bk_registry *r = calloc(1, sizeof(*r));

	if (r == NULL)
		return (NULL);
	r->tree = tree;
	r->on_ready = ready;
	r->on_changed = changed;
	r->arg = arg;
	for (int i = 0; i < 2; i++) {
		r->lists[i].registry = r;
		r->lists[i].readonly = i == 1;
	}
	read_list(&r->lists[0]);
	read_list(&r->lists[1]);
	return (r);
}

void
bk_registry_free(struct bk_registry *r)
{
	if (r == NULL)
		return;
	bk_meta_unwatch(r->tree->meta, on_bookie_event, r);
	bk_meta_unwatch(r->tree->meta, on_list_event, &r->lists[0]);
	bk_meta_unwatch(r->tree->meta, on_list_event, &r->lists[1]);
	r->dead = true;
	destroy_unless_busy(r);
}

size_t
bk_registry_count(const struct bk_registry *r)
{
	return (r->n);
}

const struct bk_bookie_info *
bk_registry_at(const struct bk_registry *r, size_t index)
{
	return (index < r->n ? &r->bookies[index]->info : NULL);
}

const struct bk_bookie_info *
bk_registry_find(const struct bk_registry *r, const char *bookie_id)
{
	struct bookie *b = find(r, bookie_id);

	return (b != NULL ? &b->info : NULL);
}
