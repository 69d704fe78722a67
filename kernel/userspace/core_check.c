// SPDX-License-Identifier: GPL-2.0
/* The invariants of the core, and how it is used. */
#include "core_check.h"

struct walk {
	const struct pd_core *core;
	u64 sorted;
	u64 idle;
	const char *broken;
};

#define REQUIRE(walk, rule) do {			\
	if (!(rule) && !(walk)->broken)			\
		(walk)->broken = #rule;			\
} while (0)

static u64 walk_sweep(struct walk *walk, const struct pd_region *region,
		      int dir, int which)
{
	const struct pd_sweep *sweep = &region->sweep[dir][which];
	const struct rb_root_cached *tree = &sweep->sorted;
	struct rb_node *node = tree->rb_root.rb_node;
	sector_t before = 0;
	u64 count = 0;

	REQUIRE(walk, sweep->region == region);
	while (node && node->rb_left)
		node = node->rb_left;
	REQUIRE(walk, tree->rb_leftmost == node);
	for (; node; node = rb_next(node), count++) {
		struct request *rq = rb_entry_safe(node, struct request,
						   rb_node);
		sector_t pos = blk_rq_pos(rq);

		REQUIRE(walk, pos >= before);
		REQUIRE(walk, pd_sweep_of(rq) == sweep);
		REQUIRE(walk, pd_same_region(rq, pos));
		REQUIRE(walk, rq_data_dir(rq) == dir);
		REQUIRE(walk, !list_empty(&rq->queuelist));
		before = pos;
	}
	return count;
}

static void walk_region(struct walk *walk, const struct pd_region *region,
			const struct xa_slot *slot)
{
	u64 count = 0;

	REQUIRE(walk, region->core == walk->core);
	REQUIRE(walk, region->index == slot->index);
	for (int dir = READ; dir <= WRITE; dir++)
		for (int which = 0; which < 2; which++)
			count += walk_sweep(walk, region, dir, which);
	REQUIRE(walk, slot->marked == (count > 0));
	REQUIRE(walk, list_empty(&region->idle) == (count > 0));
	walk->idle += !count;
	walk->sorted += count;
}

static void walk_regions(struct walk *walk)
{
	const struct xarray *regions = &walk->core->regions;

	for (size_t i = 0; i < regions->count; i++) {
		/* Between calls no place is reserved. */
		REQUIRE(walk, regions->slots[i].entry);
		if (regions->slots[i].entry)
			walk_region(walk, regions->slots[i].entry,
				    &regions->slots[i]);
	}
	REQUIRE(walk, walk->idle == walk->core->nr_idle);
	REQUIRE(walk, walk->idle <= walk->core->max_idle);
}

const char *core_check(const struct pd_core *core, u64 waiting)
{
	struct walk walk = { .core = core };
	const struct pd_turn *turn = &core->turn;
	struct request *rq;
	u64 listed = 0;

	for (int dir = READ; dir <= WRITE; dir++) {
		list_for_each_entry(rq, &core->fifo[dir], queuelist) {
			REQUIRE(&walk, rq_data_dir(rq) == dir);
			REQUIRE(&walk, pd_holds(rq));
			listed++;
		}
	}
	walk_regions(&walk);
	REQUIRE(&walk, listed == waiting);
	REQUIRE(&walk, walk.sorted == waiting);
	REQUIRE(&walk, pd_empty(core) == !waiting);
	if (turn->region) {
		REQUIRE(&walk, turn->left > 0);
		REQUIRE(&walk,
			rb_first_cached(&turn->region->sweep[turn->direction][0].sorted) ||
			rb_first_cached(&turn->region->sweep[turn->direction][1].sorted));
	}
	return walk.broken;
}

bool core_insert(struct pd_core *core, struct request *rq)
{
	struct pd_region *spare = NULL;
	bool inserted = pd_insert(core, rq, &spare);

	if (inserted)
		return true;
	spare = pd_region_alloc(core, rq);
	inserted = pd_insert(core, rq, &spare);
	if (spare)
		pd_region_unused(spare);
	return inserted;
}
