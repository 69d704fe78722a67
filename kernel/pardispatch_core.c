// SPDX-License-Identifier: GPL-2.0
/*
 * ParDispatcher: one subqueue per region of the address space, served
 * round-robin, one direction per turn.
 *
 *	region(rq) = first sector of rq / S
 *	insert:   sorted into the next sweep of its region and direction, and
 *	          at the tail of its direction's FIFO; its deadline is now plus
 *	          the direction's expiry
 *	dispatch: if there is no current turn, begin one:
 *	            expired turn, if the earliest deadline of all requests has
 *	              passed and the last turn was not an expired one: the
 *	              region and direction of that request, starting with it
 *	            ordinary turn otherwise: the next region with requests, in
 *	              address order, wrapping round; the direction opposite to
 *	              that region's last turn, or the same one if the opposite
 *	              has no requests; starting at the lowest request, or where
 *	              the last turn of that region and direction stopped
 *	          dispatch the next request of the current sweep in ascending
 *	            order (after the highest, the lowest)
 *	          when the sweep is empty, the next sweep becomes the current
 *	            one
 *	          the turn ends after a batch, or when its region has no more
 *	            requests of its direction
 *	merge:    within a region; a request merged from two sweeps belongs to
 *	          the current one
 *
 * Source: Wang, Huang, He, Zhou, Li, He: "A Novel I/O Scheduler for SSD with
 * Improved Performance and Lifetime", section II. What the paper leaves open
 * is decided as in Flashloom's simulator, and listed in README.md.
 *
 * No starvation: a request waits for the rest of the current sweep and for its
 * own, and no request is added to a sweep that has begun.
 *
 * Cost: only regions that were used are allocated. A dispatch touches at most
 * one node per level to find the next region, however many there are, and finds
 * the request in O(log n) of the n requests queued in that region.
 */
#include <linux/bitops.h>
#include <linux/compiler.h>
#include <linux/errno.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/slab.h>

#include "pardispatch_core.h"

/*
 * Allocations happen under the caller's lock, so they must not sleep. A request
 * can go unsorted, so they leave the emergency reserves to reclaim.
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
 * The lowest-level node of a region. NULL if there is none: @make was false or
 * there was no memory.
 */
static struct pd_node *pd_map_leaf(struct pd_map *map, u32 index, bool make)
{
	const u32 first = index - pd_digit(index, 0);
	struct pd_node *node = map->root;
	int shift;

	/* Most requests go to a few neighbouring regions. */
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

/* The region with that number, allocated if new; NULL without memory. */
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
	/* So that its first turn takes reads, which tasks wait for. */
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
 * pd_map_init - initialize an empty map
 * @map: the map
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
 * pd_map_free - free a map and its regions
 * @map: a map from pd_map_init() that no scheduler uses
 *
 * Takes time proportional to the number of regions that were used.
 */
void pd_map_free(struct pd_map *map)
{
	pd_node_free(map->root, PD_TOP_SHIFT);
	*map = (struct pd_map) { };
}

/* Called when a region gets its first request. */
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

/* Called when a region loses its last request. */
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
 * The next region with requests after @region, or the first one if @region is
 * NULL; NULL if there is none. Climbs to the first node that has requests in a
 * later slot, then descends to the lowest region there.
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

/* The current sweep; if it is empty, the next one becomes current. */
static struct rb_root_cached *pd_renew_sweep(struct pd_region *region, int dir)
{
	if (!rb_first_cached(&pd_current_sweep(region, dir)->sorted))
		region->current_sweep[dir] ^= 1;
	return &pd_current_sweep(region, dir)->sorted;
}

/* Sorts by first sector; equal ones stay in order of insertion. */
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

/* The first request that begins at or after @pos, or NULL. */
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
 * pd_init - initialize a scheduler without requests
 * @core: the scheduler
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
 * pd_exit - free the memory of a scheduler without requests
 * @core: the scheduler
 */
void pd_exit(struct pd_core *core)
{
	pd_map_free(&core->map);
}

/**
 * pd_set_region_sectors - change the size of a region
 * @core: the scheduler
 * @region_sectors: the new size, at least one sector
 * @map: an empty map for the new size; on return the old map, which the caller
 *	frees without holding a lock
 *
 * Queued requests are sorted again, by age if they begin at the same sector,
 * and keep their deadlines. The current turn and sweeps end, the round
 * continues at the same address, and the next turn of each region is its first.
 *
 * Return: 0, or -ENOMEM with nothing changed.
 */
int pd_set_region_sectors(struct pd_core *core, u64 region_sectors,
			  struct pd_map *map)
{
	struct pd_region *round = NULL;
	struct request *rq;
	int dir;

