// SPDX-License-Identifier: GPL-2.0-only
/*
 * blk-mq in small: hardware queues, a software queue for each processor, and
 * what each of the calls of policy.h takes a request through. Of blk-mq.c, blk-mq-sched.c,
 * blk-mq-tag.c and blk-ioc.c it does what schedulers see; tasks, tags and the
 * device's queue are the simulator's.
 */
#include "elevator.h"
#include "blk.h"
#include "blk-mq-sched.h"
#include "policy.h"
#include "machine.c"

#ifndef RQF_USE_SCHED
/* Linux 6.1. */
#define RQF_USE_SCHED		(RQF_ELV | RQF_ELVPRIV)
#endif

#define TASK_CHAINS		1024

struct task {
	struct task_struct task;
	struct io_context context;
	struct io_cq *icq;
	u32 number;
	struct task *next;
};

struct policy {
	struct machine machine;
	struct request_queue queue;
	struct gendisk disk;
	struct block_device whole;
	struct backing_dev_info bdi;
	struct blk_mq_tag_set tag_set;
	struct blk_mq_tags sched_tags;
	struct blk_mq_ctx *ctxs;
	struct blk_mq_hw_ctx *hctxs;
	u32 queues;
	struct sbitmap limits;
	struct task *tasks[TASK_CHAINS];
	u32 capacity;
	u32 queued, started;
	/* What rest.h's hooks in blk-merge.c have seen of the current call. */
	struct policy_merge merged;
	struct policy_join *joins;
	u32 nr_joins, taken;
	struct request requests[];
};

int shim_register_deadline(void);
int shim_register_kyber(void);
int shim_register_bfq(void);
struct elevator_type *shim_elevator(const char *name);

static struct policy *policy_of(struct request_queue *q)
{
	return container_of(q, struct policy, queue);
}

static u32 number_of(struct policy *policy, struct request *rq)
{
	return rq ? rq - policy->requests : NONE;
}

static void enter(struct policy *policy, u64 now)
{
	shim = &policy->machine;
	advance_to(now);
}

/* blk-merge.c has made a bio part of a request. */
void shim_merged(struct request *rq, struct bio *bio)
{
	struct policy *policy = policy_of(rq->q);

	policy->merged.into = number_of(policy, rq);
	policy->merged.is_front = blk_rq_pos(rq) > bio->bi_iter.bi_sector;
}

/* blk-merge.c has joined two requests; the one that is kept is that with the last merge. */
void shim_joined(struct request *gone)
{
	struct policy *policy = policy_of(gone->q);
	struct policy_join *join = &policy->joins[policy->nr_joins++];

	join->kept = number_of(policy, gone->q->last_merge);
	join->gone = number_of(policy, gone);
}

/* Tasks: one of each number, with an I/O context that has one icq. */

static struct task *task_of(struct policy *policy, u32 number)
{
	struct task **at = &policy->tasks[number % TASK_CHAINS];

	while (*at && (*at)->number != number)
		at = &(*at)->next;
	if (!*at) {
		struct task *task = shim_allocate(sizeof(*task));

		task->number = number;
		task->task.pid = task->task.tgid = number + 1;
		task->task.policy = SCHED_NORMAL;
		task->task.io_context = &task->context;
		atomic_long_set(&task->context.refcount, 1);
		atomic_set(&task->context.active_ref, 1);
		INIT_HLIST_HEAD(&task->context.icq_list);
		*at = task;
	}
	return *at;
}

static void run_as(struct policy *policy, const struct policy_request *request)
{
	struct task *task = task_of(policy, request->task);

	task->context.ioprio = request->ioprio;
	shim->task = &task->task;
	/* The data of a processor is that of the present one; there is no other. */
	policy->queue.queue_ctx = &policy->ctxs[request->processor];
}

struct io_cq *ioc_lookup_icq(struct request_queue *q)
{
	return container_of(current, struct task, task)->icq;
}

struct io_cq *ioc_find_get_icq(struct request_queue *q)
{
	struct elevator_type *type = q->elevator->type;
	struct task *task = container_of(current, struct task, task);

	if (!task->icq) {
		task->icq = shim_allocate(type->icq_cache->size);
		task->icq->q = q;
		task->icq->ioc = &task->context;
		INIT_HLIST_NODE(&task->icq->ioc_node);
		list_add(&task->icq->q_node, &q->icq_list);
		if (type->ops.init_icq)
			type->ops.init_icq(task->icq);
	}
	atomic_long_inc(&task->context.refcount);
	return task->icq;
}

void put_io_context(struct io_context *context)
{
	atomic_long_dec(&context->refcount);
}

