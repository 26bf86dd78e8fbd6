/* sim_cluster.c - see sim_cluster.h. */
#include "t/sim/sim_cluster.h"

#include <bsd/string.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct change {
	LIST_ENTRY(change) link;
	struct sim_cluster *cluster;
	int bookie;
	bool registered;
};

/* I20: who learnt that a ledger is another's leaves its record alone. */
static void
check_barred(struct sim_cluster *c, const struct mem_call *call)
{
	int i;

	for (i = 0; i < c->nprocesses; i++)
		if (c->processes[i].living && c->processes[i].barred &&
		    c->processes[i].tree.meta == call->client &&
		    strcmp(call->op, "set") == 0)
			sim_blame(c, "I20: a failed writer sets %s",
			    call->path);
}

static struct mem_plan
plan(void *arg, const struct mem_call *call)
{
	struct sim_cluster *c = arg;
	struct mem_plan p = {.fate = MEM_DO, .refuse = BK_OK};

	check_barred(c, call);
	p.request_delay =
	    sim_between(c->sim, c->meta_delay_min, c->meta_delay_max);
	p.answer_delay =
	    sim_between(c->sim, c->meta_delay_min, c->meta_delay_max);
	if (c->meta_down || sim_chance(c->sim, c->lose_request))
		p.fate = MEM_LOSE_REQUEST;
	else if (sim_chance(c->sim, c->lose_answer))
		p.fate = MEM_LOSE_ANSWER;
	return (p);
}

struct sim_cluster *
sim_cluster_new(uint64_t seed, int nbookies)
{
	struct sim_cluster *c = sim_need(calloc(1, sizeof(*c)));
	char id[32];
	int i;

	c->sim = sim_new(seed);
	c->net = sim_net_new(c->sim);
	c->world = sim_env_new(c->net, 3);
	c->store = mem_store_new(c->world);
	c->meta_delay_min = c->meta_delay_max = BK_MS;
	mem_store_plan(c->store, plan, c);
	c->nbookies = nbookies;
	for (i = 0; i < nbookies; i++) {
		(void)snprintf(id, sizeof(id), "b%d:3181", i);
		c->bookies[i] = sim_bookie_new(c->sim, c->net, id);
		c->registered[i] = true;
	}
	return (c);
}

void
sim_cluster_free(struct sim_cluster *c)
{
	struct change *change;
	int i;

	for (i = 0; i < c->nprocesses; i++)
		if (c->processes[i].living)
			sim_process_end(&c->processes[i]);
	for (i = 0; i < c->nbookies; i++) {
		sim_event_stop(&c->registration[i]);
		sim_bookie_free(c->bookies[i]);
	}
	mem_store_free(c->store);
	sim_env_free(c->world);
	sim_net_free(c->net);
	sim_free(c->sim);
	while ((change = LIST_FIRST(&c->changes)) != NULL) {
		LIST_REMOVE(change, link);
		free(change);
	}
	free(c);
}

int
sim_cluster_find(const struct sim_cluster *c, const char *id)
{
	int i;

	for (i = 0; i < c->nbookies; i++)
		if (strcmp(sim_bookie_id(c->bookies[i]), id) == 0)
			return (i);
	return (-1);
}

/* Clients. */

static size_t
writable(void *arg, const char **ids, size_t max)
{
	const struct sim_process *p = arg;
	const struct sim_cluster *c = p->cluster;
	size_t n = 0;
	int i;

	for (i = 0; i < c->nbookies && n < max; i++)
		if (c->registered[i] &&
		    !sim_bookie_mood(c->bookies[i])->readonly)
			ids[n++] = sim_bookie_id(c->bookies[i]);
	return (n);
}

static bool
known(void *arg, const char *id)
{
	const struct sim_process *p = arg;
	int i = sim_cluster_find(p->cluster, id);

	return (i >= 0 && p->cluster->registered[i]);
}

static void
need(void *arg)
{
	struct sim_process *p = arg;

	p->cluster->needed++;
}

