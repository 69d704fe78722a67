// SPDX-License-Identifier: GPL-2.0
/*
 * ParDispatcher as an I/O scheduler of blk-mq: the glue between the block
 * layer and the decisions in pardispatch_core.c.
 *
 * One lock per queue protects the core, as in mq-deadline. It is taken to
 * insert, merge and dispatch; a completion only increments a counter.
 */
#include <linux/blkdev.h>
#include <linux/blk-mq.h>
#include <linux/jiffies.h>
#include <linux/math64.h>
#include <linux/module.h>
#include <linux/sbitmap.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/sysfs.h>
#include <trace/events/block.h>

#include "compat.h"
#include "pardispatch_core.h"
#include "pardispatch_depth.h"

#define PD_SECTORS_PER_KB	2

/* The range of a tunable. */
struct pd_limits {
	u64 least;
	u64 most;
};

static const struct pd_limits pd_region_kb_limits = { 1024, 1ULL << 40 };
static const struct pd_limits pd_batch_limits = { 1, 65536 };
static const struct pd_limits pd_expire_ms_limits = { 1, 3600 * 1000 };
static const struct pd_limits pd_async_depth_limits = { 1, 65536 };
static const struct pd_limits pd_flag_limits = { 0, 1 };

/* Indexed by enum pd_scan. */
static const char * const pd_scan_names[] = { "lowest", "continue" };

struct pd_data {
	/* Protects the core, @dispatch and all counters but @completed. */
	spinlock_t lock;
	struct pd_core core;
	/*
	 * Requests that bypass the regions: inserted at the head, passthrough,
	 * or unsorted because a region could not be allocated. They are
	 * dispatched first, in this order.
	 */
	struct list_head dispatch;
	/* The request that the last merge enlarged. */
	struct request *grown;
	struct request_queue *queue;
	/* By direction, in milliseconds; the core has them in jiffies. */
	u32 expire_ms[2];
	struct pd_depth depth;

	/* Requests; pd_exit_sched() checks that they add up. */
	u64 inserted;
	u64 merged;
	u64 dispatched;
	u64 requeued;
	u64 unsorted;
	atomic64_t completed;
};

/*
 * elv.priv[0] is set in every request that was counted: to its sweep while the
 * core has it, to any other value afterwards.
 */
static bool pd_counted(const struct request *rq)
{
	return rq->elv.priv[0];
}

static struct pd_data *pd_of_queue(struct request_queue *q)
{
	return q->elevator->elevator_data;
}

/*
 * Merging. A request accepts a back merge only within its own region. The block
 * layer calls allow_merge() for a bio, but not for a request being inserted. So
 * a request that ends at the end of its region or beyond it is taken off the
 * hash of back merges: what follows it is in another region.
 */
static void pd_offer_back_merge(struct pd_data *pd, struct request *rq)
{
	struct request_queue *q = pd->queue;

	if (blk_rq_pos(rq) + blk_rq_sectors(rq) <
	    pd_region_end(&pd->core, rq)) {
		if (ELV_ON_HASH(rq))
			return;
		elv_rqhash_add(q, rq);
		/* The block layer tries every bio on last_merge first. */
		if (!q->last_merge && blk_queue_noxmerges(q))
			q->last_merge = rq;
		return;
	}
	elv_rqhash_del(q, rq);
	if (q->last_merge == rq)
		q->last_merge = NULL;
}

/* After a merge, by which the block layer hashed the larger request anew. */
static void pd_settle_grown(struct pd_data *pd)
{
	if (pd->grown && rq_mergeable(pd->grown))
		pd_offer_back_merge(pd, pd->grown);
	pd->grown = NULL;
}

static void pd_withdraw_merge(struct request_queue *q, struct request *rq)
{
	elv_rqhash_del(q, rq);
	if (q->last_merge == rq)
		q->last_merge = NULL;
}

static bool pd_allow_merge(struct request_queue *q, struct request *rq,
			   struct bio *bio)
{
	struct pd_data *pd = pd_of_queue(q);

	lockdep_assert_held(&pd->lock);

	return pd_same_region(&pd->core, rq, bio->bi_iter.bi_sector);
}

