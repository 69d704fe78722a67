// SPDX-License-Identifier: GPL-2.0
/*
 * ParDispatcher: one subqueue a region of the address space, served
 * round-robin, one direction a turn.
 *
 *	region(rq) = first sector of rq / S
 *	insert:   into the next sweep of its region and direction, sorted, and
 *	          at the end of its direction's FIFO; its deadline is the time
 *	          now and the direction's expiry
 *	dispatch: if no turn is under way, begin one:
 *	            expired turn, if the request with the earliest deadline of
 *	              all has expired and the last turn was not an expired one:
 *	              its region and direction, starting from that request
 *	            ordinary turn otherwise: the next region with requests, in
 *	              address order and round the end; the direction opposite to
 *	              that region's last turn, or the other one if that has
 *	              nothing pending; starting from the lowest, or where the
 *	              last turn of that region and direction has stopped
 *	          send the next request of the sweep in ascending order (after
 *	            the highest, the lowest)
 *	          when a sweep has been sent, what waits of its region and
 *	            direction is the new one
 *	          the turn ends when its direction is empty in that region, or
 *	            after a batch
 *	merge:    within a region; what two sweeps join goes with the one under
 *	          way
 *
 * Source: Wang, Huang, He, Zhou, Li, He: "A Novel I/O Scheduler for SSD with
 * Improved Performance and Lifetime", section II. What the paper leaves open
 * is decided as in Flashloom's simulator, and listed in README.md.
 *
 * A request waits for what is left of the sweep under way and for its own, which
 * nothing joins any more once they have begun, however long a stream goes on.
 *
 * Only regions that were used have memory. A dispatch touches at most one node
 * a level to find the next region, however many regions there are, and takes
 * O(log n) in the waiting requests of one region to find the request in it.
 */
#include <linux/bitops.h>
#include <linux/compiler.h>
#include <linux/errno.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/slab.h>

#include "pardispatch_core.h"

/*
 * Requests arrive under the caller's lock, where nothing may sleep. They can do
 * without, so that they leave the reserves to what writes memory out.
 */
#define PD_GFP	(GFP_NOWAIT | __GFP_NOWARN | __GFP_NOMEMALLOC)

#define PD_TOP_SHIFT	(PD_DIGIT_BITS * (PD_LEVELS - 1))

#define pd_rq(node)	rb_entry_safe(node, struct request, rb_node)
#define pd_oldest(list)	list_first_entry_or_null(list, struct request, queuelist)

static u32 pd_digit(u32 index, int shift)
{
	return (index >> shift) & (PD_FANOUT - 1);
}

static u32 pd_index(u64 region_sectors, sector_t pos)
{
	return min_t(u64, div64_u64(pos, region_sectors), PD_MAX_REGIONS - 1);
}

static struct pd_node *pd_node_below(struct pd_node *node, void **slot)
{
	struct pd_node *below = kzalloc(sizeof(*below), PD_GFP);

	if (below) {
		below->parent = node;
		*slot = below;
	}
	return below;
}

/*
 * The node of the lowest level for a region; NULL if there is none yet and
 * it is not to be made, or there is no memory to make it.
 */
static struct pd_node *pd_map_leaf(struct pd_map *map, u32 index, bool make)
{
	const u32 first = index - pd_digit(index, 0);
	struct pd_node *node = map->root;
	int shift;

	/* A few neighbours see most of the requests. */
	if (map->recent && map->recent->first == first)
		return map->recent;
	for (shift = PD_TOP_SHIFT; shift > 0; shift -= PD_DIGIT_BITS) {
		void **slot = &node->slot[pd_digit(index, shift)];

		if (*slot)
			node = *slot;
		else
			node = make ? pd_node_below(node, slot) : NULL;
		if (!node)
			return NULL;
	}
	node->first = first;
	map->recent = node;
	return node;
}

/* The region of that number; NULL if there is no memory for a new one. */
static struct pd_region *pd_map_region(struct pd_map *map, u32 index)
{
	struct pd_node *leaf = pd_map_leaf(map, index, true);
	struct pd_region *region;
	void **slot;
	int i;

