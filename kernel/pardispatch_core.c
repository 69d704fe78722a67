// SPDX-License-Identifier: GPL-2.0
/*
 * ParDispatcher: one subqueue a region of the address space, served
 * round-robin, one direction a turn.
 *
 *	region(rq) = first sector of rq / S
 *	insert:   into the sorted tree and the FIFO of its region and direction,
 *	          and into the FIFO of its direction; its deadline is the time
 *	          now and the direction's expiry
 *	dispatch: if no turn is under way, begin one:
 *	            expired turn, if the request with the earliest deadline of
 *	              all has expired and the last turn was not an expired one:
 *	              its region and direction, starting from that request
 *	            ordinary turn otherwise: the next region with requests, in
 *	              address order and round the end; the direction opposite to
 *	              that region's last turn, or the other one if that has
 *	              nothing pending; starting from the oldest request of that
 *	              region and direction if turns_starved of their turns have
 *	              begun since it came, otherwise from the lowest or where
 *	              their last turn has stopped, as scan says
 *	          send the next request in ascending order (after the highest,
 *	            the lowest)
 *	          the turn ends when its direction is empty in that region, or
 *	            after a batch
 *	merge:    within a region
 *
 * Source: Wang, Huang, He, Zhou, Li, He: "A Novel I/O Scheduler for SSD with
 * Improved Performance and Lifetime", section II. What the paper leaves open
 * is decided as in Flashloom's simulator, and listed in README.md.
 *
 * A request with n older ones in its region and direction is dispatched at the
 * latest in the turn turns_starved + n + 1 of these that begins after it came:
 * from the first of the last n + 1 on, each turn begins with the oldest. The
 * head of the simulator's scheduler has the proof.
 *
 * Only regions that were used have memory. A dispatch touches at most one node
 * a level to find the next region, however many regions there are, and takes
 * O(log n) in the waiting requests of one region to find the request in it.
 */
#include <linux/bitops.h>
#include <linux/errno.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/slab.h>

#include "pardispatch_core.h"

/* Requests arrive under the caller's lock, where nothing may sleep. */
#define PD_GFP	(GFP_NOWAIT | __GFP_NOWARN)

#define PD_TOP_SHIFT	(PD_DIGIT_BITS * (PD_LEVELS - 1))

#define pd_rq(node)	rb_entry_safe(node, struct request, rb_node)
#define pd_oldest(list)	list_first_entry_or_null(list, struct request, queuelist)
#define pd_first(fifo)	list_first_entry_or_null(fifo, struct pd_entry, list)

static u32 pd_digit(u32 index, int shift)
{
	return (index >> shift) & (PD_FANOUT - 1);
}

static u32 pd_index(u64 region_sectors, sector_t pos)
{
	return min_t(u64, div64_u64(pos, region_sectors), PD_MAP_REGIONS - 1);
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

	if (!leaf)
		return NULL;
	slot = &leaf->slot[pd_digit(index, 0)];
	if (*slot)
		return *slot;
	region = kzalloc(sizeof(*region), PD_GFP);
	if (!region)
		return NULL;
	region->sorted[READ] = RB_ROOT_CACHED;
	region->sorted[WRITE] = RB_ROOT_CACHED;
	INIT_LIST_HEAD(&region->fifo[READ]);
	INIT_LIST_HEAD(&region->fifo[WRITE]);
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
	return &pd_region_of(rq)->sorted[rq_data_dir(rq)];
}