/* Finds a request that @bio can be merged in front of. */
static int pd_request_merge(struct request_queue *q, struct request **req,
			    struct bio *bio)
{
	struct pd_data *pd = pd_of_queue(q);
	struct request *rq;

	lockdep_assert_held(&pd->lock);

	rq = pd_front_merge_candidate(&pd->core, bio_end_sector(bio),
				      bio_data_dir(bio));
	if (!rq || !elv_bio_merge_ok(rq, bio))
		return ELEVATOR_NO_MERGE;
	*req = rq;
	if (blk_discard_mergable(rq))
		return ELEVATOR_DISCARD_MERGE;
	return ELEVATOR_FRONT_MERGE;
}

/* Called when a bio was merged into @rq. */
static void pd_request_merged(struct request_queue *q, struct request *rq,
			      enum elv_merge type)
{
	struct pd_data *pd = pd_of_queue(q);

	lockdep_assert_held(&pd->lock);

	if (type == ELEVATOR_FRONT_MERGE)
		pd_moved(rq);
	pd->grown = rq;
}

/*
 * Called when @next was merged into @rq, before it is freed. The core does not
 * have @next yet if it is being inserted.
 */
static void pd_requests_merged(struct request_queue *q, struct request *rq,
			       struct request *next)
{
	struct pd_data *pd = pd_of_queue(q);

	lockdep_assert_held(&pd->lock);

	if (pd_holds(next)) {
		pd_absorb(rq, next);
		pd_withdraw_merge(q, next);
	}
	pd->merged++;
	next->elv.priv[0] = NULL;
	pd->grown = rq;
}

static struct request *pd_former_request(struct request_queue *q,
					 struct request *rq)
{
	return pd_former(rq);
}

static struct request *pd_next_request(struct request_queue *q,
				       struct request *rq)
{
	return pd_latter(rq);
}

/* Called before a request is allocated for @bio. */
static bool pd_bio_merge(struct request_queue *q, struct bio *bio,
			 unsigned int nr_segs)
{
	struct pd_data *pd = pd_of_queue(q);
	struct request *free = NULL;
	bool merged;

	spin_lock(&pd->lock);
	merged = blk_mq_sched_try_merge(q, bio, nr_segs, &free);
	pd_settle_grown(pd);
	spin_unlock(&pd->lock);

	if (free)
		blk_mq_free_request(free);
	return merged;
}

/*
 * Merges @rq into a queued request; returns whether it could. Multi-range
 * discards merge only as bios: the block layer does not notify the scheduler
 * when it merges two such requests, and would free one that is queued here.
 */
static bool pd_insert_merge(struct pd_data *pd, struct request *rq,
			    struct list_head *free)
{
	bool merged;

	if (blk_discard_mergable(rq))
		return false;
	merged = blk_mq_sched_try_insert_merge(pd->queue, rq, free);
	pd_settle_grown(pd);
	return merged;
}

/* Called before a tag is allocated for a request. */
static void pd_limit_depth(blk_opf_t opf, struct blk_mq_alloc_data *data)
{
	pd_depth_limit(&pd_of_queue(data->q)->depth, opf, data);
}

/* Called when a hardware queue's tags were allocated or replaced. */
static void pd_depth_updated(struct blk_mq_hw_ctx *hctx)
{
	pd_depth_note_tags(&pd_of_queue(hctx->queue)->depth, hctx);
	/* The block layer warns about a depth below this minimum. */
	sbitmap_queue_min_shallow_depth(&hctx->sched_tags->bitmap_tags, 1);
}

static int pd_init_hctx(struct blk_mq_hw_ctx *hctx, unsigned int index)
{
	pd_depth_updated(hctx);
	return 0;
}

/* Called when a request is allocated that may be inserted here. */
static void pd_prepare_request(struct request *rq)
{
	rq->elv.priv[0] = NULL;
}

static void pd_count_in(struct pd_data *pd, struct request *rq)
{
	if (pd_counted(rq))
		pd->requeued++;
	else
		pd->inserted++;
	rq->elv.priv[0] = pd;
}

