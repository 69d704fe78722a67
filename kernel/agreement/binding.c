// SPDX-License-Identifier: GPL-2.0
/*
 * A C interface to the core by numbers: a request is an index below the
 * capacity, and NONE is no request.
 */
#include <stdlib.h>

#include <linux/timekeeping.h>

#include "core_check.h"

#define NONE	UINT32_MAX

struct binding {
	struct pd_core core;
	struct pd_tunables tunables;
	struct pd_stats stats;
	u32 capacity;
	struct request requests[];
};

static u32 number(const struct binding *binding, const struct request *rq)
{
	return rq ? rq - binding->requests : NONE;
}

struct binding *binding_new(u32 capacity, u64 region_sectors,
			    const struct pd_tunables *tunables)
{
	struct binding *binding;

	binding = calloc(1, sizeof(*binding) + capacity * sizeof(struct request));
	if (!binding)
		return NULL;
	binding->tunables = *tunables;
	pd_init(&binding->core, region_sectors, &binding->tunables,
		&binding->stats);
	binding->capacity = capacity;
	return binding;
}

void binding_free(struct binding *binding)
{
	pd_exit(&binding->core);
	free(binding);
}

void binding_set_tunables(struct binding *binding,
			  const struct pd_tunables *tunables)
{
	binding->tunables = *tunables;
}

/* Without queued requests, as in the module, which freezes the queue first. */
void binding_set_region_sectors(struct binding *binding, u64 region_sectors)
{
	pd_set_region_sectors(&binding->core, region_sectors);
}

/* Returns the request's deadline, or 0 without memory. */
u64 binding_insert(struct binding *binding, u32 id, int direction, u64 sector,
		   u64 now)
{
	struct request *rq = &binding->requests[id];

	rq->direction = direction;
	rq->sector = sector;
	pd_set_inserted(rq, now);
	return core_insert(&binding->core, rq) ? rq->fifo_time : 0;
}

u32 binding_dispatch(struct binding *binding, u64 now)
{
	clock_ns = now;
	return number(binding, pd_dispatch(&binding->core));
}

u32 binding_front_merge_candidate(struct binding *binding, u64 end, int dir)
{
	return number(binding, pd_front_merge_candidate(&binding->core, end, dir));
}

bool binding_same_region(struct binding *binding, u32 id, u64 sector)
{
	return pd_same_region(&binding->requests[id], sector);
}

u32 binding_former(struct binding *binding, u32 id)
{
	return number(binding, pd_former(&binding->requests[id]));
}

u32 binding_latter(struct binding *binding, u32 id)
{
	return number(binding, pd_latter(&binding->requests[id]));
}

void binding_moved(struct binding *binding, u32 id, u64 sector)
{
	binding->requests[id].sector = sector;
	pd_moved(&binding->requests[id]);
}

void binding_absorb(struct binding *binding, u32 kept, u32 gone)
{
	pd_absorb(&binding->requests[kept], &binding->requests[gone]);
}

const char *binding_check(struct binding *binding, u64 waiting)
{
	return core_check(&binding->core, waiting);
}

void binding_stats(struct binding *binding, struct pd_stats *stats)
{
	*stats = binding->stats;
}