static bool pd_has(const struct pd_region *region, int direction)
{
	return rb_first_cached(&region->sorted[direction]);
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

/* An entry for a request; NULL if all are used and there is no memory. */
static struct pd_entry *pd_entry_take(struct pd_core *core)
{
	struct pd_entry *entry = pd_first(&core->unused);
	struct pd_entries *more;
	int i;

	if (!entry) {
		more = kzalloc(sizeof(*more), PD_GFP);
		if (!more)
			return NULL;
		more->next = core->entries;
		core->entries = more;
		for (i = PD_ENTRIES - 1; i >= 0; i--)
			list_add(&more->entry[i].list, &core->unused);
		entry = &more->entry[0];
	}
	list_del_init(&entry->list);
	return entry;
}

/* The request is not in its region any more, nor does it wait elsewhere. */
static void pd_entry_give_back(struct pd_core *core, struct request *rq)
{
	list_add(&pd_entry_of(rq)->list, &core->unused);
}

static void pd_join_region(struct pd_region *region, struct request *rq)
{
	struct pd_entry *entry = pd_entry_of(rq);
	const int dir = rq_data_dir(rq);

	if (!pd_has(region, READ) && !pd_has(region, WRITE))
		pd_map_set_pending(region);
	entry->region = region;
	entry->came_at = region->turns[dir];
	list_add_tail(&entry->list, &region->fifo[dir]);
	pd_tree_add(rq);
}

static void pd_leave_region(struct request *rq)
{
	struct pd_region *region = pd_region_of(rq);

	pd_tree_del(rq);
	list_del_init(&pd_entry_of(rq)->list);
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
		.last_region = PD_MAP_REGIONS,
		.last_direction = -1,
	};
	INIT_LIST_HEAD(&core->fifo[READ]);
	INIT_LIST_HEAD(&core->fifo[WRITE]);
	INIT_LIST_HEAD(&core->unused);
	return pd_map_init(&core->map);
}

/**
 * pd_exit - give back all memory of a scheduler without requests
 * @core: what pd_init() prepared
 */
void pd_exit(struct pd_core *core)
{
	while (core->entries) {
		struct pd_entries *entries = core->entries;

		core->entries = entries->next;
		kfree(entries);
	}
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
 * keeps its deadline. The turn under way ends, the round goes on at the same
 * address, and every region's next turn is a first one: none has passed over
 * what waits.
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
	core->region_sectors = region_sectors;
	core->turn.region = NULL;
	core->last_region = PD_MAP_REGIONS;
	return 0;
}

/**
 * pd_insert - take a request in
 * @core: the scheduler
 * @rq: a request that does not wait here
 * @now: the time, which never decreases
 *
 * Return: 0, or -ENOMEM where there is no memory for it or for its region; then
 * the scheduler does not know the request.
 */