static void pd_insert_request(struct pd_data *pd, struct request *rq,
			      pd_insert_t flags, struct list_head *free)
{
	lockdep_assert_held(&pd->lock);

	/*
	 * Part of a flush sequence on Linux 6.1, which calls neither
	 * prepare_request() nor finish_request() for it: neither sorted nor
	 * counted. Linux 6.12 calls both, and inserts it at the head.
	 */
	if (!(rq->rq_flags & PD_RQF_PREPARED)) {
		trace_block_rq_insert(rq);
		list_add_tail(&rq->queuelist, &pd->dispatch);
		return;
	}
	pd_count_in(pd, rq);
	if (PD_AT_HEAD(flags)) {
		trace_block_rq_insert(rq);
		list_add(&rq->queuelist, &pd->dispatch);
		return;
	}
	/* At the tail: Linux 6.1 may insert a whole plug list in order. */
	if (blk_rq_is_passthrough(rq)) {
		trace_block_rq_insert(rq);
		list_add_tail(&rq->queuelist, &pd->dispatch);
		return;
	}
	if (pd_insert_merge(pd, rq, free))
		return;
	trace_block_rq_insert(rq);
	if (pd_insert(&pd->core, rq, get_jiffies_64())) {
		pd->unsorted++;
		list_add_tail(&rq->queuelist, &pd->dispatch);
		return;
	}
	if (rq_mergeable(rq))
		pd_offer_back_merge(pd, rq);
}

static void pd_insert_requests(struct blk_mq_hw_ctx *hctx,
			       struct list_head *list, pd_insert_t flags)
{
	struct pd_data *pd = pd_of_queue(hctx->queue);
	LIST_HEAD(free);

	spin_lock(&pd->lock);
	while (!list_empty(list)) {
		struct request *rq;

		rq = list_first_entry(list, struct request, queuelist);
		list_del_init(&rq->queuelist);
		pd_insert_request(pd, rq, flags, &free);
	}
	spin_unlock(&pd->lock);

	blk_mq_free_requests(&free);
}

static struct request *__pd_dispatch_request(struct pd_data *pd)
{
	struct request *rq;

	lockdep_assert_held(&pd->lock);

	rq = list_first_entry_or_null(&pd->dispatch, struct request, queuelist);
	if (rq) {
		list_del_init(&rq->queuelist);
	} else {
		rq = pd_dispatch(&pd->core, get_jiffies_64());
		if (!rq)
			return NULL;
		pd_withdraw_merge(pd->queue, rq);
	}
	if (rq->rq_flags & PD_RQF_PREPARED)
		pd->dispatched++;
	rq->rq_flags |= RQF_STARTED;
	return rq;
}

/*
 * The scheduler has one set of subqueues for all hardware queues, so the
 * request may belong to another one than @hctx; the block layer handles that.
 */
static struct request *pd_dispatch_request(struct blk_mq_hw_ctx *hctx)
{
	struct pd_data *pd = pd_of_queue(hctx->queue);
	struct request *rq;

	spin_lock(&pd->lock);
	rq = __pd_dispatch_request(pd);
	spin_unlock(&pd->lock);
	return rq;
}

static bool pd_has_work(struct blk_mq_hw_ctx *hctx)
{
	struct pd_data *pd = pd_of_queue(hctx->queue);

	return !list_empty_careful(&pd->dispatch) ||
	       !list_empty_careful(&pd->core.fifo[READ]) ||
	       !list_empty_careful(&pd->core.fifo[WRITE]);
}

/* Called when a prepared request is freed, even one that was never inserted. */
static void pd_finish_request(struct request *rq)
{
	struct pd_data *pd = pd_of_queue(rq->q);

	if (pd_counted(rq))
		atomic64_inc(&pd->completed);
}

