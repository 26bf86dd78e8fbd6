/* mem_fixture.c - calls to the store in memory, made to the end. */
#include "t/lib/mem_fixture.h"

#include <bsd/string.h>
#include <err.h>
#include <stdlib.h>
#include <string.h>

static void
on_trace(void *arg, const char *line)
{
	struct fixture *f = arg;

	f->trace = reallocarray(f->trace, f->ntrace + 2, sizeof(*f->trace));
	if (f->trace == NULL || (f->trace[f->ntrace++] = strdup(line)) == NULL)
		err(1, "fixture");
	f->trace[f->ntrace] = NULL;
}

struct bk_tree
fixture_tree(struct fixture *f)
{
	struct bk_tree tree = {.layout = BK_LAYOUT_HIERARCHICAL};

	tree.meta = mem_client_new(f->store, NULL, NULL);
	(void)strlcpy(tree.root, "/ledgers", sizeof(tree.root));
	return (tree);
}

void
fixture_init(struct fixture *f)
{
	*f = (struct fixture){.store = mem_store_new(NULL)};
	bk_ledger_meta_init(&f->m);
	f->tree = fixture_tree(f);
	mem_store_trace(f->store, on_trace, f);
}

void
fixture_clear(struct fixture *f)
{
	for (size_t i = 0; i < f->ntrace; i++)
		free(f->trace[i]);
	free(f->trace);
	f->trace = NULL;
	f->ntrace = 0;
}

void
fixture_fini(struct fixture *f)
{
	bk_meta_close(f->tree.meta);
	mem_store_run(f->store);
	mem_store_free(f->store);
	fixture_clear(f);
	bk_ledger_meta_fini(&f->m);
}

size_t
fixture_count(const struct fixture *f, const char *start)
{
	size_t n = 0;

	for (size_t i = 0; i < f->ntrace; i++)
		n += strncmp(f->trace[i], start, strlen(start)) == 0;
	return (n);
}

void
fixture_on_done(void *arg, enum bk_status status)
{
	struct fixture *f = arg;

	f->done = true;
	f->status = status;
}

void
fixture_on_id(void *arg, enum bk_status status, int64_t id)
{
	struct fixture *f = arg;

	f->id = id;
	fixture_on_done(f, status);
}

void
fixture_on_meta(void *arg, enum bk_status status,
    const struct bk_ledger_meta *m, int32_t version)
{
	struct fixture *f = arg;

	bk_ledger_meta_fini(&f->m);
	if (m != NULL && bk_ledger_meta_copy(&f->m, m) != 0)
		err(1, "fixture");
	f->version = version;
	fixture_on_done(f, status);
}

void
fixture_on_reply(void *arg, enum bk_status status,
    const struct bk_meta_reply *reply)
{
	(void)reply;
	fixture_on_done(arg, status);
}

enum bk_status
fixture_wait(struct fixture *f)
{
	if (!mem_store_run_until(f->store, &f->done))
		errx(1, "a call has no answer");
	f->done = false;
	return (f->status);
}

void
fixture_record(struct bk_ledger_meta *m)
{
	const char *const bookies[] = {"127.0.0.1:3281"};

	bk_ledger_meta_init(m);
	m->ensemble_size = m->write_quorum = m->ack_quorum = 1;
	if (bk_ledger_meta_append(m, 0, bookies) != 0)
		err(1, "fixture");
}

enum bk_status
fixture_create(struct fixture *f, int64_t id)
{
	struct bk_ledger_meta m;

	fixture_record(&m);
	bk_ledger_create_node(&f->tree, id, &m, fixture_on_id, f);
	bk_ledger_meta_fini(&m);
	return (fixture_wait(f));
}

static struct mem_plan
plan_loss(void *arg, const struct mem_call *call)
{
	struct fixture_loss *l = arg;
	struct mem_plan none = {.fate = MEM_DO};

	if (l->times == 0 || strcmp(call->op, l->op) != 0 ||
	    strstr(call->path, l->path) == NULL)
		return (none);
	l->times--;
	return (l->plan);
}

void
fixture_lose(struct fixture *f, struct fixture_loss *l)
{
	mem_store_plan(f->store, l != NULL ? plan_loss : NULL, l);
}