int pd_insert(struct pd_core *core, struct request *rq, u64 now)
{
	u32 index = pd_index(core->region_sectors, blk_rq_pos(rq));
	struct pd_region *region = pd_map_region(&core->map, index);
	const int dir = rq_data_dir(rq);
	struct pd_entry *entry;

	if (!region)
		return -ENOMEM;
	entry = pd_entry_take(core);
	if (!entry)
		return -ENOMEM;
	entry->rq = rq;
	entry->inserted = now;
	rq->elv.priv[0] = entry;
	pd_join_region(region, rq);
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

/* The oldest of a region and direction, if turns_starved turns have passed it. */
static struct request *pd_starved(const struct pd_core *core,
				  struct pd_region *region, int dir)
{
	struct pd_entry *entry = pd_first(&region->fifo[dir]);
	u32 passed;

	if (!entry)
		return NULL;
	passed = region->turns[dir] - entry->came_at;
	return passed >= core->tunables.turns_starved ? entry->rq : NULL;
}

/* Where the next turn is: the region and direction, of the round or of @late. */
static bool pd_choose_turn(struct pd_core *core, const struct request *late)
{
	struct pd_turn *turn = &core->turn;

	if (late) {
		turn->region = pd_region_of(late);
		turn->direction = rq_data_dir(late);
		return true;
	}
	turn->region = pd_next_of_round(core);
	if (!turn->region)
		return false;
	turn->direction = !turn->region->last_direction;
	if (!pd_has(turn->region, turn->direction))
		turn->direction = turn->region->last_direction;
	return true;
}

static bool pd_begin_turn(struct pd_core *core, u64 now)
{
	struct pd_turn *turn = &core->turn;
	struct request *late = NULL, *starved = NULL;

	/* Every second turn at most, or overload would make a FIFO of it. */
	if (!core->last_was_expired)
		late = pd_earliest_expired(core, now);
	if (!pd_choose_turn(core, late))
		return false;
	if (!late)
		starved = pd_starved(core, turn->region, turn->direction);
	if (late || starved)
		turn->from = blk_rq_pos(late ?: starved);
	else if (core->tunables.scan == PD_SCAN_CONTINUE)
		turn->from = turn->region->stopped_at[turn->direction];
	else
		turn->from = 0;
	turn->left = core->tunables.batch[turn->direction];
	turn->region->last_direction = turn->direction;
	turn->region->turns[turn->direction]++;
	if (core->last_region != PD_MAP_REGIONS &&
	    core->last_region != turn->region->index)
		core->stats.region_switches++;
	core->last_region = turn->region->index;
	core->last_was_expired = late;
	core->stats.turns++;
	if (late)
		core->stats.expired_turns++;
	if (starved)
		core->stats.starved_turns++;
	return true;
}

static void pd_account(struct pd_core *core, const struct request *rq, u64 now)
{
	const int dir = rq_data_dir(rq);
	const struct pd_entry *entry = pd_entry_of(rq);
	struct pd_waits *waits = &core->stats.wait[dir];
	u64 waited = now - entry->inserted;
	u32 turns = entry->region->turns[dir] - entry->came_at;
	/* The turn that sends it does not pass it over. */
	u64 passed = turns ? turns - 1 : 0;

	waits->count++;
	waits->total += waited;
	waits->max = max(waits->max, waited);
	core->stats.passed_over_max = max(core->stats.passed_over_max, passed);
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
	tree = &turn->region->sorted[turn->direction];
	if (turn->from)
		rq = pd_tree_from(tree, turn->from);
	if (!rq)
		rq = pd_rq(rb_first_cached(tree));
	pd_leave_region(rq);
	list_del_init(&rq->queuelist);
	pd_account(core, rq, now);
	pd_entry_give_back(core, rq);
	turn->from = blk_rq_pos(rq);
	turn->region->stopped_at[turn->direction] = turn->from;
	/*
	 * A turn ends with the request that empties its direction, and not when
	 * the next one is asked for: what comes in between waits for the round.
	 */
	if (!--turn->left || !rb_first_cached(tree))
		turn->region = NULL;
	return rq;
}

/**
 * pd_front_merge_candidate - find what a bio could be merged before
 * @core: the scheduler
 * @end: the sector after the last one of the bio
 * @direction: READ or WRITE
 *
 * Return: a request of that direction that begins at @end, or NULL. It lies in
 * the region of @end, which pd_same_region() has to compare with the bio's.
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
	rq = pd_tree_from(&region->sorted[direction], end);
	return rq && blk_rq_pos(rq) == end ? rq : NULL;
}

/**
 * pd_former - the neighbour before, of the same region and direction
 * @rq: a request that waits
 *
 * Return: the neighbour, or NULL.
 */
struct request *pd_former(struct request *rq)
{
	return pd_rq(rb_prev(&rq->rb_node));
}

/**
 * pd_latter - the neighbour after, of the same region and direction
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
 * @core: the scheduler
 * @kept: the other; it waits, and takes over an earlier deadline, with its place
 * @gone: the request, which waits
 */
void pd_absorb(struct pd_core *core, struct request *kept,
	       struct request *gone)
{
	if (gone->fifo_time < kept->fifo_time) {
		list_move(&kept->queuelist, &gone->queuelist);
		kept->fifo_time = gone->fifo_time;
		list_move(&pd_entry_of(kept)->list, &pd_entry_of(gone)->list);
		pd_entry_of(kept)->came_at = pd_entry_of(gone)->came_at;
	}
	list_del_init(&gone->queuelist);
	pd_leave_region(gone);
	pd_entry_give_back(core, gone);
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

	return next < PD_MAP_REGIONS ? next * core->region_sectors : ~0ULL;
}
