/* cookiefile.c - reading and writing DIR/current/VERSION. */
#include "bk-bookied/cookiefile.h"
#include "bk-bookied/place.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define CURRENT "current"
#define VERSION "VERSION"
#define VERSION_NEW "VERSION.new"
#define COOKIE_MAX 65536

static bool
ends_with(const char *name, const char *end)
{
	size_t n = strlen(name), m = strlen(end);

	return (n >= m && strcmp(name + n - m, end) == 0);
}

/* Data of the layout before current/ came (metadata.md 5.4). */
static bool
is_old_data(const char *name)
{
	return (strcmp(name, VERSION) == 0 || ends_with(name, ".txn") ||
	    ends_with(name, ".idx") || ends_with(name, ".log"));
}

static bool
is_current_data(const char *name)
{
	return (strcmp(name, ".") != 0 && strcmp(name, "..") != 0 &&
	    strcmp(name, VERSION) != 0 && strcmp(name, VERSION_NEW) != 0);
}

/* Whether a directory has an entry that is data. 0 or 1, -1 with errno. */
static int
holds(int at, const char *path, bool (*is_data)(const char *name))
{
	int fd = openat(at, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct dirent *entry;
	DIR *d;
	int found = 0;

	if (fd == -1)
		return (errno == ENOENT ? 0 : -1);
	if ((d = fdopendir(fd)) == NULL) {
		(void)close(fd);
		return (-1);
	}
	while (found == 0 && (entry = readdir(d)) != NULL)
		found = is_data(entry->d_name);
	(void)closedir(d);
	return (found);
}

/* The file's text, appended. 1, 0 when there is no file, -1 with errno. */
static int
slurp(int at, struct bk_buf *out)
{
	int fd = openat(at, CURRENT "/" VERSION, O_RDONLY | O_CLOEXEC);
	uint8_t *p;
	ssize_t n;

	if (fd == -1)
		return (errno == ENOENT ? 0 : -1);
	do {
		p = bk_buf_reserve(out, 4096);
		n = p != NULL ? read(fd, p, 4096) : -1;
		if (n > 0)
			bk_buf_commit(out, (size_t)n);
	} while (n > 0 && bk_buf_len(out) <= COOKIE_MAX);
	(void)close(fd);
	return (n == -1 ? -1 : 1);
}

static enum bk_status
look(int at, struct cookiefile *f, struct bk_buf *text)
{
	struct bk_bytes bytes;
	enum bk_status status;
	int there = slurp(at, text), old, data;

	if (there == -1)
		return (BK_ESYS);
	data = holds(at, CURRENT, is_current_data);
	old = holds(at, ".", is_old_data);
	if (data == -1 || old == -1)
		return (BK_ESYS);
	f->has_data = data == 1 || old == 1;
	if (there == 0)
		return (BK_OK);
	bytes = (struct bk_bytes){bk_buf_head(text), bk_buf_len(text)};
	status = bk_cookie_decode(bytes, &f->cookie);
	f->exists = status == BK_OK;
	return (status == BK_ENOMEM || status == BK_OK ? status : BK_ECONFIG);
}

enum bk_status
cookiefile_read(const char *dir, struct cookiefile *f)
{
	int at = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct bk_buf text;
	enum bk_status status;

	memset(f, 0, sizeof(*f));
	if (at == -1)
		return (errno == ENOENT ? BK_OK : BK_ESYS);
	bk_buf_init(&text);
	status = look(at, f, &text);
	bk_buf_fini(&text);
	(void)close(at);
	return (status);
}

void
cookiefile_fini(struct cookiefile *f)
{
	if (f->exists)
		bk_cookie_fini(&f->cookie);
}

static int
write_synced(int at, const char *name, struct bk_bytes text)
{
	int fd =
	    openat(at, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	bool written;

	if (fd == -1)
		return (-1);
	written = write(fd, text.data, text.len) == (ssize_t)text.len &&
	    fsync(fd) == 0;
	if (close(fd) == -1 || !written)
		return (-1);
	return (0);
}

static int
write_at(int at, struct bk_bytes text)
{
	int current, r;

	if (mkdirat(at, CURRENT, 0700) == -1 && errno != EEXIST)
		return (-1);
	current = openat(at, CURRENT, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (current == -1)
		return (-1);
	r = write_synced(current, VERSION_NEW, text);
	if (r == 0)
		r = renameat(current, VERSION_NEW, current, VERSION);
	if (r == 0)
		r = fsync(current);
	if (r == 0)
		r = fsync(at);
	(void)close(current);
	return (r);
}

int
cookiefile_write(const char *dir, struct bk_bytes text)
{
	int at, r;

	if (place_make_dir(dir) == -1)
		return (-1);
	at = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (at == -1)
		return (-1);
	r = write_at(at, text);
	(void)close(at);
	return (r);
}
