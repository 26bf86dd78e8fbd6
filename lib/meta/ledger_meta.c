/* ledger_meta.c - a ledger's record in memory: its life, reading it, changing
 * it. */
#include "meta/ledger_meta.h"
#include "meta/ledger_meta_codec.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* A copy with a NUL behind it, also of nothing; NULL when out of memory. */
static uint8_t *
copy_bytes(const void *data, size_t len)
{
	uint8_t *copy = malloc(len + 1);

	if (copy == NULL)
		return (NULL);
	if (len > 0)
		memcpy(copy, data, len);
	copy[len] = '\0';
	return (copy);
}

void
bk_ledger_meta_init(struct bk_ledger_meta *m)
{
	*m = (struct bk_ledger_meta){
	    .format = 3,
	    .state = BK_LEDGER_OPEN,
	    .last_entry = -1,
	    .digest = BK_DIGEST_CRC32C,
	    .has_password = true,
	};
}

static void
free_segment(struct bk_segment *s, int32_t n)
{
	for (int32_t i = 0; i < n; i++)
		free(s->bookies[i]);
	free(s->bookies);
}

void
bk_ledger_meta_fini(struct bk_ledger_meta *m)
{
	for (size_t i = 0; i < m->nsegments; i++)
		free_segment(&m->segments[i], m->ensemble_size);
	free(m->segments);
	for (size_t i = 0; i < m->ncustom; i++) {
		free(m->custom[i].key);
		free(m->custom[i].value);
	}
	free(m->custom);
	free(m->password);
	bk_ledger_meta_init(m);
}

int
bk_ledger_meta_copy(struct bk_ledger_meta *dst,
    const struct bk_ledger_meta *src)
{
	*dst = *src;
	dst->password = NULL;
	dst->password_len = 0;
	dst->segments = NULL;
	dst->nsegments = 0;
	dst->custom = NULL;
	dst->ncustom = 0;
	if (bk_ledger_meta_set_password(dst, src->password,
		src->password_len) != 0)
		goto fail;
	dst->has_password = src->has_password;
	for (size_t i = 0; i < src->nsegments; i++)
		if (bk_ledger_meta_append(dst, src->segments[i].first_entry,
			(const char *const *)src->segments[i].bookies) != 0)
			goto fail;
	for (size_t i = 0; i < src->ncustom; i++)
		if (bk_ledger_meta_set_custom(dst, src->custom[i].key,
			src->custom[i].value, src->custom[i].len) != 0)
			goto fail;
	return (0);
fail:
	bk_ledger_meta_fini(dst);
	return (-1);
}

struct bk_segment *
bk_ledger_meta_add_segment(struct bk_ledger_meta *m, int64_t first_entry,
    size_t n)
{
	struct bk_segment *grown, *s;

	grown = reallocarray(m->segments, m->nsegments + 1, sizeof(*grown));
	if (grown == NULL)
		return (NULL);
	m->segments = grown;
	s = &grown[m->nsegments];
	s->first_entry = first_entry;
	if ((s->bookies = calloc(n > 0 ? n : 1, sizeof(*s->bookies))) == NULL)
		return (NULL);
	m->nsegments++;
	return (s);
}

int
bk_ledger_meta_append(struct bk_ledger_meta *m, int64_t first_entry,
    const char *const *bookies)
{
	size_t n = (size_t)m->ensemble_size;
	struct bk_segment *s;

	if (m->nsegments > 0 &&
	    first_entry <= m->segments[m->nsegments - 1].first_entry) {
		errno = EINVAL;
		return (-1);
	}
	if ((s = bk_ledger_meta_add_segment(m, first_entry, n)) == NULL)
		return (-1);
	for (size_t i = 0; i < n; i++)
		if ((s->bookies[i] = strdup(bookies[i])) == NULL)
			goto fail;
	return (0);
fail:
	free_segment(s, m->ensemble_size);
	m->nsegments--;
	return (-1);
}

int
bk_ledger_meta_replace(struct bk_ledger_meta *m, size_t segment, int position,
    const char *bookie)
{
	char **slot = &m->segments[segment].bookies[position];
	char *copy = strdup(bookie);

	if (copy == NULL)
		return (-1);
	free(*slot);
	*slot = copy;
	return (0);
}

size_t
bk_ledger_meta_segment(const struct bk_ledger_meta *m, int64_t entry)
{
	size_t low = 0, high = m->nsegments, mid;

	/* Segments below low start at or before the entry, from high on
	 * after it. */
	while (low < high) {
		mid = low + (high - low) / 2;
		if (m->segments[mid].first_entry <= entry)
			low = mid + 1;
		else
			high = mid;
	}
	return (low > 0 ? low - 1 : 0);
}

bool
bk_ledger_meta_names(const struct bk_ledger_meta *m, const char *bookie)
{
	for (size_t i = 0; i < m->nsegments; i++)
		for (int32_t j = 0; j < m->ensemble_size; j++)
			if (strcmp(m->segments[i].bookies[j], bookie) == 0)
				return (true);
	return (false);
}

const struct bk_custom *
bk_ledger_meta_custom(const struct bk_ledger_meta *m, const char *key)
{
	for (size_t i = 0; i < m->ncustom; i++)
		if (strcmp(m->custom[i].key, key) == 0)
			return (&m->custom[i]);
	return (NULL);
}

/* Append a pair without a value; NULL with errno set. */
static struct bk_custom *
add_custom(struct bk_ledger_meta *m, const char *key)
{
	struct bk_custom *grown, *pair;

	if (m->ncustom == BK_CUSTOM_MAX) {
		errno = E2BIG;
		return (NULL);
	}
	grown = reallocarray(m->custom, m->ncustom + 1, sizeof(*grown));
	if (grown == NULL)
		return (NULL);
	m->custom = grown;
	pair = &grown[m->ncustom];
	*pair = (struct bk_custom){.key = strdup(key)};
	if (pair->key == NULL)
		return (NULL);
	m->ncustom++;
	return (pair);
}

int
bk_ledger_meta_set_custom(struct bk_ledger_meta *m, const char *key,
    const void *value, size_t len)
{
	uint8_t *copy = copy_bytes(value, len);
	struct bk_custom *pair;

	if (copy == NULL)
		return (-1);
	pair = (struct bk_custom *)bk_ledger_meta_custom(m, key);
	if (pair == NULL && (pair = add_custom(m, key)) == NULL) {
		free(copy);
		return (-1);
	}
	free(pair->value);
	pair->value = copy;
	pair->len = len;
	return (0);
}

int
bk_ledger_meta_set_password(struct bk_ledger_meta *m, const void *password,
    size_t len)
{
	uint8_t *copy;

	if (len > BK_PASSWORD_MAX) {
		errno = E2BIG;
		return (-1);
	}
	if ((copy = copy_bytes(password, len)) == NULL)
		return (-1);
	free(m->password);
	m->password = copy;
	m->password_len = len;
	m->has_password = true;
	return (0);
}

const char *
bk_ledger_state_name(enum bk_ledger_state state)
{
	switch (state) {
	case BK_LEDGER_OPEN:
		return ("OPEN");
	case BK_LEDGER_IN_RECOVERY:
		return ("IN_RECOVERY");
	case BK_LEDGER_CLOSED:
		return ("CLOSED");
	}
	return ("unknown");
}