	if (!leaf)
		return NULL;
	slot = &leaf->slot[pd_digit(index, 0)];
	if (*slot)
		return *slot;
	region = kzalloc(sizeof(*region), PD_GFP);
	if (!region)
		return NULL;
	for (i = 0; i < 4; i++) {
		struct pd_sweep *sweep = &region->sweep[i / 2][i % 2];

		sweep->sorted = RB_ROOT_CACHED;
		sweep->region = region;
	}
	region->leaf = leaf;
	region->index = index;
	/* So that its first turn takes reads, because a task waits for them. */
	region->last_direction = WRITE;
	*slot = region;
	return region;
}

static void pd_node_free(struct pd_node *node, int shift)
{
	int i;

	for (i = 0; i < PD_FANOUT; i++) {
		if (shift && node->slot[i])
			pd_node_free(node->slot[i], shift - PD_DIGIT_BITS);
		else
			kfree(node->slot[i]);
	}
	kfree(node);
}

/**
 * pd_map_init - make a map without regions
 * @map: what to make
 *
 * Return: 0 or -ENOMEM. May sleep.
 */
int pd_map_init(struct pd_map *map)
{
	*map = (struct pd_map) {
		.root = kzalloc(sizeof(*map->root), GFP_KERNEL),
	};
	return map->root ? 0 : -ENOMEM;
}

/**
 * pd_map_free - give back all memory of a map
 * @map: what pd_map_init() made; no scheduler uses it
 *
 * Takes time in proportion to the regions that were used.
 */
void pd_map_free(struct pd_map *map)
{
	pd_node_free(map->root, PD_TOP_SHIFT);
	*map = (struct pd_map) { };
}

/* The region has got its first request. */
static void pd_map_set_pending(struct pd_region *region)
{
	struct pd_node *node = region->leaf;
	u32 index = region->index;
	bool known = false;

	for (; node && !known; node = node->parent) {
		known = node->pending;
		node->pending |= 1ULL << pd_digit(index, 0);
		index >>= PD_DIGIT_BITS;
	}
}

/* The region has lost its last request. */
static void pd_map_clear_pending(struct pd_region *region)
{
	struct pd_node *node = region->leaf;
	u32 index = region->index;
	u64 rest = 0;

	for (; node && !rest; node = node->parent) {
		node->pending &= ~(1ULL << pd_digit(index, 0));
		rest = node->pending;
		index >>= PD_DIGIT_BITS;
	}
}

/*
 * The first region with requests after another, or of all if that is NULL;
 * NULL if there is none. Climbs until there is a way off to a higher number,
 * and descends to the lowest there.
 */
static struct pd_region *pd_map_next_pending(const struct pd_map *map,
					     const struct pd_region *region)
{
	struct pd_node *node = region ? region->leaf : map->root;
	u64 later = node->pending;
	int shift = PD_TOP_SHIFT;

	if (region) {
		shift = 0;
		later &= ~1ULL << pd_digit(region->index, shift);
		while (!later) {
			node = node->parent;
			if (!node)
				return NULL;
			shift += PD_DIGIT_BITS;
			later = node->pending &
				(~1ULL << pd_digit(region->index, shift));
		}
	}
	if (!later)
		return NULL;
	for (; shift; shift -= PD_DIGIT_BITS) {
		node = node->slot[__ffs64(later)];
		later = node->pending;
	}
	return node->slot[__ffs64(later)];
}

static struct rb_root_cached *pd_tree(const struct request *rq)
{
	return &pd_sweep_of(rq)->sorted;
}

static struct pd_sweep *pd_current_sweep(struct pd_region *region, int dir)
{
	return &region->sweep[dir][region->current_sweep[dir]];
}

static struct pd_sweep *pd_next_sweep(struct pd_region *region, int dir)
{
	return &region->sweep[dir][!region->current_sweep[dir]];
}

static bool pd_has(const struct pd_region *region, int dir)
{
	return rb_first_cached(&region->sweep[dir][0].sorted) ||
	       rb_first_cached(&region->sweep[dir][1].sorted);
}

/* The sweep under way; a new one, of all that waits, if that is over. */
static struct rb_root_cached *pd_renew_sweep(struct pd_region *region, int dir)
{
	if (!rb_first_cached(&pd_current_sweep(region, dir)->sorted))
		region->current_sweep[dir] ^= 1;
	return &pd_current_sweep(region, dir)->sorted;
}

