/* config.c - lines, comments, includes and mistakes of config files. */
#include "tool/config.h"
#include "tap.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

static char got[2048];

static int
set(void *arg, const char *name, const char *value, const char *where,
    const char **why)
{
	size_t n = strlen(got);

	(void)arg;
	if (strcmp(name, "bad") == 0) {
		*why = "no good";
		return (-1);
	}
	(void)snprintf(got + n, sizeof(got) - n, "%s=%s@%s;", name, value,
	    strrchr(where, '/') != NULL ? strrchr(where, '/') + 1 : where);
	return (0);
}

static void
gives(const char *text, size_t len, const char *want)
{
	char why[256] = "";
	int r;

	got[0] = '\0';
	r = bk_config_text(text, len, "c", set, NULL, why, sizeof(why));
	if (want[0] == '!') {
		is_int(r, -1, "refused: %s", want + 1);
		is_str(why, want + 1, "so it says");
		return;
	}
	is_int(r, 0, "taken: %s", want);
	is_str(got, want, "as meant");
}

#define GIVES(text, want) gives(text, sizeof(text) - 1, want)

static void
write_file(const char *dir, const char *name, const char *text)
{
	char path[512];
	FILE *f;

	(void)snprintf(path, sizeof(path), "%s/%s", dir, name);
	if ((f = fopen(path, "w")) == NULL || fputs(text, f) == EOF ||
	    fclose(f) != 0)
		abort();
}

static void
reads(const char *dir, const char *name, const char *want)
{
	char path[512], why[1024] = "";
	int r;

	(void)snprintf(path, sizeof(path), "%s/%s", dir, name);
	got[0] = '\0';
	r = bk_config_read(path, set, NULL, why, sizeof(why));
	if (want[0] == '!') {
		is_int(r, -1, "file %s is refused", name);
		ok(strstr(why, want + 1) != NULL, "because: %s", why);
		return;
	}
	is_int(r, 0, "file %s is read", name);
	is_str(got, want, "as meant");
}

static void
test_files(void)
{
	char dir[] = "/tmp/bk-config.XXXXXX", command[64], why[256];

	if (mkdtemp(dir) == NULL)
		abort();
	write_file(dir, "a", "x 1\ninclude b\ny 2\n");
	write_file(dir, "b", "z 3");
	write_file(dir, "loop", "include loop\n");
	write_file(dir, "lost", "\ninclude nowhere\n");
	write_file(dir, "deep", "include wrong\n");
	write_file(dir, "wrong", "ok 1\nbad 2\n");
	reads(dir, "a", "x=1@a:1;z=3@b:1;y=2@a:3;");
	reads(dir, "loop", "!more than 8 files include each other");
	reads(dir, "lost", "!nowhere: No such file");
	reads(dir, "deep", "!/wrong:2: bad: no good");
	reads(dir, ".", "!: Is a directory");
	is_int(bk_config_read("/nonexistent/x", set, NULL, why, sizeof(why)),
	    -1, "a missing file");
	is_int(errno, ENOENT, "can be told apart");
	(void)snprintf(command, sizeof(command), "rm -r %s", dir);
	if (system(command) != 0)
		abort();
}

int
main(void)
{
	static char wide[BK_CONFIG_LINE + 2];

	GIVES("", "");
	GIVES("\n \n\t\r\n# all\n  # of it\n", "");
	GIVES("window 64k", "window=64k@c:1;");
	GIVES("\twindow \t 64k \r\nquiet\n", "window=64k@c:1;quiet=@c:2;");
	GIVES("data /srv/a b # two words\n", "data=/srv/a b@c:1;");
	GIVES("d a#b#\n", "d=a#b#@c:1;");
	GIVES("x 1\n\nbad 2\n", "!c:3: bad: no good");
	GIVES("x 1\nb\0d 2\n", "!c:2: not text");
	GIVES("include\n", "!c:1: include needs a file");
	memset(wide, 'x', sizeof(wide));
	gives(wide, sizeof(wide), "!c:1: line over 65536 bytes");
	test_files();
	return (tap_done());
}
