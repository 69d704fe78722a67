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
#include <linux/limits.h>
#include <linux/list.h>
#include <linux/rbtree.h>
#include <linux/types.h>
#include <linux/xarray.h>

/* Regions without requests that are kept at most. */
#define PD_MAX_IDLE	4096

/* The number of no region: no request lies so high. */
#define PD_NO_REGION	ULONG_MAX

struct pd_core;
struct pd_region;

/* Requests of one region and direction, dispatched in order of sectors. */
struct pd_sweep {
	struct rb_root_cached sorted;
	struct pd_region *region;
};

/* A subqueue: the requests whose first sector is in one region. */
struct pd_region {
	struct pd_core *core;
	unsigned long index;
	/* While it has no requests: its place among the idle regions. */
	struct list_head idle;
	/* By direction: the current sweep and the next one. */
	struct pd_sweep sweep[2][2];
	/* By direction: the index of the current sweep. */
	u8 current_sweep[2];
	u8 last_direction;
	/* By direction: the first sector of the last request dispatched. */
	sector_t stopped_at[2];
};

/* The current turn; none if @region is NULL. */
struct pd_turn {
	struct pd_region *region;
	/* The scan continues at the first request at or after this sector. */
	sector_t from;
	u64 began;
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

/* Tunables: the caller may change them between calls, effective at next use. */
struct pd_tunables {
	u32 batch[2];
	enum pd_scan scan;
	/* By direction, ns. */
	u64 expire[2];
	bool front_merges;
};

/* Waits from insertion to the turn that dispatched, ns. */
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
	/* Requests whose deadline had passed when their turn began. */
	u64 expired;
	struct pd_waits wait[2];
};

struct pd_core {
	const struct pd_tunables *tunables;
	struct pd_stats *stats;
	u64 region_sectors;
	/* Regions by number; those with requests are marked. */
	struct xarray regions;
	/* Regions without requests, the one idle longest first. */
	struct list_head idle;
	u32 nr_idle;
	u32 max_idle;
	/* By direction: all requests in order of arrival. */
	struct list_head fifo[2];
	struct pd_turn turn;
	/* The region after which the round continues, if any. */
	unsigned long round;
	/* The region of the last turn, if any. */
	unsigned long last_region;
	bool last_was_expired;
	/* Of the last request dispatched; negative before the first one. */
	int last_direction;
};

void pd_init(struct pd_core *core, u64 region_sectors,
	     const struct pd_tunables *tunables, struct pd_stats *stats);
void pd_exit(struct pd_core *core);
void pd_set_region_sectors(struct pd_core *core, u64 region_sectors);

struct pd_region *pd_region_alloc(struct pd_core *core,
				  const struct request *rq);
void pd_region_unused(struct pd_region *region);

bool pd_insert(struct pd_core *core, struct request *rq,
	       struct pd_region **spare);
u64 pd_oldest_since(struct pd_core *core);
struct request *pd_dispatch(struct pd_core *core);

struct request *pd_front_merge_candidate(struct pd_core *core, sector_t end,
					 int direction);
struct request *pd_former(struct request *rq);
struct request *pd_latter(struct request *rq);
void pd_moved(struct request *rq);
void pd_absorb(struct request *kept, struct request *gone);

/*
 * elv.priv[0] is the sweep of a request that is queued here, else NULL.
 * elv.priv[1] is the time of its insertion, ns; NULL before it.
 */
static inline void pd_set_inserted(struct request *rq, u64 now)
{
	rq->elv.priv[1] = (void *)(unsigned long)now;
}

static inline u64 pd_inserted_at(const struct request *rq)
{
	return (unsigned long)rq->elv.priv[1];
}

/* The sweep of a queued request. */
static inline struct pd_sweep *pd_sweep_of(const struct request *rq)
{
	return rq->elv.priv[0];
}

/* Whether @rq is queued here. */
static inline bool pd_holds(const struct request *rq)
{
	return pd_sweep_of(rq);
}

/* The region of a queued request. */
static inline struct pd_region *pd_region_of(const struct request *rq)
{
	return pd_sweep_of(rq)->region;
}

/* The first sector after the region of a queued request. */
static inline sector_t pd_region_end(const struct request *rq)
{
	const struct pd_region *region = pd_region_of(rq);

	return (region->index + 1) * region->core->region_sectors;
}

/* Whether a request or bio at @pos may be merged into @rq, which is queued. */
static inline bool pd_same_region(const struct request *rq, sector_t pos)
{
	const u64 end = pd_region_end(rq);

	return pos >= end - pd_region_of(rq)->core->region_sectors && pos < end;
}

static inline bool pd_empty(const struct pd_core *core)
{
	return list_empty(&core->fifo[READ]) && list_empty(&core->fifo[WRITE]);
}

#endif /* PARDISPATCH_CORE_H */
