/* zk_log.c - the C client's lines, shown once, then once a minute. */
#include "meta/zk_log.h"

#include "base/log.h"
#include "loop/loop.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <zookeeper/zookeeper.h>

#define REMEMBERED 16
#define INTERVAL (60 * BK_SECOND)

/* The client has one log for all its handles, so there is one memory of it for
 * each thread. */
struct said {
	uint64_t hash; /* 0: none */
	int64_t since; /* when it was last shown */
	unsigned more; /* times it was not */
};

/* FNV-1a; digits count as one, as ports and times differ from line to line. */
static uint64_t
hash_text(const char *text, size_t len)
{
	uint64_t h = 0xcbf29ce484222325;
	char c;

	for (size_t i = 0; i < len; i++) {
		c = text[i] >= '0' && text[i] <= '9' ? '0' : text[i];
		h = (h ^ (unsigned char)c) * 0x100000001b3;
	}
	return (h | 1);
}

static struct said *
remember(uint64_t hash)
{
	static _Thread_local struct said memory[REMEMBERED];
	struct said *oldest = &memory[0];

	for (size_t i = 0; i < REMEMBERED; i++) {
		if (memory[i].hash == hash)
			return (&memory[i]);
		if (memory[i].since < oldest->since)
			oldest = &memory[i];
	}
	*oldest = (struct said){hash, 0, 0};
	return (oldest);
}

/* "date time,ms:pid:ZOO_LEVEL@function@line: message" */
void
bk_zk_log(const char *line)
{
	enum bk_severity severity = BK_LOG_INFO;
	const char *text, *place;
	int64_t now = bk_clock_now();
	struct said *said;
	size_t len;

	place = strstr(line, ":ZOO_");
	text = place == NULL ? NULL : strstr(place + 5, ": ");
	text = text == NULL ? line : text + 2;
	if (place != NULL &&
	    (strncmp(place + 5, "INFO", 4) == 0 ||
		strncmp(place + 5, "DEBUG", 5) == 0))
		severity = BK_LOG_DEBUG;
	len = strcspn(text, "\n");
	said = remember(hash_text(text, len));
	if (said->since != 0 && now - said->since < INTERVAL) {
		said->more++;
		return;
	}
	if (said->more > 0)
		bk_log(severity, "zookeeper: %.*s (%u more times)", (int)len,
		    text, said->more);
	else
		bk_log(severity, "zookeeper: %.*s", (int)len, text);
	said->since = now;
	said->more = 0;
}

void
bk_zk_log_level(void)
{
	if (bk_log_shows(BK_LOG_DEBUG))
		zoo_set_debug_level(ZOO_LOG_LEVEL_INFO);
	else if (bk_log_shows(BK_LOG_INFO))
		zoo_set_debug_level(ZOO_LOG_LEVEL_WARN);
	else
		zoo_set_debug_level((ZooLogLevel)0);
}