/* Sorts by the first sector; after those that begin at the same one. */
static void pd_tree_add(struct request *rq)
{
	struct rb_root_cached *tree = pd_tree(rq);
	struct rb_node **link = &tree->rb_root.rb_node;
	struct rb_node *parent = NULL;
	bool leftmost = true;

	while (*link) {
		parent = *link;
		if (blk_rq_pos(rq) < blk_rq_pos(pd_rq(parent))) {
			link = &parent->rb_left;
		} else {
			link = &parent->rb_right;
			leftmost = false;
		}
	}
	rb_link_node(&rq->rb_node, parent, link);
	rb_insert_color_cached(&rq->rb_node, tree, leftmost);
}

static void pd_tree_del(struct request *rq)
{
	rb_erase_cached(&rq->rb_node, pd_tree(rq));
	RB_CLEAR_NODE(&rq->rb_node);
}

/* The first that begins at or after @pos. */
static struct request *pd_tree_from(const struct rb_root_cached *tree,
				    sector_t pos)
{
	struct rb_node *node = tree->rb_root.rb_node;
	struct request *found = NULL;

	while (node) {
		struct request *rq = pd_rq(node);

		if (blk_rq_pos(rq) >= pos) {
			found = rq;
			node = node->rb_left;
		} else {
			node = node->rb_right;
		}
	}
	return found;
}

static void pd_join_region(struct pd_region *region, struct request *rq)
{
	if (!pd_has(region, READ) && !pd_has(region, WRITE))
		pd_map_set_pending(region);
	rq->elv.priv[0] = pd_next_sweep(region, rq_data_dir(rq));
	pd_tree_add(rq);
}

static void pd_leave_region(struct request *rq)
{
	struct pd_region *region = pd_region_of(rq);

	pd_tree_del(rq);
	if (!pd_has(region, READ) && !pd_has(region, WRITE))
		pd_map_clear_pending(region);
}

/**
 * pd_init - prepare a scheduler without requests
 * @core: what to prepare
 * @region_sectors: the size of a region, at least one sector
 * @tunables: batches of at least one request, and expiry times
 *
 * Return: 0 or -ENOMEM. May sleep.
 */
int pd_init(struct pd_core *core, u64 region_sectors,
	    const struct pd_tunables *tunables)
{
	*core = (struct pd_core) {
		.tunables = *tunables,
		.region_sectors = region_sectors,
		.last_region = PD_MAX_REGIONS,
		.last_direction = -1,
	};
	INIT_LIST_HEAD(&core->fifo[READ]);
	INIT_LIST_HEAD(&core->fifo[WRITE]);
	return pd_map_init(&core->map);
}

/**
 * pd_exit - give back all memory of a scheduler without requests
 * @core: what pd_init() prepared
 */
void pd_exit(struct pd_core *core)
{
	pd_map_free(&core->map);
}

/**
 * pd_set_region_sectors - change the size of a region
 * @core: the scheduler
 * @region_sectors: the new size, at least one sector
 * @map: a map without regions, for the new size; afterwards one that nothing
 *	uses, for the caller to free where it holds no lock
 *
 * What waits is sorted anew, by age where it begins at the same sector, and
 * keeps its deadline. The turn and the sweeps under way end, the round goes on at
 * the same address, and every region's next turn is a first one.
 *
 * Return: 0, or -ENOMEM, and then nothing has changed.
 */
int pd_set_region_sectors(struct pd_core *core, u64 region_sectors,
			  struct pd_map *map)
{
	struct pd_region *round = NULL;
	struct request *rq;
	int dir;

	/* Memory first, so that what follows cannot fail half-way. */
	if (core->round) {
		u64 next = (core->round->index + 1) * core->region_sectors;
		u32 index = pd_index(region_sectors, next);

		if (index)
			round = pd_map_region(map, index - 1);
		if (index && !round)
			return -ENOMEM;
	}
	for (dir = READ; dir <= WRITE; dir++) {
		list_for_each_entry(rq, &core->fifo[dir], queuelist) {
			u32 index = pd_index(region_sectors, blk_rq_pos(rq));

			if (!pd_map_region(map, index))
				return -ENOMEM;
		}
	}
	for (dir = READ; dir <= WRITE; dir++) {
		list_for_each_entry(rq, &core->fifo[dir], queuelist) {
			u32 index = pd_index(region_sectors, blk_rq_pos(rq));

			pd_leave_region(rq);
			pd_join_region(pd_map_region(map, index), rq);
		}
	}
	swap(core->map, *map);
	core->round = round;
	WRITE_ONCE(core->region_sectors, region_sectors);
	core->turn.region = NULL;
	core->last_region = PD_MAX_REGIONS;
	return 0;
}

