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
 * Cost: a dispatch finds the next region in the XArray by its mark, and the
 * request in O(log n) of the n requests queued in that region.
 */
#include <linux/compiler.h>
#include <linux/list.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/slab.h>
#include <linux/timekeeping.h>
#include <linux/xarray.h>

#include "pardispatch_core.h"

/*
 * An insertion must not sleep: a task inserts on its way to sleep too. A
 * request can go unsorted, so allocations leave the emergency reserves to
 * reclaim.
 */
#define PD_GFP	(GFP_NOWAIT | __GFP_NOWARN | __GFP_NOMEMALLOC)

/* The mark of regions with requests. */
#define PD_PENDING	XA_MARK_0

#define pd_rq(node)	rb_entry_safe(node, struct request, rb_node)
#define pd_oldest(list)	list_first_entry_or_null(list, struct request, queuelist)

static unsigned long pd_index(const struct pd_core *core, sector_t pos)
{
	return div64_u64(pos, core->region_sectors);
}

static struct pd_region *pd_region_at(struct pd_core *core, sector_t pos)
{
	return xa_load(&core->regions, pd_index(core, pos));
}

/**
 * pd_region_alloc - allocate the region of a request
 * @core: the scheduler
 * @rq: a request that is not queued here
 *
 * The caller need not hold its lock.
 *
 * Return: a region for pd_insert() or pd_region_unused(), or NULL.
 */
struct pd_region *pd_region_alloc(struct pd_core *core,
				  const struct request *rq)
{
	struct pd_region *region = kzalloc(sizeof(*region), PD_GFP);
	int i;

	if (!region)
		return NULL;
	region->core = core;
	region->index = pd_index(core, blk_rq_pos(rq));
	INIT_LIST_HEAD(&region->idle);
	for (i = 0; i < 4; i++) {
		struct pd_sweep *sweep = &region->sweep[i / 2][i % 2];

		sweep->sorted = RB_ROOT_CACHED;
		sweep->region = region;
	}
	/* So that its first turn takes reads, which tasks wait for. */
	region->last_direction = WRITE;
	if (xa_reserve(&core->regions, region->index, PD_GFP)) {
		kfree(region);
		return NULL;
	}
	return region;
}

/**
 * pd_region_unused - free a region that was allocated and is not needed
 * @region: a region of pd_region_alloc() that pd_insert() has not taken
 */
void pd_region_unused(struct pd_region *region)
{
	xa_release(&region->core->regions, region->index);
	kfree(region);
}

static void pd_region_free(struct pd_region *region)
{
	xa_erase(&region->core->regions, region->index);
	kfree(region);
}

/* Called when a region gets its first request. */
static void pd_region_begins(struct pd_region *region)
{
	struct pd_core *core = region->core;

	if (!list_empty(&region->idle)) {
		list_del_init(&region->idle);
		core->nr_idle--;
	}
	xa_set_mark(&core->regions, region->index, PD_PENDING);
}

/*
 * Called when a region has lost its last request. It is kept for its next one,
 * with the direction of its last turn and where that stopped, until too many
 * others have been idle for a shorter time.
 */
static void pd_region_ends(struct pd_region *region)
{
	struct pd_core *core = region->core;

	xa_clear_mark(&core->regions, region->index, PD_PENDING);
	list_add_tail(&region->idle, &core->idle);
	if (core->nr_idle++ < core->max_idle)
		return;
	region = list_first_entry(&core->idle, struct pd_region, idle);
	list_del_init(&region->idle);
	core->nr_idle--;
	pd_region_free(region);
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
		pd_region_begins(region);
	rq->elv.priv[0] = pd_next_sweep(region, rq_data_dir(rq));
	pd_tree_add(rq);
}

/* The caller calls pd_region_ends() if this was the last request. */
static void pd_leave_region(struct request *rq)
{
	pd_tree_del(rq);
	rq->elv.priv[0] = NULL;
}

/**
 * pd_init - initialize a scheduler without requests
 * @core: the scheduler
 * @region_sectors: the size of a region, at least one sector
 * @tunables: batches of at least one request, and expiry times; may change
 * @stats: where to count
 */
void pd_init(struct pd_core *core, u64 region_sectors,
	     const struct pd_tunables *tunables, struct pd_stats *stats)
{
	*core = (struct pd_core) {
		.tunables = tunables,
		.stats = stats,
		.region_sectors = region_sectors,
		.max_idle = PD_MAX_IDLE,
		.round = PD_NO_REGION,
		.last_region = PD_NO_REGION,
		.last_direction = -1,
	};
	xa_init(&core->regions);
	INIT_LIST_HEAD(&core->idle);
	INIT_LIST_HEAD(&core->fifo[READ]);
	INIT_LIST_HEAD(&core->fifo[WRITE]);
}

/* Without requests all regions are idle. */
static void pd_free_regions(struct pd_core *core)
{
	struct pd_region *region, *next;

	list_for_each_entry_safe(region, next, &core->idle, idle)
		pd_region_free(region);
	INIT_LIST_HEAD(&core->idle);
	core->nr_idle = 0;
}

/**
 * pd_exit - free the memory of a scheduler without requests
 * @core: the scheduler
 */
void pd_exit(struct pd_core *core)
{
	pd_free_regions(core);
	xa_destroy(&core->regions);
}

