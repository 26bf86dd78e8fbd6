/* watch_table.c - watches by path. */
#include "meta/watch_table.h"

#include <stdlib.h>
#include <string.h>

/* When memory is out an element is not added, its hh.tbl NULL. */
#define HASH_NONFATAL_OOM 1
#include <uthash.h>

static const enum bk_watch_kind kinds[] = {BK_WATCH_NODE, BK_WATCH_LIST};
#define NKINDS (sizeof(kinds) / sizeof(kinds[0]))

struct bk_watch_path {
	UT_hash_handle hh;
	struct bk_watch_list list;
	char path[];
};

void
bk_watches_init(struct bk_watches *t)
{
	memset(t, 0, sizeof(*t));
	TAILQ_INIT(&t->fired);
}

static void
drop_path(struct bk_watches *t, struct bk_watch_path *p)
{
	HASH_DEL(t->paths, p);
	free(p);
}

static void
forget(struct bk_watches *t, struct bk_watch_path *p,
    struct bk_watch_entry *entry)
{
	TAILQ_REMOVE(&p->list, entry, next);
	t->n--;
	t->bytes -= strlen(entry->path);
}

static void
free_list(struct bk_watch_list *list)
{
	struct bk_watch_entry *entry;

	while ((entry = TAILQ_FIRST(list)) != NULL) {
		TAILQ_REMOVE(list, entry, next);
		free(entry);
	}
}

void
bk_watches_fini(struct bk_watches *t)
{
	struct bk_watch_path *p, *tmp;

	HASH_ITER(hh, t->paths, p, tmp) {
		free_list(&p->list);
		drop_path(t, p);
	}
	free_list(&t->fired);
	bk_watches_init(t);
}

static struct bk_watch_path *
find_path(struct bk_watches *t, const char *path)
{
	struct bk_watch_path *p;

	HASH_FIND_STR(t->paths, path, p);
	return (p);
}

static struct bk_watch_path *
make_path(struct bk_watches *t, const char *path)
{
	size_t len = strlen(path) + 1;
	struct bk_watch_path *p;

	p = malloc(sizeof(*p) + len);
	if (p == NULL)
		return (NULL);
	memcpy(p->path, path, len);
	TAILQ_INIT(&p->list);
	HASH_ADD_STR(t->paths, path, p);
	if (p->hh.tbl == NULL) {
		free(p);
		return (NULL);
	}
	return (p);
}

static bool
same_watch(const struct bk_watch *a, const struct bk_watch *b)
{
	return (a->fn == b->fn && a->arg == b->arg);
}

static struct bk_watch_entry *
find_entry(struct bk_watch_path *p, enum bk_watch_kind kind,
    const struct bk_watch *watch)
{
	struct bk_watch_entry *entry;

	TAILQ_FOREACH(entry, &p->list, next) {
		if (entry->kind == kind && same_watch(&entry->watch, watch))
			return (entry);
	}
	return (NULL);
}

/* A retired watch, which the server still has, in place of a new one. */
static struct bk_watch_entry *
revive(struct bk_watch_path *p, enum bk_watch_kind kind,
    const struct bk_watch *watch)
{
	struct bk_watch_entry *entry;

	entry = find_entry(p, kind, &BK_NO_WATCH);
	if (entry != NULL)
		entry->watch = *watch;
	return (entry);
}

int
bk_watches_add(struct bk_watches *t, const char *path, enum bk_watch_kind kind,
    struct bk_watch watch, const struct bk_watch_seen *seen)
{
	size_t len = strlen(path);
	struct bk_watch_entry *entry;
	struct bk_watch_path *p;

	if (watch.fn == NULL)
		return (0);
	p = find_path(t, path);
	if (p == NULL)
		p = make_path(t, path);
	if (p == NULL)
		return (-1);
	entry = find_entry(p, kind, &watch);
	if (entry == NULL)
		entry = revive(p, kind, &watch);
	if (entry == NULL) {
		entry = malloc(sizeof(*entry) + len + 1);
		if (entry == NULL) {
			if (TAILQ_EMPTY(&p->list))
				drop_path(t, p);
			return (-1);
		}
		memcpy(entry->path, path, len + 1);
		entry->watch = watch;
		entry->kind = kind;
		TAILQ_INSERT_TAIL(&p->list, entry, next);
		t->n++;
		t->bytes += len;
	}
	entry->seen = *seen;
	return (0);
}

