/* chain_codec.c - the texts of a chain's nodes, their paths, and what a name
 * may be. */
#include "meta/chain.h"
#include "meta/tree_call.h"

#include <bsd/string.h>
#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <string.h>

#define CHAIN_HEAD "bkchain "
#define PAGE_HEAD "bkpage "
#define VERSION "1"
#define LINE_MAX_LEN 400
#define GONE "-"

enum field_type { FIELD_I32, FIELD_I64, FIELD_U64 };

static const struct field {
	const char *key;
	enum field_type type;
	size_t offset;
} fields[] = {
    {"id", FIELD_I64, offsetof(struct bk_chain, id)},
    {"epoch", FIELD_U64, offsetof(struct bk_chain, epoch)},
    {"first", FIELD_U64, offsetof(struct bk_chain, first)},
    {"count", FIELD_U64, offsetof(struct bk_chain, count)},
    {"ensemble-size", FIELD_I32, offsetof(struct bk_chain, ensemble_size)},
    {"write-quorum", FIELD_I32, offsetof(struct bk_chain, write_quorum)},
    {"ack-quorum", FIELD_I32, offsetof(struct bk_chain, ack_quorum)},
    {"deleted-ms", FIELD_I64, offsetof(struct bk_chain, deleted_ms)},
    {"keep-age-ms", FIELD_I64, offsetof(struct bk_chain, keep_age_ms)},
    {"keep-bytes", FIELD_I64, offsetof(struct bk_chain, keep_bytes)},
    {"keep-count", FIELD_I64, offsetof(struct bk_chain, keep_count)},
    {"roll-bytes", FIELD_I64, offsetof(struct bk_chain, roll_bytes)},
    {"roll-age-ms", FIELD_I64, offsetof(struct bk_chain, roll_age_ms)},
};

#define NFIELDS (sizeof(fields) / sizeof(*fields))

static const char *const states[] = {
    [BK_CHAIN_WRITING] = "writing",
    [BK_CHAIN_ENDED] = "ended",
    [BK_CHAIN_DELETED] = "deleted",
};

static bool
holder_fits(const char *holder)
{
	for (; *holder != '\0'; holder++)
		if ((unsigned char)*holder < ' ' || *holder == 0x7f)
			return (false);
	return (true);
}

static int
put_field(const struct bk_chain *c, const struct field *f, struct bk_buf *out)
{
	const char *at = (const char *)c + f->offset;
	int64_t v;

	/* None is negative or above INT64_MAX, so one type prints all. */
	v = f->type == FIELD_I32 ? *(const int32_t *)at : *(const int64_t *)at;
	if (v == 0 && f->offset != offsetof(struct bk_chain, id))
		return (0);
	return (bk_buf_printf(out, "%s %" PRId64 "\n", f->key, v));
}

static int
put_chain(const struct bk_chain *c, struct bk_buf *out)
{
	if (bk_buf_printf(out, CHAIN_HEAD VERSION "\nstate %s\n",
		states[c->state]) != 0)
		return (-1);
	for (size_t i = 0; i < NFIELDS; i++)
		if (put_field(c, &fields[i], out) != 0)
			return (-1);
	if (c->holder[0] == '\0')
		return (0);
	return (bk_buf_printf(out, "holder %s\n", c->holder));
}

int
bk_chain_encode(const struct bk_chain *c, struct bk_buf *out)
{
	size_t before = bk_buf_len(out);

	if (!holder_fits(c->holder)) {
		errno = EINVAL;
		return (-1);
	}
	if (put_chain(c, out) == 0)
		return (0);
	out->end = out->start + before;
	return (-1);
}

/* The next line, without its newline, which must be there. */
static bool
take_line(struct bk_bytes *text, char line[LINE_MAX_LEN])
{
	const uint8_t *end = NULL;
	size_t len;

	if (text->len > 0)
		end = memchr(text->data, '\n', text->len);
	if (end == NULL || (size_t)(end - text->data) >= LINE_MAX_LEN)
		return (false);
	len = (size_t)(end - text->data);
	memcpy(line, text->data, len);
	line[len] = '\0';
	text->data += len + 1;
	text->len -= len + 1;
	return (strlen(line) == len);
}

/* The first line: what it is, and its version. */
static enum bk_status
take_head(struct bk_bytes *text, const char *head)
{
	char line[LINE_MAX_LEN];

	if (!take_line(text, line) || strncmp(line, head, strlen(head)) != 0)
		return (BK_EBADMETA);
	return (strcmp(line + strlen(head), VERSION) == 0 ? BK_OK : BK_ECONFIG);
}

static bool
take_number(struct bk_chain *c, const struct field *f, const char *value)
{
	char *at = (char *)c + f->offset;
	int64_t v = bk_digits_value(value);

	if (v < 0 || (f->type == FIELD_I32 && v > INT32_MAX))
		return (false);
	if (f->type == FIELD_I32)
		*(int32_t *)at = (int32_t)v;
	else
		*(int64_t *)at = v;
	return (true);
}