	/* Allocate first, so that nothing below can fail half-way. */
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
 * pd_insert - queue a request
 * @core: the scheduler
 * @rq: a request that is not queued here
 * @now: the time, which never decreases
 *
 * Return: 0, or -ENOMEM if its region could not be allocated; the request is
 * not queued then.
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

/* The request with the earliest deadline if that has passed, else NULL. */
static struct request *pd_earliest_expired(struct pd_core *core, u64 now)
{
	struct request *read = pd_oldest(&core->fifo[READ]);
	struct request *write = pd_oldest(&core->fifo[WRITE]);
	struct request *rq = read;

	if (!read || (write && write->fifo_time < read->fifo_time))
		rq = write;
	return rq && now > rq->fifo_time ? rq : NULL;
}

/* The next region of the round; NULL if no request is queued. */
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

	/* At most every second turn, or overload would turn it into a FIFO. */
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
 * pd_dispatch - choose the next request and remove it
 * @core: the scheduler
 * @now: the time, which never decreases
 *
 * Return: the request, or NULL if none is queued.
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
	 * The turn ends with the last request of its direction, not at the next
	 * dispatch: what arrives in between waits for the region's next turn.
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
 * pd_front_merge_candidate - find a request to merge a bio in front of
 * @core: the scheduler
 * @end: the sector after the last one of the bio
 * @direction: READ or WRITE
 *
 * Return: a request of that direction that begins at @end, or NULL; one of the
 * current sweep before one of the next. The caller checks by pd_same_region()
 * that the bio begins in the region of the request.
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
 * pd_former - the request before @rq in its sweep
 * @rq: a queued request
 *
 * Return: the neighbour, or NULL.
 */
struct request *pd_former(struct request *rq)
{
	return pd_rq(rb_prev(&rq->rb_node));
}

/**
 * pd_latter - the request after @rq in its sweep
 * @rq: a queued request
 *
 * Return: the neighbour, or NULL.
 */
struct request *pd_latter(struct request *rq)
{
	return pd_rq(rb_next(&rq->rb_node));
}

/**
 * pd_moved - sort a request again after a front merge changed its first sector
 * @rq: a queued request; it still begins in the same region
 */
void pd_moved(struct request *rq)
{
	pd_tree_del(rq);
	pd_tree_add(rq);
}

/**
 * pd_absorb - remove a request that was merged into another
 * @kept: the other, which is queued; it inherits an earlier deadline or sweep
 * @gone: the request, queued in the same region and direction
 *
 * The merge of a request being inserted may join two requests of different
 * sweeps. The result belongs to the current sweep, which loses one request and
 * gains one: its length, which bounds the waits of others, does not grow.
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
 * pd_region_end - the end of a request's region
 * @core: the scheduler
 * @rq: a queued request
 *
 * Return: the first sector after the region.
 */
sector_t pd_region_end(const struct pd_core *core, const struct request *rq)
{
	const u64 next = pd_region_of(rq)->index + 1ULL;

	return next < PD_MAX_REGIONS ? next * core->region_sectors : ~0ULL;
}
