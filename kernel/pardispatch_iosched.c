// SPDX-License-Identifier: GPL-2.0
/*
 * ParDispatcher as an I/O scheduler of blk-mq: the glue between the block
 * layer and the decisions in pardispatch_core.c.
 *
 * One lock per queue protects the decisions, as in mq-deadline. It is taken to
 * insert, merge and dispatch; a completion only increments a counter of its
 * processor.
 */
#include <linux/blkdev.h>
#include <linux/blk-mq.h>
#include <linux/ioprio.h>
#include <linux/log2.h>
#include <linux/math64.h>
#include <linux/module.h>
#include <linux/percpu.h>
#include <linux/sbitmap.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/timekeeping.h>
#include <trace/events/block.h>

#include "pardispatch_iosched.h"
#include "blk.h"
#include "blk-mq.h"
#include "blk-mq-sched.h"

/* By IOPRIO_CLASS_*. */
static const enum pd_class pd_class_of_ioprio[] = {
	[IOPRIO_CLASS_NONE]	= PD_BE,
	[IOPRIO_CLASS_RT]	= PD_RT,
	[IOPRIO_CLASS_BE]	= PD_BE,
	[IOPRIO_CLASS_IDLE]	= PD_IDLE,
};

/*
 * The batches are the paper's, since no limit of a queue says how many requests
 * a region serves at once.
 */
static const struct pd_tunables pd_defaults = {
	.batch = { 16, 8 },
	.scan = PD_SCAN_CONTINUE,
	.expire = { 500 * NSEC_PER_MSEC, 5 * NSEC_PER_SEC },
	.front_merges = true,
};

/* As in mq-deadline. */
#define PD_PRIO_AGING_EXPIRE	(10 * NSEC_PER_SEC)

/* The paper has 15 regions, of 4 GiB each, on a drive of 60 GB. */
#define PD_REGIONS		16
#define PD_REGION_KB		(4ULL << 20)

static struct pd_core *pd_core_of(struct pd_data *pd, u16 ioprio)
{
	return &pd->classes[pd_class_of_ioprio[IOPRIO_PRIO_CLASS(ioprio)]];
}

/*
 * Merging. The block layer merges only what has the same I/O priority, so
 * within a class. A request accepts a back merge only within its own region. The block
 * layer calls allow_merge() for a bio, but not for a request being inserted. So
 * a request that ends at the end of its region or beyond it is taken off the
 * hash of back merges: what follows it is in another region.
 */
