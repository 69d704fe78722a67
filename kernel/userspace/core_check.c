// SPDX-License-Identifier: GPL-2.0
/* The invariants of the core, checked from end to end. */
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

static u64 walk_tree(struct walk *walk, const struct pd_region *region, int dir)
{
	const struct rb_root_cached *tree = &region->sorted[dir];
	struct rb_node *node = tree->rb_root.rb_node;
	u64 begin = region->index * walk->core->region_sectors;
	sector_t before = 0;
	u64 count = 0;

	while (node && node->rb_left)
		node = node->rb_left;
	REQUIRE(walk, tree->rb_leftmost == node);
	for (; node; node = rb_next(node), count++) {
		struct request *rq = rb_entry_safe(node, struct request,
						   rb_node);
		sector_t pos = blk_rq_pos(rq);

		REQUIRE(walk, pos >= before);
		REQUIRE(walk, pos >= begin && pos < pd_region_end(walk->core, rq));
		REQUIRE(walk, pd_region_of(rq) == region);
		REQUIRE(walk, rq_data_dir(rq) == dir);
		REQUIRE(walk, !list_empty(&rq->queuelist));
		REQUIRE(walk, pd_entry_of(rq)->rq == rq);
		before = pos;
	}
	return count;
}

/* In the order of arrival, and as many as the tree has. */
static u64 walk_fifo(struct walk *walk, const struct pd_region *region, int dir)
{
	const u32 turns = region->turns[dir];
	const struct pd_entry *entry;
	u32 passed = UINT32_MAX;
	u64 count = 0;

	list_for_each_entry(entry, &region->fifo[dir], list) {
		REQUIRE(walk, pd_entry_of(entry->rq) == entry);
		REQUIRE(walk, entry->region == region);
		REQUIRE(walk, rq_data_dir(entry->rq) == dir);
		REQUIRE(walk, turns - entry->came_at <= passed);
		passed = turns - entry->came_at;
		count++;
	}
	return count;
}

static u64 walk_region(struct walk *walk, const struct pd_region *region,
		       const struct pd_node *leaf, u32 index)
{
	u64 count;

	REQUIRE(walk, region->leaf == leaf);
	REQUIRE(walk, region->index == index);
	count = walk_tree(walk, region, READ) + walk_tree(walk, region, WRITE);
	REQUIRE(walk, walk_fifo(walk, region, READ) +
		walk_fifo(walk, region, WRITE) == count);
	walk->sorted += count;
	return count;
}

/* Returns how many requests there are below a node. */
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
			rb_first_cached(&turn->region->sorted[turn->direction]));
	}
	return walk.broken;
}
