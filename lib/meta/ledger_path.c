/* ledger_path.c - ids to paths and back, and LAYOUT's text (spec/metadata.md
 * 1.2, 2.1). */
#include "meta/tree_call.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* The first id on a long path in the hierarchical layout, and the last that
 * the others of 31 bits know. */
#define FIRST_LONG INT64_C(2147483647)

#define DIGITS_ROOM 24

static void
short_path(const struct bk_tree *tree, int64_t id, char path[BK_PATH_MAX + 1])
{
	char d[DIGITS_ROOM];

	(void)snprintf(d, sizeof(d), "%010" PRId64, id);
	bk_tree_path(tree, path, "/%.2s/%.4s/L%s", d, d + 2, d + 6);
}

static void
long_path(const struct bk_tree *tree, int64_t id, char path[BK_PATH_MAX + 1])
{
	char d[DIGITS_ROOM];

	(void)snprintf(d, sizeof(d), "%019" PRId64, id);
	bk_tree_path(tree, path, "/%.3s/%.4s/%.4s/%.4s/L%s", d, d + 3, d + 7,
	    d + 11, d + 15);
}

int
bk_ledger_path(const struct bk_tree *tree, int64_t ledger_id,
    char path[BK_PATH_MAX + 1])
{
	bool small = ledger_id <= FIRST_LONG;

	path[0] = '\0';
	if (ledger_id < 0)
		return (-1);
	if (tree->layout == BK_LAYOUT_LONG ||
	    (tree->layout == BK_LAYOUT_HIERARCHICAL && ledger_id >= FIRST_LONG))
		long_path(tree, ledger_id, path);
	else if (tree->layout == BK_LAYOUT_FLAT && small)
		bk_tree_path(tree, path, "/L%010" PRId64, ledger_id);
	else if (small)
		short_path(tree, ledger_id, path);
	return (path[0] != '\0' ? 0 : -1);
}

/* The digits of all components are the id; that the path is exactly the one
 * of that id settles everything else. */
int
bk_ledger_path_parse(const struct bk_tree *tree, const char *path,
    int64_t *ledger_id)
{
	char digits[DIGITS_ROOM], again[BK_PATH_MAX + 1];
	size_t root = strlen(tree->root), n = 0;

	if (strncmp(path, tree->root, root) != 0)
		return (-1);
	for (const char *p = path + root; *p != '\0'; p++) {
		if (*p == '/' || *p == 'L')
			continue;
		if (n + 1 == sizeof(digits))
			return (-1);
		digits[n++] = *p;
	}
	digits[n] = '\0';
	*ledger_id = bk_digits_value(digits);
	if (bk_ledger_path(tree, *ledger_id, again) != 0 ||
	    strcmp(path, again) != 0)
		return (-1);
	return (0);
}

#define FACTORY(name) "org.apache.bookkeeper.meta." name "ManagerFactory"

static const struct {
	const char *uri; /* NULL: no name in a URI */
	const char *old; /* in LAYOUTs of version 1 */
	const char *factory;
	const char *text;
} layouts[] = {
    [BK_LAYOUT_HIERARCHICAL] = {"hierarchical", "hierarchical",
	FACTORY("HierarchicalLedger"),
	"2\n" FACTORY("HierarchicalLedger") ":1"},
    [BK_LAYOUT_LONG] = {"longhierarchical", NULL,
	FACTORY("LongHierarchicalLedger"),
	"2\n" FACTORY("LongHierarchicalLedger") ":1"},
    [BK_LAYOUT_LEGACY] = {NULL, NULL, FACTORY("LegacyHierarchicalLedger"),
	"2\n" FACTORY("LegacyHierarchicalLedger") ":1"},
    [BK_LAYOUT_FLAT] = {"flat", "flat", FACTORY("FlatLedger"),
	"2\n" FACTORY("FlatLedger") ":1"},
};

#define NLAYOUTS (sizeof(layouts) / sizeof(*layouts))
#define LAYOUT_TEXT_MAX 200

const char *
bk_layout_text(enum bk_layout layout)
{
	return (layouts[layout].text);
}

static bool
same(const char *a, const char *b)
{
	return (a != NULL && strcmp(a, b) == 0);
}

int
bk_layout_parse(struct bk_bytes text, enum bk_layout *layout)
{
	char copy[LAYOUT_TEXT_MAX], *rest = copy;
	const char *format, *factory, *version;

	if (text.len >= sizeof(copy))
		return (-1);
	if (text.len > 0)
		memcpy(copy, text.data, text.len);
	copy[text.len] = '\0';
	format = strsep(&rest, "\n");
	if (rest == NULL || strlen(format) != 1)
		return (-1);
	factory = strsep(&rest, ":");
	version = rest != NULL ? strsep(&rest, "\n") : NULL;
	if (!same(version, "1"))
		return (-1);
	for (size_t i = 0; i < NLAYOUTS; i++) {
		if ((*format == '2' && same(layouts[i].factory, factory)) ||
		    (*format == '1' && same(layouts[i].old, factory))) {
			*layout = (enum bk_layout)i;
			return (0);
		}
	}
	return (-1);
}

int
bk_layout_by_name(const char *name, enum bk_layout *layout)
{
	for (size_t i = 0; i < NLAYOUTS; i++) {
		if (same(layouts[i].uri, name)) {
			*layout = (enum bk_layout)i;
			return (0);
		}
	}
	return (-1);
}
