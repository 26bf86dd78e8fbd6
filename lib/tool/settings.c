/* settings.c - every name that may stand in a config file, so that a file may
 * serve all programs and a misspelt name is still an error. */
#include "tool/config.h"

#include <string.h>

const struct bk_setting bk_settings[] = {
    {"ack-quorum", "2", "bk-add bk-ledger"},
    {"advertise", "the bound address", "bk-bookied"},
    {"auth-file", "none", "all"},
    {"ballast", "64M; embedded 1M", "bk-bookied"},
    {"cluster", "local:${XDG_STATE_HOME:-~/.local/state}/bk/store", "all"},
    {"data", "the state directory", "bk-bookied"},
    {"digest", "crc32c", "bk-add bk-ledger"},
    {"ensemble", "3; embedded 2", "bk-add bk-ledger"},
    {"gc-interval", "10m", "bk-bookied"},
    {"id", "the advertised address", "bk-bookied"},
    {"idle-exit", "never", "bk-bookied"},
    {"journal", "the state directory", "bk-bookied"},
    {"journal-size", "64M", "bk-bookied"},
    {"listen", "3181", "bk-bookied"},
    {"log-time", "no", "bk-bookied"},
    {"max-connections", "10000", "bk-bookied"},
    {"memory", "64M", "bk-bookied"},
    {"metrics", "none", "bk-bookied"},
    {"password-file", "none", "bk-add bk-read bk-ledger"},
    {"pidfile", "none", "bk-bookied"},
    {"ports-file", "none", "bk-bookied"},
    {"rack", "none", "bk-bookied"},
    {"read-only", "no", "bk-bookied"},
    {"roll-size", "never", "bk-add"},
    {"roll-time", "never", "bk-add"},
    {"session-timeout", "10s", "bk-bookied"},
    {"stay-listed", "no", "bk-bookied"},
    {"syslog", "no", "bk-bookied"},
    {"user", "the one who starts it", "bk-bookied"},
    {"window", "16384,16M", "bk-add"},
    {"write-quorum", "3; embedded 2", "bk-add bk-ledger"},
    {NULL, NULL, NULL},
};

const struct bk_setting *
bk_setting_find(const char *name)
{
	for (const struct bk_setting *s = bk_settings; s->name != NULL; s++)
		if (strcmp(s->name, name) == 0)
			return (s);
	return (NULL);
}
