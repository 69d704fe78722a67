// SPDX-License-Identifier: GPL-2.0
/* The invariants of the core. */
#include "core_check.h"

#define TOP_SHIFT	(PD_DIGIT_BITS * (PD_LEVELS - 1))

struct walk {
	const struct pd_core *core;
	u64 sorted;
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
	u64 begin = region->index * walk->core->region_sectors;
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
		REQUIRE(walk, pos >= begin && pos < pd_region_end(walk->core, rq));
		REQUIRE(walk, pd_sweep_of(rq) == sweep);
		REQUIRE(walk, rq_data_dir(rq) == dir);
		REQUIRE(walk, !list_empty(&rq->queuelist));
		before = pos;
	}
	return count;
}

static u64 walk_region(struct walk *walk, const struct pd_region *region,
		       const struct pd_node *leaf, u32 index)
{
	u64 count = 0;

	REQUIRE(walk, region->leaf == leaf);
	REQUIRE(walk, region->index == index);
	for (int dir = READ; dir <= WRITE; dir++)
		for (int which = 0; which < 2; which++)
			count += walk_sweep(walk, region, dir, which);
	walk->sorted += count;
	return count;
}

/* Returns the number of requests below a node. */
static u64 walk_node(struct walk *walk, const struct pd_node *node, u32 index,
		     int shift)
{
	u64 count = 0;

	for (u32 i = 0; i < PD_FANOUT; i++) {
		u32 below = index | i << shift;
		u64 here = 0;

		if (node->slot[i] && shift) {
			const struct pd_node *child = node->slot[i];

			REQUIRE(walk, child->parent == node);
			here = walk_node(walk, child, below,
					 shift - PD_DIGIT_BITS);
		} else if (node->slot[i]) {
			here = walk_region(walk, node->slot[i], node, below);
		}
		REQUIRE(walk, (node->pending >> i & 1) == (here > 0));
		count += here;
	}
	return count;
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
	walk_node(&walk, core->map.root, 0, TOP_SHIFT);
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