static int pd_init_sched(struct request_queue *q, struct elevator_type *e)
{
	const struct pd_tunables tunables = {
		.batch = { 16, 8 },
		.scan = PD_SCAN_CONTINUE,
		.expire = { HZ / 2, 5 * HZ },
		.front_merges = true,
	};
	/* The paper's region size, 4 GiB. */
	const u64 region_sectors = 4ULL * 1024 * 1024 * PD_SECTORS_PER_KB;
	struct elevator_queue *eq;
	struct pd_data *pd;
	int ret = -ENOMEM;

	/* First: on 6.1 only this can drop the caller's module reference. */
	eq = elevator_alloc(q, e);
	if (!eq)
		return -ENOMEM;
	/* Turns and merges ignore write pointers. */
	if (blk_queue_is_zoned(q)) {
		ret = -EOPNOTSUPP;
		goto put_eq;
	}
	pd = kzalloc_node(sizeof(*pd), GFP_KERNEL, q->node);
	if (!pd)
		goto put_eq;
	ret = pd_init(&pd->core, region_sectors, &tunables);
	if (ret)
		goto free_pd;

	spin_lock_init(&pd->lock);
	INIT_LIST_HEAD(&pd->dispatch);
	pd->queue = q;
	pd->expire_ms[READ] = 500;
	pd->expire_ms[WRITE] = 5000;
	pd->depth.async = q->nr_requests;
	eq->elevator_data = pd;

	/* Dispatch is per request queue, not per hardware queue. */
	blk_queue_flag_set(QUEUE_FLAG_SQ_SCHED, q);
	q->elevator = eq;
	return 0;

free_pd:
	kfree(pd);
put_eq:
	kobject_put(&eq->kobj);
	return ret;
}

static void pd_exit_sched(struct elevator_queue *e)
{
	struct pd_data *pd = e->elevator_data;
	u64 completed = atomic64_read(&pd->completed);

	WARN_ON_ONCE(!list_empty(&pd->dispatch) || !pd_empty(&pd->core));
	WARN_ONCE(pd->inserted != pd->merged + completed ||
		  pd->dispatched != completed + pd->requeued,
		  "pardispatcher: inserted %llu, merged %llu, dispatched %llu, requeued %llu, completed %llu\n",
		  pd->inserted, pd->merged, pd->dispatched, pd->requeued,
		  completed);
	pd_exit(&pd->core);
	kfree(pd);
}

/* Tunables. A value out of range is refused and changes nothing. */
static int pd_parse(const char *page, const struct pd_limits *limits,
		    u64 *value)
{
	if (kstrtou64(page, 0, value))
		return -EINVAL;
	return *value < limits->least || *value > limits->most ? -EINVAL : 0;
}

static ssize_t pd_region_kb_show(struct elevator_queue *e, char *page)
{
	struct pd_data *pd = e->elevator_data;

	return sysfs_emit(page, "%llu\n",
			  READ_ONCE(pd->core.region_sectors) / PD_SECTORS_PER_KB);
}

/* Back merges depend on where regions end: after a change of their size. */
static void pd_offer_all_again(struct pd_data *pd)
{
	struct request *rq;
	int dir;

	for (dir = READ; dir <= WRITE; dir++) {
		list_for_each_entry(rq, &pd->core.fifo[dir], queuelist) {
			if (rq_mergeable(rq))
				pd_offer_back_merge(pd, rq);
		}
	}
}

static int pd_set_region(struct pd_data *pd, u64 region_sectors)
{
	struct pd_map map;
	int ret = pd_map_init(&map);

	if (ret)
		return ret;
	spin_lock(&pd->lock);
	if (region_sectors != pd->core.region_sectors) {
		ret = pd_set_region_sectors(&pd->core, region_sectors, &map);
		if (!ret)
			pd_offer_all_again(pd);
	}
	spin_unlock(&pd->lock);
	/* Outside the lock: the old map may have many regions to free. */
	pd_map_free(&map);
	return ret;
}

static ssize_t pd_region_kb_store(struct elevator_queue *e, const char *page,
				  size_t count)
{
	struct pd_data *pd = e->elevator_data;
	struct gendisk *disk = pd->queue->disk;
	u64 region_sectors, value;
	int ret;

	ret = pd_parse(page, &pd_region_kb_limits, &value);
	if (ret)
		return ret;
	region_sectors = value * PD_SECTORS_PER_KB;
	if (disk && DIV64_U64_ROUND_UP(get_capacity(disk), region_sectors) >
	    PD_MAX_REGIONS)
		return -EINVAL;
	ret = pd_set_region(pd, region_sectors);
	return ret ? ret : count;
}

#define PD_BATCH(name, dir)						\
static ssize_t pd_##name##_show(struct elevator_queue *e, char *page)	\
{									\
	struct pd_data *pd = e->elevator_data;				\
									\
	return sysfs_emit(page, "%u\n",					\
			  READ_ONCE(pd->core.tunables.batch[dir]));	\
}									\
									\