/**
 * pd_insert - take a request in
 * @core: the scheduler
 * @rq: a request that does not wait here
 * @now: the time, which never decreases
 *
 * Return: 0, or -ENOMEM where its region is new and there is no memory for it;
 * then the scheduler does not know the request.
 */
int pd_insert(struct pd_core *core, struct request *rq, u64 now)
{
	u32 index = pd_index(core->region_sectors, blk_rq_pos(rq));
	struct pd_region *region = pd_map_region(&core->map, index);
	const int dir = rq_data_dir(rq);

	if (!region)
		return -ENOMEM;
	pd_join_region(region, rq);
	rq->elv.priv[1] = (void *)(unsigned long)now;
	rq->fifo_time = now + core->tunables.expire[dir];
	list_add_tail(&rq->queuelist, &core->fifo[dir]);
	return 0;
}

/* The request with the earliest deadline, if it has passed; else NULL. */
static struct request *pd_earliest_expired(struct pd_core *core, u64 now)
{
	struct request *read = pd_oldest(&core->fifo[READ]);
	struct request *write = pd_oldest(&core->fifo[WRITE]);
	struct request *rq = read;

	if (!read || (write && write->fifo_time < read->fifo_time))
		rq = write;
	return rq && now > rq->fifo_time ? rq : NULL;
}

/* The region that is next in the round; NULL if nothing waits. */
static struct pd_region *pd_next_of_round(struct pd_core *core)
{
	struct pd_region *region;

	region = pd_map_next_pending(&core->map, core->round);
	if (!region && core->round)
		region = pd_map_next_pending(&core->map, NULL);
	if (region)
		core->round = region;
	return region;
}

static bool pd_begin_turn(struct pd_core *core, u64 now)
{
	struct pd_turn *turn = &core->turn;
	struct request *late = NULL;

	/* Every second turn at most, or overload would make a FIFO of it. */
	if (!core->last_was_expired)
		late = pd_earliest_expired(core, now);
	if (late) {
		turn->region = pd_region_of(late);
		turn->direction = rq_data_dir(late);
		turn->from = blk_rq_pos(late);
	} else {
		turn->region = pd_next_of_round(core);
		if (!turn->region)
			return false;
		turn->direction = !turn->region->last_direction;
		if (!pd_has(turn->region, turn->direction))
			turn->direction = turn->region->last_direction;
		turn->from = core->tunables.scan == PD_SCAN_LOWEST ? 0 :
			turn->region->stopped_at[turn->direction];
	}
	turn->left = core->tunables.batch[turn->direction];
	turn->region->last_direction = turn->direction;
	if (core->last_region != PD_MAX_REGIONS &&
	    core->last_region != turn->region->index)
		core->stats.region_switches++;
	core->last_region = turn->region->index;
	core->last_was_expired = late;
	core->stats.turns++;
	if (late)
		core->stats.expired_turns++;
	return true;
}

static void pd_account(struct pd_core *core, const struct request *rq, u64 now)
{
	const int dir = rq_data_dir(rq);
	struct pd_waits *waits = &core->stats.wait[dir];
	u64 waited = (unsigned long)now - (unsigned long)rq->elv.priv[1];

	waits->count++;
	waits->total += waited;
	waits->max = max(waits->max, waited);
	if (now > rq->fifo_time)
		core->stats.expired++;
	if (core->last_direction == !dir)
		core->stats.direction_switches++;
	core->last_direction = dir;
}

/**
 * pd_dispatch - choose the next request and let go of it
 * @core: the scheduler
 * @now: the time, which never decreases
 *
 * Return: the request, or NULL if none waits.
 */
struct request *pd_dispatch(struct pd_core *core, u64 now)
{
	struct pd_turn *turn = &core->turn;
	struct rb_root_cached *tree;
	struct request *rq = NULL;