/**
 * pd_set_region_sectors - change the size of a region
 * @core: the scheduler, without requests
 * @region_sectors: the new size, at least one sector
 *
 * The round continues at the same address, and the next turn of each region is
 * its first.
 */
void pd_set_region_sectors(struct pd_core *core, u64 region_sectors)
{
	if (core->round != PD_NO_REGION) {
		u64 next = (core->round + 1) * core->region_sectors;

		/* In the region before it, or before all regions. */
		core->round = div64_u64(next, region_sectors) - 1;
	}
	pd_free_regions(core);
	core->region_sectors = region_sectors;
	core->last_region = PD_NO_REGION;
}

/**
 * pd_insert - queue a request
 * @core: the scheduler
 * @rq: a request that is not queued here; pd_set_inserted() was called
 * @spare: a region of pd_region_alloc() for it, or NULL; NULL when it is taken
 *
 * Return: whether it is queued; if not, its region is missing, and needs @spare.
 */
bool pd_insert(struct pd_core *core, struct request *rq,
	       struct pd_region **spare)
{
	struct pd_region *region = pd_region_at(core, blk_rq_pos(rq));
	const int dir = rq_data_dir(rq);

	if (!region) {
		region = *spare;
		/* Its place is reserved. */
		if (!region || xa_err(xa_store(&core->regions, region->index,
					       region, PD_GFP)))
			return false;
		*spare = NULL;
	}
	pd_join_region(region, rq);
	rq->fifo_time = pd_inserted_at(rq) + core->tunables->expire[dir];
	list_add_tail(&rq->queuelist, &core->fifo[dir]);
	return true;
}

/**
 * pd_oldest_since - how long requests have waited
 * @core: the scheduler, with requests
 *
 * Return: the insertion time of the request that was inserted first.
 */
u64 pd_oldest_since(struct pd_core *core)
{
	u64 since = ~0ULL;
	int dir;

	for (dir = READ; dir <= WRITE; dir++) {
		const struct request *rq = pd_oldest(&core->fifo[dir]);

		if (rq)
			since = min(since, pd_inserted_at(rq));
	}
	return since;
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
	struct pd_region *region = NULL;
	unsigned long index = core->round;

	if (index != PD_NO_REGION)
		region = xa_find_after(&core->regions, &index, ULONG_MAX,
				       PD_PENDING);
	if (!region) {
		index = 0;
		region = xa_find(&core->regions, &index, ULONG_MAX, PD_PENDING);
	}
	if (region)
		core->round = index;
	return region;
}

static bool pd_begin_turn(struct pd_core *core)
{
	struct pd_turn *turn = &core->turn;
	struct request *late = NULL;
	const u64 now = ktime_get_ns();

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
		turn->from = core->tunables->scan == PD_SCAN_LOWEST ? 0 :
			turn->region->stopped_at[turn->direction];
	}
	turn->began = now;
	turn->left = core->tunables->batch[turn->direction];
	turn->region->last_direction = turn->direction;
	if (core->last_region != PD_NO_REGION &&
	    core->last_region != turn->region->index)
		core->stats->region_switches++;
	core->last_region = turn->region->index;
	core->last_was_expired = late;
	core->stats->turns++;
	if (late)
		core->stats->expired_turns++;
	return true;
}

static void pd_account(struct pd_core *core, const struct request *rq)
{
	const int dir = rq_data_dir(rq);
	struct pd_waits *waits = &core->stats->wait[dir];
	const u64 began = core->turn.began;
	/* It may have come during its turn. */
	u64 waited = began - min(began, pd_inserted_at(rq));

	waits->count++;
	waits->total += waited;
	waits->max = max(waits->max, waited);
	if (began > rq->fifo_time)
		core->stats->expired++;
	if (core->last_direction == !dir)
		core->stats->direction_switches++;
	core->last_direction = dir;
}

/**
 * pd_dispatch - choose the next request and remove it
 * @core: the scheduler
 *
 * Reads the clock when it begins a turn.
 *
 * Return: the request, or NULL if none is queued.
 */
struct request *pd_dispatch(struct pd_core *core)
{
	struct pd_turn *turn = &core->turn;
	struct rb_root_cached *tree;
	struct pd_region *region;
	struct request *rq = NULL;

	if (!turn->region && !pd_begin_turn(core))
		return NULL;
	region = turn->region;
	tree = pd_renew_sweep(region, turn->direction);
	if (turn->from)
		rq = pd_tree_from(tree, turn->from);
	if (!rq)
		rq = pd_rq(rb_first_cached(tree));
	pd_leave_region(rq);
	list_del_init(&rq->queuelist);
	pd_account(core, rq);
	turn->from = blk_rq_pos(rq);
	region->stopped_at[turn->direction] = turn->from;
	if (--turn->left && pd_has(region, turn->direction))
		return rq;
	/*
	 * The turn ends with the last request of its direction, not at the next
	 * dispatch: what arrives in between waits for the region's next turn.
	 */
	turn->region = NULL;
	if (!pd_has(region, READ) && !pd_has(region, WRITE))
		pd_region_ends(region);
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
	struct request *rq;

	if (!core->tunables->front_merges || list_empty(&core->fifo[direction]))
		return NULL;
	region = pd_region_at(core, end);
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

	if (sweep != pd_sweep_of(kept) &&
	    sweep == pd_current_sweep(sweep->region, rq_data_dir(gone))) {
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