/* Requests. */

static blk_opf_t flags_of(const struct policy_request *request)
{
	static const enum req_op ops[] = { REQ_OP_READ, REQ_OP_WRITE, REQ_OP_DISCARD };

	return (__force blk_opf_t)ops[request->op] | (request->is_sync ? REQ_SYNC : 0) |
		(request->is_fua ? REQ_FUA : 0) | (request->is_preflush ? REQ_PREFLUSH : 0) |
		(request->is_alone ? REQ_NOMERGE : 0);
}

static struct bio *new_bio(const struct policy_request *request)
{
	struct bio *bio = shim_allocate(sizeof(*bio));

	bio->bi_opf = flags_of(request);
	bio->bi_ioprio = request->ioprio;
	bio->bi_iter.bi_sector = request->sector;
	bio->bi_iter.bi_size = request->sectors << SECTOR_SHIFT;
	return bio;
}

static void finish(struct request *rq)
{
	struct elevator_type *type = rq->q->elevator->type;
	struct bio *bio = rq->bio;

	type->ops.finish_request(rq);
	/* In 6.1 blk-mq lets go of the context itself, later versions leave it to the scheduler. */
	if (rq->elv.icq) {
		put_io_context(rq->elv.icq->ioc);
		rq->elv.icq = NULL;
	}
	while (bio) {
		struct bio *next = bio->bi_next;

		free(bio);
		bio = next;
	}
	rq->bio = NULL;
}

/* One that was joined to another. */
void blk_mq_free_request(struct request *rq)
{
	policy_of(rq->q)->queued--;
	finish(rq);
}

bool blk_mq_sched_try_insert_merge(struct request_queue *q, struct request *rq, struct list_head *free)
{
	return rq_mergeable(rq) && elv_attempt_insert_merge(q, rq, free);
}

/* The simulator asks again after each call. */
void blk_mq_run_hw_queue(struct blk_mq_hw_ctx *hctx, bool async)
{
}

void blk_mq_run_hw_queues(struct request_queue *q, bool async)
{
}

void blk_queue_flag_set(unsigned int flag, struct request_queue *q)
{
	set_bit(flag, &q->queue_flags);
}

void blk_queue_flag_clear(unsigned int flag, struct request_queue *q)
{
	clear_bit(flag, &q->queue_flags);
}

/* Machines. */

static void register_all(void)
{
	if (shim_register_deadline() || shim_register_kyber() || shim_register_bfq())
		shim_bug(__FILE__, __LINE__, "a scheduler was not registered");
}

static void set_limits(struct queue_limits *limits, const struct policy_setup *setup)
{
	limits->max_sectors = limits->max_hw_sectors = limits->max_discard_sectors = setup->max_sectors;
	limits->max_segments = USHRT_MAX;
	limits->max_segment_size = UINT_MAX;
	limits->max_discard_segments = 1;
	limits->seg_boundary_mask = ULONG_MAX;
	limits->logical_block_size = limits->physical_block_size = 512;
}

static void set_queues(struct policy *policy, const struct policy_setup *setup)
{
	policy->queues = setup->queues;
	policy->ctxs = shim_allocate(setup->processors * sizeof(*policy->ctxs));
	policy->hctxs = shim_allocate(setup->queues * sizeof(*policy->hctxs));
	policy->queue.hctx_table.entry = policy->hctxs;
	for (u32 at = 0; at < setup->queues; at++) {
		struct blk_mq_hw_ctx *hctx = &policy->hctxs[at];

		hctx->queue = &policy->queue;
		hctx->queue_num = at;
		hctx->ctxs = shim_allocate(setup->processors * sizeof(*hctx->ctxs));
		hctx->sched_tags = &policy->sched_tags;
		hctx->flags = BLK_MQ_F_SHOULD_MERGE;
		INIT_LIST_HEAD(&hctx->dispatch);
	}
	for (u32 at = 0; at < setup->processors; at++) {
		struct blk_mq_hw_ctx *hctx = &policy->hctxs[setup->queue_of[at]];
		struct blk_mq_ctx *ctx = &policy->ctxs[at];

		ctx->queue = &policy->queue;
		ctx->cpu = at;
		for (int type = 0; type < HCTX_MAX_TYPES; type++) {
			INIT_LIST_HEAD(&ctx->rq_lists[type]);
			ctx->hctxs[type] = hctx;
			ctx->index_hw[type] = hctx->nr_ctx;
		}
		hctx->ctxs[hctx->nr_ctx++] = ctx;
	}
}