static ssize_t pd_##name##_store(struct elevator_queue *e,		\
				 const char *page, size_t count)	\
{									\
	struct pd_data *pd = e->elevator_data;				\
	u64 value;							\
	int ret = pd_parse(page, &pd_batch_limits, &value);		\
									\
	if (ret)							\
		return ret;						\
	spin_lock(&pd->lock);						\
	WRITE_ONCE(pd->core.tunables.batch[dir], value);		\
	spin_unlock(&pd->lock);						\
	return count;							\
}

PD_BATCH(read_batch, READ)
PD_BATCH(write_batch, WRITE)

#define PD_EXPIRE(name, dir)						\
static ssize_t pd_##name##_show(struct elevator_queue *e, char *page)	\
{									\
	struct pd_data *pd = e->elevator_data;				\
									\
	return sysfs_emit(page, "%u\n", READ_ONCE(pd->expire_ms[dir]));	\
}									\
									\
static ssize_t pd_##name##_store(struct elevator_queue *e,		\
				 const char *page, size_t count)	\
{									\
	struct pd_data *pd = e->elevator_data;				\
	u64 value;							\
	int ret = pd_parse(page, &pd_expire_ms_limits, &value);		\
									\
	if (ret)							\
		return ret;						\
	spin_lock(&pd->lock);						\
	WRITE_ONCE(pd->expire_ms[dir], value);				\
	pd->core.tunables.expire[dir] = msecs_to_jiffies(value);	\
	spin_unlock(&pd->lock);						\
	return count;							\
}

PD_EXPIRE(read_expire, READ)
PD_EXPIRE(write_expire, WRITE)

static ssize_t pd_scan_show(struct elevator_queue *e, char *page)
{
	struct pd_data *pd = e->elevator_data;

	return sysfs_emit(page, "%s\n",
			  pd_scan_names[READ_ONCE(pd->core.tunables.scan)]);
}

static ssize_t pd_scan_store(struct elevator_queue *e, const char *page,
			     size_t count)
{
	struct pd_data *pd = e->elevator_data;
	int scan = sysfs_match_string(pd_scan_names, page);

	if (scan < 0)
		return -EINVAL;
	spin_lock(&pd->lock);
	WRITE_ONCE(pd->core.tunables.scan, scan);
	spin_unlock(&pd->lock);
	return count;
}

static ssize_t pd_async_depth_show(struct elevator_queue *e, char *page)
{
	struct pd_data *pd = e->elevator_data;

	return sysfs_emit(page, "%u\n", READ_ONCE(pd->depth.async));
}

static ssize_t pd_async_depth_store(struct elevator_queue *e,
				    const char *page, size_t count)
{
	struct pd_data *pd = e->elevator_data;
	u64 value;
	int ret = pd_parse(page, &pd_async_depth_limits, &value);

	if (ret)
		return ret;
	WRITE_ONCE(pd->depth.async, value);
	return count;
}

static ssize_t pd_front_merges_show(struct elevator_queue *e, char *page)
{
	struct pd_data *pd = e->elevator_data;

	return sysfs_emit(page, "%d\n",
			  READ_ONCE(pd->core.tunables.front_merges));
}

static ssize_t pd_front_merges_store(struct elevator_queue *e,
				     const char *page, size_t count)
{
	struct pd_data *pd = e->elevator_data;
	u64 value;
	int ret = pd_parse(page, &pd_flag_limits, &value);

	if (ret)
		return ret;
	spin_lock(&pd->lock);
	WRITE_ONCE(pd->core.tunables.front_merges, value);
	spin_unlock(&pd->lock);
	return count;
}

#define PD_ATTR(name) __ATTR(name, 0644, pd_##name##_show, pd_##name##_store)

static struct elv_fs_entry pd_attrs[] = {
	PD_ATTR(region_kb),
	PD_ATTR(read_batch),
	PD_ATTR(write_batch),
	PD_ATTR(read_expire),
	PD_ATTR(write_expire),
	PD_ATTR(scan),
	PD_ATTR(async_depth),
	PD_ATTR(front_merges),
	__ATTR_NULL
};

