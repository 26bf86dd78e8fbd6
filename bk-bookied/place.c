/* place.c - the names of directories and sockets. */
#include "bk-bookied/place.h"
#include "base/log.h"
#include "bk-bookied/options.h"
#include "tool/common.h"
#include "tool/local.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sysexits.h>
#include <unistd.h>

#define LOCAL_PREFIX "local:"
#define FIRST_ID "b1"

static char *
join3(const char *a, const char *b, const char *c)
{
	char *text;

	return (asprintf(&text, "%s%s%s", a, b, c) == -1 ? NULL : text);
}

char *
place_join(const char *a, const char *b)
{
	return (join3(a, "/", b));
}

char *
place_state_dir(void)
{
	char *dir = bk_local_dir();

	if (dir == NULL && errno == 0)
		bk_log(BK_LOG_ERROR,
		    "no state directory: set HOME or XDG_STATE_HOME, or give "
		    "--cluster and --data");
	else if (dir == NULL)
		bk_log(BK_LOG_ERROR, "out of memory");
	return (dir);
}

int
place_make_dir(const char *dir)
{
	char path[PATH_MAX];
	size_t len = strlen(dir);
	char *p;

	if (len >= sizeof(path)) {
		errno = ENAMETOOLONG;
		return (-1);
	}
	memcpy(path, dir, len + 1);
	for (p = path + 1; *p != '\0'; p++) {
		if (*p != '/')
			continue;
		*p = '\0';
		if (mkdir(path, 0755) == -1 && errno != EEXIST)
			return (-1);
		*p = '/';
	}
	return (mkdir(path, 0700) == -1 && errno != EEXIST ? -1 : 0);
}

static int
out_of_memory(void)
{
	bk_log(BK_LOG_ERROR, "out of memory");
	return (EX_OSERR);
}

static int
copy(const struct bk_opt_list *list, char ***names, char ***current, size_t *n)
{
	size_t i;

	*names = calloc(list->n, sizeof(**names));
	*current = calloc(list->n, sizeof(**current));
	if (*names == NULL || *current == NULL)
		return (out_of_memory());
	for (i = 0; i < list->n; i++) {
		(*names)[i] = strdup(list->values[i]);
		(*current)[i] = place_join(list->values[i], "current");
		*n = i + 1;
		if ((*names)[i] == NULL || (*current)[i] == NULL)
			return (out_of_memory());
	}
	return (0);
}

/* One kind of directory serves as the other where that one is not named. */
static int
take_dirs(struct place *p, const struct options *o)
{
	const struct bk_opt_list *journal = &o->journal, *data = &o->data;
	int status;

	if (journal->n == 0)
		journal = data;
	if (data->n == 0)
		data = journal;
	status = copy(journal, &p->journal, &p->journal_current, &p->njournal);
	if (status == 0)
		status = copy(data, &p->data, &p->data_current, &p->ndata);
	return (status);
}

/* Nothing is said: a directory by the bookie's id beside the store. */
static int
take_state(struct place *p, const struct options *o, const char *state)
{
	struct options own = *o;
	const char *value;
	char *dir;
	int status;

	p->id = o->id != NULL ? o->id : FIRST_ID;
	if ((dir = place_join(state, p->id)) == NULL)
		return (out_of_memory());
	value = dir;
	own.data = (struct bk_opt_list){&value, 1};
	status = take_dirs(p, &own);
	free(dir);
	return (status);
}

static int
find_in_state(struct place *p, const struct options *o)
{
	char *state = place_state_dir();
	int status;

	if (state == NULL)
		return (EX_CONFIG);
	p->cluster = join3(LOCAL_PREFIX, state, "/store");
	if (p->cluster == NULL)
		status = out_of_memory();
	else if (o->data.n > 0 || o->journal.n > 0)
		status = take_dirs(p, o);
	else
		status = take_state(p, o, state);
	free(state);
	return (status);
}

static int
find_named(struct place *p, const struct options *o)
{
	if (o->data.n == 0 && o->journal.n == 0)
		bk_usage("--data is needed with --cluster");
	/* Off the list nobody connects, and nobody is asked to start it. */
	if (o->idle_exit > 0 && !o->stay_listed &&
	    strncmp(bk_common.cluster, "local:", 6) != 0)
		bk_usage("--idle-exit needs --stay-listed with ZooKeeper");
	if ((p->cluster = strdup(bk_common.cluster)) == NULL)
		return (out_of_memory());
	return (take_dirs(p, o));
}

/* The embedded cluster needs no port; a cluster does. */
static int
choose_socket(struct place *p)
{
	p->is_local =
	    strncmp(p->cluster, LOCAL_PREFIX, strlen(LOCAL_PREFIX)) == 0;
	if (p->is_local)
		p->listen = join3("unix:", p->data[0], "/socket");
	else
		p->listen = strdup("3181");
	return (p->listen != NULL ? 0 : out_of_memory());
}

int
place_find(struct place *p, const struct options *o)
{
	int status;

	memset(p, 0, sizeof(*p));
	p->id = o->id;
	if (bk_common.cluster != NULL)
		status = find_named(p, o);
	else
		status = find_in_state(p, o);
	if (status == 0)
		status = choose_socket(p);
	return (status);
}

static void
free_names(char **names, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++)
		free(names[i]);
	free(names);
}

void
place_fini(struct place *p)
{
	free(p->cluster);
	free(p->listen);
	free_names(p->journal, p->njournal);
	free_names(p->journal_current, p->njournal);
	free_names(p->data, p->ndata);
	free_names(p->data_current, p->ndata);
}