/* The bitmap of the tags, and one like it to try limits on. */
static void make_tags(struct policy *policy, u32 tags)
{
	policy->sched_tags.nr_tags = tags;
	if (sbitmap_queue_init_node(&policy->sched_tags.bitmap_tags, tags, -1, false, GFP_KERNEL, 0) ||
	    sbitmap_init_node(&policy->limits, tags, -1, GFP_KERNEL, 0, false, true))
		shim_bug(__FILE__, __LINE__, "there are no tags");
}

static void free_tags(struct policy *policy)
{
	sbitmap_queue_free(&policy->sched_tags.bitmap_tags);
	sbitmap_free(&policy->limits);
}

/* What writing nr_requests does: the scheduler is told before the number stands. */
static void set_nr_requests(struct policy *policy, u32 tags)
{
	struct request_queue *q = &policy->queue;
	const struct elevator_type *type = q->elevator->type;

	if (q->nr_requests == tags)
		return;
	if (tags > policy->sched_tags.nr_tags) {
		free_tags(policy);
		make_tags(policy, tags);
	} else {
		sbitmap_queue_resize(&policy->sched_tags.bitmap_tags, tags);
		sbitmap_resize(&policy->limits, tags);
	}
	for (u32 at = 0; at < policy->queues; at++) {
		if (type->ops.depth_updated)
			type->ops.depth_updated(&policy->hctxs[at]);
	}
	q->nr_requests = tags;
}

static struct policy *policy_new(const char *name, const struct policy_setup *setup)
{
	static bool is_registered;
	struct policy *policy;
	struct request_queue *q;
	struct elevator_type *type;

	policy = shim_allocate(sizeof(*policy) + setup->capacity * sizeof(struct request));
	policy->machine.chance = setup->seed;
	shim = &policy->machine;
	if (!is_registered) {
		register_all();
		is_registered = true;
	}
	type = shim_elevator(name);
	BUG_ON(!type);

	policy->capacity = setup->capacity;
	policy->joins = shim_allocate(setup->capacity * sizeof(*policy->joins));
	q = &policy->queue;
	q->disk = &policy->disk;
	policy->disk.queue = q;
	policy->disk.bdi = &policy->bdi;
	policy->disk.part0 = &policy->whole;
	policy->whole.bd_nr_sectors = setup->device_sectors;
	q->nr_requests = setup->selected_tags;
	q->nr_hw_queues = setup->queues;
	q->tag_set = &policy->tag_set;
	policy->tag_set.queue_depth = setup->queue_depth;
	policy->tag_set.nr_hw_queues = setup->queues;
	INIT_LIST_HEAD(&q->icq_list);
	set_limits(&q->limits, setup);
#ifdef QUEUE_FLAG_NONROT
	blk_queue_flag_set(QUEUE_FLAG_NONROT, q);
#endif
	set_queues(policy, setup);
	make_tags(policy, setup->selected_tags);

	run_as(policy, &(struct policy_request){ });
	if (type->ops.init_sched(q, type))
		shim_bug(__FILE__, __LINE__, "the scheduler does not start");
	for (u32 at = 0; at < policy->queues; at++) {
		if (type->ops.init_hctx && type->ops.init_hctx(&policy->hctxs[at], at))
			shim_bug(__FILE__, __LINE__, "the scheduler does not start on a queue");
	}
	set_nr_requests(policy, setup->tags);
	return policy;
}

static void exit_icqs(struct request_queue *q)
{
	struct elevator_type *type = q->elevator->type;
	struct io_cq *icq, *next;

	list_for_each_entry_safe(icq, next, &q->icq_list, q_node) {
		list_del_init(&icq->q_node);
		if (type->ops.exit_icq)
			type->ops.exit_icq(icq);
	}
}

/* What a scheduler still holds is dispatched and completed first, because it complains otherwise. */
static void policy_free(struct policy *policy)
{
	struct request_queue *q = &policy->queue;
	struct elevator_queue *elevator = q->elevator;
	struct elevator_type *type = elevator->type;

	enter(policy, policy->machine.now_ns);
	for (u32 id = 0; id < policy->capacity; id++) {
		struct request *rq = &policy->requests[id];

		if (rq->bio && rq->state == MQ_RQ_IN_FLIGHT)
			finish(rq);
	}
	while (policy->queued) {
		for (u32 at = 0; at < policy->queues; at++) {
			struct request *rq;

			while ((rq = type->ops.dispatch_request(&policy->hctxs[at]))) {
				policy->queued--;
				finish(rq);
			}
		}
		/* A second is longer than any scheduler idles. */
		advance_to(policy->machine.now_ns + NSEC_PER_SEC);
	}
	exit_icqs(q);
	for (u32 at = 0; at < policy->queues; at++) {
		if (type->ops.exit_hctx)
			type->ops.exit_hctx(&policy->hctxs[at], at);
		free(policy->hctxs[at].ctxs);
	}
	if (type->ops.exit_sched)
		type->ops.exit_sched(elevator);
	kobject_put(&elevator->kobj);
	free_tags(policy);
	for (u32 chain = 0; chain < TASK_CHAINS; chain++) {
		struct task *task = policy->tasks[chain];

		while (task) {
			struct task *next = task->next;

			free(task->icq);
			free(task);
			task = next;
		}
	}
	free(policy->hctxs);
	free(policy->ctxs);
	free(policy->joins);
	free(policy);
}

