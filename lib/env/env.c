/* env.c - what every env has in common. */
#include "env/env.h"

uint64_t
bk_random_below(struct bk_env *env, uint64_t bound)
{
	uint64_t v;

	env->ops->random(env, &v, sizeof(v));
	return (bound == 0 ? 0 : v % bound);
}
