/*
 * guard.h - a way back to an object that may be gone: calls to the metadata
 * store cannot be cancelled, so each of them holds a guard instead of the
 * object, and finds NULL in it once the object was freed. Private to
 * lib/client.
 */
#ifndef BK_GUARD_H
#define BK_GUARD_H

struct bk_guard {
	void *owner;   /* NULL: freed */
	unsigned refs; /* the owner's own and one a call */
};

/* NULL when out of memory. */
struct bk_guard *bk_guard_new(void *owner);
/* One more call is under way. */
struct bk_guard *bk_guard_hold(struct bk_guard *g);
/* A call came back: its owner, or NULL. */
void *bk_guard_release(struct bk_guard *g);
/* The owner goes. NULL is fine. */
void bk_guard_drop(struct bk_guard *g);

#endif