struct sim_process *
sim_process_new(struct sim_cluster *c, unsigned version)
{
	struct sim_process *p = &c->processes[c->nprocesses++];

	if (c->nprocesses > SIM_PROCESSES_MAX)
		abort();
	memset(p, 0, sizeof(*p));
	p->cluster = c;
	p->living = true;
	p->env = sim_env_new(c->net, version);
	p->tree.meta = mem_client_new(c->store, NULL, NULL);
	(void)strlcpy(p->tree.root, "/ledgers", sizeof(p->tree.root));
	p->tree.layout = BK_LAYOUT_HIERARCHICAL;
	p->client.env = p->env;
	p->client.tree = &p->tree;
	p->client.candidates = (struct bk_candidates){p, writable, known, need};
	p->client.request_timeout = BK_SECOND;
	p->client.add_timeout = 60 * BK_SECOND;
	p->client.wire_version = version;
	return (p);
}

void
sim_process_end(struct sim_process *p)
{
	sim_event_stop(&p->news);
	bk_meta_close(p->tree.meta);
	sim_env_free(p->env);
	p->living = false;
}

static void
healed(void *arg)
{
	struct sim_process *p = arg;

	if (p->living)
		mem_client_heal(p->tree.meta);
}

void
sim_process_pause(struct sim_process *p, int64_t ns, int64_t cut_ns)
{
	struct sim *s = p->cluster->sim;

	sim_env_pause(p->env, sim_now(s) + ns);
	mem_client_cut(p->tree.meta);
	sim_later(s, ns + cut_ns, healed, p);
}

/* Bookies. */

static void
tell_news(void *arg)
{
	struct sim_process *p = arg;

	bk_client_bookies_changed(&p->client);
}

void
sim_cluster_register(struct sim_cluster *c, int bookie, bool registered)
{
	int i;

	c->registered[bookie] = registered;
	for (i = 0; i < c->nprocesses; i++)
		if (c->processes[i].living)
			sim_event_set(c->sim, &c->processes[i].news,
			    sim_between(c->sim, 0, 10 * BK_MS), tell_news,
			    &c->processes[i]);
}

static void
registration_changes(void *arg)
{
	struct change *change = arg;
	struct sim_cluster *c = change->cluster;

	if (sim_bookie_running(c->bookies[change->bookie]) ==
	    change->registered)
		sim_cluster_register(c, change->bookie, change->registered);
	LIST_REMOVE(change, link);
	free(change);
}

static void
register_later(struct sim_cluster *c, int bookie, bool registered)
{
	struct change *change = sim_need(malloc(sizeof(*change)));

	*change = (struct change){.cluster = c,
	    .bookie = bookie,
	    .registered = registered};
	LIST_INSERT_HEAD(&c->changes, change, link);
	sim_later(c->sim, c->registration_lag, registration_changes, change);
}

void
sim_cluster_kill(struct sim_cluster *c, int bookie, bool lose, bool silent)
{
	sim_bookie_kill(c->bookies[bookie], lose, silent);
	register_later(c, bookie, false);
}

void
sim_cluster_start(struct sim_cluster *c, int bookie)
{
	if (!sim_bookie_running(c->bookies[bookie]))
		sim_bookie_start(c->bookies[bookie]);
	register_later(c, bookie, true);
}

/* The store. */

bool
sim_cluster_record(const struct sim_cluster *c, int64_t ledger_id,
    struct bk_ledger_meta *m, int32_t *version)
{
	struct bk_tree tree = {.root = "/ledgers",
	    .layout = BK_LAYOUT_HIERARCHICAL};
	char path[BK_PATH_MAX + 1];
	struct bk_node_stat stat;
	struct bk_bytes data;

	if (bk_ledger_path(&tree, ledger_id, path) != 0 ||
	    !mem_get(c->store, path, &data, &stat))
		return (false);
	if (bk_ledger_meta_decode(data, m, NULL) != BK_OK)
		return (false);
	*version = stat.version;
	return (true);
}

void
sim_blame(struct sim_cluster *c, const char *fmt, ...)
{
	va_list ap;

	if (c->fault[0] != '\0')
		return;
	va_start(ap, fmt);
	(void)vsnprintf(c->fault, sizeof(c->fault), fmt, ap);
	va_end(ap);
}

void
sim_say(const struct sim_cluster *c, const char *fmt, ...)
{
	va_list ap;

	if (!c->loud)
		return;
	printf("# %10.6f ",
	    (double)(sim_now(c->sim) % (1000 * BK_SECOND)) / 1e9);
	va_start(ap, fmt);
	(void)vprintf(fmt, ap);
	va_end(ap);
	putchar('\n');
}

bool
sim_cluster_run(struct sim_cluster *c, const bool *done, int64_t ns)
{
	return (sim_run(c->sim, done, sim_now(c->sim) + ns));
}