static void pd_offer_back_merge(struct pd_data *pd, struct request *rq)
{
	struct request_queue *q = pd->queue;

	if (blk_rq_pos(rq) + blk_rq_sectors(rq) < pd_region_end(rq)) {
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
	lockdep_assert_held(&pd_of_queue(q)->lock);

	return pd_same_region(rq, bio->bi_iter.bi_sector);
}

/* Finds a request that @bio can be merged in front of. */
static int pd_request_merge(struct request_queue *q, struct request **req,
			    struct bio *bio)
{
	struct pd_data *pd = pd_of_queue(q);
	struct request *rq;

	lockdep_assert_held(&pd->lock);

	rq = pd_front_merge_candidate(pd_core_of(pd, bio->bi_ioprio),
				      bio_end_sector(bio), bio_data_dir(bio));
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
	pd_set_inserted(next, 0);
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

static void pd_tags_changed(struct blk_mq_hw_ctx *hctx)
{
#ifdef PD_OUT_OF_TREE
	pd_depth_note_tags(&pd_of_queue(hctx->queue)->depth, hctx);
#endif
	/* The block layer warns about a depth below this minimum. */
	sbitmap_queue_min_shallow_depth(&hctx->sched_tags->bitmap_tags, 1);
}

/* Called when the tags of the hardware queues were replaced or resized. */
static void pd_depth_updated(struct request_queue *q)
{
	struct blk_mq_hw_ctx *hctx;
	unsigned long i;

	queue_for_each_hw_ctx(q, hctx, i)
		pd_tags_changed(hctx);
}

/* Called when a request is allocated that may be inserted here. */
static void pd_prepare_request(struct request *rq)
{
	rq->elv.priv[0] = NULL;
	pd_set_inserted(rq, 0);
}

static void pd_count_in(struct pd_data *pd, struct request *rq, u64 now)
{
	if (pd_inserted_at(rq))
		pd->requeued++;
	else
		pd->inserted++;
	pd_set_inserted(rq, now);
}

/*
 * Drops the lock to allocate a region that is missing, since that may take a
 * while. Returns false without memory.
 */
static bool pd_insert_sorted(struct pd_data *pd, struct request *rq)
{
	struct pd_core *core = pd_core_of(pd, req_get_ioprio(rq));
	struct pd_region *spare = NULL;
	bool inserted = pd_insert(core, rq, &spare);

	if (inserted)
		return true;
	spin_unlock(&pd->lock);
	spare = pd_region_alloc(core, rq);
	spin_lock(&pd->lock);
	inserted = pd_insert(core, rq, &spare);
	/* Another processor was faster. */
	if (spare)
		pd_region_unused(spare);
	return inserted;
}

static void pd_insert_request(struct pd_data *pd, struct request *rq,
			      blk_insert_t flags, u64 now,
			      struct list_head *free)
{
	lockdep_assert_held(&pd->lock);

	/*
	 * Part of a flush sequence on Linux 6.1, which calls neither
	 * prepare_request() nor finish_request() for it: neither sorted nor
	 * counted. Linux 6.12 calls both, and inserts it at the head.
	 */
	if (!(rq->rq_flags & RQF_USE_SCHED)) {
		trace_block_rq_insert(rq);
		list_add_tail(&rq->queuelist, &pd->dispatch);
		return;
	}
	pd_count_in(pd, rq, now);
	if (flags & BLK_MQ_INSERT_AT_HEAD) {
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
	if (!pd_insert_sorted(pd, rq)) {
		pd->unsorted++;
		list_add_tail(&rq->queuelist, &pd->dispatch);
		return;
	}
	if (rq_mergeable(rq))
		pd_offer_back_merge(pd, rq);
}

static void pd_insert_requests(struct blk_mq_hw_ctx *hctx,
			       struct list_head *list, blk_insert_t flags)
{
	struct pd_data *pd = pd_of_queue(hctx->queue);
	const u64 now = ktime_get_ns();
	LIST_HEAD(free);

	spin_lock(&pd->lock);
	while (!list_empty(list)) {
		struct request *rq;

		rq = list_first_entry(list, struct request, queuelist);
		list_del_init(&rq->queuelist);
		pd_insert_request(pd, rq, flags, now, &free);
	}
	spin_unlock(&pd->lock);

	blk_mq_free_requests(&free);
}

/*
 * The class that dispatches next; NULL if no request is queued. A lower class
 * waits until those above have nothing queued, or until it has a request of age
 * prio_aging_expire; then it gets at most every second dispatch.
 */
static struct pd_core *pd_next_class(struct pd_data *pd)
{
	struct pd_core *chosen = NULL;
	int class;

	for (class = PD_RT; class < PD_CLASSES; class++) {
		struct pd_core *core = &pd->classes[class];

		if (pd_empty(core))
			continue;
		if (!chosen) {
			chosen = core;
			if (pd->last_was_aged)
				break;
		} else if (ktime_get_ns() >
			   pd_oldest_since(core) + pd->prio_aging_expire) {
			pd->last_was_aged = true;
			pd->aged++;
			return core;
		}
	}
	pd->last_was_aged = false;
	return chosen;
}

static struct request *__pd_dispatch_request(struct pd_data *pd)
{
	struct request *rq;

	lockdep_assert_held(&pd->lock);

	rq = list_first_entry_or_null(&pd->dispatch, struct request, queuelist);
	if (rq) {
		list_del_init(&rq->queuelist);
	} else {
		struct pd_core *core = pd_next_class(pd);

		if (!core)
			return NULL;
		rq = pd_dispatch(core);
		pd_withdraw_merge(pd->queue, rq);
	}
	if (rq->rq_flags & RQF_USE_SCHED)
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

/* Without the lock. */
static bool pd_seems_to_have(const struct pd_core *core)
{
	return !list_empty_careful(&core->fifo[READ]) ||
	       !list_empty_careful(&core->fifo[WRITE]);
}

static bool pd_has_work(struct blk_mq_hw_ctx *hctx)
{
	struct pd_data *pd = pd_of_queue(hctx->queue);

	int class;

	if (!list_empty_careful(&pd->dispatch))
		return true;
	for (class = PD_RT; class < PD_CLASSES; class++)
		if (pd_seems_to_have(&pd->classes[class]))
			return true;
	return false;
}

/* Called when a prepared request is freed, even one that was never inserted. */
static void pd_finish_request(struct request *rq)
{
	struct pd_data *pd = pd_of_queue(rq->q);

	if (pd_inserted_at(rq))
		this_cpu_inc(*pd->completed);
}

u64 pd_completed(const struct pd_data *pd)
{
	u64 sum = 0;
	int cpu;

	for_each_possible_cpu(cpu)
		sum += READ_ONCE(*per_cpu_ptr(pd->completed, cpu));
	return sum;
}

/* As many regions as in the paper, and its size while there is no capacity. */
static u64 pd_default_region_kb(struct gendisk *disk)
{
	const u64 kb = disk ? get_capacity(disk) / PD_SECTORS_PER_KB : 0;

	if (!kb)
		return PD_REGION_KB;
	return clamp(roundup_pow_of_two(DIV_ROUND_UP(kb, PD_REGIONS)),
		     PD_MIN_REGION_KB, PD_MAX_REGION_KB);
}

static int pd_init_sched(struct request_queue *q, struct elevator_queue *eq)
{
	struct pd_data *pd;
	int class;

	/* Turns and merges ignore write pointers. */
	if (blk_queue_is_zoned(q))
		return -EOPNOTSUPP;
	pd = kzalloc_node(sizeof(*pd), GFP_KERNEL, q->node);
	if (!pd)
		return -ENOMEM;
	pd->completed = alloc_percpu(u64);
	if (!pd->completed) {
		kfree(pd);
		return -ENOMEM;
	}
	pd->tunables = pd_defaults;
	pd->prio_aging_expire = PD_PRIO_AGING_EXPIRE;
	for (class = PD_RT; class < PD_CLASSES; class++)
		pd_init(&pd->classes[class],
			pd_default_region_kb(q->disk) * PD_SECTORS_PER_KB,
			&pd->tunables, &pd->stats);
	spin_lock_init(&pd->lock);
	INIT_LIST_HEAD(&pd->dispatch);
	pd->queue = q;
	pd->depth.async = q->nr_requests;
	eq->elevator_data = pd;

	/* Dispatch is per request queue, not per hardware queue. */
	blk_queue_flag_set(QUEUE_FLAG_SQ_SCHED, q);
	q->elevator = eq;
	pd_depth_updated(q);
	return 0;
}

static void pd_exit_sched(struct elevator_queue *e)
{
	struct pd_data *pd = e->elevator_data;
	const u64 completed = pd_completed(pd);
	int class;

	WARN_ON_ONCE(!list_empty(&pd->dispatch));
	WARN_ONCE(pd->inserted != pd->merged + completed ||
		  pd->dispatched != completed + pd->requeued,
		  "pardispatcher: inserted %llu, merged %llu, dispatched %llu, requeued %llu, completed %llu\n",
		  pd->inserted, pd->merged, pd->dispatched, pd->requeued,
		  completed);
	for (class = PD_RT; class < PD_CLASSES; class++) {
		WARN_ON_ONCE(!pd_empty(&pd->classes[class]));
		pd_exit(&pd->classes[class]);
	}
	free_percpu(pd->completed);
	kfree(pd);
}

#ifdef PD_OUT_OF_TREE
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 18, 0)

/* The scheduler allocates the elevator queue, and frees it if it fails. */
static int pd_init_sched_of(struct request_queue *q, struct elevator_type *e)
{
	/* First: on 6.1 only this can drop the caller's module reference. */
	struct elevator_queue *eq = elevator_alloc(q, e);
	int ret;

	if (!eq)
		return -ENOMEM;
	ret = pd_init_sched(q, eq);
	if (ret)
		kobject_put(&eq->kobj);
	return ret;
}

/* The tags of one hardware queue were replaced or resized. */
#define pd_depth_updated	pd_tags_changed
#define pd_init_sched		pd_init_sched_of

#endif
#endif

static struct elevator_type pardispatcher = {
	.ops = {
		.init_sched		= pd_init_sched,
		.exit_sched		= pd_exit_sched,
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
