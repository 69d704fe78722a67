/* SPDX-License-Identifier: GPL-2.0 */
/*
 * ParDispatcher's decisions, independent of the block layer.
 *
 * The same file is compiled into the module, into a sanitized userspace test,
 * and into a test that compares it with Flashloom's simulator. It needs only
 * lists, trees, an allocator and requests; userspace/linux provides these
 * outside the kernel.
 *
 * Nothing here locks: the caller lets one function run at a time.
 */
#ifndef PARDISPATCH_CORE_H
#define PARDISPATCH_CORE_H

#include <linux/blk-mq.h>
#include <linux/list.h>
#include <linux/rbtree.h>
#include <linux/types.h>

/* The map of regions: PD_LEVELS levels of 64-way nodes. */
#define PD_FANOUT	64
#define PD_DIGIT_BITS	6
#define PD_LEVELS	4

/*
 * Regions of a device at most; a region size that gives more is refused. If
 * the device grows later, sectors beyond them belong to the last region.
 */
#define PD_MAX_REGIONS	1048576

/*
 * A node of the map of regions. A bit of @pending is set if the region in that
 * slot has requests; above the lowest level, if any region below it has.
 */
struct pd_node {
	struct pd_node *parent;
	u64 pending;
	/* Lowest level only: the number of the region in the first slot. */
	u32 first;
	void *slot[PD_FANOUT];
};

/* Regions by number. Only regions that were used are allocated. */
struct pd_map {
	struct pd_node *root;
	/* The lowest-level node of the last look-up, or NULL. */
	struct pd_node *recent;
};

struct pd_region;

/* Requests of one region and direction, dispatched in order of sectors. */
struct pd_sweep {
	struct rb_root_cached sorted;
	struct pd_region *region;
};

/* A subqueue: the requests whose first sector is in one region. */
struct pd_region {
	/* By direction: the current sweep and the next one. */
	struct pd_sweep sweep[2][2];
	/* By direction: the index of the current sweep. */
	u8 current_sweep[2];
	u8 last_direction;
	u32 index;
	/* By direction: the first sector of the last request dispatched. */
	sector_t stopped_at[2];
	struct pd_node *leaf;
};

/* The current turn; none if @region is NULL. */
struct pd_turn {
	struct pd_region *region;
	/* The scan continues at the first request at or after this sector. */
	sector_t from;
	/* Requests that the turn may still dispatch. */
	u32 left;
	u8 direction;
};

/* Where a turn begins that no expired deadline caused. */
enum pd_scan {
	/* At the lowest remaining request of the sweep. */
	PD_SCAN_LOWEST,
	/* Where the last turn of the region and direction stopped. */
	PD_SCAN_CONTINUE,
};

/* Tunables: the caller may change them at any time, effective at next use. */
struct pd_tunables {
	u32 batch[2];
	enum pd_scan scan;
	/* In the caller's unit of time. */
	u64 expire[2];
	bool front_merges;
};

/* Waits from insertion to dispatch, in the caller's unit of time. */
struct pd_waits {
	u64 count;
	u64 total;
	u64 max;
};

struct pd_stats {
	u64 turns;
	u64 expired_turns;
	u64 region_switches;
	u64 direction_switches;
	/* Requests dispatched after their deadline. */
	u64 expired;
	struct pd_waits wait[2];
};

struct pd_core {
	struct pd_tunables tunables;
	u64 region_sectors;
	struct pd_map map;
	/* By direction: all requests in order of arrival. */
	struct list_head fifo[2];
	struct pd_turn turn;
	/* The round continues after this region; NULL: at the lowest one. */
	struct pd_region *round;
	/* The region of the last turn; PD_MAX_REGIONS before the first one. */
	u32 last_region;
	bool last_was_expired;
	/* Of the last request dispatched; negative before the first one. */
	int last_direction;
	struct pd_stats stats;
};

int pd_init(struct pd_core *core, u64 region_sectors,
	    const struct pd_tunables *tunables);
void pd_exit(struct pd_core *core);

int pd_map_init(struct pd_map *map);
void pd_map_free(struct pd_map *map);
int pd_set_region_sectors(struct pd_core *core, u64 region_sectors,
			  struct pd_map *map);

int pd_insert(struct pd_core *core, struct request *rq, u64 now);
struct request *pd_dispatch(struct pd_core *core, u64 now);

struct request *pd_front_merge_candidate(struct pd_core *core, sector_t end,
					 int direction);
struct request *pd_former(struct request *rq);
struct request *pd_latter(struct request *rq);
void pd_moved(struct request *rq);
void pd_absorb(struct request *kept, struct request *gone);

sector_t pd_region_end(const struct pd_core *core, const struct request *rq);

/* Whether @rq is queued here; a new request needs RB_CLEAR_NODE() first. */
static inline bool pd_holds(const struct request *rq)
{
	return !RB_EMPTY_NODE(&rq->rb_node);
}

/* The sweep of a queued request. */
static inline struct pd_sweep *pd_sweep_of(const struct request *rq)
{
	return rq->elv.priv[0];
}

/* The region of a queued request. */
static inline struct pd_region *pd_region_of(const struct request *rq)
{
	return pd_sweep_of(rq)->region;
}

/* Whether a request or bio at @pos may be merged into @rq, which is queued. */
static inline bool pd_same_region(const struct pd_core *core,
				  const struct request *rq, sector_t pos)
{
	u64 begin = pd_region_of(rq)->index * core->region_sectors;

	return pos >= begin && pos < pd_region_end(core, rq);
}

static inline bool pd_empty(const struct pd_core *core)
{
	return list_empty(&core->fifo[READ]) && list_empty(&core->fifo[WRITE]);
}

#endif /* PARDISPATCH_CORE_H */