	if (!turn->region && !pd_begin_turn(core, now))
		return NULL;
	tree = pd_renew_sweep(turn->region, turn->direction);
	if (turn->from)
		rq = pd_tree_from(tree, turn->from);
	if (!rq)
		rq = pd_rq(rb_first_cached(tree));
	pd_leave_region(rq);
	list_del_init(&rq->queuelist);
	pd_account(core, rq, now);
	turn->from = blk_rq_pos(rq);
	turn->region->stopped_at[turn->direction] = turn->from;
	/*
	 * A turn ends with the request that empties its direction, and not when
	 * the next one is asked for: what comes in between waits for the round.
	 */
	if (!--turn->left || !pd_has(turn->region, turn->direction))
		turn->region = NULL;
	return rq;
}

static struct request *pd_begins_at(const struct pd_sweep *sweep, sector_t pos)
{
	struct request *rq = pd_tree_from(&sweep->sorted, pos);

	return rq && blk_rq_pos(rq) == pos ? rq : NULL;
}

/**
 * pd_front_merge_candidate - find what a bio could be merged before
 * @core: the scheduler
 * @end: the sector after the last one of the bio
 * @direction: READ or WRITE
 *
 * Return: a request of that direction that begins at @end, or NULL; of the sweep
 * under way rather than of the next one. It lies in the region of @end, which
 * pd_same_region() has to compare with the bio's.
 */
struct request *pd_front_merge_candidate(struct pd_core *core, sector_t end,
					 int direction)
{
	struct pd_region *region;
	struct pd_node *leaf;
	struct request *rq;
	u32 index;

	if (!core->tunables.front_merges || list_empty(&core->fifo[direction]))
		return NULL;
	index = pd_index(core->region_sectors, end);
	leaf = pd_map_leaf(&core->map, index, false);
	region = leaf ? leaf->slot[pd_digit(index, 0)] : NULL;
	if (!region)
		return NULL;
	rq = pd_begins_at(pd_current_sweep(region, direction), end);
	return rq ?: pd_begins_at(pd_next_sweep(region, direction), end);
}

/**
 * pd_former - the neighbour before, of the same sweep
 * @rq: a request that waits
 *
 * Return: the neighbour, or NULL.
 */
struct request *pd_former(struct request *rq)
{
	return pd_rq(rb_prev(&rq->rb_node));
}

/**
 * pd_latter - the neighbour after, of the same sweep
 * @rq: a request that waits
 *
 * Return: the neighbour, or NULL.
 */
struct request *pd_latter(struct request *rq)
{
	return pd_rq(rb_next(&rq->rb_node));
}

/**
 * pd_moved - sort a request again whose beginning was moved by a front merge
 * @rq: a request that waits; it still begins in the same region
 */
void pd_moved(struct request *rq)
{
	pd_tree_del(rq);
	pd_tree_add(rq);
}

/**
 * pd_absorb - let go of a request that has become a part of another
 * @kept: the other; it waits, and takes over an earlier deadline and sweep
 * @gone: the request, which waits in the same region and direction
 *
 * What is merged as it is inserted may join two requests of different sweeps.
 * The one of the sweep under way waits no longer for that: the sweep loses one
 * request and gets one, so that its length still bounds what others wait.
 */
void pd_absorb(struct request *kept, struct request *gone)
{
	struct pd_sweep *const sweep = pd_sweep_of(gone);
	struct pd_region *const region = pd_region_of(gone);

	if (sweep != pd_sweep_of(kept) &&
	    sweep == pd_current_sweep(region, rq_data_dir(gone))) {
		pd_tree_del(kept);
		kept->elv.priv[0] = sweep;
		pd_tree_add(kept);
	}
	if (gone->fifo_time < kept->fifo_time) {
		list_move(&kept->queuelist, &gone->queuelist);
		kept->fifo_time = gone->fifo_time;
	}
	list_del_init(&gone->queuelist);
	pd_leave_region(gone);
}

/**
 * pd_region_end - where the region of a request ends
 * @core: the scheduler
 * @rq: a request that waits
 *
 * Return: the first sector after the region.
 */
sector_t pd_region_end(const struct pd_core *core, const struct request *rq)
{
	const u64 next = pd_region_of(rq)->index + 1ULL;

	return next < PD_MAX_REGIONS ? next * core->region_sectors : ~0ULL;
}