static struct elv_fs_entry *attribute_of(struct policy *policy, const char *name)
{
	struct elv_fs_entry *entry = policy->queue.elevator->type->elevator_attrs;

	while (entry && entry->attr.name) {
		if (!strcmp(entry->attr.name, name))
			return entry;
		entry++;
	}
	return NULL;
}

static int policy_store(struct policy *policy, const char *attribute, const char *text)
{
	struct elv_fs_entry *entry = attribute_of(policy, attribute);
	ssize_t done;

	enter(policy, policy->machine.now_ns);
	if (!entry || !entry->store)
		return -ENOENT;
	done = entry->store(policy->queue.elevator, text, strlen(text));
	return done < 0 ? done : 0;
}

static int policy_show(struct policy *policy, const char *attribute, char *text)
{
	struct elv_fs_entry *entry = attribute_of(policy, attribute);
	ssize_t done;

	enter(policy, policy->machine.now_ns);
	if (!entry || !entry->show)
		return -ENOENT;
	done = entry->show(policy->queue.elevator, text);
	return done < 0 ? done : 0;
}

static void begin(struct policy *policy)
{
	policy->merged.into = NONE;
	policy->nr_joins = policy->taken = 0;
}

static struct policy_merge policy_merge(struct policy *policy, u64 now, const struct policy_request *request)
{
	struct bio *bio;

	enter(policy, now);
	begin(policy);
	run_as(policy, request);
	bio = new_bio(request);
	if (!bio_mergeable(bio) || !policy->queue.elevator->type->ops.bio_merge(&policy->queue, bio, 1))
		free(bio);
	return policy->merged;
}

static u64 deadline_of(struct request *rq)
{
	const char *name = rq->q->elevator->type->elevator_name;

	/* It was joined to another one as it was inserted. */
	if (!rq->bio)
		return NEVER;
	if (!strcmp(name, "mq-deadline"))
		return tick_begins(rq->fifo_time);
	return strcmp(name, "bfq") ? NEVER : rq->fifo_time;
}

static void hand_over(struct blk_mq_hw_ctx *hctx, struct list_head *list, bool at_head)
{
	hctx->queue->elevator->type->ops.insert_requests(hctx, list, at_head);
}

static void prepare(struct policy *policy, u64 now, u32 id, const struct policy_request *request)
{
	struct elevator_type *type = policy->queue.elevator->type;
	struct request *rq = &policy->requests[id];

	memset(rq, 0, sizeof(*rq));
	rq->q = &policy->queue;
	rq->mq_ctx = &policy->ctxs[request->processor];
	rq->mq_hctx = rq->mq_ctx->hctxs[HCTX_TYPE_DEFAULT];
	rq->bio = rq->biotail = new_bio(request);
	rq->cmd_flags = rq->bio->bi_opf;
	rq->rq_flags = RQF_USE_SCHED;
	rq->__sector = request->sector;
	rq->__data_len = rq->bio->bi_iter.bi_size;
	rq->nr_phys_segments = 1;
	rq->start_time_ns = now;
	rq->tag = -1;
	rq->internal_tag = id;
#ifdef SHIM_REQUESTS_HAVE_A_PRIORITY
	rq->ioprio = request->ioprio;
#endif
	INIT_LIST_HEAD(&rq->queuelist);
	INIT_HLIST_NODE(&rq->hash);
	RB_CLEAR_NODE(&rq->rb_node);
	if (type->ops.prepare_request)
		type->ops.prepare_request(rq);
}