static bool
take_state(struct bk_chain *c, const char *value)
{
	for (int i = BK_CHAIN_WRITING; i <= BK_CHAIN_DELETED; i++) {
		if (strcmp(states[i], value) == 0) {
			c->state = (enum bk_chain_state)i;
			return (true);
		}
	}
	return (false);
}

static bool
take_field(struct bk_chain *c, const char *key, const char *value)
{
	if (strcmp(key, "state") == 0)
		return (take_state(c, value));
	if (strcmp(key, "holder") == 0)
		return (holder_fits(value) &&
		    strlcpy(c->holder, value, sizeof(c->holder)) <
			sizeof(c->holder));
	for (size_t i = 0; i < NFIELDS; i++)
		if (strcmp(key, fields[i].key) == 0)
			return (take_number(c, &fields[i], value));
	return (true);
}

enum bk_status
bk_chain_decode(struct bk_bytes data, struct bk_chain *c)
{
	enum bk_status status = take_head(&data, CHAIN_HEAD);
	char line[LINE_MAX_LEN];
	char *value;

	*c = (struct bk_chain){.id = -1};
	if (status != BK_OK)
		return (status);
	while (data.len > 0) {
		if (!take_line(&data, line) ||
		    (value = strchr(line, ' ')) == NULL)
			return (BK_EBADMETA);
		*value++ = '\0';
		if (!take_field(c, line, value))
			return (BK_EBADMETA);
	}
	if (c->id < 0 || c->state == 0 || c->first > c->count)
		return (BK_EBADMETA);
	return (BK_OK);
}

int
bk_chain_page_encode(const struct bk_chain_page *p, struct bk_buf *out)
{
	size_t before = bk_buf_len(out);
	int rc = bk_buf_printf(out, PAGE_HEAD VERSION "\n");

	for (size_t i = 0; i < p->n && rc == 0; i++) {
		if (p->ledgers[i] < 0)
			rc = bk_buf_printf(out, GONE "\n");
		else
			rc = bk_buf_printf(out, "%" PRId64 "\n", p->ledgers[i]);
	}
	if (rc != 0)
		out->end = out->start + before;
	return (rc);
}

enum bk_status
bk_chain_page_decode(struct bk_bytes data, struct bk_chain_page *p)
{
	enum bk_status status = take_head(&data, PAGE_HEAD);
	char line[LINE_MAX_LEN];
	int64_t id;

	p->n = 0;
	if (status != BK_OK)
		return (status);
	while (data.len > 0) {
		if (p->n == BK_CHAIN_PAGE || !take_line(&data, line))
			return (BK_EBADMETA);
		id = bk_digits_value(line);
		if (id < 0 && strcmp(line, GONE) != 0)
			return (BK_EBADMETA);
		p->ledgers[p->n++] = id;
	}
	return (BK_OK);
}

/* Names. */

static bool
is_name_byte(unsigned char c)
{
	return ((c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
	    (c >= 'A' && c <= 'Z') || c == '.' || c == '_' || c == '-' ||
	    c > 0x7f);
}

bool
bk_name_valid(const char *name)
{
	size_t len = strlen(name);
	char path[BK_NAME_MAX + 2];

	if (len == 0 || len > BK_NAME_MAX || name[0] == '.' || name[0] == '-' ||
	    strspn(name, "0123456789") == len)
		return (false);
	for (const char *p = name; *p != '\0'; p++)
		if (!is_name_byte((unsigned char)*p))
			return (false);
	/* What of UTF-8 a store takes, it knows best. */
	path[0] = '/';
	memcpy(path + 1, name, len + 1);
	return (bk_meta_path_valid(path));
}

/* Paths. */

static int
fits(const char *path)
{
	return (path[0] != '\0' ? 0 : -1);
}

int
bk_chain_root(const struct bk_tree *t, char path[BK_PATH_MAX + 1])
{
	bk_tree_path(t, path, "-bk");
	return (fits(path));
}

int
bk_name_path(const struct bk_tree *t, const char *name,
    char path[BK_PATH_MAX + 1])
{
	bk_tree_path(t, path, "-bk/names/%s", name);
	return (fits(path));
}

int
bk_chain_path(const struct bk_tree *t, int64_t chain_id,
    char path[BK_PATH_MAX + 1])
{
	bk_tree_path(t, path, "-bk/chains/%" PRId64, chain_id);
	return (fits(path));
}

int
bk_chain_page_path(const struct bk_tree *t, int64_t chain_id, uint64_t page,
    char path[BK_PATH_MAX + 1])
{
	bk_tree_path(t, path, "-bk/chains/%" PRId64 "/p%010" PRIu64, chain_id,
	    page);
	return (fits(path));
}

int
bk_chain_holder_path(const struct bk_tree *t, int64_t chain_id,
    char path[BK_PATH_MAX + 1])
{
	bk_tree_path(t, path, "-bk/chains/%" PRId64 "/holder", chain_id);
	return (fits(path));
}
