/*
 * request.h - one request of the bookie protocol: decode, do, answer
 * (bookie-protocol.md 2, 3, 5).
 */
#ifndef BOOKIE_REQUEST_H
#define BOOKIE_REQUEST_H

#include "wire/bookie_msg.h"

#include <stddef.h>
#include <stdint.h>

struct client;
struct store_entry;

enum served {
	SERVED,          /* answered, or will be */
	SERVED_PUT_BACK, /* nothing was done: no room; serve it again later */
	SERVED_BROKEN,   /* not our protocol: the connection must end */
};

/* Serve the payload of one frame. */
enum served request_serve(struct client *c, const uint8_t *payload, size_t len);

/* One function an operation, in the file named beside it. */
enum served add_entry(struct client *c, const struct bk_request *req);
enum served read_entry(struct client *c, const struct bk_request *req);
enum served batch_read(struct client *c, const struct bk_request *req);
enum served write_lac(struct client *c, const struct bk_request *req);
enum served read_lac(struct client *c, const struct bk_request *req);
enum served list_entries(struct client *c, const struct bk_request *req);

/*
 * An entry read on behalf of a request: at once, or when the read thread has
 * it. done() gets it back, with the entry, which it owns; it is not called
 * when the client has gone meanwhile.
 */
struct fetch {
	struct client *client;
	struct bk_request req; /* as asked; its slices are gone in done() */
	int64_t entry_id;      /* the one to read */
	uint64_t position;     /* the answer waits for it */
	int64_t lac_time_ms;   /* of a long poll: when the LAC rose; else 0 */
	void (*done)(const struct fetch *f, struct store_entry *entry);
};
void fetch(const struct fetch *f);

/* Carry out the fence a request asks for. OK with *position to wait for, or
 * the status to answer, also at *position. Without BK_REQ_FENCE: OK and 0. */
enum bk_status fence_first(struct client *c, const struct bk_request *req,
    uint64_t *position);
/* Read and answer as a plain or fencing READ. */
void read_and_answer(struct client *c, const struct bk_request *req,
    uint64_t position);

#endif