static void
drop_fired(struct bk_watches *t, const struct bk_watch *watch)
{
	struct bk_watch_entry *entry, *next;

	TAILQ_FOREACH_SAFE(entry, &t->fired, next, next) {
		if (same_watch(&entry->watch, watch)) {
			TAILQ_REMOVE(&t->fired, entry, next);
			free(entry);
		}
	}
}

void
bk_watches_drop(struct bk_watches *t, bk_watch_cb *fn, void *arg)
{
	const struct bk_watch watch = {fn, arg};
	struct bk_watch_path *p, *next_path;
	struct bk_watch_entry *entry;

	HASH_ITER(hh, t->paths, p, next_path) {
		for (size_t i = 0; i < NKINDS; i++) {
			entry = find_entry(p, kinds[i], &watch);
			if (entry != NULL) {
				forget(t, p, entry);
				free(entry);
			}
		}
		if (TAILQ_EMPTY(&p->list))
			drop_path(t, p);
	}
	drop_fired(t, &watch);
}

void
bk_watches_retire(struct bk_watches *t, bk_watch_cb *fn, void *arg)
{
	const struct bk_watch watch = {fn, arg};
	struct bk_watch_path *p, *next_path;
	struct bk_watch_entry *entry;

	HASH_ITER(hh, t->paths, p, next_path) {
		for (size_t i = 0; i < NKINDS; i++) {
			entry = find_entry(p, kinds[i], &watch);
			if (entry != NULL)
				entry->watch = BK_NO_WATCH;
		}
	}
	drop_fired(t, &watch);
}

static bool
concerns(enum bk_watch_event event, enum bk_watch_kind kind)
{
	switch (event) {
	case BK_WATCH_CREATED:
	case BK_WATCH_CHANGED:
		return (kind == BK_WATCH_NODE);
	case BK_WATCH_CHILDREN:
		return (kind == BK_WATCH_LIST);
	case BK_WATCH_DELETED:
	case BK_WATCH_SESSION:
		break;
	}
	return (true);
}

static void
fire_entry(struct bk_watches *t, struct bk_watch_path *p,
    struct bk_watch_entry *entry, enum bk_watch_event event)
{
	forget(t, p, entry);
	entry->event = event;
	TAILQ_INSERT_TAIL(&t->fired, entry, next);
}

static void
fire_path(struct bk_watches *t, struct bk_watch_path *p,
    enum bk_watch_event event)
{
	struct bk_watch_entry *entry, *next;

	TAILQ_FOREACH_SAFE(entry, &p->list, next, next) {
		if (concerns(event, entry->kind))
			fire_entry(t, p, entry, event);
	}
	if (TAILQ_EMPTY(&p->list))
		drop_path(t, p);
}

void
bk_watches_fire(struct bk_watches *t, const char *path,
    enum bk_watch_event event)
{
	struct bk_watch_path *p = find_path(t, path);

	if (p != NULL)
		fire_path(t, p, event);
}

void
bk_watches_fire_all(struct bk_watches *t, enum bk_watch_event event)
{
	struct bk_watch_path *p, *tmp;

	HASH_ITER(hh, t->paths, p, tmp)
		fire_path(t, p, event);
}

void
bk_watches_compare(struct bk_watches *t, bk_watch_judge *judge, void *arg)
{
	struct bk_watch_path *p, *next_path;
	struct bk_watch_entry *entry, *next;
	int event;

	HASH_ITER(hh, t->paths, p, next_path) {
		TAILQ_FOREACH_SAFE(entry, &p->list, next, next) {
			event = judge(arg, entry);
			if (event != -1)
				fire_entry(t, p, entry,
				    (enum bk_watch_event)event);
		}
		if (TAILQ_EMPTY(&p->list))
			drop_path(t, p);
	}
}

bool
bk_watches_deliver(struct bk_watches *t)
{
	struct bk_watch_entry *entry = TAILQ_FIRST(&t->fired);

	if (entry == NULL)
		return (false);
	TAILQ_REMOVE(&t->fired, entry, next);
	if (entry->watch.fn != NULL)
		entry->watch.fn(entry->watch.arg, entry->event, entry->path);
	free(entry);
	return (true);
}