#ifdef CONFIG_BLK_DEBUG_FS
static void pd_show_waits(struct seq_file *m, const char *direction,
			  const struct pd_waits *waits)
{
	const u64 mean = waits->count ? div64_u64(waits->total, waits->count) : 0;

	seq_printf(m, "%s_dispatched %llu\n", direction, waits->count);
	seq_printf(m, "%s_wait_mean_ms %u\n", direction, jiffies_to_msecs(mean));
	seq_printf(m, "%s_wait_max_ms %u\n", direction,
		   jiffies_to_msecs(waits->max));
}

static int pd_counters_show(void *data, struct seq_file *m)
{
	struct request_queue *q = data;
	struct pd_data *pd = pd_of_queue(q);
	const struct pd_stats *stats = &pd->core.stats;

	spin_lock(&pd->lock);
	seq_printf(m, "inserted %llu\n", pd->inserted);
	seq_printf(m, "merged %llu\n", pd->merged);
	seq_printf(m, "dispatched %llu\n", pd->dispatched);
	seq_printf(m, "requeued %llu\n", pd->requeued);
	seq_printf(m, "completed %llu\n",
		   (u64)atomic64_read(&pd->completed));
	seq_printf(m, "unsorted %llu\n", pd->unsorted);
	seq_printf(m, "turns %llu\n", stats->turns);
	seq_printf(m, "expired_turns %llu\n", stats->expired_turns);
	seq_printf(m, "region_switches %llu\n", stats->region_switches);
	seq_printf(m, "direction_switches %llu\n", stats->direction_switches);
	seq_printf(m, "expired %llu\n", stats->expired);
	pd_show_waits(m, "read", &stats->wait[READ]);
	pd_show_waits(m, "write", &stats->wait[WRITE]);
	spin_unlock(&pd->lock);
	return 0;
}

static int pd_turn_show(void *data, struct seq_file *m)
{
	struct request_queue *q = data;
	struct pd_data *pd = pd_of_queue(q);
	const struct pd_turn *turn = &pd->core.turn;

	spin_lock(&pd->lock);
	if (turn->region)
		seq_printf(m, "region %u %s left %u\n", turn->region->index,
			   turn->direction == READ ? "read" : "write",
			   turn->left);
	else
		seq_puts(m, "none\n");
	spin_unlock(&pd->lock);
	return 0;
}

static const struct blk_mq_debugfs_attr pd_debugfs_attrs[] = {
	{ "counters", 0400, pd_counters_show },
	{ "turn", 0400, pd_turn_show },
	{},
};
#endif

static struct elevator_type pardispatcher = {
	.ops = {
		.init_sched		= pd_init_sched,
		.exit_sched		= pd_exit_sched,
		.init_hctx		= pd_init_hctx,
		.depth_updated		= pd_depth_updated,
		.limit_depth		= pd_limit_depth,
		.prepare_request	= pd_prepare_request,
		.finish_request		= pd_finish_request,
		.insert_requests	= pd_insert_requests,
		.dispatch_request	= pd_dispatch_request,
		.has_work		= pd_has_work,
		.bio_merge		= pd_bio_merge,
		.allow_merge		= pd_allow_merge,
		.request_merge		= pd_request_merge,
		.request_merged		= pd_request_merged,
		.requests_merged	= pd_requests_merged,
		.former_request		= pd_former_request,
		.next_request		= pd_next_request,
	},
#ifdef CONFIG_BLK_DEBUG_FS
	.queue_debugfs_attrs = pd_debugfs_attrs,
#endif
	.elevator_attrs = pd_attrs,
	.elevator_name = "pardispatcher",
	.elevator_owner = THIS_MODULE,
};

/* The alias that the kernel requests when this scheduler is selected. */
MODULE_ALIAS("pardispatcher-iosched");

static int __init pardispatcher_init(void)
{
	return elv_register(&pardispatcher);
}

static void __exit pardispatcher_exit(void)
{
	elv_unregister(&pardispatcher);
}

module_init(pardispatcher_init);
module_exit(pardispatcher_exit);

MODULE_AUTHOR("The Flashloom authors");
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("ParDispatcher I/O scheduler: regions in turns, one direction at a time");