/* A plug is inserted as one list, as by blk_mq_dispatch_plug_list(). */
static void policy_insert(struct policy *policy, u64 now, u32 length, const u32 *ids,
			  const struct policy_request *requests, u64 *deadlines)
{
	LIST_HEAD(list);

	enter(policy, now);
	begin(policy);
	for (u32 at = 0; at < length; at++) {
		run_as(policy, &requests[at]);
		prepare(policy, now, ids[at], &requests[at]);
		list_add_tail(&policy->requests[ids[at]].queuelist, &list);
	}
	policy->queued += length;
	hand_over(policy->requests[ids[0]].mq_hctx, &list, false);
	for (u32 at = 0; at < length; at++)
		deadlines[at] = deadline_of(&policy->requests[ids[at]]);
}

static struct policy_join policy_take_join(struct policy *policy)
{
	if (policy->taken == policy->nr_joins)
		return (struct policy_join){ NONE, NONE };
	return policy->joins[policy->taken++];
}

static bool policy_has_work(struct policy *policy, u32 queue)
{
	struct elevator_type *type = policy->queue.elevator->type;

	shim = &policy->machine;
	return !type->ops.has_work || type->ops.has_work(&policy->hctxs[queue]);
}

static u32 policy_dispatch(struct policy *policy, u64 now, u32 queue)
{
	struct request *rq;

	enter(policy, now);
	/* As blk-mq does: a scheduler without work is not asked. */
	if (!policy_has_work(policy, queue))
		return NONE;
	rq = policy->queue.elevator->type->ops.dispatch_request(&policy->hctxs[queue]);
	if (!rq)
		return NONE;
	policy->queued--;
	policy->started++;
	rq->state = MQ_RQ_IN_FLIGHT;
	return number_of(policy, rq);
}

static u64 policy_next_timer(struct policy *policy)
{
	struct hrtimer *fine;

	shim = &policy->machine;
	fine = first_hrtimer();
	return fine ? fine->expires_ns : NEVER;
}

static void policy_complete(struct policy *policy, u64 now, u32 id, u64 started)
{
	struct elevator_type *type = policy->queue.elevator->type;
	struct request *rq = &policy->requests[id];

	enter(policy, now);
	rq->io_start_time_ns = started;
	rq->state = MQ_RQ_COMPLETE;
	if (type->ops.completed_request)
		type->ops.completed_request(rq, now);
	policy->started--;
	finish(rq);
}

/* A request that the driver returned is inserted at the head, as by blk_mq_requeue_work(). */
static u64 policy_requeue(struct policy *policy, u64 now, u32 id)
{
	struct elevator_type *type = policy->queue.elevator->type;
	struct request *rq = &policy->requests[id];
	LIST_HEAD(list);

	enter(policy, now);
	begin(policy);
	policy->started--;
	rq->state = MQ_RQ_IDLE;
	if (type->ops.requeue_request)
		type->ops.requeue_request(rq);
	list_add(&rq->queuelist, &list);
	policy->queued++;
	/* BLK_MQ_INSERT_AT_HEAD, or true. */
	hand_over(rq->mq_hctx, &list, true);
	return deadline_of(rq);
}

static u32 policy_tags(struct policy *policy, u64 now, const struct policy_request *request)
{
	struct blk_mq_alloc_data data = { .q = &policy->queue, .cmd_flags = flags_of(request) };
	struct elevator_type *type = policy->queue.elevator->type;
	u32 tags = 0;

	enter(policy, now);
	run_as(policy, request);
	data.ctx = &policy->ctxs[request->processor];
	data.hctx = data.ctx->hctxs[HCTX_TYPE_DEFAULT];
	if (type->ops.limit_depth)
		type->ops.limit_depth(data.cmd_flags, &data);
	if (!data.shallow_depth || data.shallow_depth >= policy->queue.nr_requests)
		return policy->queue.nr_requests;
	/* As many as the kernel's bitmap gives, one after another. */
	while (sbitmap_get_shallow(&policy->limits, data.shallow_depth) >= 0)
		tags++;
	sbitmap_resize(&policy->limits, 0);
	sbitmap_resize(&policy->limits, policy->queue.nr_requests);
	for (u32 bit = 0; bit < policy->queue.nr_requests; bit++)
		sbitmap_clear_bit(&policy->limits, bit);
	return tags;
}

static void policy_count(struct policy *policy, u32 *queued, u32 *started)
{
	*queued = policy->queued;
	*started = policy->started;
}

const struct policy_calls SHIM_CALLS = {
	.new = policy_new,
	.free = policy_free,
	.store = policy_store,
	.show = policy_show,
	.merge = policy_merge,
	.insert = policy_insert,
	.take_join = policy_take_join,
	.dispatch = policy_dispatch,
	.has_work = policy_has_work,
	.next_timer = policy_next_timer,
	.complete = policy_complete,
	.requeue = policy_requeue,
	.tags = policy_tags,
	.count = policy_count,
};
